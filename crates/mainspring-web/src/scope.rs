//! The permission of a client: one scope, which holds all before it.
//!
//! | scope | may |
//! |---|---|
//! | `metrics` | read the metrics |
//! | `look` | see everything: jobs, runs, output |
//! | `operate` | run, pause, cancel, retry what is defined |
//! | `define` | say what runs, which is any command as the server's user |
//!
//! Cost: none.
//!
//! Does not know people: see [`tokens`](crate::tokens) and [`sessions`](crate::sessions).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

/// A scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "see the table above")]
pub enum Scope {
    Metrics,
    Look,
    Operate,
    Define,
}

impl Scope {
    /// All, the least first.
    pub const ALL: [Scope; 4] = [Scope::Metrics, Scope::Look, Scope::Operate, Scope::Define];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Metrics => "metrics",
            Scope::Look => "look",
            Scope::Operate => "operate",
            Scope::Define => "define",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Scope, String> {
        let known = Scope::ALL.into_iter().find(|scope| scope.name() == text);
        known.ok_or_else(|| format!("there is no scope `{text}`: it is metrics, look, operate or define"))
    }
}

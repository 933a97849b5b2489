//! The progress of a run while it runs, as its handler tells it.
//!
//! Cost: none.
//!
//! Does not last: a run that has ended has none, and no store keeps it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::is_default;

/// How far a run is while it runs: so many of so many, in a unit of its handler's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Progress"))]
pub struct ProgressWire {
    /// How many are done: at most `of`, where that is known.
    pub done: u64,
    /// Of how many; left out where the handler does not know it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub of: u64,
}

impl ProgressWire {
    /// So many of so many; 0 if that is not known. More done than there are is all of them.
    pub fn new(done: u64, of: u64) -> ProgressWire {
        let most = if of == 0 { u64::MAX } else { of };
        ProgressWire { done: done.min(most), of }
    }
}

/// For people: `42 of 100`.
impl fmt::Display for ProgressWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            0 => write!(f, "{} done", self.done),
            of => write!(f, "{} of {of}", self.done),
        }
    }
}

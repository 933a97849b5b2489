//! The requests of a page in a browser beyond the commands: a run with its attempts, changes since the last
//! question, and signing in.
//!
//! Cost: none.
//!
//! Does not know HTTP: the listener of the server turns requests into these.

use jiff::Timestamp;
use mainspring_job::{JobName, RunKey, RunState};
use serde::{Deserialize, Serialize};

use super::{HoldWire, RunWire, Word};

/// A run with its attempts; `show` has that of a one-shot job which is pending no more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundWire {
    /// The run.
    pub run: RunWire,
    /// When it was planned.
    pub planned: Timestamp,
    /// The first first.
    pub attempts: Vec<AttemptWire>,
    /// Each reason why it does not start now, if it waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldWire>,
}

/// One try of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the fields are those of `Attempt`")]
pub struct AttemptWire {
    pub number: u32,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub state: Option<Word<RunState>>,
    pub outcome: Option<String>,
    /// The machine of the server that carried it out, where several share the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The number of that server's life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<u64>,
}

/// A way in for a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginWire {
    /// Is good once, for a minute.
    pub code: String,
    /// Where the server listens, each with a final slash.
    pub addresses: Vec<String>,
}

/// What has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesWire {
    /// Of each job the run that changed last.
    pub runs: Vec<RunChangeWire>,
    /// Jobs that were defined, removed, paused or resumed; an empty name is all of them.
    pub jobs: Vec<String>,
    /// Whether one-shot jobs came or went.
    pub once: bool,
    /// Whether somebody asked for a change.
    pub audit: bool,
    /// Whether the system's clock was set.
    pub clock: bool,
    /// Whether there were more than are told.
    pub is_cut_short: bool,
    /// Whether another server plans, of which no change is told one by one.
    pub is_elsewhere: bool,
}

/// A run that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of `history`")]
pub struct RunChangeWire {
    pub run: RunKey,
    pub job: JobName,
    pub state: Word<RunState>,
}

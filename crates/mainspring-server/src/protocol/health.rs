//! The answers of a server to `doctor`, beside its status; without a server, those of its store.
//!
//! Cost: none.
//!
//! Does not judge: `doctor` does.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How many names a list of jobs has; the count beside it is exact.
pub const MAX_NAMED: usize = 10;

/// How a server and its store are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthWire {
    /// The number of the owner of the store, which every write carries; `None` without a server.
    pub epoch: Option<u64>,
    /// What is wrong with the store, if anything is known to be.
    pub fault: Option<String>,
    /// The clock that was asked.
    pub now: Timestamp,
    /// The last time that the clock of the system was set or the machine slept, for a minute and more.
    pub clock_step: Option<ClockStepWire>,
    /// The latest nominal time that was planned, of any job.
    pub planned: Option<Timestamp>,
    /// Jobs that rest because the clock stands before what is planned of them already.
    pub behind: NamesWire,
    /// Jobs that a person paused.
    pub paused: NamesWire,
    /// Jobs that failed too often in a row.
    pub failing: NamesWire,
    /// Jobs that are paused because the server died in them too often in a row.
    pub crash_loops: NamesWire,
    /// Jobs that ran when the server died, and have neither ended nor run for long since: they start a few at
    /// a time.
    pub quarantined: NamesWire,
    /// Jobs that follow the ends of a job that there is not.
    pub following_nothing: NamesWire,
    /// Programs that are to take mails of jobs, and are not there.
    pub missing_mailers: Vec<String>,
    /// Whether everything is paused.
    pub is_all_paused: bool,
    /// Dead letters.
    pub dead: u64,
    /// Room in the file system of the data directory.
    pub free_bytes: Option<u64>,
    /// How many files the server may have open.
    pub open_files_max: Option<u64>,
    /// How many runs there may be at one time: as `--max-running` says, and fewer if the limit of open files
    /// has no room for them.
    pub running_max: Option<u64>,
}

/// The clock was set, or the machine slept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockStepWire {
    /// When the server saw it, by the clock as it was then.
    pub at: Timestamp,
    /// What happened.
    pub text: String,
    /// Whether the clock shows a time again that it has shown before.
    pub is_back: bool,
}

/// How many, and the names of the first [`MAX_NAMED`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamesWire {
    /// How many.
    pub count: u64,
    /// Some of them.
    pub first: Vec<String>,
}

impl NamesWire {
    /// One more.
    pub fn add(&mut self, name: &str) {
        self.count += 1;
        if self.first.len() < MAX_NAMED {
            self.first.push(name.to_owned());
        }
    }
}

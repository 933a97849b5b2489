//! A job, as `list` and `show` describe it.
//!
//! Cost: none.
//!
//! Does not find the state of a job: `describe` does. It judges whether a person should look at one, for all
//! that show jobs.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ProgressWire, RunWire, is_default};

/// How a job is, for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It runs when it is due.
    #[default]
    Active,
    /// It was paused by request.
    Paused,
    /// It is paused because it failed too often in a row.
    #[serde(rename = "paused_failures")]
    PausedAfterFailures,
    /// It is paused because the server died in its runs too often in a row.
    #[serde(rename = "paused_crashes")]
    PausedAfterCrashes,
    /// It starts with few others at a time, because the server died while it ran.
    Quarantined,
    /// It has no further time.
    Done,
}

impl JobState {
    /// All of them.
    pub const ALL: [JobState; 6] = [
        JobState::Active,
        JobState::Paused,
        JobState::PausedAfterFailures,
        JobState::PausedAfterCrashes,
        JobState::Quarantined,
        JobState::Done,
    ];

    /// Whether nothing of it starts before somebody resumes it.
    pub const fn is_paused(self) -> bool {
        matches!(self, JobState::Paused | JobState::PausedAfterFailures | JobState::PausedAfterCrashes)
    }
}

/// The words, for people.
impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobState::Active => "active",
            JobState::Paused => "paused",
            JobState::PausedAfterFailures => "paused after failures",
            JobState::PausedAfterCrashes => "paused: the server died in it",
            JobState::Quarantined => "in quarantine",
            JobState::Done => "done",
        })
    }
}

/// How long a pause lasts, and why there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PauseTerms"))]
pub struct PauseTermsWire {
    /// When it ends by itself; null: not before somebody ends it.
    pub until: Option<Timestamp>,
    /// The same as civil time with its zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "jiff::Zoned"))]
    pub until_civil: Option<String>,
    /// What was said about it.
    pub note: String,
}

/// Where a definition came from, for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum SourceCode {
    /// A file that is served or was applied.
    #[default]
    File,
    /// A command.
    Command,
    /// A program with jobs of its own.
    Program,
}

/// One reason why a job, or a run that waits, does not run now, and what ends it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct HoldWire {
    /// The code of [`mainspring_job::Hold`].
    pub code: String,
    /// The sentence for people.
    pub why: String,
    /// What ends it: a time, a command, or what has to happen.
    pub ends: String,
}

/// The most runs that a job shows that wait for their time.
pub const MAX_WAITING_SHOWN: usize = 20;

const _: () = assert!(MAX_WAITING_SHOWN <= super::MAX_ROWS);

/// A job, and how far it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of `list` and `show`")]
pub struct JobWire {
    pub name: String,
    /// The words for [`state_code`](Self::state_code).
    pub state: String,
    #[serde(default)]
    pub state_code: JobState,
    /// When it is due next, as its timetable says.
    pub next: Option<Timestamp>,
    /// The same as civil time with its zone, that of its first trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_civil: Option<String>,
    /// Whether everything is paused: the server looks at no time then.
    #[serde(default)]
    pub is_paused_with_all: bool,
    /// When the server will look at it next, if it will: at `next`, or before it where that is far away.
    #[serde(default)]
    pub armed: Option<Timestamp>,
    /// The same as civil time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed_civil: Option<String>,
    /// Since when no run has succeeded, if that is longer than `silent_after` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
    /// How long the pause lasts, if somebody paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_terms: Option<PauseTermsWire>,
    /// Words by which jobs are chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub triggers: Vec<String>,
    pub action: String,
    pub policies: String,
    pub group: Option<String>,
    pub priority: i8,
    /// The words for [`source_code`](Self::source_code): the path of the file, or the command line.
    pub source: String,
    #[serde(default)]
    pub source_code: SourceCode,
    /// The line of a served file on which the definition in force begins, from 1.
    #[serde(default)]
    pub source_line: Option<usize>,
    pub runs: u64,
    pub failures: u32,
    pub running: usize,
    /// How far its last run is, while it runs and tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressWire>,
    pub queued: usize,
    pub last: Option<RunWire>,
    /// The definition as a table of a job file; in `show` alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Each reason why it does not run now; in `show` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<HoldWire>,
    /// Runs that wait for their time, the first [`MAX_WAITING_SHOWN`] of them: asked for, or to be tried
    /// again; in `show` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<RunWire>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waiting_count: usize,
}

impl JobWire {
    /// Whether the job is due before the server looks at it, which is a fault of the server. A look before
    /// that is none: far away times are looked at in steps.
    pub fn is_mismatched(&self) -> bool {
        let is_late = |next| self.armed.is_none_or(|armed| next < armed);
        !self.is_paused_with_all && self.next.is_some_and(is_late)
    }

    /// Whether a person should look at the job.
    pub fn is_troubled(&self) -> bool {
        0 < self.failures
            || matches!(self.state_code, JobState::PausedAfterFailures | JobState::PausedAfterCrashes)
            || self.silent_since.is_some()
            || self.is_mismatched()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_failed_or_will_be_looked_at_too_late_is_troubled() {
        let (soon, late) = (Some(Timestamp::UNIX_EPOCH), Some(Timestamp::MAX));
        for (next, armed, is_mismatched) in [
            (None, None, false),
            (soon, soon, false),
            (late, soon, false),
            (None, soon, false),
            (soon, late, true),
            (soon, None, true),
        ] {
            let job = JobWire { next, armed, ..JobWire::default() };
            assert_eq!(job.is_mismatched(), is_mismatched, "{next:?} {armed:?}");
            assert_eq!(job.is_troubled(), is_mismatched);
        }
        let held = JobWire { next: soon, is_paused_with_all: true, ..JobWire::default() };
        assert!(!held.is_troubled(), "nothing is due while everything is paused");
        assert!(JobWire { failures: 1, ..JobWire::default() }.is_troubled());
        assert!(JobWire { state_code: JobState::PausedAfterCrashes, ..JobWire::default() }.is_troubled());
        assert!(JobWire { silent_since: soon, ..JobWire::default() }.is_troubled());
        assert!(!JobWire { state_code: JobState::Paused, ..JobWire::default() }.is_troubled());
    }
}

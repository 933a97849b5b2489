//! Overlap: what happens if a run of the job blocks the next one.
//!
//! A run blocks the next one while it is running or queued. A run that waits for its retry blocks nothing.
//!
//! | policy | nothing blocks | a run blocks |
//! |---|---|---|
//! | `skip` (default) | starts | the new one becomes `skipped_overlap` |
//! | `queue-one` | starts | the new one waits, unless one waits already: then it becomes `skipped_overlap` |
//! | `queue-all` | starts | the new one waits, unless `cap` wait already: then it becomes `skipped_overlap` |
//! | `replace` | starts | the new one waits, and one that waited already becomes `skipped_overlap` |
//! | `kill-old` | starts | the running one is killed and becomes `cancelled`; the new one waits for its end, as in `replace` |
//! | `allow` | starts | starts; catch-up runs start one at a time |
//!
//! Runs of one job start in the order in which they are due. A run that waits is `queued`, and becomes
//! `running` when its place is free. Three kinds of run wait under every policy but `allow`, and are never
//! skipped: a retry, a catch-up run, and a run that a person asked for. They never replace or kill another
//! run.
//!
//! The limits of the group and of the server come after this: a run that may start by this table may still
//! wait for a place.
//!
//! Source: `ScheduleOverlapPolicy` of [Temporal](https://docs.temporal.io/schedule), `concurrencyPolicy` of
//! [Kubernetes](https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/).

use std::fmt;
use std::str::FromStr;

use super::text::{self, PolicyError};

/// The most runs of one job that wait for a place: a backlog that is longer than this does not end by itself.
pub const MAX_QUEUED_RUNS: u32 = 1_000;

/// Says what happens to a run that is due while another is in the way.
///
/// # Example
/// ```
/// use mainspring_job::Overlap;
///
/// assert_eq!("queue-all,cap=3".parse::<Overlap>()?, Overlap::QueueAll { cap: 3 });
/// assert_eq!(Overlap::default(), Overlap::Skip);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overlap {
    /// It is skipped.
    #[default]
    Skip,
    /// One waits, later ones are skipped.
    QueueOne,
    /// So many wait, from 1 to [`MAX_QUEUED_RUNS`].
    QueueAll {
        /// At most so many.
        cap: u32,
    },
    /// The newest waits.
    Replace,
    /// The newest waits, and the running one is killed.
    KillOld,
    /// It starts.
    Allow,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overlap::Skip => f.write_str("skip"),
            Overlap::QueueOne => f.write_str("queue-one"),
            Overlap::QueueAll { cap } => write!(f, "queue-all,cap={cap}"),
            Overlap::Replace => f.write_str("replace"),
            Overlap::KillOld => f.write_str("kill-old"),
            Overlap::Allow => f.write_str("allow"),
        }
    }
}

impl FromStr for Overlap {
    type Err = PolicyError;

    fn from_str(value: &str) -> Result<Overlap, PolicyError> {
        let (head, parts) = text::split("overlap", value)?;
        let mut overlap = match head {
            "skip" => Overlap::Skip,
            "queue-one" => Overlap::QueueOne,
            "queue-all" => Overlap::QueueAll { cap: 100 },
            "replace" => Overlap::Replace,
            "kill-old" => Overlap::KillOld,
            "allow" => Overlap::Allow,
            _ => {
                let known = "skip, queue-one, queue-all, replace, kill-old or allow";
                return Err(PolicyError::new("overlap", head, known));
            }
        };
        for (name, part) in parts {
            match (name, &mut overlap) {
                ("cap", Overlap::QueueAll { cap }) => {
                    *cap = text::number("cap of overlap", part, 1, MAX_QUEUED_RUNS)?;
                }
                _ => return Err(text::unknown_part("overlap", name, "cap, for queue-all")),
            }
        }
        Ok(overlap)
    }
}

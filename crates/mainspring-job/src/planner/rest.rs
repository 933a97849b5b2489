//! The rest of a job that is paused or absent, and which of its runs wait because of it.
//!
//! Cost: none.
//!
//! Does not know why a job rests: see [`jobs`](super::jobs).

use crate::run::{Cause, Run};

/// Whether a job rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Awake,
    Paused,
    /// Its source does not have it, and it may come back as it was.
    Absent,
}

impl Rest {
    /// Whether a run is not admitted now. A person who runs a paused job now wants that start: it is. A start
    /// at a later time, and a retry, obey the pause that there is then. No run of a job that is absent is
    /// admitted, except a one-shot, which has no job.
    pub(super) fn holds(self, run: &Run) -> bool {
        let is_wanted_now = match run.cause {
            Cause::Once => true,
            Cause::Request => run.attempt == 0 && !run.was_asked_for_later(),
            _ => false,
        };
        match self {
            Rest::Awake => false,
            Rest::Paused => !is_wanted_now,
            Rest::Absent => run.cause != Cause::Once,
        }
    }
}

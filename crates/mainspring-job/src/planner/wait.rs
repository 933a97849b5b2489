//! Waits: when a scheduled run is looked at.
//!
//! | it waits for | its due time is | after the clock was set back |
//! |---|---|---|
//! | its jitter | a time on the clock: its nominal time and a part of `jitter` | it waits for that time |
//! | its delay within `spread`, as a catch-up run | a length of time after it was planned | it waits for no longer than that |
//! | its back-off, before a retry | a length of time after the attempt before | the same |
//! | what its handler asked for | a length of time after its attempt | the same, from the attempt's start |
//! | nothing: a dead letter that is to be tried again | when a person asked | it does not wait |
//!
//! Otherwise a wait that was measured by a clock that was ahead would end only when the clock shows that time
//! again, perhaps in a year. Catch-up runs wake in the order of their nominal times, also if a step back
//! shortens one wait more than another. The run's original due time stays on disk, so that a restart finds
//! the same.

use jiff::Timestamp;

use crate::reason::Reason;
use crate::run::{Cause, Run};

/// When a scheduled run's wait is over, as far as is known at `now`.
pub(super) fn end(run: &Run, now: Timestamp) -> Timestamp {
    let began = match (run.attempt, run.cause) {
        (0, Cause::CatchUp) => run.planned,
        (0, _) => return run.due,
        _ if run.reason == Some(Reason::PutOff) => match run.started {
            Some(started) if started <= run.due => started,
            _ => return run.due,
        },
        (attempt, _) if attempt == run.forgiven => run.due,
        _ => run.ended.unwrap_or(run.due),
    };
    if began <= now {
        return run.due;
    }
    let length = run.due.duration_since(began);
    now.saturating_add(length).unwrap_or(run.due).min(run.due)
}

/// Whether a run is a catch-up run that has not had its turn yet. Such runs of one job wake in the order of
/// their nominal times.
pub(super) fn is_in_line(run: &Run) -> bool {
    run.cause == Cause::CatchUp && run.attempt == 0
}

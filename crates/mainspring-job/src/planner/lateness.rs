//! Lateness: what may still start now.
//!
//! A run may have been planned long ago when it could start: there was no server, its job was paused, or
//! others were in its way. Whatever it waited for, this is asked when its time has come and again when it
//! starts.
//!
//! | cause | its first attempt waited for its time | for its turn, or for its next attempt |
//! |---|---|---|
//! | trigger, catch-up, boot, after | missed beyond `window` and `grace`; with `none` beyond `grace` | missed beyond `window` and `grace` |
//! | once | missed beyond `grace` with `none`; else it starts | starts |
//! | request, backfill | starts | starts |
//! | any, as a dead letter that is tried again | starts | starts |
//!
//! The time is that in `due`: with jitter, spread or back-off. The turn is that in its job, in its group and
//! in the server; a pause and a probation of others hold it too. `none` says what no server planned in time,
//! so it does not judge a wait that the overlap policy, a group or a retry policy asks for: that has the
//! window.
//!
//! What starts however late is what a person asked for.
//!
//! Cost: some comparisons.
//!
//! Does not judge what is not planned yet: see `occurrence`.

use std::time::Duration;

use jiff::Timestamp;

use crate::policy::{CatchUp, Misfire};
use crate::run::{Cause, Run};
use crate::state::RunState;

/// Whether a run that is scheduled, and whose time has come, or that is queued, and whose turn has come, may
/// still start.
pub(super) fn may_start(run: &Run, misfire: &Misfire, now: Timestamp) -> bool {
    let late = Duration::try_from(now.duration_since(run.due)).unwrap_or_default();
    patience(run, misfire).is_none_or(|most| late <= most)
}

/// How late it may start. `None`: however late.
fn patience(run: &Run, misfire: &Misfire) -> Option<Duration> {
    let waited_for_time = run.state == RunState::Scheduled && run.attempt == 0;
    let is_tried_again = 0 < run.attempt && run.attempt == run.forgiven;
    let catches_none = misfire.catch_up == CatchUp::None;
    match run.cause {
        Cause::Request | Cause::Backfill => None,
        Cause::Once => (waited_for_time && catches_none).then_some(misfire.grace),
        Cause::Trigger | Cause::CatchUp | Cause::Boot | Cause::After => match waited_for_time {
            _ if is_tried_again => None,
            true if catches_none => Some(misfire.grace),
            _ => Some(misfire.window.max(misfire.grace)),
        },
    }
}

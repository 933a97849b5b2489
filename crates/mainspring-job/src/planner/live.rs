//! The planner's state of an open run, beside what is on disk.
//!
//! Cost: each field is there once for each open run.
//!
//! Does not decide: the planner and its parts do.

use std::sync::Arc;

use super::ledger::Position;
use super::schedule_queue::Entry;
use crate::reason::Reason;
use crate::run::{Cause, Run};
use crate::work::Work;
use crate::worker::{Needs, WorkerId};

/// An open run.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) run: Run,
    pub(super) work: Arc<Work>,
    /// The worker that it is for, if it is one of those that each worker has. Changed only where it is in no
    /// queue.
    pub(super) target: Option<WorkerId>,
    /// Why its end is asked for, if it is.
    pub(super) kill_reason: Option<Reason>,
    /// What it needs of its worker, while it is in line for a slot.
    pub(super) needs: Option<Needs>,
    /// Whether it runs since before this planner, which does not know then whether its end was asked for.
    pub(super) is_resumed: bool,
    /// Its entry in the schedule queue, while it is scheduled.
    pub(super) wakes: Option<Entry>,
    /// The turn in which it was admitted.
    pub(super) admitted: u64,
    /// Its first record, until the store has said that it is new. Until then nothing makes way for it, and it
    /// is in the schedule queue.
    pub(super) unconfirmed: Option<Position>,
    /// The record that says that it is queued, as long as it may be changed.
    pub(super) open: Option<Position>,
}

impl Live {
    /// A run that is neither in the schedule queue nor in an admission queue yet.
    pub(super) fn new(run: Run, work: Arc<Work>) -> Live {
        Live {
            target: target(&run, &work),
            run,
            work,
            kill_reason: None,
            needs: None,
            is_resumed: false,
            wakes: None,
            admitted: 0,
            unconfirmed: None,
            open: None,
        }
    }
}

/// Says for which worker a run is that waits: where its job has one for each worker, its record names it.
pub(super) fn target(run: &Run, work: &Work) -> Option<WorkerId> {
    run.worker.filter(|_| work.policies.on.is_each() && run.cause != Cause::Once)
}

//! The near one-shot jobs: read ahead of time, and fired when they are due.
//!
//! Cost: O(log n) for each; a page of the store at a time.
//!
//! Does not know which of them are in memory: see [`window`](super::window).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Live, Phase, Planner};
use crate::once::Once;
use crate::operation::Operation;
use crate::output::Output;
use crate::policy::CatchUp;
use crate::reason::Reason;
use crate::state::RunState;

impl Planner {
    /// Asks for the next page if it is time.
    pub(super) fn request_load(&mut self, now: Timestamp) {
        let is_time = self.near.next_load(&self.limits).is_some_and(|at| at <= now);
        if self.phase == Phase::Restoring || !is_time {
            return;
        }
        let up_to = now.saturating_add(self.near.window).unwrap_or(Timestamp::MAX);
        self.near.loading = Some(up_to);
        let (after, limit) = (self.near.cursor, self.limits.page);
        self.ledger.perform(Output::Load { after, up_to, limit });
    }

    pub(super) fn fire_near(&mut self, now: Timestamp) {
        for _ in 0..self.limits.per_turn {
            if !self.has_room() || self.ledger.is_full() {
                return;
            }
            let Some(once) = self.near.pop_due(now) else { return };
            self.fire(now, &once);
            self.ledger.end_unit();
        }
    }

    fn fire(&mut self, now: Timestamp, once: &Once) {
        let mut run = once.run(RunState::Scheduled, once.id.due, now);
        let misfire = &once.work.policies.misfire;
        let late = Duration::try_from(now.duration_since(once.id.due)).unwrap_or_default();
        let is_expired = misfire.catch_up == CatchUp::None && misfire.grace < late;
        if self.is_open(&run.key) {
            // A job of that name came later and ran at the very same time: the store will say so and drop the pending one.
            run.state = RunState::Missed;
            self.ledger.record(Operation::Fire { id: once.id, run });
            return;
        }
        self.near.firing = Some((run.key.clone(), once.id));
        let live = Live {
            run,
            work: Arc::clone(&once.work),
            kill_reason: None,
            wakes: Timestamp::MIN,
            admitted: 0,
            open: None,
        };
        if is_expired {
            self.end_unstarted(now, live, false, RunState::Missed, Reason::PastGrace);
        } else {
            self.admit(now, live, false);
        }
        assert!(self.near.firing.is_none(), "a one-shot job that fires is recorded");
    }
}

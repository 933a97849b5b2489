//! The near one-shot jobs. Their ids are read ahead of time; the jobs are read when they are due, and then
//! they fire.
//!
//! With [`Limits::lead`](crate::Limits::lead) they are read that much earlier. One that nothing stands in the
//! way of fires then, with the record that it would have at its due time, and the executor waits for that
//! time. One that has a group, or finds no slot, fires when it is due.
//!
//! One that is due when it is submitted is read from nowhere, unless many wait before it. Nothing can have
//! its place if it has neither a key nor a name: then it fires with its submission, one commit earlier. Else
//! it fires when that is on disk.
//!
//! Cost: O(log n) for each; one read of the store for a portion of those that are due, `per_turn` of them.
//!
//! Does not know which of them are near: see `lookahead`.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Live, Planner};
use crate::name::JobName;
use crate::once::Once;
use crate::operation::Operation;
use crate::output::Output;
use crate::state::RunState;

impl Planner {
    /// Asks for the next ids if it is time.
    pub(super) fn request_ids(&mut self, now: Timestamp) {
        let is_time = self.lookahead.next_scan(&self.limits).is_some_and(|at| at <= now);
        if !self.activity.is_planning() || !is_time {
            return;
        }
        let (after, up_to) = self.lookahead.begin_scan(now);
        self.ledger.perform(Output::LoadIds { after, up_to, limit: self.limits.page });
    }

    /// Asks for the first jobs that are due. They are read after all that was recorded before is on disk, so
    /// that what has fired is not found again.
    pub(super) fn request_portion(&mut self, now: Timestamp) {
        let may_fire = self.activity.is_planning() && !self.activity.starts_nothing() && self.has_room();
        let up_to = self.ahead_of(now);
        if may_fire && self.lookahead.begin_read(up_to, self.limits.per_turn) {
            self.ledger.perform(Output::Load { up_to, limit: self.limits.per_turn });
        }
    }

    /// Jobs that are due were read.
    pub(super) fn loaded(&mut self, now: Timestamp) {
        if !self.activity.starts_nothing() {
            self.fire_from_lookahead(now);
        }
    }

    /// Fires what was read.
    pub(super) fn fire_from_lookahead(&mut self, now: Timestamp) {
        for _ in 0..self.limits.per_turn {
            if !self.has_room() || self.ledger.is_full() {
                return;
            }
            let Some(once) = self.lookahead.first_due(self.ahead_of(now)) else { break };
            let due = once.id.due;
            if now < due && !self.runs.would_start(once) {
                self.lookahead.keep_to_time(due);
                self.lookahead.tell(now);
                break;
            }
            let Some(once) = self.lookahead.pop() else { break };
            self.fire(now.max(due), &once);
            self.ledger.end_unit();
        }
    }

    /// A submission is on disk. What is due by now stays in memory until it fires, with the next tick; of all
    /// else the id does, if it is near.
    pub(super) fn submitted(&mut self, now: Timestamp, once: Once) {
        if once.id.due <= now {
            self.lookahead.arrive(once, &self.limits);
        } else {
            self.lookahead.submitted(once.id, &self.limits);
        }
    }

    /// Whether one that is submitted now fires with its submission: it is due, and none waits before it. What
    /// would fire with the next tick does now.
    pub(super) fn fires_at_once(&mut self, now: Timestamp, due: Timestamp) -> bool {
        if now < due || self.activity.starts_nothing() {
            return false;
        }
        if self.lookahead.has_arrived() {
            self.fire_from_lookahead(now);
        }
        self.has_room() && self.lookahead.has_fired_all(now)
    }

    /// Asks of batches that are waited for whether a one-shot job is pending.
    pub(super) fn check_batches(&mut self) {
        for batch in self.runs.batches.take_questions() {
            self.ledger.perform(Output::CheckBatch { batch });
        }
    }

    /// The store said so of a batch.
    pub(super) fn batch_checked(&mut self, batch: &JobName, is_pending: Option<bool>) {
        for run in self.runs.batches.answer(batch, is_pending) {
            self.promote(&run.job);
        }
    }

    /// Up to which due time one-shot jobs may fire now.
    pub(super) fn ahead_of(&self, now: Timestamp) -> Timestamp {
        self.lookahead.ahead_of(now, self.limits.lead)
    }

    /// The time of a start that is decided now: that at which its run is due, if it fired ahead of it.
    pub(super) fn no_earlier(&self, now: Timestamp, due: Timestamp) -> Timestamp {
        let ahead = now.saturating_add(self.limits.lead).unwrap_or(Timestamp::MAX);
        if due <= ahead { now.max(due) } else { now }
    }

    pub(super) fn fire(&mut self, now: Timestamp, once: &Once) {
        let mut run = once.run(RunState::Scheduled, once.id.due, now);
        if let Some(batch) = &once.work.policies.batch {
            self.runs.batches.change(batch);
        }
        if self.runs.is_open(&run.key) {
            // A job of that name came later and ran at the very same time: the store will say so and drop the
            // pending one.
            run.state = RunState::Missed;
            self.ledger.record(Operation::Fire { id: once.id, run });
            return;
        }
        self.lookahead.begin_firing(run.key.clone(), once.id);
        let live = Live::new(run, Arc::clone(&once.work));
        self.admit_new(now, live);
        assert!(!self.lookahead.is_firing(), "a one-shot job that fires is recorded");
    }
}

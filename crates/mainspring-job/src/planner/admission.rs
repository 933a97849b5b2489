//! Admission: a run that is due waits in the queue of its job, is admitted, or ends without having run.
//!
//! Cost: O(log n) for each run that is open at its job.
//!
//! Does not start anything: an admitted run is in line for a slot.

use jiff::Timestamp;

use super::lateness::may_start;
use super::open_runs::{Lane, lane};
use super::{Live, Planner};
use crate::name::JobName;
use crate::operation::Operation;
use crate::output::{Note, Output};
use crate::policy::Overlap;
use crate::reason::Reason;
use crate::run::{Cause, RunKey};
use crate::state::RunState;

/// How a run that is due ends at once, by the rules, and why. `None`: it waits for its turn, if only for a
/// moment.
type Verdict = Option<(RunState, Reason)>;

impl Planner {
    /// A run is due: it waits or ends here. It is in no line, and its record, if it has one, says
    /// `scheduled`. The best of those that wait start when all that is due now has been admitted: see `fill`.
    pub(super) fn admit(&mut self, now: Timestamp, mut live: Live, is_recorded: bool) {
        if self.runs.is_undecided(&live) {
            // The next turn admits it.
            if !is_recorded {
                self.record_run(live.run.clone());
            }
            return self.runs.postpone(live);
        }
        if let Some((state, reason)) = self.verdict(now, &live) {
            return self.end_unstarted(now, live, is_recorded, state, reason);
        }
        self.record_queued(now, &mut live, is_recorded);
        let job = live.run.key.job.clone();
        self.runs.queue(live);
        self.promote(&job);
    }

    fn verdict(&mut self, now: Timestamp, live: &Live) -> Verdict {
        let run = &live.run;
        if !may_start(run, &live.work.policies.misfire, now) {
            let reason = if run.cause == Cause::Once { Reason::PastGrace } else { Reason::Stale };
            return Some((RunState::Missed, reason));
        }
        let is_kept = run.cause.is_kept() || 0 < run.attempt;
        let is_resting = self.jobs.rest(&run.key.job).holds(run);
        // The start of a server is over when everything is resumed.
        let is_left_out = run.cause == Cause::Boot && self.activity.starts_nothing();
        if is_left_out || is_resting && !is_kept {
            return Some((RunState::SkippedPaused, Reason::Paused));
        }
        let lane = lane(live);
        let is_free = is_kept || self.runs.is_clear(&lane);
        if is_free { None } else { self.blocked(now, &lane, live.work.policies.overlap) }
    }

    /// The right column of the table in `policy/overlap.rs`.
    fn blocked(&mut self, now: Timestamp, lane: &Lane, overlap: Overlap) -> Verdict {
        let skipped = Some((RunState::SkippedOverlap, self.in_the_way(lane)));
        let queued = self.runs.queued(lane);
        match overlap {
            Overlap::Skip => skipped,
            Overlap::QueueOne if !queued.is_empty() => skipped,
            Overlap::QueueAll { cap } if usize::try_from(cap).unwrap_or(usize::MAX) <= queued.len() => {
                skipped
            }
            Overlap::QueueOne | Overlap::QueueAll { .. } | Overlap::Allow => None,
            Overlap::Replace | Overlap::KillOld => {
                self.make_way(now, lane, overlap);
                if overlap == Overlap::KillOld {
                    self.kill_running(lane);
                }
                None
            }
        }
    }

    /// What is in the way of the next run in a lane.
    fn in_the_way(&self, lane: &Lane) -> Reason {
        let runs = || self.runs.in_the_way(lane).map(|live| &live.run);
        if runs().any(|run| run.state == RunState::Running) {
            Reason::EarlierRunning
        } else if runs().any(|run| 0 < self.crashes(run)) {
            Reason::EarlierQuarantined
        } else {
            Reason::EarlierWaiting
        }
    }

    /// Drops what waits, where the rule lets the next one take its slot: that one is on record as new. Each
    /// is a unit of its own.
    fn make_way(&mut self, now: Timestamp, lane: &Lane, overlap: Overlap) {
        if !matches!(overlap, Overlap::Replace | Overlap::KillOld) {
            return;
        }
        for key in self.runs.queued(lane) {
            let is_replaced = |live: &Live| !live.run.cause.is_kept() && live.run.attempt == 0;
            if self.runs.get(&key).is_some_and(is_replaced) {
                self.ledger.end_unit();
                let live = self.leave(&key);
                self.end_unstarted(now, live, true, RunState::SkippedOverlap, Reason::Replaced);
                self.ledger.end_unit();
            }
        }
    }

    fn kill_running(&mut self, lane: &Lane) {
        for key in self.runs.active(lane) {
            self.kill(&key, Reason::Replaced);
        }
    }

    /// Takes an open run out of everything but the store.
    pub(super) fn leave(&mut self, key: &RunKey) -> Live {
        self.release_run(key);
        self.runs.leave(key, &mut self.schedule_queue)
    }

    /// A job is paused: what is admitted and has not started waits again.
    pub(super) fn hold(&mut self, job: &JobName) {
        self.runs.hold(job, self.jobs.rest(job));
    }

    /// Admits runs of a job as far as its policy allows.
    pub(super) fn promote(&mut self, job: &JobName) {
        self.runs.promote(job, self.jobs.rest(job));
    }

    /// Records the end of a run that never started, or not again.
    pub(super) fn end_unstarted(
        &mut self,
        now: Timestamp,
        live: Live,
        is_recorded: bool,
        state: RunState,
        reason: Reason,
    ) {
        let mut run = live.run;
        let (key, due) = (run.key.clone(), run.due);
        let was_counted = self.uncount(&run);
        if is_recorded {
            let (from, reason) = (run.state, Some(reason.clone()));
            self.ledger.record(Operation::Move { key: key.clone(), from, to: state, due, at: now, reason });
            if was_counted {
                self.keep_mark(&key.job);
                self.expect(&key.job);
            }
        } else {
            (run.state, run.ended, run.reason) = (state, Some(now), Some(reason.clone()));
            self.record_run(run);
        }
        match state {
            RunState::SkippedOverlap => {
                let note = Note::Skipped { key: key.clone(), reason };
                self.ledger.perform(Output::Note(note));
            }
            RunState::Missed => {
                self.tell_of_missed(now, &key, 1, &reason);
                let note = Note::Missed { key: key.clone(), count: 1, reason };
                self.ledger.perform(Output::Note(note));
            }
            _ => (),
        }
        self.pruning.count_ended(&key.job);
    }
}

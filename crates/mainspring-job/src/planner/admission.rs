//! Admission: a run that is due waits in the queue of its job, is admitted, or ends without having run.
//!
//! Cost: O(log n) for each run that is open at its job.
//!
//! Does not start anything: an admitted run is in line for a slot.

use jiff::Timestamp;

use super::lateness::may_start;
use super::ledger::Subject;
use super::open_runs::{Lane, lane};
use super::{Live, Planner};
use crate::name::JobName;
use crate::operation::Operation;
use crate::output::{Note, Output};
use crate::policy::Overlap;
use crate::reason::Reason;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

/// How a run that is due ends at once, by the rules, and why. `None`: it waits for its turn, if only for a
/// moment.
type Verdict = Option<(RunState, Reason)>;

impl Planner {
    /// A run is due: it waits or ends here. It is in no line, and its record says `scheduled`. The best of
    /// those that wait start when all that is due now has been admitted: see `fill`.
    pub(super) fn admit(&mut self, now: Timestamp, mut live: Live) {
        debug_assert!(live.wakes.is_none(), "a run that is due is on the schedule no more");
        debug_assert_ne!(live.run.state, RunState::Running, "what is admitted has not started");
        if self.runs.is_undecided(&live) {
            // The next turn admits it.
            return self.runs.postpone(live);
        }
        if let Some((state, reason)) = self.verdict(now, &live) {
            return self.end_unstarted(now, &live, state, reason);
        }
        let (key, due, to) = (live.run.key.clone(), live.run.due, RunState::Queued);
        let from = std::mem::replace(&mut live.run.state, to);
        // It may start before this is written, which then says so.
        live.open = (from != to).then(|| {
            let reason = live.run.lasting_reason();
            let operation = Operation::Move { key: key.clone(), from, to, due, at: now, reason };
            self.ledger.record_for(operation, Subject::Run(key))
        });
        self.queue(live);
    }

    /// The same for a run that is not on record: its first record says what became of it.
    pub(super) fn admit_new(&mut self, now: Timestamp, mut live: Live) {
        debug_assert_eq!(live.run.state, RunState::Scheduled, "a new run begins as scheduled");
        debug_assert!(live.open.is_none(), "a new run has no record");
        if self.runs.is_undecided(&live) {
            self.record_run(live.run.clone());
            return self.runs.postpone(live);
        }
        if let Some((state, reason)) = self.verdict(now, &live) {
            self.uncount(&live.run);
            let run = Run { state, ended: Some(now), reason: Some(reason.clone()), ..live.run };
            self.record_run(run.clone());
            return self.tell_of_unstarted(now, &run, state, reason);
        }
        live.run.state = RunState::Queued;
        live.open = Some(self.record_run(live.run.clone()));
        self.queue(live);
    }

    fn queue(&mut self, live: Live) {
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
                self.make_way(now, lane);
                if overlap == Overlap::KillOld {
                    for key in self.runs.active(lane) {
                        self.kill(&key, Reason::Replaced);
                    }
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
    fn make_way(&mut self, now: Timestamp, lane: &Lane) {
        for key in self.runs.queued(lane) {
            let is_replaced = |live: &Live| !live.run.cause.is_kept() && live.run.attempt == 0;
            if self.runs.get(&key).is_some_and(is_replaced) {
                self.ledger.end_unit();
                let live = self.leave(&key);
                self.end_unstarted(now, &live, RunState::SkippedOverlap, Reason::Replaced);
                self.ledger.end_unit();
            }
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

    /// Records the end of a run that never started, or not again, and has a record.
    pub(super) fn end_unstarted(&mut self, now: Timestamp, live: &Live, state: RunState, reason: Reason) {
        debug_assert_ne!(live.run.state, RunState::Running, "what has not started does not run");
        debug_assert!(!state.is_open(), "{state} is an end");
        self.move_run(now, live, state, live.run.due, Some(reason.clone()));
        let key = &live.run.key;
        if self.uncount(&live.run) {
            self.keep_mark(&key.job);
            self.expect(&key.job);
        }
        self.tell_of_unstarted(now, &live.run, state, reason);
    }

    fn tell_of_unstarted(&mut self, now: Timestamp, run: &Run, state: RunState, reason: Reason) {
        let key = &run.key;
        match state {
            RunState::SkippedOverlap => {
                self.ledger.perform(Output::Note(Note::Skipped { key: key.clone(), reason }));
            }
            RunState::Missed => {
                // A job of its name that came later is not concerned.
                if run.cause != Cause::Once {
                    self.tell_of_missed(now, self.hooks(&key.job), key, 1, &reason);
                }
                self.ledger.perform(Output::Note(Note::Missed { key: key.clone(), count: 1, reason }));
            }
            _ => (),
        }
        self.pruning.count_ended(&key.job);
    }
}

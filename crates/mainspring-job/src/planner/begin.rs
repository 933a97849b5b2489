//! Records of runs, and the start of an attempt: first the record, then the effect that waits for it.

use std::sync::Arc;

use jiff::Timestamp;

use super::agenda::Item;
use super::ledger::{Otherwise, Place, Subject};
use super::{Live, Planner, wait};
use crate::once::OnceId;
use crate::operation::{Answer, Operation};
use crate::output::{Note, Output, Start};
use crate::reason::Reason;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

impl Planner {
    /// Starts as many of those that wait as have a place, the best first.
    pub(super) fn fill(&mut self, now: Timestamp) {
        while !self.rests()
            && let Some(key) = self.places.best(|key| self.is_barred(&self.runs[key].run))
        {
            let live = self.runs.remove(&key).expect("who is in line is open");
            self.ledger.end_unit();
            self.start(now, live);
            self.ledger.end_unit();
        }
    }

    /// Records a new run, however it came about.
    pub(super) fn record_run(&mut self, run: Run) -> Place {
        let key = run.key.clone();
        let operation = match self.near.take_fired(&key) {
            Some(id) => Operation::Fire { id, run },
            None => Operation::Plan(run),
        };
        self.ledger.record_for(operation, Subject::Run(key))
    }

    /// A new run, or one that waited, is due later.
    pub(super) fn schedule(&mut self, now: Timestamp, mut live: Live) {
        assert_eq!(live.run.state, RunState::Scheduled, "only scheduled runs are on the agenda");
        let key = live.run.key.clone();
        let mut at = wait::end(&live.run, now);
        if let Some(before) = self.before_in_line(&live.run).and_then(|before| before.wakes) {
            at = at.max(before.at);
        }
        live.wakes = Some(self.agenda.add(at, Item::Run(key.clone())));
        self.runs.insert(key, live);
    }

    /// A run is due and waits for its place; it may start before this is written, which then says so.
    pub(super) fn record_queued(&mut self, now: Timestamp, live: &mut Live, is_recorded: bool) {
        let from = live.run.state;
        live.run.state = RunState::Queued;
        let (key, due) = (live.run.key.clone(), live.run.due);
        live.open = if !is_recorded {
            Some(self.record_run(live.run.clone()))
        } else if from != RunState::Queued {
            let (to, reason) = (RunState::Queued, None);
            let operation = Operation::Move { key: key.clone(), from, to, due, at: now, reason };
            Some(self.ledger.record_for(operation, Subject::Run(key)))
        } else {
            None
        };
    }

    /// Starts the next attempt of a run that is past its gate and has a place.
    pub(super) fn start(&mut self, now: Timestamp, mut live: Live) {
        // While the run is still queued, so that it is found in the line for a place.
        self.places.take(&live);
        let run = &mut live.run;
        run.state = RunState::Running;
        run.attempt += 1;
        (run.started, run.ended, run.outcome) = (Some(now), None, None);
        let place = self.record_start(now, &mut live);
        self.begin_probation(&live.run, place);
        let (key, attempt) = (live.run.key.clone(), live.run.attempt);
        let work = Arc::clone(&live.work);
        let start = Start { key: key.clone(), attempt, cause: live.run.cause, due: live.run.due, work };
        self.ledger.perform_if_new(place, Output::Start(start), Otherwise::Nothing);
        self.runs.insert(key, live);
    }

    /// The record of a start: that of its wait, if it is not taken yet, else one of its own.
    fn record_start(&mut self, now: Timestamp, live: &mut Live) -> Place {
        let (key, attempt) = (live.run.key.clone(), live.run.attempt);
        let begin = Operation::Begin { key: key.clone(), attempt, at: now };
        if let Some(place) = live.open.take()
            && let Some(operation) = self.ledger.open(place)
        {
            match operation {
                Operation::Plan(run) | Operation::Fire { run, .. } => run.clone_from(&live.run),
                moved => *moved = begin,
            }
            return place;
        }
        self.ledger.record_for(begin, Subject::Run(key))
    }

    /// Asks for the end of a running attempt, once.
    pub(super) fn kill(&mut self, key: &RunKey, reason: Reason) {
        let Some(live) = self.runs.get_mut(key) else { return };
        if live.run.state != RunState::Running || live.kill_reason.is_some() {
            return;
        }
        live.kill_reason = Some(reason);
        let kill = live.work.policies.timeout.kill;
        self.ledger.perform(Output::Kill { key: key.clone(), attempt: live.run.attempt, kill });
    }

    /// What the store found.
    pub(super) fn committed(
        &mut self,
        now: Timestamp,
        number: u64,
        answers: &[Answer],
        outputs: &mut Vec<Output>,
    ) {
        for (place, subject, answer) in self.ledger.committed(number, answers, outputs) {
            match (subject, answer) {
                (Subject::Submitted(id), Answer::New) => self.near.submitted(id, &self.limits),
                (Subject::Withdrawn(id), _) => self.near.withdraw(id),
                (Subject::Revived(run), Answer::New) => self.revive(now, *run),
                (Subject::Run(key), Answer::Duplicate(_) | Answer::Gone | Answer::Missing) => {
                    self.refused(&key);
                }
                (Subject::Run(key), Answer::New) => self.time_probation(now, &key, place),
                (Subject::Submitted(_) | Subject::Revived(_), _) => (),
            }
        }
    }

    /// The store knew a run already, or did not know what it should: it is not started, and not ours.
    fn refused(&mut self, key: &RunKey) {
        if let Some(live) = self.runs.get(key) {
            if let Some(entry) = live.wakes {
                self.agenda.cancel(entry);
            }
            let live = self.leave(key);
            let was_begun = u32::from(live.run.state == RunState::Running);
            let unstarted = Run { attempt: live.run.attempt - was_begun, ..live.run };
            if self.uncount(&unstarted) {
                self.keep_mark(&key.job);
                self.expect(&key.job);
            }
            self.promote(&key.job);
        }
        self.ledger.perform(Output::Note(Note::Refused(key.clone())));
    }

    /// A dead letter is open again, and due when its record says.
    fn revive(&mut self, now: Timestamp, mut run: Run) {
        run.forgiven = run.attempt;
        run.state = RunState::Scheduled;
        let Some(work) = self.work_of(&run) else {
            // Its job was removed while the revival was being written.
            return self.end_orphan(run.due, &run);
        };
        if !self.runs.contains_key(&run.key) {
            self.schedule(now, Live { run, work, kill_reason: None, wakes: None, admitted: 0, open: None });
        }
    }

    /// What a run does: its own work, or that of its job's definition.
    pub(super) fn work_of(&self, run: &Run) -> Option<Arc<crate::work::Work>> {
        let defined = || self.jobs.get(&run.key.job)?.job.as_ref().map(|job| Arc::clone(&job.work));
        if run.cause == Cause::Once { run.work.clone() } else { defined().or_else(|| run.work.clone()) }
    }

    /// The id of a new one-shot job.
    pub(super) fn new_id(&mut self, due: Timestamp) -> OnceId {
        self.next_number += 1;
        OnceId { due, number: self.next_number }
    }
}

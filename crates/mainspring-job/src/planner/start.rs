//! Records of runs, and the start of an attempt: first the record, then the effect that waits for it.
//!
//! Cost: O(log n) for each.
//!
//! Does not decide which runs are in line: see `admission`.

use std::sync::Arc;

use jiff::Timestamp;

use super::lateness::may_start;
use super::ledger::{Fallback, KeyedRequest, Ledger, Position, Subject, SubjectAnswer};
use super::{Live, Planner, numbers};
use crate::operation::{Answer, Operation};
use crate::output::{Note, Output, Start};
use crate::reason::Reason;
use crate::refusal::Refusal;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::work::Work;

impl Planner {
    /// Starts as many of those that wait as have a slot, the best first. What is too late by then is missed.
    pub(super) fn fill(&mut self, now: Timestamp) {
        while !self.activity.starts_nothing()
            && let Some(key) = self.runs.best(|run| self.is_barred(run))
        {
            self.ledger.end_unit();
            if self.runs.get(&key).is_some_and(|it| may_start(&it.run, &it.work.policies.misfire, now)) {
                self.start(now, &key);
            } else {
                let live = self.leave(&key);
                self.end_unstarted(now, &live, RunState::Missed, Reason::Stale);
                self.promote(&key.job);
            }
            self.ledger.end_unit();
        }
    }

    /// Records a new run, however it came about.
    pub(super) fn record_run(&mut self, run: Run) -> Position {
        let key = run.key.clone();
        let is_numbered = numbers::names(run.cause);
        let subject =
            if is_numbered { Subject::Numbered(Box::new(run.clone())) } else { Subject::Run(key.clone()) };
        let operation = match self.lookahead.take_fired(&key) {
            Some(id) => Operation::Fire { id, run },
            None => Operation::Plan(run),
        };
        self.ledger.record_for(operation, subject)
    }

    /// A new run, or one that waited, is due later.
    pub(super) fn schedule(&mut self, now: Timestamp, live: Live) {
        self.runs.schedule(now, live, &mut self.schedule_queue);
    }

    /// Starts the next attempt of a run that is admitted and has a slot.
    fn start(&mut self, now: Timestamp, key: &RunKey) {
        let due = self.runs.get(key).map_or(now, |live| live.run.due);
        let at = self.no_earlier(now, due);
        let live = self.runs.begin_attempt(key, at);
        let position = record_start(&mut self.ledger, at, live);
        let (attempt, cause) = (live.run.attempt, live.run.cause);
        let (not_before, work) = (Some(at).filter(|at| now < *at), Arc::clone(&live.work));
        let worker = live.run.worker.expect("what starts is at a worker");
        // The batch that it is in says its fence.
        let fence = 0;
        let start = Start { key: key.clone(), attempt, worker, cause, due, not_before, work, fence };
        let crashes = match cause {
            Cause::Once => live.run.crashes,
            _ => self.jobs.crashes(&key.job),
        };
        self.quarantine.begin_probation(key, crashes, position);
        self.ledger.perform_if_new(position, Output::Start(start), Fallback::Nothing);
        self.tell_of_start(now, at, key);
    }

    /// Asks for the end of a running attempt, once.
    pub(super) fn kill(&mut self, key: &RunKey, reason: Reason) {
        if let Some((attempt, worker, kill)) = self.runs.kill(key, reason) {
            self.ledger.perform(Output::Kill { key: key.clone(), attempt, worker, kill });
        }
    }

    /// What the store found.
    pub(super) fn committed(
        &mut self,
        now: Timestamp,
        number: u64,
        answers: &[Answer],
        outputs: &mut Vec<Output>,
    ) {
        for SubjectAnswer { position, subject, answer, ticket } in
            self.ledger.committed(number, answers, outputs)
        {
            let subject = match subject {
                Subject::Numbered(run) if matches!(answer, Answer::Duplicate(_)) => {
                    self.name_anew(now, *run, ticket);
                    continue;
                }
                Subject::Numbered(run) => Subject::Run(run.key),
                subject => subject,
            };
            match (subject, answer) {
                (Subject::Submitted(once), Answer::New) => self.submitted(now, *once),
                (Subject::Withdrawn(id), _) => {
                    self.lookahead.withdraw(id);
                    self.runs.batches.change_all();
                }
                (Subject::Looked(whose), answer) => {
                    self.pruning.end_look();
                    if let (Some(name), Answer::Gone) = (whose, answer) {
                        self.drop_name(&name);
                    }
                }
                (Subject::Revived(run), Answer::New) => self.revive(now, *run),
                (Subject::Run(key), Answer::Duplicate(_) | Answer::Gone | Answer::Missing) => {
                    self.refused(&key);
                    // It is not recorded, so it is not run.
                    self.refuse(ticket, Refusal::NoSuchJob);
                }
                (Subject::Run(key), Answer::New) => {
                    self.runs.confirm(now, &key, position, &mut self.schedule_queue);
                    self.quarantine.recorded(&key, position, now);
                }
                (Subject::Submitted(_) | Subject::Revived(_) | Subject::Numbered(_), _) => (),
            }
        }
        for KeyedRequest { ticket, request, run, .. } in self.ledger.take_again() {
            self.numbers.leap(now, run.nominal);
            self.trigger(now, ticket, request);
        }
    }

    /// The store knew a run already, or did not know what it should: it is not started, and not ours.
    pub(super) fn refused(&mut self, key: &RunKey) {
        if self.runs.get(key).is_some() {
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
        (run.state, run.reason) = (RunState::Scheduled, Some(Reason::RetryRequested));
        let Some(work) = self.work_of(&run) else {
            // Its job was removed while the revival was being written.
            return self.end_orphan(run.due, &run);
        };
        if self.runs.get(&run.key).is_none() {
            let mut live = Live::new(run, work);
            // A person asked for it: where its worker is gone, at another.
            live.target = live.target.filter(|id| self.runs.slots.workers.has(*id));
            self.schedule(now, live);
        }
    }

    /// What a run does: its own work, or that of its job's definition, or of what an absent job was.
    pub(super) fn work_of(&self, run: &Run) -> Option<Arc<Work>> {
        let name = &run.key.job;
        let absent = || self.jobs.former(name).filter(|_| self.jobs.absence(name).is_some());
        let defined = || self.jobs.definition(name).or_else(absent).map(|job| Arc::clone(&job.work));
        if run.cause == Cause::Once { run.work.clone() } else { defined().or_else(|| run.work.clone()) }
    }
}

/// The record of a start: that of its wait, if it is not taken yet, else one of its own.
fn record_start(ledger: &mut Ledger, now: Timestamp, live: &mut Live) -> Position {
    let (key, attempt) = (live.run.key.clone(), live.run.attempt);
    let begin = Operation::Begin { key: key.clone(), attempt, at: now, worker: live.run.worker };
    if let Some(position) = live.open.take()
        && let Some(operation) = ledger.open(position)
    {
        match operation {
            Operation::Plan(run) | Operation::Fire { run, .. } => run.clone_from(&live.run),
            moved => *moved = begin,
        }
        return position;
    }
    ledger.record_for(begin, Subject::Run(key))
}

//! The end of an attempt: its record, then a retry, a dead letter, or nothing more.
//!
//! ```text
//!  Ended ─┬▶ returned: Move(queued), and it waits for its place again; put off: Move(scheduled, due = then)
//!         └▶ End(state) ─┬─▶ retry follows:  Move(scheduled, due = its end + wait)
//!                        ├─▶ attempts used up: Move(dead), if dead letters are kept
//!                        ├─▶ failed for good: Move(dead), unless dead letters are never kept
//!                        ├─▶ no retry: a run of each job that follows (follow), and what hooks want (hooks)
//!                        └─▶ count failures in a row; pause_after
//! ```
//!
//! Cost: O(log n) for each.
//!
//! An attempt ended when its worker saw it end, and not when the planner is told: see [`AttemptEnd::age`].
//!
//! Does not know how long an attempt took, nor what it printed.

use jiff::Timestamp;

use super::ledger::Subject;
use super::{Live, Planner};
use crate::hash::{Purpose, hash};
use crate::input::AttemptEnd;
use crate::operation::Operation;
use crate::outcome::{Failure, Outcome};
use crate::output::{Note, Output};
use crate::policy::DeadLetters;
use crate::reason::Reason;
use crate::record::Pause;
use crate::run::{Cause, Run};
use crate::state::RunState;

/// What becomes of an attempt.
pub(super) struct AttemptFate {
    pub(super) state: RunState,
    /// When it ended.
    pub(super) at: Timestamp,
    pub(super) outcome: Option<Outcome>,
    pub(super) reason: Option<Reason>,
    /// How many times in a row the server has died in it.
    pub(super) crashes: u32,
    /// Before when it is not to be tried again.
    pub(super) retry_at: Option<Timestamp>,
}

/// The number of a run's attempt, counted from the last time that it left the dead letters.
fn attempt_in_round(run: &Run) -> u32 {
    run.attempt - run.forgiven
}

impl Planner {
    pub(super) fn ended(&mut self, now: Timestamp, end: AttemptEnd) {
        let key = end.key.clone();
        let is_this = |live: &&Live| live.run.state == RunState::Running && live.run.attempt == end.attempt;
        if self.runs.get(&key).filter(is_this).is_some() {
            let live = self.leave(&key);
            self.conclude(now, live, end);
            self.promote(&key.job);
        }
    }

    /// The attempt of a run that has left is over.
    pub(super) fn conclude(&mut self, now: Timestamp, live: Live, end: AttemptEnd) {
        let AttemptEnd { outcome, age, retry_at, .. } = end;
        let (state, reason) = match (&outcome, live.kill_reason.clone()) {
            (Outcome::Succeeded, _) => (RunState::Succeeded, None),
            (_, Some(reason)) => (RunState::Cancelled, Some(reason)),
            (Outcome::TimedOut, None) => (RunState::TimedOut, None),
            // A worker kills what a planner asked it to: the one before this did.
            (Outcome::Killed, None) if live.is_resumed => (RunState::Cancelled, Some(Reason::Cancelled)),
            // The shell killed it in order to end: as if the server had died, but with the time of its end. A
            // worker of an older version says no more, beside whatever planner it ends.
            (Outcome::Killed, None) => (RunState::Abandoned, Some(Reason::ServerStopped)),
            (Outcome::CutOff(reason), None) => (RunState::Abandoned, Some(reason.clone())),
            (Outcome::Returned, None) if self.is_defined(&live.run) => {
                return self.take_back(now, live, retry_at);
            }
            (Outcome::Returned, None) => (RunState::Cancelled, Some(Reason::JobRemovedNoRetry)),
            (Outcome::Failed(_), None) => (RunState::Failed, None),
        };
        if live.run.cause != Cause::Once {
            self.clear_crashes(&live.run.key.job);
        }
        let at = now.checked_sub(age).unwrap_or(now);
        // The planner before may have had another clock.
        let at = live.run.started.map_or(at, |started| at.max(started)).min(now);
        let outcome = if let Outcome::CutOff(_) = outcome { Outcome::Killed } else { outcome };
        let end = AttemptFate { state, at, outcome: Some(outcome), reason, crashes: 0, retry_at };
        self.end_attempt(now, live, end);
    }

    /// A run that has not begun where it was to, or that its handler put off: it waits for its place again.
    /// One that was not put off keeps its turn.
    fn take_back(&mut self, now: Timestamp, mut live: Live, retry_at: Option<Timestamp>) {
        if let Some(work) = self.work_of(&live.run) {
            live.work = work;
        }
        let put_off_until = retry_at.filter(|until| now < *until);
        let (state, due, reason) = match put_off_until {
            Some(until) => (RunState::Scheduled, until, Reason::PutOff),
            None => (RunState::Queued, live.run.due, Reason::GivenBack),
        };
        let reason = live.run.lasting_reason().unwrap_or(reason);
        self.move_run(now, &live, state, due, Some(reason.clone()));
        live.run.forgiven = RunState::Running.forgives(state).of(live.run.attempt, live.run.forgiven);
        (live.run.state, live.run.due, live.run.reason) = (state, due, Some(reason));
        live.is_resumed = false;
        if !self.has_place(&live) {
            return self.end_unstarted(now, &live, RunState::Missed, Reason::WorkerGone);
        }
        if put_off_until.is_some() {
            let (key, attempt) = (live.run.key.clone(), live.run.attempt + 1);
            self.ledger.perform(Output::Note(Note::Retrying { key, attempt, due }));
            self.schedule(now, live);
        } else {
            self.runs.queue(live);
        }
    }

    /// Ends the attempt of a run that has left.
    pub(super) fn end_attempt(&mut self, now: Timestamp, mut live: Live, end: AttemptFate) {
        let AttemptFate { state, at, outcome, reason, crashes, retry_at } = end;
        (live.run.state, live.run.crashes, live.run.ended) = (state, crashes, Some(at));
        live.run.outcome.clone_from(&outcome);
        if let Some(work) = self.work_of(&live.run) {
            // A definition that changed meanwhile holds for the next attempt.
            live.work = work;
        }
        let is_removed = !self.is_defined(&live.run);
        let policies = &live.work.policies;
        let is_owed =
            policies.retry.follows(attempt_in_round(&live.run), state) || policies.keeps_dead(state);
        // Why it is not tried again, though its policy says so.
        let reason = reason.or_else(|| (is_removed && is_owed).then_some(Reason::JobRemovedNoRetry));
        self.ledger.record(Operation::End {
            key: live.run.key.clone(),
            attempt: live.run.attempt,
            state,
            at,
            outcome,
            crashes,
            reason,
        });
        if is_removed {
            self.note_failure(&live.run, state);
            self.jobs.note_result(&live.run.key.job, state, at);
            // Nothing can be asked for in its name any more, not even another try.
            self.follow(now, &live.run, state);
            return self.pruning.count_ended(&live.run.key.job);
        }
        self.after_attempt(now, at, live, retry_at);
    }

    /// Whether a run's job has not been removed; one that is absent may come back. A one-shot job is its own
    /// definition.
    fn is_defined(&self, run: &Run) -> bool {
        let job = &run.key.job;
        run.cause == Cause::Once || self.jobs.definition(job).is_some() || self.jobs.absence(job).is_some()
    }

    fn after_attempt(&mut self, now: Timestamp, at: Timestamp, live: Live, retry_at: Option<Timestamp>) {
        let mut live = live;
        let (key, state) = (live.run.key.clone(), live.run.state);
        let retry = live.work.policies.retry;
        let attempt = attempt_in_round(&live.run);
        let is_crash_loop = self.is_crash_loop(&live.run);
        let is_final = matches!(live.run.outcome, Some(Outcome::Failed(Failure::Final(_))));
        let has_place = self.has_place(&live);
        if !is_crash_loop && !is_final && has_place && retry.follows(attempt, state) {
            let wait = retry.wait(attempt, hash(&key, Purpose::Retry { attempt: live.run.attempt }));
            let due = at.saturating_add(wait).unwrap_or(Timestamp::MAX).max(retry_at.unwrap_or(at));
            self.move_run(now, &live, RunState::Scheduled, due, live.run.lasting_reason());
            self.ledger.perform(Output::Note(Note::Retrying { key, attempt: live.run.attempt + 1, due }));
            (live.run.state, live.run.due) = (RunState::Scheduled, due);
            return self.schedule(now, live);
        }
        let policies = &live.work.policies;
        let is_hopeless = (is_crash_loop || is_final) && policies.dead_letters != DeadLetters::Never;
        let is_dead = policies.keeps_dead(state) || is_hopeless;
        if is_dead {
            let reason = match (is_crash_loop, is_final) {
                (true, _) => Reason::CrashLoop(live.run.crashes),
                (false, true) => Reason::Final,
                (false, false) if !has_place => Reason::WorkerGone,
                (false, false) => Reason::AttemptsUsedUp(live.run.attempt),
            };
            self.move_run(now, &live, RunState::Dead, live.run.due, Some(reason));
        }
        self.note_failure(&live.run, if is_dead { RunState::Dead } else { state });
        self.follow(now, &live.run, state);
        let before = self.jobs.mark(&key.job).map_or(0, |mark| mark.failures);
        self.count_result(&live);
        self.tell_of_end(now, &live.run, state, before);
        self.pruning.count_ended(&key.job);
    }

    /// Says that a run ended otherwise than it should, if it did, and that no attempt follows.
    fn note_failure(&mut self, run: &Run, last: RunState) {
        if last.is_failure() {
            let (key, outcome, is_dead) = (run.key.clone(), run.outcome.clone(), last == RunState::Dead);
            let note = Note::Failed { key, attempt: run.attempt, outcome, is_dead };
            self.ledger.perform(Output::Note(note));
        }
    }

    pub(super) fn move_run(
        &mut self,
        now: Timestamp,
        live: &Live,
        to: RunState,
        due: Timestamp,
        reason: Option<Reason>,
    ) {
        let (key, from) = (live.run.key.clone(), live.run.state);
        debug_assert!(from.may_become(to), "{key} goes from {from} to {to}");
        self.ledger.record(Operation::Move { key, from, to, due, at: now, reason });
    }

    /// Counts failures in a row, and pauses the job when there are too many, or when the server died too
    /// often.
    ///
    /// A run counts once, when it ends for good: as a failure if it failed, took too long, or was abandoned
    /// and the policy names that. A dead letter that is tried again has counted. Only success ends the series
    /// of failures. Any other end is neither, such as that of a run that the end of the server cut off.
    fn count_result(&mut self, live: &Live) {
        let (name, is_crash_loop) = (&live.run.key.job, self.is_crash_loop(&live.run));
        let policies = &live.work.policies;
        if live.run.cause == Cause::Once {
            return;
        }
        let Some(mark) = self.jobs.mark(name) else { return };
        let before = mark.failures;
        let failures = match live.run.state {
            RunState::Succeeded => 0,
            _ if live.run.was_dead() => before,
            RunState::Failed | RunState::TimedOut => before.saturating_add(1),
            RunState::Abandoned if policies.retry.on.abandoned => before.saturating_add(1),
            _ => before,
        };
        let is_too_many = before < failures && policies.pause_after.is_some_and(|limit| limit <= failures);
        // One that ends by itself gives way to one that does not.
        let lasting = mark.pause.filter(|_| mark.pause_terms.until.is_none());
        let pause = match (lasting, is_crash_loop) {
            (Some(_), _) => None,
            (None, true) => Some((Pause::Crashes, Note::PausedAfterCrashes(name.clone()))),
            (None, false) => is_too_many.then(|| (Pause::Failures, Note::PausedAfterFailures(name.clone()))),
        };
        if pause.is_none() && failures == before {
            return;
        }
        self.jobs.judge(name, failures, pause.as_ref().map(|(pause, _)| *pause));
        self.keep_mark(name);
        if let Some((_, note)) = pause {
            if is_crash_loop {
                self.release_job(name);
            }
            self.expect(name);
            self.hold(name);
            self.ledger.perform(Output::Note(note));
        }
    }

    /// Prunes what has grown enough, and looks at what may have. Not with the record that made it grow, so
    /// that a unit of operations stays small.
    pub(super) fn prune_histories(&mut self, now: Timestamp) {
        for prune in self.pruning.take_due(now) {
            self.ledger.end_unit();
            self.ledger.record(prune);
        }
        if !self.activity.is_planning() || self.activity.is_stopping() {
            return;
        }
        for (whose, prune) in self.pruning.take_looks(now) {
            self.ledger.end_unit();
            self.ledger.record_for(prune, Subject::Looked(whose));
        }
    }
}

//! The end of an attempt: its record, then a retry, a dead letter, or nothing more.
//!
//! ```text
//!  Ended ──▶ End(state) ─┬─▶ retry follows:  Move(scheduled, due = now + wait)
//!                        ├─▶ attempts used up: Move(dead), if dead letters are kept
//!                        └─▶ count failures in a row; pause_after
//! ```

use jiff::{SignedDuration, Timestamp};

use super::suspect::died_in_it;
use super::{Live, Planner};
use crate::hash::{Purpose, hash};
use crate::name::JobName;
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::output::{Note, Output};
use crate::policy::DeadLetters;
use crate::record::Pause;
use crate::run::{Cause, RunKey};
use crate::state::RunState;

/// How many rows end before a job's history is pruned: so many may be kept beyond what retention says.
const PRUNE_EVERY: u32 = 16;

/// One-shot jobs are pruned all together.
const PRUNE_ONCE_EVERY: u32 = 256;

const DAY: SignedDuration = SignedDuration::from_hours(24);

impl Planner {
    pub(super) fn ended(&mut self, now: Timestamp, key: &RunKey, attempt: u32, outcome: Outcome) {
        let Some(live) = self.runs.get(key) else { return };
        if live.run.state != RunState::Running || live.run.attempt != attempt {
            return;
        }
        let (state, reason) = match (&outcome, live.kill_reason) {
            (Outcome::Succeeded, _) => (RunState::Succeeded, ""),
            (_, Some(reason)) => (RunState::Cancelled, reason),
            (Outcome::TimedOut, None) => (RunState::TimedOut, ""),
            // The shell killed it in order to end: as if the server had died, but with the time of its end.
            (Outcome::Killed, None) if self.is_stopping => {
                (RunState::Abandoned, "the server was stopped while it ran")
            }
            (Outcome::Failed(_) | Outcome::Killed, None) => (RunState::Failed, ""),
        };
        if live.run.cause != Cause::Once {
            self.clear_deaths(key);
        }
        self.end_attempt(now, key, state, Some(outcome), (reason, 0));
    }

    /// Ends an attempt, for a reason and with so many deaths of the server in a row.
    pub(super) fn end_attempt(
        &mut self,
        now: Timestamp,
        key: &RunKey,
        state: RunState,
        outcome: Option<Outcome>,
        (reason, deaths): (&str, u32),
    ) {
        let mut live = self.leave(key);
        let attempt = live.run.attempt;
        (live.run.state, live.run.deaths) = (state, deaths);
        self.ledger.record(Operation::End {
            key: key.clone(),
            attempt,
            state,
            at: now,
            outcome,
            deaths,
            reason: reason.to_owned(),
        });
        self.after_attempt(now, live);
        self.promote(&key.job);
    }

    fn after_attempt(&mut self, now: Timestamp, mut live: Live) {
        let (key, state) = (live.run.key.clone(), live.run.state);
        let is_defined =
            live.run.cause == Cause::Once || self.jobs.get(&key.job).is_some_and(|it| it.job.is_some());
        if let Some(work) = self.work_of(&live.run) {
            // A definition that changed meanwhile holds for the next attempt.
            live.work = work;
        }
        let retry = live.work.policies.retry;
        let attempt = live.run.attempt - live.earlier_attempts;
        let is_condemned = self.is_condemned(&live.run);
        if is_defined && !is_condemned && retry.follows(attempt, state) {
            let wait = retry.wait(attempt, hash(&key, Purpose::Retry { attempt: live.run.attempt }));
            let due = now.saturating_add(wait).unwrap_or(Timestamp::MAX);
            self.move_run(now, &live, RunState::Scheduled, due, "");
            self.ledger.perform(Output::Note(Note::Retrying { key, attempt: live.run.attempt + 1, due }));
            (live.run.state, live.run.due) = (RunState::Scheduled, due);
            return self.schedule(live);
        }
        let policies = &live.work.policies;
        if policies.keeps_dead(state) || is_condemned && policies.dead_letters != DeadLetters::Never {
            let reason = match (is_condemned, live.run.attempt) {
                (true, _) => died_in_it(live.run.deaths),
                (false, 1) => "its only attempt did not succeed".to_owned(),
                (false, count) => format!("none of its {count} attempts succeeded"),
            };
            self.move_run(now, &live, RunState::Dead, live.run.due, &reason);
            self.ledger.perform(Output::Note(Note::Dead(key.clone())));
        }
        self.count_result(&live, state, is_condemned);
        self.count_ended(now, &key.job);
    }

    pub(super) fn move_run(
        &mut self,
        now: Timestamp,
        live: &Live,
        to: RunState,
        due: Timestamp,
        reason: &str,
    ) {
        let (key, from, reason) = (live.run.key.clone(), live.run.state, reason.to_owned());
        self.ledger.record(Operation::Move { key, from, to, due, at: now, reason });
    }

    /// Counts failures in a row, and pauses the job when there are too many, or when the server died too often.
    fn count_result(&mut self, live: &Live, state: RunState, is_condemned: bool) {
        let name = &live.run.key.job;
        // What is left of a job that was removed counts nothing, and is never paused: nobody could resume it.
        let Some(tracked) = self.jobs.get_mut(name).filter(|tracked| tracked.source.is_some()) else {
            return;
        };
        let failures = match state {
            RunState::Succeeded => 0,
            state if state.is_failure() => tracked.mark.failures.saturating_add(1),
            _ => return,
        };
        if failures == tracked.mark.failures {
            return;
        }
        tracked.mark.failures = failures;
        let is_too_many = live.work.policies.pause_after.is_some_and(|limit| limit <= failures);
        let pause = match (tracked.mark.pause, is_condemned) {
            (Some(_), _) => None,
            (None, true) => Some((Pause::Deaths, Note::PausedAfterDeaths(name.clone()))),
            (None, false) => is_too_many.then(|| (Pause::Failures, Note::PausedAfterFailures(name.clone()))),
        };
        tracked.mark.pause = tracked.mark.pause.or(pause.as_ref().map(|(pause, _)| *pause));
        let mark = tracked.mark.clone();
        self.ledger.record(Operation::Mark(mark));
        if let Some((_, note)) = pause {
            self.expect(name);
            self.hold(name);
            self.ledger.perform(Output::Note(note));
        }
    }

    /// A row of the history has ended: prunes now and then.
    pub(super) fn count_ended(&mut self, now: Timestamp, name: &JobName) {
        let (whose, count, retention, every) = match self.jobs.get_mut(name) {
            Some(tracked) => (Some(name.clone()), &mut tracked.ended_count, tracked.retention, PRUNE_EVERY),
            None => (None, &mut self.once_ended_count, self.limits.once_retention, PRUNE_ONCE_EVERY),
        };
        *count += 1;
        if *count < every {
            return;
        }
        *count = 0;
        let age = DAY.saturating_mul(i32::try_from(retention.days).unwrap_or(i32::MAX));
        let before = now.saturating_sub(age).unwrap_or(Timestamp::MIN);
        self.ledger.record(Operation::Prune { job: whose, keep: retention.keep, before });
    }
}

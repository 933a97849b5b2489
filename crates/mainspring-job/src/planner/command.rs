//! Commands of people and programs. Each has exactly one reply, given when what it says is on disk.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::Planner;
use super::ledger::{Otherwise, Position, Subject};
use crate::audit::MAX_NOTE_BYTES;
use crate::input::{Command, Scope, Ticket};
use crate::name::JobName;
use crate::once::{MAX_KEY_BYTES, Once, OnceId, Submission};
use crate::operation::Operation;
use crate::output::{Output, Refusal, Reply};
use crate::reason::Reason;
use crate::record::Rest;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::timetable::Timetable;

/// The most runs of one backfill: a person watches it, and can ask for the next range afterwards.
pub const MAX_BACKFILL_RUNS: usize = 1_000;

/// Tells what a backfill would run: the occurrences from `from` to `to`, both included, and not after `now`.
///
/// # Errors
/// When there are more than [`MAX_BACKFILL_RUNS`].
///
/// # Example
/// ```
/// use mainspring_job::{Timetable, cron::Schedule, preview};
///
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let (from, to) = ("2026-11-01T00:00:00Z".parse()?, "2026-11-30T00:00:00Z".parse()?);
/// let now = "2026-11-21T12:00:00Z".parse()?;
/// assert_eq!(preview(&daily, from, to, now)?.len(), 21, "those that have not come yet are left out");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn preview(
    timetable: &Timetable,
    from: Timestamp,
    to: Timestamp,
    now: Timestamp,
) -> Result<Vec<Timestamp>, Refusal> {
    let after = from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN);
    let found = timetable.occurrences(after, to.min(now), MAX_BACKFILL_RUNS + 1);
    if MAX_BACKFILL_RUNS < found.len() { Err(Refusal::BackfillTooLarge) } else { Ok(found) }
}

/// Tells what a rewind would let run: the first occurrences after `now` up to the watermark, at most `most`, and how many there
/// are. Those that have a record of their own do not run again: the store knows which. `None`: the job is not planned
/// ahead.
///
/// # Example
/// ```
/// use mainspring_job::{Timetable, cron::Schedule, rewind_preview};
///
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let now = "2026-11-21T12:00:00Z".parse()?;
/// // The clock showed March once, and was set right again.
/// let watermark = "2027-03-01T00:00:00Z".parse()?;
/// let (first, count) = rewind_preview(&daily, watermark, now, 1).expect("it is planned ahead");
/// assert_eq!((first, count), (vec!["2026-11-22T02:30:00Z".parse()?], 99));
/// assert_eq!(rewind_preview(&daily, now, now, 1), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rewind_preview(
    timetable: &Timetable,
    watermark: Timestamp,
    now: Timestamp,
    most: usize,
) -> Option<(Vec<Timestamp>, u64)> {
    if watermark <= now {
        return None;
    }
    let count =
        timetable.stretch_in(now, watermark).map_or(0, |(first, last)| timetable.count(first, last).count);
    Some((timetable.occurrences(now, watermark, most), count))
}

impl Planner {
    /// Obeys a command, and has who asked for it written with it.
    pub(super) fn command(&mut self, now: Timestamp, ticket: Ticket, command: Command) {
        self.obey(now, ticket, command);
        self.ledger.end_audit(ticket);
    }

    fn obey(&mut self, now: Timestamp, ticket: Ticket, command: Command) {
        let is_early = !self.activity.is_planning();
        let reply = match command {
            Command::Apply(definitions) => Reply::Applied(self.apply(now, definitions)),
            Command::Adopt { jobs, source } => self.adopt(&jobs, &source),
            Command::Remove(name) => self.remove(now, &name),
            _ if is_early => Reply::Refused(Refusal::NotReady),
            Command::Submit(submission) => return self.submit(now, ticket, submission),
            Command::Withdraw(id) => return self.withdraw(now, ticket, id),
            Command::Cancel(key) => self.cancel(now, &key),
            Command::Pause(scope, rest) => self.pause(scope, rest),
            Command::Resume(scope) => self.resume(now, scope),
            Command::Trigger(name) => return self.trigger(now, ticket, &name),
            Command::Backfill { job, from, to } => self.backfill(now, &job, from, to),
            Command::Rewind(name) => self.rewind(now, &name),
            Command::RetryDead(run) => return self.retry_dead(now, ticket, run),
            Command::DropDead(key) => return self.drop_dead(now, ticket, key),
        };
        self.ledger.perform(Output::Reply { ticket, reply });
    }

    fn remove(&mut self, now: Timestamp, name: &JobName) -> Reply {
        if self.jobs.source(name).is_none() {
            return Reply::Refused(Refusal::NoSuchJob);
        }
        self.forget(now, name);
        Reply::Done
    }

    fn submit(&mut self, now: Timestamp, ticket: Ticket, submission: Submission) {
        let Submission { due, name, key, work } = submission;
        let is_taken = |name: &JobName| {
            // The names that are made for one-shot jobs without one are not for asking.
            self.jobs.source(name).is_some() || name.as_str().parse::<OnceId>().is_ok()
        };
        let refusal = match (&name, &key) {
            (Some(name), _) if is_taken(name) => Some(Refusal::Conflict),
            _ if i64::try_from(due.as_nanosecond()).is_err() => Some(Refusal::DueOutOfRange),
            (_, Some(key)) if MAX_KEY_BYTES < key.len() => Some(Refusal::KeyTooLong),
            _ => None,
        };
        if let Some(refusal) = refusal {
            let reply = Reply::Refused(refusal);
            return self.ledger.perform(Output::Reply { ticket, reply });
        }
        let id = self.numbers.new_id(due);
        let name = name.unwrap_or_else(|| id.name());
        let once = Once { id, name: name.clone(), key, submitted: now, work };
        let position = self.ledger.record_for(Operation::Submit(once), Subject::Submitted(id));
        let reply = Output::Reply { ticket, reply: Reply::Submitted { id, name } };
        self.ledger.perform_if_new(position, reply, Otherwise::Duplicate);
    }

    fn withdraw(&mut self, now: Timestamp, ticket: Ticket, id: OnceId) {
        self.near.withdraw(id);
        let position = self.ledger.record_for(Operation::Withdraw { id, at: now }, Subject::Withdrawn(id));
        let reply = Output::Reply { ticket, reply: Reply::Done };
        let otherwise = Otherwise::Reply(Reply::Refused(Refusal::NoSuchOnce));
        self.ledger.perform_if_new(position, reply, otherwise);
    }

    fn cancel(&mut self, now: Timestamp, key: &RunKey) -> Reply {
        let Some(live) = self.runs.get(key) else { return Reply::Refused(Refusal::NoSuchRun) };
        let reason = Reason::Cancelled;
        if live.run.state == RunState::Running {
            self.kill(key, reason);
            return Reply::Done;
        }
        self.withdraw_run(now, key, reason);
        Reply::Done
    }

    /// Ends a run that waits for its time or its place.
    pub(super) fn withdraw_run(&mut self, now: Timestamp, key: &RunKey, reason: Reason) {
        let live = self.leave(key);
        self.end_unstarted(now, live, true, RunState::Cancelled, reason);
        self.promote(&key.job);
    }

    fn pause(&mut self, scope: Scope, rest: Rest) -> Reply {
        if MAX_NOTE_BYTES < rest.note.len() {
            return Reply::Refused(Refusal::NoteTooLong);
        }
        match scope {
            Scope::All => {
                self.activity.pause(rest.clone());
                self.ledger.record(Operation::PauseAll(Some(rest)));
            }
            Scope::Job(name) => {
                if !self.jobs.pause(&name, rest) {
                    return Reply::Refused(Refusal::NoSuchJob);
                }
                self.keep_mark(&name);
                self.expect(&name);
                self.hold(&name);
            }
        }
        Reply::Done
    }

    pub(super) fn resume(&mut self, now: Timestamp, scope: Scope) -> Reply {
        match scope {
            Scope::All => {
                if self.activity.resume() {
                    for name in self.jobs.names_awake() {
                        self.wake(now, &name);
                        self.ledger.end_unit();
                    }
                    // Last: a server that dies in between finds everything paused, and what was skipped on record.
                    self.ledger.record(Operation::PauseAll(None));
                }
            }
            Scope::Job(name) => {
                if !self.jobs.is_known(&name) {
                    return Reply::Refused(Refusal::NoSuchJob);
                }
                if self.jobs.resume(&name) {
                    self.release_job(&name);
                    self.wake(now, &name);
                }
            }
        }
        Reply::Done
    }

    /// A job plans again.
    pub(super) fn wake(&mut self, now: Timestamp, name: &JobName) {
        self.skip_paused(now, name);
        self.keep_mark(name);
        self.expect(name);
        self.promote(name);
    }

    fn trigger(&mut self, now: Timestamp, ticket: Ticket, name: &JobName) {
        let job = self.jobs.definition(name).map(Arc::clone);
        let refusal = match (&job, self.has_room()) {
            (None, _) => Some(Refusal::NoSuchJob),
            (_, false) => Some(Refusal::TooManyRuns),
            _ => None,
        };
        let (Some(job), None) = (job, &refusal) else {
            let reply = Reply::Refused(refusal.unwrap_or(Refusal::NoSuchJob));
            return self.ledger.perform(Output::Reply { ticket, reply });
        };
        let key = RunKey::new(name.clone(), self.numbers.new_nominal(now));
        self.plan_run(now, &job, key.clone(), Cause::Request, now);
        self.ledger.perform(Output::Reply { ticket, reply: Reply::Planned { key } });
    }

    fn backfill(&mut self, now: Timestamp, name: &JobName, from: Timestamp, to: Timestamp) -> Reply {
        let Some(job) = self.jobs.definition(name).map(Arc::clone) else {
            return Reply::Refused(Refusal::NoSuchJob);
        };
        let nominals = match preview(&job.timetable, from, to, now) {
            Ok(nominals) => nominals,
            Err(refusal) => return Reply::Refused(refusal),
        };
        if self.limits.max_open < self.runs.len() + nominals.len() {
            return Reply::Refused(Refusal::TooManyRuns);
        }
        let series = self.jobs.count_backfill(name);
        self.keep_mark(name);
        let count = nominals.len();
        for nominal in nominals {
            let key = RunKey { job: name.clone(), nominal, series };
            self.plan_run(now, &job, key, Cause::Backfill, now);
        }
        Reply::Backfilled { count, series }
    }

    fn rewind(&mut self, now: Timestamp, name: &JobName) -> Reply {
        if self.jobs.definition(name).is_none() {
            return Reply::Refused(Refusal::NoSuchJob);
        }
        let Some(from) = self.jobs.rewind(name, now) else { return Reply::Refused(Refusal::NotAhead) };
        let mark = self.jobs.mark(name).expect("it was there a moment ago").clone();
        self.ledger.record(Operation::Rewind(mark));
        self.expect(name);
        Reply::Rewound { from }
    }

    fn retry_dead(&mut self, now: Timestamp, ticket: Ticket, mut run: Box<Run>) {
        if self.work_of(&run).is_none() {
            let reply = Reply::Refused(Refusal::NoSuchJob);
            return self.ledger.perform(Output::Reply { ticket, reply });
        }
        run.due = now;
        let key = run.key.clone();
        let reason = Some(Reason::RetryRequested);
        let (from, to) = (RunState::Dead, RunState::Scheduled);
        let operation = Operation::Move { key, from, to, due: now, at: now, reason };
        let position = self.ledger.record_for(operation, Subject::Revived(run));
        self.reply_if_dead(ticket, position);
    }

    fn drop_dead(&mut self, now: Timestamp, ticket: Ticket, key: RunKey) {
        let (from, to, reason) = (RunState::Dead, RunState::Cancelled, Some(Reason::Dropped));
        let position = self.ledger.record(Operation::Move { key, from, to, due: now, at: now, reason });
        self.reply_if_dead(ticket, position);
    }

    fn reply_if_dead(&mut self, ticket: Ticket, position: Position) {
        let reply = Output::Reply { ticket, reply: Reply::Done };
        let otherwise = Otherwise::Reply(Reply::Refused(Refusal::NoSuchRun));
        self.ledger.perform_if_new(position, reply, otherwise);
    }
}

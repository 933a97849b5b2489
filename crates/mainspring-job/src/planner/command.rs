//! Commands of people and programs. Each has exactly one reply, given when what it says is on disk.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::ledger::{Otherwise, Subject};
use super::{Phase, Planner};
use crate::audit::MAX_NOTE_BYTES;
use crate::input::{Command, Scope, Ticket};
use crate::name::JobName;
use crate::once::{MAX_KEY_BYTES, Once, OnceId, Submission};
use crate::operation::Operation;
use crate::output::{Output, Refusal, Reply};
use crate::reason::Reason;
use crate::record::{Pause, Rest};
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
        let audit = self.audit.take();
        self.obey(now, ticket, command);
        if let Some(audit) = audit.filter(|_| !self.ledger.has_refused(ticket)) {
            self.ledger.record(Operation::Audit(audit));
            // The answer says that all of it is on disk.
            self.ledger.postpone_last();
        }
    }

    fn obey(&mut self, now: Timestamp, ticket: Ticket, command: Command) {
        let is_early = self.phase == Phase::Restoring;
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
        if self.jobs.get(name).is_none_or(|tracked| tracked.source.is_none()) {
            return Reply::Refused(Refusal::NoSuchJob);
        }
        self.forget(now, name);
        Reply::Done
    }

    fn submit(&mut self, now: Timestamp, ticket: Ticket, submission: Submission) {
        let Submission { due, name, key, work } = submission;
        let is_taken = |name: &JobName| {
            // The names that are made for one-shot jobs without one are not for asking.
            self.jobs.get(name).is_some_and(|it| it.source.is_some())
                || name.as_str().parse::<OnceId>().is_ok()
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
        let id = self.new_id(due);
        let name = name.unwrap_or_else(|| id.name());
        let once = Once { id, name: name.clone(), key, submitted: now, work };
        let place = self.ledger.record_for(Operation::Submit(once), Subject::Submitted(id));
        let reply = Output::Reply { ticket, reply: Reply::Submitted { id, name } };
        self.ledger.perform_if_new(place, reply, Otherwise::Duplicate);
    }

    fn withdraw(&mut self, now: Timestamp, ticket: Ticket, id: OnceId) {
        self.near.withdraw(id);
        let place = self.ledger.record_for(Operation::Withdraw { id, at: now }, Subject::Withdrawn(id));
        let reply = Output::Reply { ticket, reply: Reply::Done };
        let otherwise = Otherwise::Reply(Reply::Refused(Refusal::NoSuchOnce));
        self.ledger.perform_if_new(place, reply, otherwise);
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
        let mut live = self.leave(key);
        if let Some(entry) = live.wakes.take() {
            self.agenda.cancel(entry);
        }
        self.end_unstarted(now, live, true, RunState::Cancelled, reason);
        self.promote(&key.job);
    }

    fn pause(&mut self, scope: Scope, rest: Rest) -> Reply {
        if MAX_NOTE_BYTES < rest.note.len() {
            return Reply::Refused(Refusal::NoteTooLong);
        }
        match scope {
            Scope::All => {
                self.ledger.record(Operation::PauseAll(Some(rest.clone())));
                self.paused = Some(rest);
            }
            Scope::Job(name) => {
                let Some(tracked) = self.jobs.get_mut(&name).filter(|it| it.source.is_some()) else {
                    return Reply::Refused(Refusal::NoSuchJob);
                };
                (tracked.mark.pause, tracked.mark.rest) = (Some(Pause::Asked), rest);
                let mark = tracked.mark.clone();
                self.ledger.record(Operation::Mark(mark));
                self.expect(&name);
                self.hold(&name);
            }
        }
        Reply::Done
    }

    fn resume(&mut self, now: Timestamp, scope: Scope) -> Reply {
        match scope {
            Scope::All if self.is_paused() => {
                self.paused = None;
                let rests = |mark: &crate::record::Mark| mark.pause.is_some();
                let awake = self.jobs.values().filter(|tracked| !rests(&tracked.mark));
                let names: Vec<JobName> = awake.map(|tracked| tracked.mark.job.clone()).collect();
                for name in names {
                    self.wake(now, &name);
                    self.ledger.end_unit();
                }
                // Last: a server that dies in between finds everything paused, and what was skipped on record.
                self.ledger.record(Operation::PauseAll(None));
            }
            Scope::All => (),
            Scope::Job(name) => {
                if !self.jobs.contains_key(&name) {
                    return Reply::Refused(Refusal::NoSuchJob);
                }
                self.resume_job(now, &name);
            }
        }
        Reply::Done
    }

    /// A pause that was for a while is over: the job goes on as it was.
    pub(super) fn end_pause(&mut self, now: Timestamp, name: &JobName) {
        if let Some(tracked) = self.jobs.get_mut(name) {
            (tracked.mark.pause, tracked.mark.rest) = (None, Rest::default());
        }
        self.wake(now, name);
    }

    /// A job goes on, if it rests.
    fn resume_job(&mut self, now: Timestamp, name: &JobName) {
        let Some(tracked) = self.jobs.get_mut(name) else { return };
        tracked.mark.rest = Rest::default();
        if tracked.mark.pause.take().is_some() {
            (tracked.mark.failures, tracked.mark.crashes) = (0, 0);
            self.release_job(name);
            self.wake(now, name);
        }
    }

    /// Everything goes on whose rest is over.
    pub(super) fn end_rest(&mut self, now: Timestamp) {
        if !self.is_stopping && self.paused.as_ref().is_some_and(|rest| rest.is_over(now)) {
            self.resume(now, Scope::All);
        }
    }

    /// A job plans again.
    fn wake(&mut self, now: Timestamp, name: &JobName) {
        self.skip_paused(now, name);
        if let Some(tracked) = self.jobs.get(name) {
            self.ledger.record(Operation::Mark(tracked.mark.clone()));
        }
        self.expect(name);
        self.promote(name);
    }

    fn trigger(&mut self, now: Timestamp, ticket: Ticket, name: &JobName) {
        let job = self.jobs.get(name).and_then(|tracked| tracked.job.as_ref()).map(Arc::clone);
        let refusal = match (&job, self.has_room()) {
            (None, _) => Some(Refusal::NoSuchJob),
            (_, false) => Some(Refusal::TooManyRuns),
            _ => None,
        };
        let (Some(job), None) = (job, &refusal) else {
            let reply = Reply::Refused(refusal.unwrap_or(Refusal::NoSuchJob));
            return self.ledger.perform(Output::Reply { ticket, reply });
        };
        let key = RunKey::new(name.clone(), self.new_nominal(now));
        self.plan_run(now, &job, key.clone(), Cause::Request, now);
        self.ledger.perform(Output::Reply { ticket, reply: Reply::Planned { key } });
    }

    fn backfill(&mut self, now: Timestamp, name: &JobName, from: Timestamp, to: Timestamp) -> Reply {
        let Some(job) = self.jobs.get(name).and_then(|tracked| tracked.job.as_ref()).map(Arc::clone) else {
            return Reply::Refused(Refusal::NoSuchJob);
        };
        let nominals = match preview(&job.timetable, from, to, now) {
            Ok(nominals) => nominals,
            Err(refusal) => return Reply::Refused(refusal),
        };
        if self.limits.max_open < self.runs.len() + nominals.len() {
            return Reply::Refused(Refusal::TooManyRuns);
        }
        let mark = &mut self.jobs.get_mut(name).expect("it was there a moment ago").mark;
        mark.backfills += 1;
        let (series, mark) = (mark.backfills, mark.clone());
        self.ledger.record(Operation::Mark(mark));
        let count = nominals.len();
        for nominal in nominals {
            let key = RunKey { job: name.clone(), nominal, series };
            self.plan_run(now, &job, key, Cause::Backfill, now);
        }
        Reply::Backfilled { count, series }
    }

    fn rewind(&mut self, now: Timestamp, name: &JobName) -> Reply {
        let Some(tracked) = self.jobs.get_mut(name).filter(|tracked| tracked.job.is_some()) else {
            return Reply::Refused(Refusal::NoSuchJob);
        };
        let from = tracked.mark.watermark;
        if from <= now {
            return Reply::Refused(Refusal::NotAhead);
        }
        tracked.mark.watermark = now;
        let mark = tracked.mark.clone();
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
        let place = self.ledger.record_for(operation, Subject::Revived(run));
        self.reply_if_dead(ticket, place);
    }

    fn drop_dead(&mut self, now: Timestamp, ticket: Ticket, key: RunKey) {
        let (from, to, reason) = (RunState::Dead, RunState::Cancelled, Some(Reason::Dropped));
        let place = self.ledger.record(Operation::Move { key, from, to, due: now, at: now, reason });
        self.reply_if_dead(ticket, place);
    }

    fn reply_if_dead(&mut self, ticket: Ticket, place: super::ledger::Place) {
        let reply = Output::Reply { ticket, reply: Reply::Done };
        let otherwise = Otherwise::Reply(Reply::Refused(Refusal::NoSuchRun));
        self.ledger.perform_if_new(place, reply, otherwise);
    }

    /// A nominal time for a run that no trigger names: now, made distinct by its nanoseconds, which no cron trigger has.
    pub(super) fn new_nominal(&mut self, now: Timestamp) -> Timestamp {
        self.request_count += 1;
        let distinct_ns = i128::from(self.request_count % 999 + 1);
        let micros_ns = now.as_nanosecond().div_euclid(1_000) * 1_000;
        Timestamp::from_nanosecond(micros_ns + distinct_ns).unwrap_or(now)
    }
}

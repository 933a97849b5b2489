//! Commands of people and programs. Each has exactly one reply, given when its change is on disk.
//!
//! Cost: O(log n) for each, and for each run of a backfill; a resume of everything looks at each job once.
//!
//! Does not know which client asks, nor what that client may do.

use std::sync::Arc;

use jiff::Timestamp;

use super::Planner;
use super::ledger::{Fallback, KeyedRequest, Position, Subject};
use super::places::Place;
use super::preview::{MAX_BACKFILL_RUNS, preview};
use crate::audit::MAX_NOTE_BYTES;
use crate::input::{Command, RunRequest, Scope, Ticket};
use crate::job::Job;
use crate::name::JobName;
use crate::once::{MAX_KEY_BYTES, Once, OnceId, Submission};
use crate::operation::Operation;
use crate::output::{Note, Output, Reply};
use crate::reason::Reason;
use crate::record::PauseTerms;
use crate::refusal::Refusal;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

/// How many runs of a job may wait for a later time that a person asked for: as many as a backfill has. Each
/// is in memory, about a kilobyte, and a look at a job's runs takes time for each. Many submissions with
/// times of their own are one-shot jobs.
pub const MAX_WAITING_REQUESTS: usize = 1_000;

const _: () = assert!(MAX_WAITING_REQUESTS == MAX_BACKFILL_RUNS);

/// Between the name of a job and the key of a run of it: the unit separator of ASCII, which is never typed.
const KEY_SEPARATOR: char = '\u{1f}';

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
            Command::Pause(Scope::All, terms) => self.pause(Scope::All, terms),
            _ if is_early => Reply::Refused(Refusal::NotReady),
            Command::Purge(name) => self.purge(now, &name),
            Command::Submit(submission) => return self.submit(now, ticket, submission),
            Command::Withdraw(id) => return self.withdraw(now, ticket, id),
            Command::Cancel(key) => self.cancel(now, &key),
            Command::Pause(scope, terms) => self.pause(scope, terms),
            Command::Resume(scope) => self.resume(now, now, scope),
            Command::Trigger(request) => return self.trigger(now, ticket, request),
            Command::Backfill { job, from, to } => match self.backfill(now, &job, from, to) {
                Ok((count, series)) => Reply::Backfilled { count, series },
                Err(refusal) => Reply::Refused(refusal),
            },
            Command::Rewind(name) => self.rewind(now, &name),
            Command::RetryDead(run) => return self.retry_dead(now, ticket, run),
            Command::DropDead(key) => return self.drop_dead(now, ticket, key),
        };
        self.ledger.perform(Output::Reply { ticket, reply });
    }

    fn remove(&mut self, now: Timestamp, name: &JobName) -> Reply {
        if self.jobs.source(name).is_none() && self.jobs.absence(name).is_none() {
            return Reply::Refused(Refusal::NoSuchJob);
        }
        self.forget(now, name);
        Reply::Done
    }

    fn purge(&mut self, now: Timestamp, name: &JobName) -> Reply {
        if self.runs_of(name).any(|run| run.cause != Cause::Once) {
            return Reply::Refused(Refusal::OpenRuns);
        }
        self.forget(now, name);
        // A command of its own for each portion: a unit of operations drops no more than one prune does.
        // Its record goes later, as that of each removed job does.
        let before = Timestamp::MIN;
        self.ledger.record(Operation::Prune { job: Some(name.clone()), keep: 0, before });
        self.ledger.perform(Output::Note(Note::Purged(name.clone())));
        Reply::Done
    }

    fn submit(&mut self, now: Timestamp, ticket: Ticket, submission: Submission) {
        // Only a name or a key can be taken, and the place of one that was submitted before.
        let is_plain = submission.name.is_none() && submission.key.is_none() && submission.earlier.is_none();
        let fallback = match is_plain {
            true => Fallback::Reply(Reply::Refused(Refusal::Conflict)),
            false => Fallback::Duplicate(Box::new(submission.clone())),
        };
        let Submission { due, name, key, work, earlier } = submission;
        // What may be on record keeps its id, which says when it is due: the store knows it by that.
        let earlier = earlier.filter(|id| id.is_drawn() || id.epoch() < self.epoch);
        let due = earlier.map_or(due, |id| id.due);
        let is_taken = |name: &JobName| {
            // The names that are made for one-shot jobs without one are not for asking.
            self.jobs.source(name).is_some() || name.as_str().parse::<OnceId>().is_ok()
        };
        let refusal = match (&name, &key) {
            (Some(name), _) if is_taken(name) => Some(Refusal::Conflict),
            _ if i64::try_from(due.as_nanosecond()).is_err() => Some(Refusal::DueOutOfRange),
            _ if work.policies.on.is_each() => Some(Refusal::OneRun),
            (_, Some(key)) => check_key(key).err(),
            _ => None,
        };
        if let Some(refusal) = refusal {
            return self.refuse(Some(ticket), refusal);
        }
        let id = earlier.unwrap_or_else(|| self.numbers.new_id(due));
        let name = name.unwrap_or_else(|| id.name());
        let once = Once { id, name: name.clone(), key, submitted: now, work };
        let position = if is_plain && self.fires_at_once(now, due) {
            // It is new, as nothing can be in its place. Both are one unit: its record is that of its run.
            let position = self.ledger.record(Operation::Submit(once.clone()));
            self.fire(now, &once);
            position
        } else {
            self.ledger.record_for(Operation::Submit(once.clone()), Subject::Submitted(Box::new(once)))
        };
        let reply = Output::Reply { ticket, reply: Reply::Submitted { id, name } };
        self.ledger.perform_if_new(position, reply, fallback);
    }

    fn withdraw(&mut self, now: Timestamp, ticket: Ticket, id: OnceId) {
        self.lookahead.withdraw(id);
        let position = self.ledger.record_for(Operation::Withdraw { id, at: now }, Subject::Withdrawn(id));
        let reply = Output::Reply { ticket, reply: Reply::Done };
        let fallback = Fallback::Reply(Reply::Refused(Refusal::NoSuchOnce));
        self.ledger.perform_if_new(position, reply, fallback);
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

    /// Ends a run that waits for its time or its slot.
    pub(super) fn withdraw_run(&mut self, now: Timestamp, key: &RunKey, reason: Reason) {
        let live = self.leave(key);
        self.end_unstarted(now, &live, RunState::Cancelled, reason);
        self.promote(&key.job);
    }

    fn pause(&mut self, scope: Scope, terms: PauseTerms) -> Reply {
        if MAX_NOTE_BYTES < terms.note.len() {
            return Reply::Refused(Refusal::NoteTooLong);
        }
        match scope {
            Scope::All => {
                self.activity.pause(terms.clone());
                self.ledger.record(Operation::PauseAll(Some(terms)));
            }
            Scope::Job(name) => {
                if !self.jobs.pause(&name, terms) {
                    return Reply::Refused(Refusal::NoSuchJob);
                }
                self.keep_mark(&name);
                self.expect(&name);
                self.hold(&name);
            }
        }
        Reply::Done
    }

    pub(super) fn resume(&mut self, now: Timestamp, until: Timestamp, scope: Scope) -> Reply {
        match scope {
            Scope::All => {
                if self.activity.resume() {
                    for name in self.jobs.names_awake() {
                        self.wake(now, until, &name);
                        self.ledger.end_unit();
                    }
                    // Last: a server that dies in between finds everything paused, and what was skipped on
                    // record.
                    self.ledger.record(Operation::PauseAll(None));
                }
            }
            Scope::Job(name) => {
                if !self.jobs.is_known(&name) {
                    return Reply::Refused(Refusal::NoSuchJob);
                }
                if self.jobs.resume(&name) {
                    self.release_job(&name);
                    self.wake(now, until, &name);
                }
            }
        }
        Reply::Done
    }

    /// A job plans again that was paused until then. What has been due since is looked at next.
    pub(super) fn wake(&mut self, now: Timestamp, until: Timestamp, name: &JobName) {
        self.skip_paused(now, until, name);
        self.keep_mark(name);
        self.expect(name);
        self.promote(name);
    }

    pub(super) fn trigger(&mut self, now: Timestamp, ticket: Ticket, request: RunRequest) {
        let (job, places) = match self.asked_for(now, &request) {
            Ok(found) => found,
            Err(refusal) => return self.refuse(Some(ticket), refusal),
        };
        let key = self.new_key(now, &request.job, places[0]);
        let reserved = request.key.as_ref().map(|text| self.reserve(now, &job, &key, text));
        let due = request.due.map_or(now, |due| due.max(now));
        for place in places {
            let key = self.key_at(&key.job, key.nominal, place);
            self.plan_run(now, &job, key, (Cause::Request, due), place);
        }
        match reserved {
            Some(reserved) => {
                let keyed = KeyedRequest { ticket, request, run: key.clone(), reserved };
                self.reply_when_new(ticket, key, Fallback::KnownRun(Box::new(keyed)));
            }
            None => self.reply_when_new(ticket, key, Fallback::AnotherName),
        }
    }

    /// The job of a run that is asked for, and where its runs are to be.
    fn asked_for(&self, now: Timestamp, request: &RunRequest) -> Result<(Arc<Job>, Vec<Place>), Refusal> {
        let job = self.jobs.definition(&request.job).ok_or(Refusal::NoSuchJob)?;
        let is_later = |run: &&Run| run.state == RunState::Scheduled && run.was_asked_for_later();
        request.key.as_deref().map_or(Ok(()), check_key)?;
        if request.key.is_some() && job.work.policies.on.is_each() {
            return Err(Refusal::OneRun);
        }
        let places = self.places_with_room(&job.work, 1)?;
        if let Some(due) = request.due.filter(|due| now < *due) {
            if i64::try_from(due.as_nanosecond()).is_err() {
                return Err(Refusal::DueOutOfRange);
            }
            if MAX_WAITING_REQUESTS <= self.runs_of(&request.job).filter(is_later).count() {
                return Err(Refusal::TooManyWaiting);
            }
        }
        Ok((Arc::clone(job), places))
    }

    /// Has the store keep the idempotency key of a run as long as the run: as that of a one-shot job of its
    /// name that is submitted and fires in the very unit that records the run. So both are new, or neither
    /// is, and a key is known in one place.
    fn reserve(&mut self, now: Timestamp, job: &Job, key: &RunKey, text: &str) -> Position {
        let id = self.numbers.new_id(key.nominal);
        // What people choose as the key of a one-shot job is not that of a run.
        let text = format!("{}{KEY_SEPARATOR}{text}", key.job);
        let (name, work) = (key.job.clone(), Arc::clone(&job.work));
        let once = Once { id, name, key: Some(text), submitted: now, work };
        let position = self.ledger.record(Operation::Submit(once));
        self.lookahead.begin_firing(key.clone(), id);
        position
    }

    /// Plans the runs of a backfill. Tells how many, and its series, which the mark of the job counts: the
    /// first, where each worker has one.
    fn backfill(
        &mut self,
        now: Timestamp,
        name: &JobName,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<(usize, u32), Refusal> {
        let job = self.jobs.definition(name).map(Arc::clone).ok_or(Refusal::NoSuchJob)?;
        let nominals = preview(&job.timetable, from, to, now)?;
        let places = self.places_with_room(&job.work, nominals.len())?;
        let numbered: Vec<(u32, Place)> =
            places.into_iter().map(|place| (self.jobs.count_backfill(name), place)).collect();
        self.keep_mark(name);
        for (series, place) in &numbered {
            for nominal in &nominals {
                let key = RunKey { job: name.clone(), nominal: *nominal, series: *series };
                self.plan_run(now, &job, key, (Cause::Backfill, now), *place);
            }
        }
        Ok((nominals.len() * numbered.len(), numbered[0].0))
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
            return self.refuse(Some(ticket), Refusal::NoSuchJob);
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
        let fallback = Fallback::Reply(Reply::Refused(Refusal::NoSuchRun));
        self.ledger.perform_if_new(position, reply, fallback);
    }
}

fn check_key(key: &str) -> Result<(), Refusal> {
    match key.len() {
        0 => Err(Refusal::KeyEmpty),
        1..=MAX_KEY_BYTES => Ok(()),
        _ => Err(Refusal::KeyTooLong),
    }
}

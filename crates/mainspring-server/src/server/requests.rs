//! Requests of clients: answered from the planner and the store, or turned into commands for the planner.
//!
//! | request | is answered |
//! |---|---|
//! | `status`, `list`, `show`, `history`, `logs`, `export`, previews | at once, from the planner and the store: see `views` |
//! | all others | when the change that they ask for is on disk |
//!
//! Cost: a request that looks costs a query of the store, of a page at most.
//!
//! Does not trust a client with more than the limits of the protocol.

use mainspring_job::cron::{Expression, Schedule};
use mainspring_job::{
    ApplyReport, Audit, Command, Definitions, Input, Job, JobName, MAX_NOTE_BYTES, Mark, OnceId, PauseTerms,
    Policies, Reader, Refusal, Reply, RunKey, RunRequest, Scope, Submission, Ticket, Work, preview,
    rewind_preview,
};

use super::client_text::ClientText;
use super::feed::Feed;
use super::next_step::{
    Next, NextResult, Query, Question, RequestId, job_name, look, named_run, not_found, query, run_key, time,
    usage,
};
use super::peer::TURN_TIME;
use super::phase::Phase;
use super::purpose::Purpose;
use super::{Server, describe, queries};
use crate::message::counted;
use crate::protocol::{
    AppliedWire, Effect, ErrorKind, ErrorWire, EveryWire, HandlerWire, IdentifiedRequest, PauseWire, Power,
    Request, Response, Row, SubmitWire, WorkWire,
};
use mainspring_action::body::{Body, HandlerBody, ProcessBody};
use mainspring_exec::clock::Moment;
use mainspring_file::definition::Definition;
use mainspring_file::job_source::JobSource;

/// So many requests are worth a batch of their own while the store has nothing to write. With fewer, a slow
/// disk would be flushed too often.
const PORTION: usize = 512;

const _: () = assert!(PORTION <= mainspring_job::MAX_BATCH_OPERATIONS, "a portion is one batch");

/// How many times a preview of a rewind shows: enough to see what it is about.
const MAX_SHOWN: usize = 20;

impl Server {
    /// Takes requests of all clients in turn, until there is none or the time of this turn is over; or there
    /// are enough for a batch that can be written while the others are read.
    pub(super) fn take_requests(&mut self, now: Moment) {
        self.clients.peers.read(now);
        let (began, mut taken_count) = (Moment::now(), 0);
        while self.takes_requests(now)
            && let Some((request_id, identified)) = self.clients.next_request()
        {
            self.take_request(request_id, identified, now);
            taken_count += 1;
            let is_portion = PORTION <= taken_count && self.owner.writer().has_place();
            if is_portion || TURN_TIME <= Moment::now().since(began) {
                break;
            }
        }
    }

    fn take_request(&mut self, request_id: RequestId, identified: IdentifiedRequest, now: Moment) {
        let admitted = self.admit(request_id, &identified, now);
        let asking = admitted.and_then(|()| self.answer(request_id, identified.request, now));
        self.go_on(request_id, asking);
    }

    /// Refuses what may not be asked now, by the row of the request. Keeps the caller of a change.
    fn admit(
        &mut self,
        request_id: RequestId,
        identified: &IdentifiedRequest,
        now: Moment,
    ) -> Result<(), ErrorWire> {
        let row = identified.request.row();
        if row.power == Power::Listener && !self.clients.is_listener(request_id) {
            return Err(ErrorWire::new(ErrorKind::Denied, "only the listener of the server may ask that"));
        }
        self.clients.admit(request_id, row.answers)?;
        // Rates do not limit requests that only look.
        if row.power.changes() {
            self.clients.weigh(request_id, now)?;
        }
        let actor = identified.actor.as_ref().filter(|_| row.is_audited);
        let audit = actor.map(|actor| audit(actor, &row, identified.comment.as_deref(), now)).transpose()?;
        self.begin_audit(request_id, audit);
        self.may_define(&row)?;
        if row.power.changes() && self.phase != Phase::Running {
            return Err(ErrorWire::new(ErrorKind::Temporary, "the server is stopping"));
        }
        self.has_room_for(&row, now)
    }

    pub(super) fn go_on(&mut self, request_id: RequestId, asking: NextResult) {
        match asking {
            Ok(Next::Answer(response)) => self.clients.answer(request_id, response),
            Ok(Next::Nothing) => {}
            Err(error) => self.clients.answer(request_id, Response::Error(error)),
            Ok(Next::Command(command)) => self.command(Purpose::Answer(request_id), command),
            Ok(Next::Purge(job)) => self.purge_portion(request_id, job),
            Ok(Next::Wait(command)) => self.command(Purpose::AnswerAndWait(request_id), command),
            Ok(Next::End(key)) => {
                self.clients.wait_for_end(request_id, key);
                self.clients.look_for_ends();
            }
            // The next batch may have it.
            Ok(Next::Unwritten { key, committed_count }) => {
                self.clients.wait_for_end(request_id, key);
                if committed_count < self.owner.writer().committed_count {
                    self.clients.look_for_ends();
                }
            }
            Ok(Next::Parse(text)) => self.parse(request_id, text),
            Ok(Next::Files(sets)) => self.command_files(request_id, sets),
            Ok(Next::Query(query)) => self.ask_store(request_id, query),
            Ok(Next::Feed { key, cause, job }) => {
                let path = self.work.outputs.path(&key, cause);
                let mut feed = Feed::new(request_id.id, key, job, path);
                (feed.follows, feed.is_shared) = (request_id.follows, self.work.execution().is_elsewhere());
                self.clients.feed(request_id, feed);
            }
        }
    }

    /// Asks the store how those runs ended that are over and waited for.
    pub(super) fn answer_waiters(&mut self) {
        let planner = self.owner.planner();
        let committed_count = (!self.owner.writer().is_idle()).then(|| self.owner.writer().committed_count);
        for (key, request_id) in self.clients.take_over(|key| planner.run(key).is_none()) {
            let ask = move |reader: &mut dyn Reader| queries::end(reader, key, committed_count);
            self.ask_store(request_id, Box::new(ask));
        }
    }

    pub(super) fn ask_store(&mut self, request_id: RequestId, query: Query) {
        // A client that has gone gets no answer.
        if self.clients.begin_question(request_id) {
            self.owner.add_question(Question { request_id, query });
        }
    }

    pub(super) fn command(&mut self, purpose: Purpose, command: Command) {
        if let Some(audit) = purpose.request_id().and_then(|request_id| self.clients.take_audit(request_id)) {
            self.owner.tell(Input::Audit(audit));
        }
        let ticket = self.clients.ticket(purpose);
        self.owner.command(ticket, command);
    }

    fn command_files(&mut self, request_id: RequestId, mut sets: Vec<Definitions>) {
        let Some(last) = sets.pop() else {
            return self.clients.answer(request_id, Response::Applied(AppliedWire::default()));
        };
        sets.iter().chain([&last]).for_each(|set| self.is_applied(set));
        let mut applied = AppliedWire::default();
        for set in sets {
            applied.add(self.changes(&set));
            self.owner.command(Ticket(0), Command::Apply(set));
        }
        self.command(Purpose::LastOf { request_id, applied }, Command::Apply(last));
    }

    /// The reply to a command finds its asker.
    pub(super) fn reply(&mut self, ticket: Ticket, reply: Reply, now: Moment) {
        self.files.hear_of_lost(self.owner.planner().lost_definitions());
        let Some(purpose) = self.clients.take_purpose(ticket) else { return };
        match purpose {
            Purpose::Call(answer) => answer.give(Ok(reply)),
            Purpose::Reload { path } => {
                if let Reply::Applied(applied) = reply {
                    self.was_read(&path, &applied, now);
                    self.say_refused(&path, &applied, now);
                }
            }
            Purpose::Restored { source } => {
                if let Reply::Applied(applied) = reply {
                    self.say_refused(&JobSource::of(&source).to_string(), &applied, now);
                }
            }
            Purpose::Answer(request_id) => self.clients.answer_awaited(request_id, describe::reply(&reply)),
            Purpose::Purge { request_id, job } => self.purged(request_id, job, &reply),
            Purpose::LastOf { request_id, mut applied } => {
                if let Reply::Applied(last) = &reply {
                    applied.add(describe::applied(last));
                }
                self.clients.answer_awaited(request_id, Response::Applied(applied));
            }
            Purpose::AnswerAndWait(request_id) => {
                if let Reply::Planned { key } = &reply {
                    self.clients.answer(request_id, describe::reply(&reply));
                    self.clients.wait_on(request_id, key.clone());
                } else {
                    // Who wants the end of a run that has the key already can ask for it by its name.
                    self.clients.answer_waited(request_id, describe::reply(&reply));
                }
            }
        }
    }

    /// Which file defines a name is settled before a set is applied, so that only a limit can refuse a job.
    fn say_refused(&mut self, from: &str, applied: &ApplyReport, now: Moment) {
        let names: Vec<&str> = applied.refused.iter().map(JobName::as_str).collect();
        if !names.is_empty() {
            let text = format!(
                "{} of {from} are NOT in force, because there are too many: {}",
                counted(names.len(), "job"),
                names.join(", ")
            );
            self.note(now.wall, &text);
        }
    }

    /// What a request leads to that was admitted.
    fn answer(&mut self, request_id: RequestId, request: Request, now: Moment) -> NextResult {
        match request {
            Request::Status => self.status(now),
            Request::Health => self.health(now),
            Request::Recount => look(move |reader| queries::recount(reader)),
            Request::List(wire) => self.list(&wire, now),
            Request::Pending { after, limit } => {
                let after = queries::pending_start(after.as_deref())?;
                look(move |reader| queries::pending(reader, after, limit))
            }
            Request::Show { job } => self.show(&job, now),
            Request::History(wire) => self.history(&wire),
            Request::Audit(wire) => {
                let audit_query = queries::audit_query(&wire)?;
                look(move |reader| queries::audit(reader, &audit_query))
            }
            Request::Logs { of, .. } => self.logs(&of),
            Request::Run { job, wait, due, key } => {
                let command = self.trigger(&job, due.as_deref(), key)?;
                Ok(if wait { Next::Wait(command) } else { Next::Command(command) })
            }
            Request::Wait { run } => Ok(Next::End(named_run(&run)?)),
            Request::Submit(submission) => self.submit(*submission),
            Request::Every(wire) => self.every(*wire),
            Request::Define { text, replace } => Ok(Next::Parse(ClientText::Definition { text, replace })),
            Request::Remove { job, drop_history: false } => self.remove(&job),
            Request::Remove { job, drop_history: true } => self.purge(&job),
            Request::Pause(pause) => self.pause(pause, now),
            Request::Resume { job } => Ok(Next::Command(Command::Resume(self.scope(job)?))),
            Request::Cancel { of } => self.cancel(&of),
            Request::Backfill { job, from, to, preview: true } => self.backfill_times(&job, &from, &to, now),
            Request::Backfill { job, from, to, preview: false } => backfill(&job, &from, &to),
            Request::Rewind { job, preview: true } => self.rewind_times(&job, now),
            Request::Rewind { job, preview: false } => Ok(Next::Command(Command::Rewind(job_name(&job)?))),
            Request::DeadRetry { run } => {
                let key = dead_key(&run)?;
                query(move |reader| queries::dead(reader, &key, |run| Command::RetryDead(Box::new(run))))
            }
            Request::DeadDrop { run } => {
                let key = dead_key(&run)?;
                query(move |reader| queries::dead(reader, &key, |run| Command::DropDead(run.key)))
            }
            Request::Apply { files, prune, preview: is_preview } => {
                let files = self.with_sources(files)?;
                Ok(Next::Parse(ClientText::Files { files, prune, is_preview }))
            }
            Request::Export { after } => Ok(Next::Answer(self.export(after.as_deref()))),
            Request::Find { run } => self.find(&run, now),
            Request::Metrics { jobs_max } => self.metrics(jobs_max),
            Request::LoginCode => self.listener.codes.give(now).map(Next::Answer),
            Request::Redeem { code } => self.listener.codes.redeem(&code, now).map(Next::Answer),
            Request::Watch => self.watch(request_id),
        }
    }

    fn pause(&self, wire: PauseWire, now: Moment) -> NextResult {
        let PauseWire { job, until, note } = wire;
        let terms = PauseTerms::new(checked_note(note)?);
        let until = until.as_deref().map(time).transpose()?;
        if until.is_some_and(|until| until <= now.wall) {
            return Err(usage("a pause ends after now"));
        }
        let terms = until.map_or(terms.clone(), |until| terms.until(until));
        Ok(Next::Command(Command::Pause(self.scope(job)?, terms)))
    }

    fn scope(&self, job: Option<String>) -> Result<Scope, ErrorWire> {
        job.map_or(Ok(Scope::All), |job| self.known(&job).map(Scope::Job))
    }

    fn trigger(&self, job: &str, due: Option<&str>, key: Option<String>) -> Result<Command, ErrorWire> {
        let mut request = RunRequest::new(self.known(job)?);
        (request.due, request.key) = (due.map(time).transpose()?, key);
        Ok(Command::Trigger(request))
    }

    /// On a full disk nothing new is taken, and nothing at all is changed that cannot be recorded.
    fn has_room_for(&self, row: &Row<'_>, now: Moment) -> Result<(), ErrorWire> {
        let is_refused = match self.owner.writer().is_full() || self.owner.is_backlogged() {
            true => row.power.changes(),
            false => self.reserve.is_full() && row.effect == Effect::Adds,
        };
        let text = || self.troubles(now).join("; ");
        if is_refused { Err(ErrorWire::new(ErrorKind::Temporary, text())) } else { Ok(()) }
    }

    /// The job of a name, and how far it is.
    fn defined(&self, name: &JobName) -> Result<(&Job, &Mark), ErrorWire> {
        self.owner.planner().job(name).ok_or_else(|| not_found(&format!("job `{name}`")))
    }

    /// The name of a job that there is.
    pub(super) fn known(&self, text: &str) -> Result<JobName, ErrorWire> {
        let name = job_name(text)?;
        self.defined(&name)?;
        Ok(name)
    }

    fn submit(&self, wire: SubmitWire) -> NextResult {
        self.check_user(&wire.work)?;
        submission(wire).map(|submission| Next::Command(Command::Submit(submission)))
    }

    fn every(&mut self, wire: EveryWire) -> NextResult {
        let EveryWire { name, period, replace, work } = wire;
        self.check_user(&work)?;
        let (body, policies) = work_of(work)?;
        let every = format!("@every {period}");
        let expression = Expression::parse(&every).map_err(|error| usage(error.to_string()))?;
        let zone = self.files.reader.zone.clone();
        let schedule = Schedule::new(expression, zone);
        let definition = Definition { policies, ..Definition::new(job_name(&name)?, schedule, body) };
        let source = JobSource::Command.source();
        let job = definition.job(&source).map_err(|error| usage(error.to_string()))?;
        self.check_free(&job.name, replace.then_some(&JobSource::Command))?;
        Ok(Next::Command(Command::Apply(Definitions::new(source, vec![job]))))
    }

    /// Refuses a user that the server cannot start processes as.
    fn check_user(&self, work: &WorkWire) -> Result<(), ErrorWire> {
        let Some(user) = work.process.user.as_ref().filter(|_| work.webhook.is_none()) else { return Ok(()) };
        let found = self.files.reader.users.account(user);
        found.map(drop).map_err(|refusal| usage(format!("cannot run as user `{user}`: {refusal}")))
    }

    /// Refuses a name that another job has, unless that came from where it may be replaced.
    pub(super) fn check_free(&self, name: &JobName, replaced: Option<&JobSource>) -> Result<(), ErrorWire> {
        let known = self.owner.planner().job(name);
        if let Some((known, _)) = known
            && Some(&JobSource::of(&known.source)) != replaced
        {
            let hint = match (JobSource::of(&known.source), replaced) {
                (JobSource::Command, _) => ": choose another --name; --replace replaces it".to_owned(),
                (_, None) => ": choose another --name".to_owned(),
                (job_source, Some(_)) => format!(", which comes from {job_source}: change it there"),
            };
            let message = format!("there is a job `{name}` already{hint}");
            return Err(ErrorWire::new(ErrorKind::Conflict, message));
        }
        Ok(())
    }

    fn cancel(&mut self, of: &str) -> NextResult {
        if let Some(key) = run_key(of) {
            return Ok(Next::Command(Command::Cancel(key)));
        }
        if let Ok(id) = of.parse::<OnceId>() {
            return Ok(Next::Command(Command::Withdraw(id)));
        }
        let name = job_name(of)?;
        let runs = self.owner.planner().runs_of(&name);
        let mut keys: Vec<RunKey> = runs.map(|run| run.key.clone()).collect();
        if let Some(last) = keys.pop() {
            for key in keys {
                self.owner.command(Ticket(0), Command::Cancel(key));
            }
            return Ok(Next::Command(Command::Cancel(last)));
        }
        query(move |reader| queries::cancel_once(reader, &name))
    }

    fn backfill_times(&self, job: &str, from: &str, to: &str, now: Moment) -> NextResult {
        let (name, from, to) = (job_name(job)?, time(from)?, time(to)?);
        let (found, _) = self.defined(&name)?;
        let times =
            preview(&found.timetable, from, to, now.wall).map_err(|refusal| describe::refused(&refusal))?;
        Ok(Next::Answer(Response::Preview { times }))
    }

    fn rewind_times(&self, job: &str, now: Moment) -> NextResult {
        let name = job_name(job)?;
        let (found, mark) = self.defined(&name)?;
        let planned = mark.watermark;
        let (times, count) = rewind_preview(&found.timetable, planned, now.wall, MAX_SHOWN)
            .ok_or_else(|| describe::refused(&Refusal::NotAhead))?;
        look(move |reader| queries::rewinding(reader, &name, times, count, planned))
    }
}

fn backfill(job: &str, from: &str, to: &str) -> NextResult {
    let (job, from, to) = (job_name(job)?, time(from)?, time(to)?);
    Ok(Next::Command(Command::Backfill { job, from, to }))
}

fn dead_key(text: &str) -> Result<RunKey, ErrorWire> {
    run_key(text).ok_or_else(|| not_found(&format!("dead letter `{text}`")))
}

/// What is kept of the caller of a change.
fn audit(actor: &str, row: &Row<'_>, comment: Option<&str>, now: Moment) -> Result<Audit, ErrorWire> {
    let note = checked_note(comment.unwrap_or(row.note).to_owned())?;
    let target = row.target.unwrap_or_default();
    Ok(Audit::new(now.wall, actor, row.word, target).with_note(note))
}

/// A note that fits into a line of a list.
fn checked_note(note: String) -> Result<String, ErrorWire> {
    if MAX_NOTE_BYTES < note.len() || note.chars().any(char::is_control) {
        return Err(usage(format!("a note has at most {MAX_NOTE_BYTES} bytes, and no control characters")));
    }
    Ok(note)
}

/// The command of a submission.
///
/// # Errors
/// What is wrong with it, for its client.
pub fn submission(wire: SubmitWire) -> Result<Submission, ErrorWire> {
    let SubmitWire { due, name, key, group, priority, earlier, work } = wire;
    let (body, policies) = work_of(work)?;
    let action = body.encode().map_err(|error| usage(error.to_string()))?;
    let named = |name: String| JobName::new(&name).map_err(|error| usage(error.to_string()));
    let (name, group) = (name.map(named).transpose()?, group.map(named).transpose()?);
    let mut work = Work::new(action).with_policies(policies);
    (work.group, work.priority) = (group, priority);
    let mut submission = Submission::new(time(&due)?, work);
    (submission.name, submission.key, submission.earlier) = (name, key, earlier);
    Ok(submission)
}

/// What a client wants done, and by which rules. What is wrong with it is said now, and not when it is due.
fn work_of(wire: WorkWire) -> Result<(Body, Policies), ErrorWire> {
    let policies: Policies =
        wire.policies.parse().map_err(|error: mainspring_job::PolicyError| usage(error.to_string()))?;
    let has_process = wire.process != ProcessBody::default();
    let body = match (wire.webhook, wire.handler) {
        (None, None) => Body::Process(wire.process),
        (Some(webhook), None) if !has_process => Body::Webhook(webhook),
        (None, Some(HandlerWire { name, version, input, payload })) if !has_process => {
            let payload = match (input, payload) {
                (None, payload) => payload.unwrap_or_default(),
                (Some(input), None) => input.to_string(),
                (Some(_), Some(_)) => return Err(usage("a handler is given an `input` or a `payload`")),
            };
            Body::Handler(HandlerBody { name, version, payload })
        }
        _ => return Err(usage("the work is one of a process, a webhook and a handler")),
    };
    body.check().map_err(usage)?;
    Ok((body, policies))
}

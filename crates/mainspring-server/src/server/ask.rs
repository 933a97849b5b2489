//! Requests of clients: answered from what is known, or turned into commands for the planner.
//!
//! | request | is answered |
//! |---|---|
//! | `status`, `list`, `show`, `history`, `logs`, `export`, previews | at once, from the planner and the store: see `look` |
//! | all others | when what they ask for is on disk |
//!
//! Cost: a request that looks costs a query of the store, of a page at most.
//!
//! Does not trust a client with more than the limits of the protocol.
//!
//! Source: own.

use jiff::Timestamp;
use mainspring_job::{
    Command, Definitions, Input, Job, JobName, OnceId, Policies, Reader, Reply, RunKey, Scope, Submission,
    Ticket, Work, preview,
};

use super::asking::{
    Answered, Asker, Asking, Next, Query, Question, job_name, not_found, query, run_key, usage,
};
use super::feed::Feed;
use super::peer::TURN_TIME;
use super::phase::Phase;
use super::purpose::Purpose;
use super::rate::{INSIDE_RATE, Rates};
use super::{Server, describe, queries};
use crate::message::counted;
use crate::protocol::{AppliedWire, Asked, ErrorKind, ErrorWire, Request, Response, SubmitWire};
use mainspring_action::body::Body;
use mainspring_exec::clock::Moment;
use mainspring_file::jobfile::JobFile;
use mainspring_file::origin::Origin;
use mainspring_file::source::Source;

/// How many waiting runs of a job one `cancel` ends.
const MAX_CANCELLED: usize = 1_000;

fn time(text: &str) -> Result<Timestamp, ErrorWire> {
    text.parse().map_err(|_| usage(format!("`{text}` is no time in RFC 3339")))
}

impl Server {
    /// Takes requests of all clients in turn, until there is none or the time of this turn is over.
    pub(super) fn take_requests(&mut self, now: Moment) {
        self.peers.read(now);
        let began = Moment::now();
        while self.takes_requests(now)
            && let Some((peer, asked)) = self.peers.next_request()
        {
            self.take_request(peer, asked, now);
            if TURN_TIME <= Moment::now().since(began) {
                break;
            }
        }
    }

    fn take_request(&mut self, peer: u64, asked: Asked, now: Moment) {
        let id = asked.id;
        if let Some(asking) = self.ask_inside(peer, &asked, now) {
            return self.go_on(Asker { peer, id, follows: false }, asking);
        }
        let admitted = self.admit(peer, &asked.request).and_then(|()| self.weigh(peer, &asked.request, now));
        if let Err(error) = admitted {
            return self.answer(peer, id, Response::Error(error));
        }
        if !looks(&asked.request) {
            self.say_actor(peer, &asked, now);
        }
        let request = asked.request;
        let follows = matches!(request, Request::Logs { follow: true, .. });
        let asking = self.consider(request, now);
        self.go_on(Asker { peer, id, follows }, asking);
    }

    /// Takes the answers of the store to what was asked.
    pub(super) fn take_answers(&mut self) {
        self.questions.quiet();
        while let Some(answered) = self.questions.next_answer() {
            self.take_answer(answered);
        }
    }

    pub(super) fn take_answer(&mut self, answered: Answered) {
        let Answered { asker, asking } = answered;
        if let Some(peer) = self.peers.get(asker.peer) {
            peer.asking_count = peer.asking_count.saturating_sub(1);
        }
        self.go_on(asker, asking);
    }

    fn go_on(&mut self, asker: Asker, asking: Asking) {
        let Asker { peer, id, follows } = asker;
        match asking {
            Ok(Next::Answer(response)) => self.answer(peer, id, response),
            Ok(Next::Nothing) => {}
            Err(error) => self.answer(peer, id, Response::Error(error)),
            Ok(Next::Command(command)) => self.command(Purpose::Answer { peer, id }, command),
            Ok(Next::Wait(command)) => self.command(Purpose::AnswerAndWait { peer, id }, command),
            Ok(Next::End(key)) => self.wait_for_end(peer, id, key),
            Ok(Next::Unwritten { key, committed_count }) => {
                self.wait_for_end_on_disk(peer, id, key, committed_count);
            }
            Ok(Next::Files(sets)) => self.command_files(peer, id, sets),
            Ok(Next::Query(query)) => self.ask_store(asker, query),
            Ok(Next::Feed { key, job, is_once }) => {
                let path = self.outputs.path(&key, is_once);
                if let Some(peer) = self.peers.get(peer) {
                    peer.end_feed();
                    peer.feed = Some(Feed::new(id, key, job, follows, &path));
                }
            }
        }
    }

    pub(super) fn ask_store(&mut self, asker: Asker, query: Query) {
        // Who has gone does not want to know.
        if let Some(peer) = self.peers.get(asker.peer) {
            peer.asking_count += 1;
            self.questions.add(&self.writer, Question { asker, query });
        }
    }

    /// Whether a client may ask for a change now. Rates are no limit for who only looks.
    fn weigh(&mut self, peer: u64, request: &Request, now: Moment) -> Result<(), ErrorWire> {
        if looks(request) {
            return Ok(());
        }
        let Rates { connection, total } = self.rates;
        let (is_inside, is_over) =
            self.peers.get(peer).map_or((false, false), |peer| (peer.is_inside, !peer.bucket.take(now)));
        let over = if is_inside && is_over {
            format!("{INSIDE_RATE} changes a second over HTTP")
        } else if is_over {
            format!("{connection} changes a second over one connection (serve --max-connection-changes)")
        } else if !is_inside && !self.bucket.take(now) {
            format!("{total} changes a second in all (serve --max-changes)")
        } else {
            return Ok(());
        };
        self.refused_count += 1;
        Err(ErrorWire::new(ErrorKind::Temporary, format!("too fast: the limit is {over}")))
    }

    fn command(&mut self, purpose: Purpose, command: Command) {
        if let Purpose::Answer { peer, .. }
        | Purpose::AnswerAndWait { peer, .. }
        | Purpose::LastOf { peer, .. } = &purpose
            && let Some(peer) = self.peers.get(*peer)
        {
            peer.awaited_count += 1;
            peer.waited_count += usize::from(matches!(purpose, Purpose::AnswerAndWait { .. }));
        }
        let ticket = self.ticket(purpose);
        self.inputs.push_back(Input::Command { ticket, command });
    }

    fn command_files(&mut self, peer: u64, id: u64, mut sets: Vec<Definitions>) {
        let Some(last) = sets.pop() else {
            return self.answer(peer, id, Response::Applied(AppliedWire::default()));
        };
        let mut applied = AppliedWire::default();
        for set in sets {
            let before = self.changes(&set);
            applied.add(before);
            let ticket = Ticket(0);
            self.inputs.push_back(Input::Command { ticket, command: Command::Apply(set) });
        }
        self.command(Purpose::LastOf { peer, id, applied }, Command::Apply(last));
    }

    pub(super) fn answer(&mut self, peer: u64, id: u64, response: Response) {
        // Who has gone does not want it any more.
        if let Some(peer) = self.peers.get(peer) {
            peer.answer(id, response);
        }
    }

    /// The reply to a command finds its asker.
    pub(super) fn reply(&mut self, ticket: Ticket, reply: Reply, now: Moment) {
        let Some(purpose) = self.asked.remove(&ticket) else { return };
        match purpose {
            Purpose::Reload { path } => {
                if let Reply::Applied(applied) = reply {
                    let wire = describe::applied(&applied);
                    let text = format!(
                        "{path} was read again: {} added, {} changed, {} removed",
                        wire.added.len(),
                        wire.changed.len(),
                        wire.removed.len()
                    );
                    self.note(now.wall, &text);
                    self.say_refused(&path, &wire.refused, now);
                }
            }
            Purpose::Restored { source } => {
                if let Reply::Applied(applied) = reply {
                    let names = describe::applied(&applied).refused;
                    self.say_refused(&Origin::of(&source).to_string(), &names, now);
                }
            }
            Purpose::Answer { peer, id } => {
                if let Reply::Duplicate { id: Some(known) } = reply {
                    self.await_less(peer);
                    let ask = move |reader: &mut dyn Reader| queries::duplicate(reader, known);
                    return self.ask_store(Asker { peer, id, follows: false }, Box::new(ask));
                }
                self.answer_awaited(peer, id, describe::reply(&reply));
            }
            Purpose::LastOf { peer, id, mut applied } => {
                if let Reply::Applied(last) = &reply {
                    applied.add(describe::applied(last));
                }
                self.answer_awaited(peer, id, Response::Applied(applied));
            }
            Purpose::AnswerAndWait { peer, id } => {
                if let Reply::Planned { key } = &reply {
                    self.answer(peer, id, describe::reply(&reply));
                    if self.peers.get(peer).is_some() {
                        self.waiters.add(key.clone(), peer, id);
                    }
                } else {
                    self.answer_waited(peer, id, describe::reply(&reply));
                }
            }
        }
    }

    /// Who says a name is settled before a set is applied, so that only a limit can refuse a job.
    fn say_refused(&mut self, from: &str, names: &[String], now: Moment) {
        if !names.is_empty() {
            let text = format!(
                "{} of {from} are NOT in force, because there are too many: {}",
                counted(names.len(), "job"),
                names.join(", ")
            );
            self.note(now.wall, &text);
        }
    }

    fn consider(&mut self, request: Request, now: Moment) -> Asking {
        if !looks(&request) && self.phase != Phase::Running {
            return Err(ErrorWire::new(ErrorKind::Temporary, "the server is stopping"));
        }
        self.has_room_for(&request, now)?;
        let scope = |job: Option<String>| match job {
            None => Ok(Scope::All),
            Some(job) => job_name(&job).map(Scope::Job),
        };
        match request {
            Request::Status => self.status(now),
            Request::Health => self.health(now),
            Request::List { after } => self.list(after.as_deref(), now),
            Request::Pending { after, limit } => {
                let after = queries::pending_start(after.as_deref())?;
                query(move |reader| queries::pending(reader, after, limit))
            }
            Request::Show { job } => self.show(&job, now),
            Request::History { job, states, limit, cursor } => {
                let job = job.as_deref().map(job_name).transpose()?;
                let asked = queries::history_query(job, &states, limit, cursor.as_deref())?;
                query(move |reader| queries::history(reader, &asked))
            }
            Request::Logs { of, .. } => self.logs(&of),
            Request::Run { job, wait } => {
                let command = Command::Trigger(job_name(&job)?);
                Ok(if wait { Next::Wait(command) } else { Next::Command(command) })
            }
            Request::Wait { run } => {
                let missing = || not_found(&format!("run `{run}`"));
                Ok(Next::End(run_key(&run).ok_or_else(missing)?))
            }
            Request::Submit(submission) => submit(*submission).map(Next::Command),
            Request::Define { text, replace } => self.define(&text, replace),
            Request::Remove { job } => self.remove(&job),
            Request::Pause { job } => Ok(Next::Command(Command::Pause(scope(job)?))),
            Request::Resume { job } => Ok(Next::Command(Command::Resume(scope(job)?))),
            Request::Cancel { of } => self.cancel(&of),
            Request::Backfill { job, from, to, preview } => self.backfill(&job, &from, &to, preview, now),
            Request::DeadRetry { run } => {
                let key = dead_key(&run)?;
                query(move |reader| queries::dead(reader, &key, |run| Command::RetryDead(Box::new(run))))
            }
            Request::DeadDrop { run } => {
                let key = dead_key(&run)?;
                query(move |reader| queries::dead(reader, &key, |run| Command::DropDead(run.key)))
            }
            Request::Apply { files, prune, preview } => self.apply_files(files, prune, preview),
            Request::Export { after } => Ok(Next::Answer(self.export(after.as_deref()))),
            Request::Find { run } => {
                let key = run_key(&run).ok_or_else(|| not_found(&format!("run `{run}`")))?;
                query(move |reader| queries::found(reader, &key))
            }
            // They were answered before.
            Request::Door | Request::Redeem { .. } | Request::Watch => Ok(Next::Nothing),
        }
    }

    /// On a full disk nothing new is taken, and nothing at all is changed that cannot be recorded.
    fn has_room_for(&self, request: &Request, now: Moment) -> Result<(), ErrorWire> {
        let is_refused = match self.writer.is_full() || self.is_backlogged() {
            true => !looks(request),
            false => self.room.is_full() && adds(request),
        };
        let text = || self.troubles(now).join("; ");
        if is_refused { Err(ErrorWire::new(ErrorKind::Temporary, text())) } else { Ok(()) }
    }

    fn define(&mut self, text: &str, replace: bool) -> Asking {
        let file = JobFile::parse(&Source::new("", text), &self.files.reader().zone);
        if let Some(problem) = file.problems.first() {
            return Err(ErrorWire::new(ErrorKind::Invalid, problem.in_file("definition").to_string()));
        }
        let jobs: Vec<Job> = file.jobs.into_iter().map(|placed| placed.job).collect();
        let [job] = jobs.as_slice() else { return Err(usage("expected one job")) };
        let known = self.planner.job(&job.name);
        if let Some((known, _)) = known
            && !(replace && Origin::of(&known.source) == Origin::Command)
        {
            let hint =
                if Origin::of(&known.source) == Origin::Command { "; --replace replaces it" } else { "" };
            let message = format!("there is a job `{}` already: choose another --name{hint}", job.name);
            return Err(ErrorWire::new(ErrorKind::Conflict, message));
        }
        let definitions = Definitions::new(Origin::Command.source(), jobs).with_groups(file.groups);
        Ok(Next::Command(Command::Apply(definitions)))
    }

    fn remove(&mut self, text: &str) -> Asking {
        let name = job_name(text)?;
        let (job, _) = self.planner.job(&name).ok_or_else(|| not_found(&format!("job `{text}`")))?;
        let origin = Origin::of(&job.source);
        if self.files.are_given(&origin) {
            let message = format!("the job comes from {origin}: remove it there");
            return Err(ErrorWire::new(ErrorKind::Conflict, message));
        }
        Ok(Next::Command(Command::Remove(name)))
    }

    fn cancel(&mut self, of: &str) -> Asking {
        if let Some(key) = run_key(of) {
            return Ok(Next::Command(Command::Cancel(key)));
        }
        if let Ok(id) = of.parse::<OnceId>() {
            return Ok(Next::Command(Command::Withdraw(id)));
        }
        let name = job_name(of)?;
        let runs = self.planner.runs_of(&name);
        let mut keys: Vec<RunKey> = runs.map(|run| run.key.clone()).take(MAX_CANCELLED).collect();
        if let Some(last) = keys.pop() {
            for key in keys {
                self.inputs.push_back(Input::Command { ticket: Ticket(0), command: Command::Cancel(key) });
            }
            return Ok(Next::Command(Command::Cancel(last)));
        }
        query(move |reader| queries::cancel_once(reader, &name))
    }

    fn backfill(&mut self, job: &str, from: &str, to: &str, is_preview: bool, now: Moment) -> Asking {
        let (name, from, to) = (job_name(job)?, time(from)?, time(to)?);
        if !is_preview {
            return Ok(Next::Command(Command::Backfill { job: name, from, to }));
        }
        let (found, _) = self.planner.job(&name).ok_or_else(|| not_found(&format!("job `{job}`")))?;
        let times =
            preview(&found.timetable, from, to, now.wall).map_err(|refusal| describe::refused(&refusal))?;
        Ok(Next::Answer(Response::Preview { times: times.iter().map(ToString::to_string).collect() }))
    }
}

fn dead_key(text: &str) -> Result<RunKey, ErrorWire> {
    run_key(text).ok_or_else(|| not_found(&format!("dead letter `{text}`")))
}

/// Whether a request changes nothing.
fn looks(request: &Request) -> bool {
    matches!(
        request,
        Request::Status
            | Request::Health
            | Request::List { .. }
            | Request::Pending { .. }
            | Request::Show { .. }
            | Request::History { .. }
            | Request::Logs { .. }
            | Request::Wait { .. }
            | Request::Export { .. }
            | Request::Find { .. }
    )
}

/// Whether a request asks for new work.
fn adds(request: &Request) -> bool {
    matches!(
        request,
        Request::Run { .. }
            | Request::Submit(_)
            | Request::Define { .. }
            | Request::Backfill { preview: false, .. }
            | Request::DeadRetry { .. }
            | Request::Apply { preview: false, .. }
    )
}

fn submit(wire: SubmitWire) -> Result<Command, ErrorWire> {
    let policies: Policies =
        wire.policies.parse().map_err(|error: mainspring_job::PolicyError| usage(error.to_string()))?;
    let body = Body::Process(wire.process);
    let action = body.encode().map_err(|error| usage(error.to_string()))?;
    let name =
        wire.name.map(|name| JobName::new(&name).map_err(|error| usage(error.to_string()))).transpose()?;
    let mut submission = Submission::new(time(&wire.due)?, Work::new(action).with_policies(policies));
    (submission.name, submission.key) = (name, wire.key);
    Ok(Command::Submit(submission))
}

//! Answers clients of a server that has several loops: each request goes to whom it is for.
//!
//! ```text
//!  client ── line ──▶ Router ─┬─ a loop of this server ───────────────────────┐
//!                             ├─ inbox of the database ─▶ the shard's owner ──┼─▶ merged ──▶ client
//!                             ├─ tables of the database, where no server answers ┤
//!                             └─ several of them ─────────────────────────────┘
//! ```
//!
//! A request that changes something in several loops is done in each of them by itself. An `apply` is
//! previewed in all of them first, so that one which some would refuse is done in none. If the owner of a
//! shard changes meanwhile, the new one is asked as well: each of these requests may be done twice.
//!
//! What only looks is answered from the database for a shard whose owner is dead or away: see [`absent`].
//!
//! Cost: for a loop of this server two system calls; for another server what the inbox costs; for a request
//! about one job a question to the database first.
//!
//! Does not know what has several answers, such as the output of a run: [`streaming_requests`] does.

mod absent;
mod own;
mod remote;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mainspring_job::{Shard, StoreError};
use mainspring_postgres::{Inbox, ShardHolder, Shards};

use super::super::streaming_requests::{self, temporary};
use super::loops::{Link, Local};
use super::merge::merged;
use super::pool::{LoopLocation, Pool, SETTLE_INTERVAL, SETTLE_WAIT};
use super::reply::{Question, ended, line_of, nobody, write};
use super::route::{Route, next_in_turn, route};
use super::watch::Watcher;
use mainspring_exec::clock::Moment;
use mainspring_file::job_source::JobSource;
use mainspring_server::protocol::{
    ErrorKind, ErrorWire, FileWire, IdentifiedRequest, IdentifiedResponse, Request, Response, ShardWire,
};
use mainspring_server::server::remote_output::bring;
use mainspring_server::waiting::{is_left, is_readable, wait_for, wait_for_any};

/// How often the new owners of shards are asked for what all shards are to do.
const MAX_ROUNDS: usize = 3;

/// What shards have said.
#[derive(Default)]
struct Responses {
    answers: Vec<Response>,
    /// Those for which no server has answered, and what a client is told that wants to change something.
    absent: Vec<(Shard, Response)>,
    /// Those whose loops have ended over the question.
    broken: Vec<Shard>,
}

/// Answers over one connection.
pub(super) struct Router {
    pool: Arc<Pool>,
    /// The connections of a client of the socket to the loops of this server. `None`: what is asked comes
    /// over HTTP.
    links: Option<BTreeMap<Shard, Link>>,
    /// A session while another server is asked.
    inbox: Option<Inbox>,
    /// The shards for which no server answered the question of now.
    absent: BTreeSet<Shard>,
    watcher: Watcher,
}

impl Router {
    /// For a client of the socket.
    pub(super) fn of_client(pool: &Arc<Pool>) -> Router {
        Router {
            pool: Arc::clone(pool),
            links: Some(BTreeMap::new()),
            inbox: None,
            absent: BTreeSet::new(),
            watcher: Watcher::default(),
        }
    }

    /// For the listener of this server.
    pub(super) fn of_listener(pool: &Arc<Pool>) -> Router {
        Router { links: None, ..Router::of_client(pool) }
    }

    /// Nothing was asked for a while.
    pub(super) fn rest(&mut self) {
        self.inbox = None;
    }

    /// Answers one request.
    ///
    /// # Errors
    /// When the client has gone.
    pub(super) fn answer(&mut self, line: &str, client: &UnixStream) -> io::Result<()> {
        let mut writer = client;
        let asked = match IdentifiedRequest::read(line.as_bytes()) {
            Ok(asked) => asked,
            Err(error) => return write(writer, 0, Response::Error(error)),
        };
        let id = asked.id;
        if matches!(asked.request, Request::Watch) && self.links.is_none() {
            let changes = self.watcher.changes(&self.pool, line, client)?;
            return write(writer, id, Response::Changes(changes));
        }
        // A client may call itself what it likes.
        let actor = asked.actor.clone().filter(|_| self.links.is_none());
        let actor =
            actor.map_or_else(|| self.pool.name.clone(), |name| format!("{name} at {}", self.pool.name));
        let question = Question { line, asked: &asked, actor };
        self.absent.clear();
        match self.one_for(&asked.request) {
            Ok(Some(shard)) => match self.pool.places(&[shard]).pop() {
                Some((_, LoopLocation::Here(local))) => self.pass(shard, &local, &question, &mut writer),
                Some((_, LoopLocation::There(_))) if streaming_requests::has_several(&asked.request) => {
                    self.pass_on(shard, &question, client)
                }
                None if streaming_requests::has_several(&asked.request) && question.looks() => {
                    self.pass_on(shard, &question, client)
                }
                _ => {
                    let response = self.ask_all(&[shard], &question).pop().unwrap_or_else(|| nobody(shard));
                    self.bring(shard, &question, &response);
                    write(writer, id, response)
                }
            },
            Ok(None) => {
                let response = self.everybody(&question);
                write(writer, id, response)
            }
            Err(response) => write(writer, id, *response),
        }
    }

    /// The listener reads the file of a run that it asks for: here is what another server has of it.
    fn bring(&mut self, shard: Shard, question: &Question<'_>, response: &Response) {
        if self.links.is_none()
            && let Response::Found(found) = response
        {
            let request = Request::Logs { of: found.run.run.to_string(), follow: false };
            let asked = IdentifiedRequest { request, ..question.asked.clone() };
            let outputs = self.pool.tables.data.output();
            bring(&outputs, &found.run, || {
                streaming_requests::told(&self.reply_of(shard, &asked, &question.actor))
            });
        }
    }

    /// The shard that a request is for; `None` if it is for several.
    fn one_for(&self, request: &Request) -> Result<Option<Shard>, Box<Response>> {
        let failed = |error: StoreError| Box::new(temporary(format!("it is not known who has it: {error}")));
        let here = self.pool.loops.here();
        let any = || {
            let owned = self.pool.loops.look().shards.into_iter().find(|held| !held.server.is_empty());
            let shard = here.first().copied().or_else(|| owned.map(|held| held.shard));
            // What only looks is answered for any shard.
            let shard = shard.or_else(|| request.looks().then_some(Shard(0)));
            shard.ok_or_else(|| Box::new(temporary("no server owns a shard yet".to_owned())))
        };
        Ok(Some(match route(request, self.pool.count) {
            Route::Job(name) => {
                let found = self.pool.find(|shards| shards.of_job(&name)).map_err(failed)?;
                found.unwrap_or_else(|| Shard::of(&name, self.pool.count))
            }
            Route::Run(key) => {
                let found = self.pool.find(|shards| shards.of_run(&key)).map_err(failed)?;
                found.map_or_else(any, Ok)?
            }
            Route::Once(id) => {
                let found = self.pool.find(|shards| shards.of_once(id.due, id.number)).map_err(failed)?;
                found.map_or_else(any, Ok)?
            }
            Route::Defines(name, shard) => {
                let found = self.pool.find(|shards| shards.defined(&name)).map_err(failed)?;
                if let Some(other) = found.filter(|found| *found != shard) {
                    let text = format!(
                        "there is a job `{name}` in another group already (shard {}, this belongs to {}): remove it first",
                        other.0, shard.0
                    );
                    return Err(Box::new(ErrorWire::response(ErrorKind::Conflict, text)));
                }
                shard
            }
            Route::One(shard) => shard,
            Route::Any => any()?,
            Route::Turn => self.next_here().map_or_else(any, Ok)?,
            Route::Here | Route::All | Route::InTurn(..) => return Ok(None),
        }))
    }

    /// A shard of this server, each in its turn.
    fn next_here(&self) -> Option<Shard> {
        let here: Vec<Shard> = self.pool.loops.here().into_iter().collect();
        let turn = self.pool.turns.fetch_add(1, Ordering::Relaxed);
        here.get(turn % here.len().max(1)).copied()
    }

    /// Asks all whom it is for, and merges what they say.
    fn everybody(&mut self, question: &Question<'_>) -> Response {
        match route(&question.asked.request, self.pool.count) {
            Route::Here => self.own(question),
            Route::All if question.is_own() => self.own(question),
            Route::InTurn(shard, after) if question.is_own() => self.own_page(shard, after, question),
            Route::InTurn(shard, after) => self.in_turn(shard, after, question),
            _ => self.all(question),
        }
    }

    /// One page of an export.
    fn in_turn(&mut self, shard: Shard, after: Option<String>, question: &Question<'_>) -> Response {
        let asked = IdentifiedRequest { request: Request::Export { after }, ..question.asked.clone() };
        let line = line_of(&asked);
        let one = Question { line: &line, asked: &asked, actor: question.actor.clone() };
        match self.ask_all(&[shard], &one).pop() {
            Some(Response::Export { texts, after }) => {
                Response::Export { texts, after: next_in_turn(shard, after, self.pool.count) }
            }
            Some(other) => other,
            None => nobody(shard),
        }
    }

    fn all(&mut self, question: &Question<'_>) -> Response {
        let request = &question.asked.request;
        if let Request::Apply { files, prune, preview: false } = request {
            let (files, prune) = (files.clone(), *prune);
            let asked = IdentifiedRequest {
                request: Request::Apply { files, prune, preview: true },
                ..question.asked.clone()
            };
            let line = line_of(&asked);
            let preview = Question { line: &line, asked: &asked, actor: question.actor.clone() };
            let previewed = self.of_all(&preview);
            if matches!(previewed, Response::Error(_)) {
                return previewed;
            }
        }
        let response = self.of_all(question);
        if let (Request::Apply { files, preview: false, .. }, Response::Applied(_)) = (request, &response) {
            self.keep_sources(files);
        }
        self.with_shards(response)
    }

    /// To a status who owns which shard.
    fn with_shards(&self, response: Response) -> Response {
        let Response::Status(mut status) = response else { return response };
        if let Some(cluster) = &mut status.cluster {
            let held = self.pool.find(Shards::held).unwrap_or_else(|_| self.pool.loops.look().shards);
            cluster.shards = held.iter().map(|held| self.shard_wire(held)).collect();
        }
        status.troubles.extend(self.trouble());
        Response::Status(status)
    }

    fn shard_wire(&self, held: &ShardHolder) -> ShardWire {
        let owner = if held.server.is_empty() { String::new() } else { held.name.clone() };
        let is_here = held.server == self.pool.server;
        ShardWire { shard: held.shard.0, owner, is_here, epoch: held.epoch, lease_left_ms: held.left_ms }
    }

    /// Files that were applied are known in the shards to which none of their jobs belongs, too. If that
    /// cannot be kept, such a shard takes a file of that name once more when it gets an owner.
    fn keep_sources(&self, files: &[FileWire]) {
        let names = files.iter().flat_map(|file| {
            [JobSource::Applied(file.name.clone()).source(), JobSource::Served(file.name.clone()).source()]
        });
        let names: Vec<String> = names.collect();
        let _ = self.pool.find(|shards| shards.keep_sources(&names));
    }

    /// Asks all shards, and those again whose owner has changed meanwhile if something was to change.
    fn of_all(&mut self, question: &Question<'_>) -> Response {
        let all: Vec<Shard> = (0..self.pool.count).map(Shard).collect();
        if question.looks() {
            return merged(self.ask_all(&all, question));
        }
        let failed = |error: StoreError| temporary(format!("it is not known who owns the shards: {error}"));
        let mut before = match self.pool.find(Shards::epochs) {
            Ok(before) => before,
            Err(error) => return failed(error),
        };
        let mut answers = self.ask_all(&all, question);
        for _ in 0..MAX_ROUNDS {
            let now = match self.pool.find(Shards::epochs) {
                Ok(now) => now,
                Err(error) => return failed(error),
            };
            let again: Vec<Shard> =
                now.iter().filter(|known| !before.contains(known)).map(|(shard, _)| *shard).collect();
            if again.is_empty() {
                break;
            }
            answers.extend(self.ask_all(&again, question));
            before = now;
        }
        merged(answers)
    }

    /// Asks these shards at the same time. There is an answer of each. A question that only looks is asked
    /// again where a loop has ended over it: its shard is on its way. Where no server answers such a
    /// question, the database does; these answers are the last.
    fn ask_all(&mut self, shards: &[Shard], question: &Question<'_>) -> Vec<Response> {
        let began = Moment::now();
        let Responses { mut answers, mut absent, mut broken } = self.ask_once(shards, question);
        while question.looks() && !broken.is_empty() && Moment::now().since(began) < SETTLE_WAIT {
            let _ = wait_for(&[], &[], Some(SETTLE_INTERVAL));
            let more = self.ask_once(&broken, question);
            answers.extend(more.answers);
            absent.extend(more.absent);
            broken = more.broken;
        }
        absent.extend(broken.into_iter().map(|shard| (shard, ended(shard))));
        answers.extend(self.for_absent(absent, &question.asked.request));
        answers
    }

    fn ask_once(&mut self, shards: &[Shard], question: &Question<'_>) -> Responses {
        let (mut local, mut remote) = (Vec::new(), Vec::new());
        let places = self.pool.places(shards);
        let lacking = shards.iter().filter(|shard| places.iter().all(|(known, _)| known != *shard));
        let absent = lacking.map(|shard| (*shard, nobody(*shard))).collect();
        let mut said = Responses { absent, ..Responses::default() };
        for (shard, place) in places {
            match place {
                LoopLocation::Here(here) => local.push((shard, here)),
                LoopLocation::There(owner) => remote.push((shard, owner)),
            }
        }
        let asked = self.ask_remote(&remote, question);
        for (shard, answer) in self.ask_local(&local, question) {
            match answer {
                Some(answer) => said.answers.push(answer),
                None => said.broken.push(shard),
            }
        }
        self.replies(asked, question, &mut said);
        said
    }

    /// What these loops answer; `None` of one that has ended.
    fn ask_local(
        &mut self,
        local: &[(Shard, Arc<Local>)],
        question: &Question<'_>,
    ) -> Vec<(Shard, Option<Response>)> {
        let read = |line: &str| {
            let answered = serde_json::from_str::<IdentifiedResponse>(line);
            answered.map_or_else(|error| temporary(error.to_string()), |answered| answered.response)
        };
        let Some(links) = &mut self.links else {
            let of = |local: &Arc<Local>| {
                let mut lent = local.links.lend()?;
                let mut link = lent.link.take()?;
                // Without an answer the link is not used again: it may come later, and is not that of the
                // next question.
                let line = link.send(question.line).and_then(|()| link.receive(false)).ok()?;
                lent.link = Some(link);
                Some(read(&line))
            };
            return local.iter().map(|(shard, local)| (*shard, of(local))).collect();
        };
        // All of them work at the same time.
        let mut sent = Vec::new();
        for (shard, local) in local {
            let link = links.remove(shard).map_or_else(|| local.connect(), Ok);
            let link = link.and_then(|mut link| link.send(question.line).map(|()| link));
            // A connection to a loop that has ended since is made anew once.
            let link = link.or_else(|_| {
                let mut link = local.connect()?;
                link.send(question.line).map(|()| link)
            });
            sent.push((*shard, link));
        }
        let mut answers = Vec::new();
        for (shard, link) in sent {
            let answer = link.and_then(|mut link| {
                let line = link.receive(false)?;
                links.insert(shard, link);
                Ok(read(&line))
            });
            answers.push((shard, answer.ok()));
        }
        answers
    }

    /// Has one loop of this server answer: all lines of the answer go to the client as they are.
    fn pass(
        &mut self,
        shard: Shard,
        local: &Arc<Local>,
        question: &Question<'_>,
        client: &mut &UnixStream,
    ) -> io::Result<()> {
        let request = &question.asked.request;
        if !streaming_requests::has_several(request) {
            let response = self.ask_all(&[shard], question).pop();
            return write(client, question.asked.id, response.unwrap_or_else(|| nobody(shard)));
        }
        let ended = |client: &mut &UnixStream| write(client, question.asked.id, ended(shard));
        // A connection of its own, which ends with the answer: lines may come for hours.
        let Ok(mut link) = local.connect() else { return ended(client) };
        if link.send(question.line).is_err() {
            return ended(client);
        }
        loop {
            while !link.has_more() && !is_readable(link.stream().as_fd()) {
                if is_left(client.as_fd()) {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                wait_for_any(&[link.stream().as_fd()], &[], &[client.as_fd()], None)?;
            }
            let Ok(line) = link.receive(true) else { return ended(client) };
            client.write_all(line.as_bytes())?;
            let answered: IdentifiedResponse = serde_json::from_str(&line).map_err(io::Error::other)?;
            if !matches!(answered.response, Response::Line(_) | Response::Planned { .. }) {
                return Ok(());
            }
        }
    }
}

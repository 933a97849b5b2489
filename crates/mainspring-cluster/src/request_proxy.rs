//! Answers clients and the listener of a server that does not plan.
//!
//! ```text
//!  client or listener ─▶ RequestProxy ─┬─ what only looks: tables of the database ──┬─▶ client or listener
//!                                      └─ the others: its inbox ─▶ the planner ─────┘
//! ```
//!
//! Cost: a thread for each client, and a session of the database for each that asks the planner; a thread for
//! each connection of the listener, and a session while something is asked over it, or a page is open; what
//! `Tables` cost.
//!
//! Does not know what has several answers, such as the output of a run: `streaming_requests` does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_host::net::{AsFd, LocalStream};
use mainspring_job::StoreError;
use mainspring_postgres::{Inbox, Location, PostgresReader};
use serde::Serialize;

use super::remote_changes::{REST, RemoteChanges};
use super::reply_wait::{Lack, wait_for};
use super::streaming_requests::{self, temporary};
use super::tables::Tables;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::protocol::{
    ChangesWire, IdentifiedRequest, IdentifiedResponse, MAX_REQUEST_BYTES, MetricsWire, Request, Response,
};
use mainspring_server::server::MAX_CONNECTIONS;
use mainspring_server::server::login_codes::LoginCodes;
use mainspring_server::waiting::{is_left, wait_for_any};

/// How often a standby looks whether the owner has changed something, while a page is open there: a question
/// about one row, and a page that hears of it a second later shows what a person expects.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

const _: () =
    assert!(LOOK_INTERVAL.as_millis() <= REST.as_millis(), "a change is seen by when it may be told");

/// How long a client of a standby may be silent.
const CLIENT_WAIT: Duration = Duration::from_secs(30);

/// How many clients of a standby ask the planner at once: each has a session of the database, of which there
/// are a hundred by default. What only looks has none.
const MAX_CLIENT_SESSIONS: usize = 8;

const _: () = assert!(MAX_CLIENT_SESSIONS < MAX_CONNECTIONS, "others look beside those that wait");

/// Whom a server that stands by asks for its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "somebody is asked, or nobody")]
pub enum ProxyTarget {
    /// The planner.
    Owner,
    /// The database is too new for what this program would write.
    Nobody,
}

/// What all threads share that answer for a server that stands by.
#[derive(Debug)]
pub struct StandbyState {
    location: Location,
    /// What this server is called.
    name: String,
    /// Why this server stands by, and whom it asks meanwhile.
    now: Mutex<(ProxyTarget, String)>,
    /// Of this server's page: a code is good where it was given.
    codes: Mutex<LoginCodes>,
    tables: Tables,
}

impl StandbyState {
    /// That of a server which has asked for the lease once.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(
        location: &Location,
        data: &DataDirectory,
        name: &str,
        asks: ProxyTarget,
    ) -> Result<StandbyState, StoreError> {
        let tables = Tables::new(location, data)?;
        let now = Mutex::new((asks, String::new()));
        let (location, codes) = (location.clone(), Mutex::default());
        Ok(StandbyState { location, name: name.to_owned(), now, codes, tables })
    }

    /// People find the page of this server here.
    pub(super) fn listens_at(&self, addresses: Vec<String>) {
        *self.codes() = LoginCodes::new(addresses);
    }

    fn codes(&self) -> MutexGuard<'_, LoginCodes> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps why this server stands by.
    pub fn set(&self, asks: ProxyTarget, reason: String) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = (asks, reason);
    }

    fn now(&self) -> (ProxyTarget, String) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A request of now.
#[derive(Clone, Copy)]
struct Question<'q> {
    /// As it is left for the owner.
    line: &'q str,
    request: &'q Request,
    /// The field by which the owner learns the caller.
    actor: &'q str,
    /// Why this server stands by.
    reason: &'q str,
}

/// What answers over one connection for a server that stands by.
#[derive(Debug)]
pub struct RequestProxy {
    standing: Arc<StandbyState>,
    /// A session while something is asked, with its slot.
    inbox: Option<(Inbox, Option<Slot>)>,
    /// Whether the listener of this server asks, which reads what runs wrote in the folder of this server.
    is_listener: bool,
    /// A session while a page is open.
    reader: Option<PostgresReader>,
    others: RemoteChanges,
}

impl RequestProxy {
    /// One for a connection.
    pub fn new(standing: &Arc<StandbyState>) -> RequestProxy {
        let (standing, others) = (Arc::clone(standing), RemoteChanges::default());
        RequestProxy { standing, inbox: None, is_listener: false, reader: None, others }
    }

    /// Serves a client on a thread of its own. One that is silent for too long is left.
    pub fn serve_client(mut self, client: LocalStream) {
        // A client too many is hung up on.
        let Some(slot) = Slot::take(&CLIENT_COUNT, MAX_CONNECTIONS) else { return };
        let serve = move || {
            // A client that has gone is told nothing.
            let _ = self.answer_client(&client);
            drop(slot);
        };
        drop(thread::Builder::new().name("a client".to_owned()).spawn(serve));
    }

    /// Serves the listener of this server on a thread of its own, until it closes the other end. While
    /// nothing is asked there is no session.
    pub fn serve_listener(mut self, stream: LocalStream) {
        self.is_listener = true;
        // An end of the connection, or no thread, ends what is asked over it.
        let serve = move || drop(self.answer_listener(&stream));
        drop(thread::Builder::new().name("a listener".to_owned()).spawn(serve));
    }

    fn answer_client(&mut self, client: &LocalStream) -> io::Result<()> {
        client.set_nonblocking(false)?;
        let mut reader = reader(client)?;
        loop {
            let mut line = String::new();
            if reader.by_ref().take(MAX_REQUEST_BYTES as u64).read_line(&mut line)? == 0 {
                return Ok(());
            }
            // A client may call itself what it likes.
            self.answer(&line, |_| None, client)?;
        }
    }

    fn answer_listener(&mut self, stream: &LocalStream) -> io::Result<()> {
        let mut reader = reader(stream)?;
        let mut line = String::new();
        loop {
            match reader.read_line(&mut line) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    self.answer(&line, |wire| wire.actor.clone(), stream)?;
                    line.clear();
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    (self.inbox, self.reader) = (None, None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the owner has changed something. What cannot be seen for a while is seen later: an error
    /// would end the listener.
    fn changes(&mut self, listener: &LocalStream) -> io::Result<ChangesWire> {
        loop {
            let (asks, _) = self.standing.now();
            if asks == ProxyTarget::Owner {
                let reader =
                    self.reader.take().map_or_else(|| PostgresReader::new(&self.standing.location), Ok);
                if let Ok(held) = reader.and_then(|reader| self.reader.insert(reader).lease()) {
                    self.others.see(held);
                }
            }
            if self.others.take() {
                return Ok(ChangesWire { is_cut_short: true, is_elsewhere: true, ..ChangesWire::default() });
            }
            wait_for_any(&[], &[], &[listener.as_fd()], Some(LOOK_INTERVAL))?;
            if is_left(listener.as_fd()) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    /// Answers one request. `actor_of` names the caller at this server, if that is known.
    fn answer(
        &mut self,
        line: &str,
        actor_of: impl Fn(&IdentifiedRequest) -> Option<String>,
        stream: &LocalStream,
    ) -> io::Result<()> {
        let mut written = stream;
        let (asks, reason) = self.standing.now();
        let parsed = IdentifiedRequest::read(line.as_bytes());
        let id = parsed.as_ref().map_or(0, |wire| wire.id);
        let mut give = |response| {
            let text =
                serde_json::to_string(&IdentifiedResponse { id, response }).map_err(io::Error::other)?;
            debug_assert!(!text.contains('\n'), "an answer is one line");
            writeln!(written, "{text}")
        };
        let wire = match parsed {
            // The listener asks for them, and counts on its own what it answers.
            Ok(IdentifiedRequest { request: Request::Metrics { .. }, .. }) => {
                return give(Response::Metrics(Box::new(MetricsWire::of_standby())));
            }
            Ok(IdentifiedRequest { request: Request::Watch, .. }) if self.is_listener => {
                let changes = self.changes(stream)?;
                return give(Response::Changes(changes));
            }
            Ok(IdentifiedRequest { request: Request::LoginCode, .. }) if !self.is_listener => {
                let given = self.standing.codes().give(Moment::now());
                return give(given.unwrap_or_else(Response::Error));
            }
            Ok(IdentifiedRequest { request: Request::Redeem { code }, .. }) if self.is_listener => {
                let redeemed = self.standing.codes().redeem(&code, Moment::now());
                return give(redeemed.unwrap_or_else(Response::Error));
            }
            Ok(wire) if asks == ProxyTarget::Owner && wire.request.row().power.is_remote() => wire,
            Ok(_) => return give(temporary(format!("this server stands by: {reason}"))),
            Err(error) => return give(Response::Error(error)),
        };
        let server = &self.standing.name;
        let actor = actor_of(&wire).map_or_else(|| server.clone(), |name| format!("{name} at {server}"));
        let of = |request: &Request| json(&IdentifiedRequest { request: request.clone(), ..wire.clone() });
        let mut ask = |line: &str, request: &Request| {
            self.reply_to(&Question { line, request, actor: &actor, reason: &reason })
        };
        if streaming_requests::has_several(&wire.request) {
            return streaming_requests::answer(
                &wire.request,
                |request| ask(&of(request), request),
                stream,
                give,
            );
        }
        let broken = |error: serde_json::Error| temporary(error.to_string());
        give(serde_json::from_str(&ask(line, &wire.request)).unwrap_or_else(broken))
    }

    /// A session for questions to the owner. The listener limits by itself what is asked over it.
    fn session(&self) -> Result<(Inbox, Option<Slot>), StoreError> {
        let full =
            || StoreError::Busy(format!("{MAX_CLIENT_SESSIONS} clients of this server ask the planner"));
        let slot = match self.is_listener {
            true => None,
            false => Some(Slot::take(&SESSION_COUNT, MAX_CLIENT_SESSIONS).ok_or_else(full)?),
        };
        Ok((Inbox::of_asker(&self.standing.location)?, slot))
    }

    /// What the database says, or the owner replies.
    fn reply_to(&mut self, question: &Question<'_>) -> String {
        let Question { line, request, actor, reason } = *question;
        if request.looks() {
            return self.standing.tables.reply(request, reason);
        }
        let session = self.inbox.take().map_or_else(|| self.session(), Ok);
        let left = session.and_then(|session| {
            let (inbox, _) = self.inbox.insert(session);
            Ok((inbox.ask(line, actor)?, inbox))
        });
        let reply = match left {
            Ok((id, inbox)) => wait_for(inbox, id),
            Err(error) => return json(&temporary(format!("this server stands by: {reason}: {error}"))),
        };
        match reply {
            Ok(text) => text,
            Err(Lack::Late) => {
                json(&temporary(format!("the owner has not replied, and may have done it: {reason}")))
            }
            Err(Lack::Untaken) => {
                json(&temporary(format!("this server stands by, and no owner took the request: {reason}")))
            }
        }
    }
}

/// How many clients have a slot, and how many of them one for a session.
static CLIENT_COUNT: AtomicUsize = AtomicUsize::new(0);
static SESSION_COUNT: AtomicUsize = AtomicUsize::new(0);

/// One of the slots that a count has, which is free again however the thread ends that has it.
#[derive(Debug)]
struct Slot(&'static AtomicUsize);

impl Slot {
    fn take(count: &'static AtomicUsize, most: usize) -> Option<Slot> {
        let next = |count| (count < most).then_some(count + 1);
        count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).ok().map(|_| Slot(count))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let count = self.0.fetch_sub(1, Ordering::SeqCst);
        debug_assert_ne!(count, 0, "a slot was taken");
    }
}

fn reader(stream: &LocalStream) -> io::Result<BufReader<&LocalStream>> {
    stream.set_read_timeout(Some(CLIENT_WAIT))?;
    stream.set_write_timeout(Some(CLIENT_WAIT))?;
    Ok(BufReader::new(stream))
}

/// A request or a reply of our own.
fn json(words: &impl Serialize) -> String {
    serde_json::to_string(words).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_after_a_panic_and_there_are_no_more_than_there_are() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let slots: Vec<Slot> = std::iter::from_fn(|| Slot::take(&COUNT, 3)).collect();
        assert_eq!(slots.len(), 3);
        drop(slots);
        for _ in 0..=3 {
            let slot = Slot::take(&COUNT, 3).expect("the one before was given back");
            let serve = move || {
                let _slot = slot;
                panic!("on purpose");
            };
            let thread = thread::Builder::new().spawn(serve).expect("a test may start a thread");
            assert!(thread.join().is_err());
        }
    }
}

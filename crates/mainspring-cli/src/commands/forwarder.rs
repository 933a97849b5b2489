//! Answers clients and the listener of a server that stands by: it asks the owner.
//!
//! ```text
//!  client or listener ─▶ Forwarder ─▶ inbox of the database ─▶ owner
//!                     ◀───────────────────────────── reply ◀──
//! ```
//!
//! Cost: a thread and a session of the database for each client; a thread for each connection of the
//! listener, and a session while something is asked over it, or a page is open.
//!
//! Does not know what has several answers, such as the output of a run: [`several`] does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mainspring_job::Shard;
use mainspring_postgres::{Inbox, Location, Shards};

use super::inbox::is_forwarded;
use super::others::Others;
use super::several::{self, temporary};
use mainspring_exec::clock::Moment;
use mainspring_server::protocol::{
    Answered, Asked, ChangesWire, MAX_REQUEST_BYTES, MetricsWire, Request, Response,
};
use mainspring_server::server::brought::bring;
use mainspring_server::waiting::{is_left, wait_for_any};

/// How long a standby waits for a reply: a look at the inbox, the answer, and some time to spare.
const REPLY_WAIT: Duration = Duration::from_secs(15);

/// How often it looks for one.
const REPLY_INTERVAL: Duration = Duration::from_millis(50);

/// How often a standby looks whether the owner has changed something, while a page is open there: a question
/// about one row, and a page that hears of it a second later shows what a person expects.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a client of a standby may be silent.
const CLIENT_WAIT: Duration = Duration::from_secs(30);

/// How many clients a standby serves at once: each has a session of the database meanwhile.
const MAX_CLIENTS: usize = 8;

/// Whom a standby asks for its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Owner,
    /// The database is too new for what this program would write.
    Nobody,
}

/// Why a server stands by, and whom it asks meanwhile.
pub(super) type Standing = Mutex<(Asks, String)>;

/// What answers over one connection for a server that stands by.
pub(super) struct Forwarder {
    location: Location,
    standing: Arc<Standing>,
    /// How the owner is told who asks.
    server: String,
    /// A session while something is asked.
    inbox: Option<Inbox>,
    /// Where this server's listener reads what runs wrote.
    outputs: Option<PathBuf>,
    /// A session while a page is open.
    shards: Option<Shards>,
    others: Others,
}

impl Forwarder {
    pub(super) fn new(location: &Location, standing: &Arc<Standing>, server: &str) -> Forwarder {
        let (location, standing, server) = (location.clone(), Arc::clone(standing), server.to_owned());
        let (inbox, outputs, shards, others) = (None, None, None, Others::default());
        Forwarder { location, standing, server, inbox, outputs, shards, others }
    }

    /// Serves a client on a thread of its own. One that is silent for too long is left.
    pub(super) fn serve_client(mut self, client: UnixStream) {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // A client too many is hung up on.
        if MAX_CLIENTS <= COUNT.fetch_add(1, Ordering::SeqCst) {
            COUNT.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let serve = move || {
            // A client that has gone is told nothing.
            let _ = self.answer_client(&client);
            COUNT.fetch_sub(1, Ordering::SeqCst);
        };
        if thread::Builder::new().name("a client".to_owned()).spawn(serve).is_err() {
            COUNT.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Serves the listener of this server on a thread of its own, until it closes the other end. While
    /// nothing is asked there is no session. The listener reads what runs wrote in this folder.
    pub(super) fn serve_listener(mut self, stream: UnixStream, outputs: PathBuf) {
        self.outputs = Some(outputs);
        // An end of the connection, or no thread, ends what is asked over it.
        let serve = move || drop(self.answer_listener(&stream));
        drop(thread::Builder::new().name("a listener".to_owned()).spawn(serve));
    }

    fn answer_client(&mut self, client: &UnixStream) -> io::Result<()> {
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

    fn answer_listener(&mut self, stream: &UnixStream) -> io::Result<()> {
        let mut reader = reader(stream)?;
        let mut line = String::new();
        loop {
            match reader.read_line(&mut line) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    self.answer(&line, |asked| asked.actor.clone(), stream)?;
                    line.clear();
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    (self.inbox, self.shards) = (None, None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the owner has changed something. What cannot be seen for a while is seen later: an error
    /// would end the listener.
    fn changes(&mut self, listener: &UnixStream) -> io::Result<ChangesWire> {
        loop {
            let (asks, _) = self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if asks == Asks::Owner {
                let shards = self.shards.take().map_or_else(|| Shards::new(&self.location), Ok);
                let held = shards.and_then(|shards| self.shards.insert(shards).held());
                held.unwrap_or_default().iter().for_each(|held| self.others.see(held));
            }
            if self.others.take() {
                return Ok(ChangesWire { is_cut_short: true, ..ChangesWire::default() });
            }
            wait_for_any(&[], &[], &[listener.as_fd()], Some(LOOK_INTERVAL))?;
            if is_left(listener.as_fd()) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    /// Answers one request. `actor_of` says who asks at this server, if that is known.
    fn answer(
        &mut self,
        line: &str,
        actor_of: impl Fn(&Asked) -> Option<String>,
        stream: &UnixStream,
    ) -> io::Result<()> {
        let mut written = stream;
        let (asks, standing) = self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asked = Asked::read(line.as_bytes());
        let id = asked.as_ref().map_or(0, |asked| asked.id);
        let mut give = |response| {
            let text = serde_json::to_string(&Answered { id, response }).map_err(io::Error::other)?;
            writeln!(written, "{text}")
        };
        let asked = match asked {
            // The listener asks for them, and counts on its own what it answers.
            Ok(Asked { request: Request::Metrics { .. }, .. }) => {
                return give(Response::Metrics(Box::new(MetricsWire::of_standby())));
            }
            Ok(Asked { request: Request::Watch, .. }) if self.outputs.is_some() => {
                let changes = self.changes(stream)?;
                return give(Response::Changes(changes));
            }
            Ok(asked) if asks == Asks::Owner && is_forwarded(&asked.request) => asked,
            Ok(_) => return give(temporary(format!("this server stands by: {standing}"))),
            Err(error) => return give(Response::Error(error)),
        };
        let actor =
            actor_of(&asked).map_or_else(|| self.server.clone(), |name| format!("{name} at {}", self.server));
        let mut ask = |line: &str| match self.inbox.take().map_or_else(|| Inbox::of_asker(&self.location), Ok)
        {
            Ok(inbox) => replied(self.inbox.insert(inbox), line, &actor, &standing),
            Err(error) => said(&temporary(format!("this server stands by: {standing}: {error}"))),
        };
        if several::has_several(&asked.request) {
            let ask_one = |request: &Request| {
                let asked = Asked { request: request.clone(), ..asked.clone() };
                ask(&serde_json::to_string(&asked).unwrap_or_default())
            };
            return several::answer(&asked.request, ask_one, stream, give);
        }
        let broken = |error: serde_json::Error| temporary(error.to_string());
        let response = serde_json::from_str(&ask(line)).unwrap_or_else(broken);
        if let (Some(outputs), Response::Found(found)) = (&self.outputs, &response) {
            let logs = Request::Logs { of: found.run.run.clone(), follow: false };
            let logs = serde_json::to_string(&Asked { request: logs, ..asked.clone() }).unwrap_or_default();
            bring(outputs, &found.run, || several::told(&ask(&logs)));
        }
        give(response)
    }
}

fn reader(stream: &UnixStream) -> io::Result<BufReader<&UnixStream>> {
    stream.set_read_timeout(Some(CLIENT_WAIT))?;
    stream.set_write_timeout(Some(CLIENT_WAIT))?;
    Ok(BufReader::new(stream))
}

/// A reply of our own.
fn said(response: &Response) -> String {
    serde_json::to_string(response).unwrap_or_default()
}

/// Asks the owner, and waits for its reply.
fn replied(inbox: &mut Inbox, request: &str, actor: &str, standing: &str) -> String {
    let id = match inbox.ask(Shard::WHOLE, request, actor) {
        Ok(id) => id,
        Err(error) => return said(&temporary(format!("this server stands by: {standing}: {error}"))),
    };
    let began = Moment::now();
    while Moment::now().since(began) < REPLY_WAIT {
        if let Ok(Some(text)) = inbox.take_reply(id) {
            return text;
        }
        inbox.wait(REPLY_INTERVAL);
    }
    match inbox.take(id) {
        Ok(true) => {
            said(&temporary(format!("this server stands by, and no owner took the request: {standing}")))
        }
        _ => said(&temporary(format!("the owner has not replied, and may have done it: {standing}"))),
    }
}

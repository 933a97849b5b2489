//! A relay before the database's socket: it takes a cut or half-open network's part, and loses answers.
//!
//! ```text
//!  program ─▶ DIR/.s.PGSQL.5432 ─▶ relay ─▶ the database's socket
//! ```
//!
//! Cost: two threads for each session.
//!
//! Does not read the protocol, but for the end of an answer.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use super::database::Database;

/// The end of each answer: `ReadyForQuery`, whose last byte is the state of the transaction. The database
/// sends it when a statement is committed.
const READY: &[u8] = &[b'Z', 0, 0, 0, 5];

/// One direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToDatabase,
    FromDatabase,
}

/// What the relay's threads share.
#[derive(Default)]
struct State {
    /// Where the database listens.
    socket: Mutex<PathBuf>,
    /// Where nothing arrives.
    held: Mutex<Option<Way>>,
    mended: Condvar,
    /// Who asked for a session while one direction was held: neither end hears of the other.
    unanswered: Mutex<Vec<UnixStream>>,
    /// How many answers are still to be swallowed.
    to_swallow: AtomicUsize,
    swallowed: AtomicUsize,
    is_cut: AtomicBool,
    sessions: Mutex<Vec<UnixStream>>,
}

/// A relay. Its threads end with the test's process.
pub(crate) struct Relay {
    directory: PathBuf,
    state: Arc<State>,
}

impl Relay {
    /// Starts one before a database, in a new folder.
    pub(crate) fn before(database: &Database) -> Relay {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("mainspring-relay-{}-{count}", std::process::id());
        let (directory, socket) = (std::env::temp_dir().join(name), database.socket());
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        let name = socket.file_name().unwrap();
        let listener = UnixListener::bind(directory.join(name)).unwrap();
        let state = Arc::new(State { socket: Mutex::new(socket), ..State::default() });
        let shared = Arc::clone(&state);
        let accept = move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                if shared.held.lock().unwrap().is_some() {
                    shared.unanswered.lock().unwrap().push(client);
                    continue;
                }
                // Without a database the client is hung up on.
                let socket = shared.socket.lock().unwrap().clone();
                let Ok(server) = UnixStream::connect(socket) else { continue };
                let keep = [&client, &server].map(|stream| stream.try_clone().unwrap());
                shared.sessions.lock().unwrap().extend(keep);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let state = Arc::clone(&shared);
                begin("to the database", move || carry(from, to, &state));
                let state = Arc::clone(&shared);
                begin("from the database", move || answer(server, client, &state));
            }
        };
        begin("relay", accept);
        Relay { directory, state }
    }

    /// How a program connects to it.
    pub(crate) fn url(&self) -> String {
        Database::url_at(&self.directory)
    }

    /// The folder of its socket, which a program has as its host.
    pub(crate) fn host(&self) -> String {
        self.directory.display().to_string()
    }

    /// Leads new sessions to another database.
    pub(crate) fn lead_to(&self, database: &Database) {
        *self.state.socket.lock().unwrap() = database.socket();
    }

    /// Nothing arrives in this direction, and neither end is told: what is said, and that an end has hung up,
    /// arrives when it is mended. New sessions get no answer.
    pub(crate) fn hold(&self, way: Way) {
        *self.state.held.lock().unwrap() = Some(way);
    }

    /// The next answers do not arrive: the session ends instead, after the database has given them.
    pub(crate) fn swallow(&self, count: usize) {
        self.state.to_swallow.store(count, Ordering::SeqCst);
    }

    /// How many did not.
    pub(crate) fn swallowed(&self) -> usize {
        self.state.swallowed.load(Ordering::SeqCst)
    }

    /// Whether some of them are still to come.
    pub(crate) fn swallows(&self) -> bool {
        self.state.to_swallow.load(Ordering::SeqCst) != 0
    }

    /// Ends all sessions, and lets none begin.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.sessions.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Sessions may begin again, and what was held arrives.
    pub(crate) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
        *self.state.held.lock().unwrap() = None;
        self.state.mended.notify_all();
        self.state.unanswered.lock().unwrap().clear();
    }
}

impl State {
    /// Returns when this direction is not held.
    fn pass(&self, way: Way) {
        let held = self.held.lock().unwrap();
        drop(self.mended.wait_while(held, |held| *held == Some(way)).unwrap());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn begin(name: &str, work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().name(name.to_owned()).spawn(work).unwrap();
}

/// Carries bytes until one side ends.
fn carry(mut from: UnixStream, mut to: UnixStream, state: &State) {
    let mut buffer = [0; 8_192];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        state.pass(Way::ToDatabase);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // That it has ended is news too.
    state.pass(Way::ToDatabase);
    let _ = to.shutdown(Shutdown::Both);
}

/// The same for what the database says.
fn answer(mut server: UnixStream, mut client: UnixStream, state: &State) {
    let (mut buffer, mut tail) = ([0; 8_192], Vec::new());
    let mut is_swallowing = false;
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        state.pass(Way::FromDatabase);
        let takes_one = |left: usize| left.checked_sub(1);
        let (store, load) = (Ordering::SeqCst, Ordering::SeqCst);
        is_swallowing |= state.to_swallow.fetch_update(store, load, takes_one).is_ok();
        if !is_swallowing {
            if client.write_all(&buffer[..count]).is_err() {
                break;
            }
            continue;
        }
        tail.extend_from_slice(&buffer[..count]);
        if tail.len() > READY.len() && tail[..tail.len() - 1].ends_with(READY) {
            state.swallowed.fetch_add(1, Ordering::SeqCst);
            break;
        }
    }
    state.pass(Way::FromDatabase);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

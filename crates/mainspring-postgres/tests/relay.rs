//! A relay before the database's socket: it takes a cut network's part, and loses answers.
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
use std::sync::{Arc, Mutex};
use std::thread;

use super::database::Database;

/// The end of each answer: `ReadyForQuery`, whose last byte is the state of the transaction. The database
/// sends it when a statement is committed.
const READY: &[u8] = &[b'Z', 0, 0, 0, 5];

/// What the relay's threads share.
#[derive(Default)]
struct State {
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
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let accept = move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                // Without a database the client is hung up on.
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                let keep = [&client, &server].map(|stream| stream.try_clone().unwrap());
                shared.sessions.lock().unwrap().extend(keep);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                begin("to the database", move || carry(from, to));
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

    /// The next answers do not arrive: the session ends instead, after the database has given them.
    pub(crate) fn swallow(&self, count: usize) {
        self.state.to_swallow.store(count, Ordering::SeqCst);
    }

    /// How many did not.
    pub(crate) fn swallowed(&self) -> usize {
        self.state.swallowed.load(Ordering::SeqCst)
    }

    /// Ends all sessions, and lets none begin.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.sessions.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Sessions may begin again.
    pub(crate) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
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
fn carry(mut from: UnixStream, mut to: UnixStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// The same for what the database says.
fn answer(mut server: UnixStream, mut client: UnixStream, state: &State) {
    let (mut buffer, mut tail) = ([0; 8_192], Vec::new());
    let mut is_swallowing = false;
    while let Ok(count @ 1..) = server.read(&mut buffer) {
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
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

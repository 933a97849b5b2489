//! The loops of this server, one for each shard that it owns, and how each is reached.
//!
//! ```text
//!  a client's thread ── line ──▶ Link ── the loop's socket, or a connection of the listener ──▶ the loop
//! ```
//!
//! A client of the socket asks over a connection of its own, so that the loop limits it as any client. What
//! came over HTTP goes over connections that the loop was given: over those it believes who asks, and takes
//! what only a listener may ask.
//!
//! Cost: a system call for each line and direction.
//!
//! Does not start or end a loop: see [`sharded`](super).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainspring_job::Shard;
use mainspring_postgres::Look;

use mainspring_host::socket::connect;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::server::program_calls::Caller;

/// How many requests over HTTP a loop is asked at the same time, and one for what changes in it.
pub(super) const LINKS: usize = 9;

/// How long a loop has for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// The longest answer of a loop: some times that of the largest page.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// A connection to a loop.
#[derive(Debug)]
pub(super) struct Link {
    reader: BufReader<UnixStream>,
}

impl Link {
    fn new(stream: UnixStream) -> io::Result<Link> {
        stream.set_nonblocking(false)?;
        Ok(Link { reader: BufReader::new(stream) })
    }

    /// Sends a request, which ends with a line feed.
    pub(super) fn send(&mut self, line: &str) -> io::Result<()> {
        self.reader.get_ref().set_write_timeout(Some(ANSWER_WAIT))?;
        self.reader.get_mut().write_all(line.as_bytes())
    }

    /// The next line of an answer, with its line feed. Without `is_patient` the loop has so long.
    pub(super) fn receive(&mut self, is_patient: bool) -> io::Result<String> {
        self.reader.get_ref().set_read_timeout((!is_patient).then_some(ANSWER_WAIT))?;
        let mut line = String::new();
        match self.reader.by_ref().take(MAX_ANSWER_BYTES).read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    /// What to poll, where lines may come for hours.
    pub(super) fn stream(&self) -> &UnixStream {
        self.reader.get_ref()
    }

    /// Whether a line, or a part of one, was read already.
    pub(super) fn has_more(&self) -> bool {
        !self.reader.buffer().is_empty()
    }
}

/// The connections over which a loop believes who asks.
#[derive(Debug)]
pub(super) struct Links {
    free: Mutex<Vec<Link>>,
    came_back: Condvar,
}

/// One of them, for one question.
pub(super) struct LinkLease<'l> {
    links: &'l Links,
    /// `None` when it is broken: a line of the last answer may still be in it.
    pub(super) link: Option<Link>,
}

impl Links {
    /// Our ends.
    pub(super) fn new(streams: Vec<UnixStream>) -> io::Result<Links> {
        let free = streams.into_iter().map(Link::new).collect::<io::Result<Vec<Link>>>()?;
        Ok(Links { free: Mutex::new(free), came_back: Condvar::new() })
    }

    /// Waits for one that is free, at most as long as a loop has for an answer.
    pub(super) fn lend(&self) -> Option<LinkLease<'_>> {
        let free = lock(&self.free);
        let waited = self.came_back.wait_timeout_while(free, ANSWER_WAIT, |free| free.is_empty());
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let link = free.pop()?;
        Some(LinkLease { links: self, link: Some(link) })
    }
}

impl Drop for LinkLease<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            lock(&self.links.free).push(link);
            self.links.came_back.notify_one();
        }
    }
}

/// A loop of this server.
#[derive(Debug)]
pub(super) struct Local {
    /// Where its socket is.
    pub(super) data: DataDirectory,
    pub(super) links: Links,
    pub(super) caller: Caller,
}

impl Local {
    /// A connection of its own for a client.
    pub(super) fn connect(&self) -> io::Result<Link> {
        Link::new(connect(&self.data.socket())?)
    }
}

/// What the threads of this server know: its own loops, and who owns the others.
#[derive(Debug, Default)]
pub(super) struct Loops {
    local: Mutex<BTreeMap<Shard, Arc<Local>>>,
    look: Mutex<Look>,
}

impl Loops {
    /// A loop that is there now.
    pub(super) fn add(&self, shard: Shard, local: Local) {
        lock(&self.local).insert(shard, Arc::new(local));
    }

    /// It has ended, or is about to.
    pub(super) fn remove(&self, shard: Shard) {
        lock(&self.local).remove(&shard);
    }

    pub(super) fn get(&self, shard: Shard) -> Option<Arc<Local>> {
        lock(&self.local).get(&shard).cloned()
    }

    /// The shards of this server.
    pub(super) fn here(&self) -> BTreeSet<Shard> {
        lock(&self.local).keys().copied().collect()
    }

    /// What was seen last of all shards.
    pub(super) fn look(&self) -> Look {
        lock(&self.look).clone()
    }

    pub(super) fn set_look(&self, look: Look) {
        *lock(&self.look) = look;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The connections to the server's socket.
//!
//! ```text
//! bytes ─▶ lines, at most MAX_REQUEST_BYTES each ─▶ requests, of each connection one after the other
//!                                                    at most MAX_REQUESTS_PER_TURN of each, and for TURN_TIME in all
//! answers ─▶ bytes that wait; while more than MAX_UNREAD_BYTES do, nothing more is read, answered or fed
//! ```
//!
//! None of them can hold the loop up: reading and writing never block, and whoever does not read its answers is not asked
//! for more: the next request is taken when the answers before it have been read. None can lock others out: a client that has gone leaves no connection behind, however many answers it waits for; at most
//! [`MAX_WAITING`] wait for runs or follow output; and of the others the one that has been idle longest makes room for a new one.
//!
//! Cost: a few system calls per connection and turn, of which there are at most [`MAX_CONNECTIONS`].
//!
//! Does not know what a request means. Who may connect is decided by the mode of the socket and of its directory.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::stat::{Mode, umask};

use super::feed::Feed;
use super::rate::{Bucket, INSIDE_RATE};
use crate::protocol::{Asked, Done, ErrorKind, ErrorWire, MAX_REQUEST_BYTES, Response};
use crate::waiting::{is_left, is_readable};
use mainspring_exec::clock::Moment;
use mainspring_exec::shortage::is_shortage;

/// The most connections at one time: people and a few programs.
pub(super) const MAX_CONNECTIONS: usize = 64;

/// The most of them that wait for the ends of runs or follow output. The rest is for who comes to cancel one.
pub(super) const MAX_WAITING: usize = 48;

const _: () = assert!(MAX_WAITING < MAX_CONNECTIONS, "there is room beside those that wait");

/// The most requests of one connection in one turn of the loop: one group commit's worth, so that all of them share it and
/// no connection starves the others.
pub(super) const MAX_REQUESTS_PER_TURN: usize = 1_024;

/// How long requests are taken in one turn, measured between two of them: no job is late for more than that and the longest
/// answer.
pub(super) const TURN_TIME: Duration = Duration::from_millis(10);

/// How many bytes of answers may wait for a client to read them.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// How long no new connection is taken after the operating system had no descriptor for one: it stays ready to be taken, and the
/// loop would turn for nothing.
const REST: Duration = Duration::from_secs(1);

/// How much is read from a connection at once.
const READ_BYTES: usize = 64 << 10;

/// What is known of the next line in what was read. No byte is looked at twice, however slowly the others come.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// It ends here.
    Ends(usize),
    /// It does not end before this.
    NotBefore(usize),
}

/// One client.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) number: u64,
    stream: UnixStream,
    /// What was read; before `start` it has been taken.
    unread: Vec<u8>,
    start: usize,
    /// The end of the first line from `start` on, or how far was looked for one.
    line: Line,
    /// How many requests were taken in this turn.
    taken_count: usize,
    unsent: Vec<u8>,
    /// How many answers are still to come before the connection may end.
    pub(super) awaited_count: usize,
    /// How many of them come with the end of a run.
    pub(super) waited_count: usize,
    /// How many questions of it are with the store: no other request is taken meanwhile.
    pub(super) asking_count: usize,
    /// When it last asked for something or read something.
    active: Moment,
    /// What is wrong with the connection as a whole: said after what was asked before.
    refusal: Option<String>,
    /// It says nothing more.
    is_closed: bool,
    /// It hears nothing more either.
    is_broken: bool,
    pub(super) feed: Option<Feed>,
    /// What it may change now.
    pub(super) bucket: Bucket,
    /// It is the server's own listener's: see [`listener`](super::listener).
    pub(super) is_listener: bool,
}

impl Peer {
    fn new(number: u64, stream: UnixStream, bucket: Bucket, now: Moment) -> io::Result<Peer> {
        stream.set_nonblocking(true)?;
        Ok(Peer {
            number,
            stream,
            unread: Vec::new(),
            start: 0,
            line: Line::NotBefore(0),
            taken_count: 0,
            unsent: Vec::new(),
            awaited_count: 0,
            waited_count: 0,
            asking_count: 0,
            active: now,
            refusal: None,
            is_closed: false,
            is_broken: false,
            feed: None,
            bucket,
            is_listener: false,
        })
    }

    /// Queues an answer.
    #[expect(clippy::needless_pass_by_value, reason = "an answer is sent once")]
    pub(super) fn answer(&mut self, id: u64, response: Response) {
        self.unsent.extend_from_slice(response.line(id).as_bytes());
    }

    /// Ends the feed with a last answer.
    pub(super) fn end_feed(&mut self) {
        if let Some(feed) = self.feed.take() {
            self.answer(feed.id, Response::Done(Done {}));
        }
    }

    /// Feeds lines as far as the client reads them. Returns whether the end of the file was reached.
    pub(super) fn feed_lines(&mut self) -> bool {
        while self.unsent.len() < MAX_UNREAD_BYTES {
            let Some(feed) = &mut self.feed else { return false };
            let id = feed.id;
            match feed.next_line() {
                Some(response) => self.answer(id, response),
                None => return true,
            }
        }
        false
    }

    /// Whether it may stay idle for as long as it likes: for the end of a run, or for output.
    pub(super) fn is_waiting(&self) -> bool {
        0 < self.waited_count || self.feed.as_ref().is_some_and(|feed| feed.follows)
    }

    /// Whether it could make room for another connection.
    fn is_idle(&self) -> bool {
        self.awaited_count == 0 && self.asking_count == 0 && !self.is_waiting() && !self.is_listener
    }

    /// Notices that the client has gone, and not only said its last request.
    fn look(&mut self) {
        let is_gone = self.is_closed && !self.has_request() && is_left(self.stream.as_fd());
        self.is_broken |= is_gone;
    }

    fn is_full(&self) -> bool {
        MAX_UNREAD_BYTES <= self.unsent.len()
    }

    fn has_request(&self) -> bool {
        matches!(self.line, Line::Ends(_))
    }

    /// Whether its next request may be taken now.
    fn is_ready(&self) -> bool {
        self.has_request() && !self.is_full() && self.asking_count == 0
    }

    fn find_line(&mut self) {
        if let Line::NotBefore(from) = self.line {
            let found = self.unread[from..].iter().position(|&byte| byte == b'\n');
            self.line = found.map_or(Line::NotBefore(self.unread.len()), |at| Line::Ends(from + at));
        }
    }

    /// Reads what is there.
    fn read(&mut self, now: Moment) {
        self.taken_count = 0;
        self.unread.drain(..self.start);
        self.line = match self.line {
            Line::Ends(end) => Line::Ends(end - self.start),
            Line::NotBefore(from) => Line::NotBefore(from - self.start),
        };
        self.start = 0;
        let mut buffer = [0; READ_BYTES];
        while !self.is_full() && !self.is_closed && !self.is_broken && self.unread.len() <= MAX_REQUEST_BYTES
        {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.is_closed = true,
                Ok(count) => {
                    self.active = now;
                    self.unread.extend_from_slice(&buffer[..count]);
                    self.find_line();
                    if READ_BYTES * 4 < self.unread.len() && self.has_request() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_broken = true,
            }
        }
        if MAX_REQUEST_BYTES < self.unread.len() && !self.has_request() {
            let message = format!("a request has at most {MAX_REQUEST_BYTES} bytes");
            self.refuse(message);
        }
    }

    /// Takes the next request, if there is one and its answer may be written.
    fn next_request(&mut self) -> Option<Asked> {
        let Line::Ends(end) = self.line else { return None };
        if self.is_full() || 0 < self.asking_count || MAX_REQUESTS_PER_TURN <= self.taken_count {
            return None;
        }
        let asked = serde_json::from_slice(&self.unread[self.start..end]);
        (self.start, self.line) = (end + 1, Line::NotBefore(end + 1));
        self.taken_count += 1;
        self.find_line();
        match asked {
            Ok(asked) => Some(asked),
            Err(error) => {
                self.refuse(format!("the request cannot be read: {error}"));
                None
            }
        }
    }

    /// Says what is wrong with the connection as a whole, and reads no more of it.
    fn refuse(&mut self, message: String) {
        self.refusal = Some(message);
        self.unread.clear();
        (self.start, self.line) = (0, Line::NotBefore(0));
        self.is_closed = true;
    }

    fn write(&mut self, now: Moment) {
        if self.awaited_count == 0
            && let Some(message) = self.refusal.take()
        {
            self.answer(0, ErrorWire::response(ErrorKind::Usage, message));
        }
        let mut sent = 0;
        while sent < self.unsent.len() && !self.is_broken {
            match self.stream.write(&self.unsent[sent..]) {
                Ok(count) => {
                    self.active = now;
                    sent += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_broken = true,
            }
        }
        self.unsent.drain(..sent);
    }

    /// Says a last word, as far as the client hears it at once.
    fn say(&mut self, message: String, now: Moment) {
        self.answer(0, ErrorWire::response(ErrorKind::Temporary, message));
        self.write(now);
    }

    fn is_over(&self) -> bool {
        let has_nothing_to_come = self.awaited_count == 0
            && self.asking_count == 0
            && self.feed.is_none()
            && self.refusal.is_none();
        self.is_broken
            || (self.is_closed && self.unsent.is_empty() && (has_nothing_to_come || self.feed.is_some()))
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let before = umask(Mode::from_bits_truncate(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    let listener = listener?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// The socket and all connections to it.
#[derive(Debug)]
pub(super) struct Peers {
    listener: UnixListener,
    path: PathBuf,
    /// Device and number of the socket's file.
    file: Option<(u64, u64)>,
    peers: Vec<Peer>,
    last_number: u64,
    /// Who was asked for a request last.
    next_index: usize,
    /// How many changes a second each may ask for.
    rate: u32,
    /// Whether connections ended since somebody asked.
    has_lost: bool,
    /// When the operating system had no descriptor for a connection.
    short: Option<Moment>,
}

impl Peers {
    /// Makes the socket, for its owner alone. One that a server left behind is replaced: the directory is locked.
    pub(super) fn listen(path: &Path, rate: u32) -> io::Result<Peers> {
        let listener = bind(path)?;
        Ok(Peers {
            listener,
            path: path.to_owned(),
            file: file_id(path),
            peers: Vec::new(),
            last_number: 0,
            next_index: 0,
            rate,
            has_lost: false,
            short: None,
        })
    }

    /// Adds connections of the server's own listener.
    pub(super) fn adopt(&mut self, streams: Vec<UnixStream>, now: Moment) -> io::Result<()> {
        for stream in streams {
            self.last_number += 1;
            let peer = Peer::new(self.last_number, stream, Bucket::new(INSIDE_RATE, now), now)?;
            self.peers.push(Peer { is_listener: true, ..peer });
        }
        Ok(())
    }

    /// Makes the socket again if it is not where it was. Who is connected stays so. Returns whether it was gone.
    pub(super) fn listen_again(&mut self) -> io::Result<bool> {
        if self.file.is_some() && file_id(&self.path) == self.file {
            return Ok(false);
        }
        self.listener = bind(&self.path)?;
        self.file = file_id(&self.path);
        Ok(true)
    }

    /// Takes new connections, and reads what has come over all.
    pub(super) fn read(&mut self, now: Moment) {
        while let Some(stream) = self.accept(now) {
            self.last_number += 1;
            let bucket = Bucket::new(self.rate, now);
            let Ok(mut peer) = Peer::new(self.last_number, stream, bucket, now) else { continue };
            if self.has_room(now) {
                self.peers.push(peer);
            } else {
                let message = format!("there are {MAX_CONNECTIONS} connections already, which is the limit");
                peer.say(message, now);
            }
        }
        for peer in &mut self.peers {
            peer.read(now);
            peer.look();
        }
    }

    /// The next request, with the number of its connection: of each connection one, then of each the next.
    pub(super) fn next_request(&mut self) -> Option<(u64, Asked)> {
        for _ in 0..self.peers.len() {
            self.next_index = (self.next_index + 1) % self.peers.len();
            let peer = &mut self.peers[self.next_index];
            if let Some(asked) = peer.next_request() {
                return Some((peer.number, asked));
            }
        }
        None
    }

    /// The next new connection, if one waits and there is a descriptor for it, if need be that of an idle one.
    fn accept(&mut self, now: Moment) -> Option<UnixStream> {
        if self.short.is_some_and(|short| now.since(short) < REST) {
            return None;
        }
        self.short = None;
        // Without this look accept says that there is no descriptor, also when nobody waits for one.
        while is_readable(self.listener.as_fd()) {
            match self.listener.accept() {
                Ok((stream, _)) => return Some(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if is_shortage(&error) && self.drop_idle(now) => {}
                Err(_) => {
                    self.short = Some(now);
                    return None;
                }
            }
        }
        None
    }

    /// When new connections are looked for again, if there was no descriptor for one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.short.and_then(|short| short.monotonic.checked_add(REST))
    }

    /// Whether there is room for another connection, if need be in the place of an idle one.
    fn has_room(&mut self, now: Moment) -> bool {
        self.peers.iter().filter(|peer| !peer.is_listener).count() < MAX_CONNECTIONS || self.drop_idle(now)
    }

    /// Ends the connection that has been idle longest. Returns whether there was one.
    fn drop_idle(&mut self, now: Moment) -> bool {
        let idle = self.peers.iter().enumerate().filter(|(_, peer)| peer.is_idle());
        let Some((index, _)) = idle.min_by_key(|(_, peer)| peer.active.monotonic) else { return false };
        let mut peer = self.peers.remove(index);
        peer.say(
            "there is no room for more connections, and this one was idle for longer than any".into(),
            now,
        );
        self.has_lost = true;
        true
    }

    /// How many connections may stay idle for as long as they like.
    pub(super) fn waiting_count(&self) -> usize {
        self.peers.iter().filter(|peer| peer.is_waiting()).count()
    }

    /// How many answers come with the ends of runs.
    pub(super) fn waited_count(&self) -> usize {
        self.peers.iter().map(|peer| peer.waited_count).sum()
    }

    /// Whether any connection has ended since the last call.
    pub(super) fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.has_lost)
    }

    /// The connection with a number, if it is still there.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.number == number)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.peers.iter_mut()
    }

    /// Writes what can be written, and forgets the connections that are over.
    pub(super) fn write(&mut self, now: Moment) {
        self.peers.iter_mut().for_each(|peer| peer.write(now));
        let count = self.peers.len();
        self.peers.retain(|peer| !peer.is_over());
        self.has_lost |= self.peers.len() < count;
    }

    /// Whether requests have been read and not yet returned.
    pub(super) fn has_request(&self) -> bool {
        self.peers.iter().any(Peer::is_ready)
    }

    pub(super) fn watch<'a>(
        &'a self,
        readable: &mut Vec<BorrowedFd<'a>>,
        writable: &mut Vec<BorrowedFd<'a>>,
        left: &mut Vec<BorrowedFd<'a>>,
    ) {
        if self.short.is_none() {
            readable.push(self.listener.as_fd());
        }
        for peer in &self.peers {
            if peer.is_closed {
                left.push(peer.stream.as_fd());
            }
            if !peer.is_full() && !peer.is_closed {
                readable.push(peer.stream.as_fd());
            }
            if !peer.unsent.is_empty() {
                writable.push(peer.stream.as_fd());
            }
        }
    }
}

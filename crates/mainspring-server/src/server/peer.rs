//! The connections to the server's socket.
//!
//! ```text
//! bytes ─▶ lines, at most MAX_REQUEST_BYTES each ─▶ requests, at most MAX_REQUESTS_PER_TURN a turn
//! answers ─▶ bytes that wait; while more than MAX_UNREAD_BYTES do, nothing more is read or fed
//! ```
//!
//! None of them can hold the loop up: reading and writing never block, and whoever does not read its answers is not asked
//! for more.
//!
//! Cost: a few system calls per connection and turn, of which there are at most [`MAX_CONNECTIONS`].
//!
//! Does not know what a request means. Who may connect is decided by the mode of the socket and of its directory.
//!
//! Source: own.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};

use super::feed::Feed;
use super::rate::Bucket;
use crate::clock::Moment;
use crate::protocol::{Answered, Asked, Done, ErrorKind, ErrorWire, MAX_REQUEST_BYTES, Response};

/// The most connections at one time: people and a few programs.
pub(super) const MAX_CONNECTIONS: usize = 64;

/// The most requests of one connection in one turn of the loop: one group commit's worth, so that all of them share it and
/// no connection starves the others.
pub(super) const MAX_REQUESTS_PER_TURN: usize = 1_024;

/// How many bytes of answers may wait for a client to read them.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// How much is read from a connection at once.
const READ_BYTES: usize = 64 << 10;

/// One client.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) number: u64,
    stream: UnixStream,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// How many answers are still to come before the connection may end.
    pub(super) awaited_count: usize,
    /// What is wrong with the connection as a whole: said after what was asked before.
    refusal: Option<String>,
    is_closed: bool,
    is_broken: bool,
    pub(super) feed: Option<Feed>,
    /// What it may change now.
    pub(super) bucket: Bucket,
}

impl Peer {
    fn new(number: u64, stream: UnixStream, bucket: Bucket) -> io::Result<Peer> {
        stream.set_nonblocking(true)?;
        Ok(Peer {
            number,
            stream,
            unread: Vec::new(),
            unsent: Vec::new(),
            awaited_count: 0,
            refusal: None,
            is_closed: false,
            is_broken: false,
            feed: None,
            bucket,
        })
    }

    /// Queues an answer.
    pub(super) fn answer(&mut self, id: u64, response: Response) {
        let mut line = serde_json::to_string(&Answered { id, response })
            .expect("wire types have string keys and finite numbers");
        line.push('\n');
        self.unsent.extend_from_slice(line.as_bytes());
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

    fn is_full(&self) -> bool {
        MAX_UNREAD_BYTES <= self.unsent.len()
    }

    fn has_request(&self) -> bool {
        self.unread.contains(&b'\n')
    }

    /// Reads what is there, and returns the requests in it.
    fn read(&mut self) -> Vec<Asked> {
        let mut buffer = [0; READ_BYTES];
        while !self.is_full() && !self.is_closed && self.unread.len() <= MAX_REQUEST_BYTES {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.is_closed = true,
                Ok(count) => {
                    self.unread.extend_from_slice(&buffer[..count]);
                    if READ_BYTES * 4 < self.unread.len() && self.has_request() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_broken = true,
            }
            if self.is_broken {
                return Vec::new();
            }
        }
        let requests = self.requests();
        if MAX_REQUEST_BYTES < self.unread.len() && !self.has_request() {
            let message = format!("a request has at most {MAX_REQUEST_BYTES} bytes");
            self.refuse(message);
        }
        requests
    }

    fn requests(&mut self) -> Vec<Asked> {
        let mut requests = Vec::new();
        let mut start = 0;
        while requests.len() < MAX_REQUESTS_PER_TURN && !self.is_full() {
            let Some(length) = self.unread[start..].iter().position(|&byte| byte == b'\n') else { break };
            let line = &self.unread[start..start + length];
            start += length + 1;
            match serde_json::from_slice(line) {
                Ok(asked) => requests.push(asked),
                Err(error) => {
                    self.refuse(format!("the request cannot be read: {error}"));
                    return requests;
                }
            }
        }
        self.unread.drain(..start);
        requests
    }

    /// Says what is wrong with the connection as a whole, and reads no more of it.
    fn refuse(&mut self, message: String) {
        self.refusal = Some(message);
        self.unread.clear();
        self.is_closed = true;
    }

    fn write(&mut self) {
        if self.awaited_count == 0
            && let Some(message) = self.refusal.take()
        {
            self.answer(0, ErrorWire::response(ErrorKind::Usage, message));
        }
        let mut sent = 0;
        while sent < self.unsent.len() && !self.is_broken {
            match self.stream.write(&self.unsent[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_broken = true,
            }
        }
        self.unsent.drain(..sent);
    }

    fn is_over(&self) -> bool {
        let has_nothing_to_come = self.awaited_count == 0 && self.feed.is_none() && self.refusal.is_none();
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
    /// How many changes a second each may ask for.
    rate: u32,
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
            rate,
        })
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

    /// Takes new connections, and returns all requests that have come, each with the number of its connection.
    pub(super) fn read(&mut self, now: Moment) -> Vec<(u64, Asked)> {
        while let Ok((stream, _)) = self.listener.accept() {
            self.last_number += 1;
            let Ok(mut peer) = Peer::new(self.last_number, stream, Bucket::new(self.rate, now)) else {
                continue;
            };
            if MAX_CONNECTIONS <= self.peers.len() {
                let message = format!("there are {MAX_CONNECTIONS} connections already, which is the limit");
                peer.answer(0, ErrorWire::response(ErrorKind::Temporary, message));
                peer.write();
                continue;
            }
            self.peers.push(peer);
        }
        let mut requests = Vec::new();
        for peer in &mut self.peers {
            let number = peer.number;
            requests.extend(peer.read().into_iter().map(|asked| (number, asked)));
        }
        requests
    }

    /// The connection with a number, if it is still there.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.number == number)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.peers.iter_mut()
    }

    /// Writes what can be written, and forgets the connections that are over.
    pub(super) fn write(&mut self) {
        self.peers.iter_mut().for_each(Peer::write);
        self.peers.retain(|peer| !peer.is_over());
    }

    /// Whether requests have been read and not yet returned.
    pub(super) fn has_request(&self) -> bool {
        self.peers.iter().any(|peer| peer.has_request() && !peer.is_full())
    }

    pub(super) fn watch<'a>(
        &'a self,
        readable: &mut Vec<BorrowedFd<'a>>,
        writable: &mut Vec<BorrowedFd<'a>>,
    ) {
        readable.push(self.listener.as_fd());
        for peer in &self.peers {
            if !peer.is_full() && !peer.is_closed {
                readable.push(peer.stream.as_fd());
            }
            if !peer.unsent.is_empty() {
                writable.push(peer.stream.as_fd());
            }
        }
    }
}

//! The socket, and all connections to it.
//!
//! ```text
//! listener ─▶ Peers ─▶ requests: of each connection one, then of each the next
//!               └─▶ what to poll
//! ```
//!
//! No client can lock others out. A client that has gone leaves no connection behind, however many answers it
//! waits for. At most [`MAX_WAITING`] connections wait for runs or follow output. Of the others, the one that
//! was idle longest makes room for a new one.
//!
//! Cost: a few system calls per turn for each connection that poll reports as readable. There are at most
//! [`MAX_CONNECTIONS`].
//!
//! Does not know what a request means. Which users may connect is decided by the mode of the socket and of
//! its directory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::peer::{Peer, READ_BYTES};
use super::rate::Bucket;
use crate::data_directory::SOCKET_MODE;
use crate::protocol::IdentifiedRequest;
use crate::waiting::is_readable;
use mainspring_exec::clock::Moment;
use mainspring_exec::shortage::is_shortage;
use mainspring_host::net::{AsFd, AsRawFd, BorrowedFd, LocalListener, LocalStream, RawFd};
use mainspring_host::socket::{StaleSocket, file_id, listen};

/// The most connections at one time: people and a few programs.
pub const MAX_CONNECTIONS: usize = 64;

/// The most of them that wait for the ends of runs or follow output. The rest is for clients that cancel one.
pub(super) const MAX_WAITING: usize = 48;

const _: () = assert!(MAX_WAITING < MAX_CONNECTIONS, "there is room beside those that wait");

/// How long no new connection is taken after the operating system had no descriptor for one: it stays ready
/// to be taken, and the loop would turn for nothing.
const REST: Duration = Duration::from_secs(1);

/// The socket and all connections to it.
#[derive(Debug)]
pub(super) struct Peers {
    listener: LocalListener,
    /// Whether the file of the socket is the server's own, and goes with it. Else it is the service
    /// manager's.
    is_own: bool,
    path: PathBuf,
    /// Whether a connection may wait to be taken.
    is_heard: bool,
    /// What is read from a connection, on its way.
    buffer: Box<[u8]>,
    /// Device and number of the socket's file.
    file: Option<(u64, u64)>,
    peers: Vec<Peer>,
    last_number: u64,
    /// The connection that a request was taken from last.
    next_index: usize,
    /// How many changes a second each may ask for.
    rate: u32,
    /// Whether connections ended since the last question.
    has_lost: bool,
    /// When the operating system had no descriptor for a connection.
    short: Option<Moment>,
}

impl Peers {
    /// Makes the socket, for its owner alone, unless it was handed over. One that a server left behind is
    /// replaced: the directory is locked.
    pub(super) fn listen(path: &Path, handed: Option<LocalListener>, rate: u32) -> io::Result<Peers> {
        let is_own = handed.is_none();
        let listener = handed.map_or_else(|| listen(path, SOCKET_MODE, StaleSocket::Ours), Ok)?;
        listener.set_nonblocking(true)?;
        Ok(Peers {
            listener,
            is_own,
            path: path.to_owned(),
            is_heard: true,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
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
    pub(super) fn adopt(&mut self, streams: Vec<LocalStream>, now: Moment) -> io::Result<()> {
        debug_assert!(self.peers.is_empty(), "the listener's connections come before all others");
        for stream in streams {
            self.last_number += 1;
            // It paces each of its own clients, which all come over these connections.
            let peer = Peer::new(self.last_number, stream, Bucket::new(0, now), now)?;
            self.peers.push(peer.of_the_listener());
        }
        Ok(())
    }

    /// Makes the socket again if it is not where it was. Connections stay as they are. Returns whether it was
    /// gone.
    pub(super) fn listen_again(&mut self) -> io::Result<bool> {
        if self.file.is_some() && file_id(&self.path) == self.file {
            return Ok(false);
        }
        self.listener = listen(&self.path, SOCKET_MODE, StaleSocket::Ours)?;
        self.listener.set_nonblocking(true)?;
        (self.is_own, self.is_heard) = (true, true);
        self.file = file_id(&self.path);
        Ok(true)
    }

    /// Removes the socket's file, if it is the server's own: the file says that there is a server.
    pub(super) fn remove_socket(&self) {
        if self.is_own {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Poll says that these are ready.
    pub(super) fn hear(&mut self, ready: &[RawFd]) {
        self.is_heard |= ready.contains(&self.listener.as_fd().as_raw_fd());
        self.peers.iter_mut().filter(|peer| ready.contains(&peer.fd())).for_each(Peer::hear);
    }

    /// Poll was not asked: any may be ready.
    pub(super) fn hear_all(&mut self) {
        self.is_heard = true;
        self.peers.iter_mut().for_each(Peer::hear);
    }

    /// Takes new connections, and reads what has come over all, as far as there may be anything.
    pub(super) fn read(&mut self, now: Moment) {
        while let Some(stream) = self.accept(now) {
            self.last_number += 1;
            let bucket = Bucket::new(self.rate, now);
            let Ok(mut peer) = Peer::new(self.last_number, stream, bucket, now) else { continue };
            // If need be in the place of an idle one.
            if self.client_count() < MAX_CONNECTIONS || self.drop_idle(now) {
                self.peers.push(peer);
                debug_assert!(self.client_count() <= MAX_CONNECTIONS, "a connection has its room");
            } else {
                let message = format!("there are {MAX_CONNECTIONS} connections already, which is the limit");
                peer.say(message, now);
            }
        }
        for peer in &mut self.peers {
            peer.read(&mut self.buffer, now);
            peer.look();
        }
    }

    /// The next request, with the number of its connection: of each connection one, then of each the next.
    pub(super) fn next_request(&mut self) -> Option<(u64, IdentifiedRequest)> {
        for _ in 0..self.peers.len() {
            self.next_index = (self.next_index + 1) % self.peers.len();
            let peer = &mut self.peers[self.next_index];
            if let Some(request) = peer.next_request() {
                return Some((peer.number, request));
            }
        }
        None
    }

    /// The next new connection, if one waits and there is a descriptor for it, if need be that of an idle
    /// one.
    fn accept(&mut self, now: Moment) -> Option<LocalStream> {
        if self.short.is_some_and(|short| now.since(short) < REST) {
            return None;
        }
        self.short = None;
        // Without this look accept says that there is no descriptor, also when no connection waits for one.
        while self.is_heard && is_readable(self.listener.as_fd()) {
            match self.listener.accept() {
                Ok((stream, _)) => return Some(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if is_shortage(&error) && self.drop_idle(now) => {}
                Err(_) => {
                    self.short = Some(now);
                    return None;
                }
            }
        }
        self.is_heard = false;
        None
    }

    /// When new connections are looked for again, if there was no descriptor for one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.short.and_then(|short| short.monotonic.checked_add(REST))
    }

    fn client_count(&self) -> usize {
        self.peers.iter().filter(|peer| !peer.is_listener).count()
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
        debug_assert!(number <= self.last_number, "{number} is the number of a connection");
        self.peers.iter_mut().find(|peer| peer.number == number)
    }

    /// When the store is asked again for what other servers have written.
    pub(super) fn feed_deadline(&self) -> Option<Instant> {
        self.peers.iter().filter_map(|peer| peer.feed.as_ref()?.asks_at()).min()
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
            peer.watch(readable, writable, left);
        }
    }
}

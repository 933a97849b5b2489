//! One connection to the server's socket.
//!
//! ```text
//! bytes ─▶ lines, at most MAX_REQUEST_BYTES each ─▶ requests, of each connection one after the other
//!                                                    at most MAX_REQUESTS_PER_TURN of each, and for TURN_TIME in all
//! answers ─▶ bytes that wait; beyond MAX_UNREAD_BYTES nothing more is read, answered or fed
//! ```
//!
//! No connection can hold the loop up. Reading and writing never block. A client that does not read its
//! answers is not asked for more: its next request is taken when it has read the answers before.
//!
//! Cost: a few system calls a turn.
//!
//! Does not know what a request means. [`peers`](super::peers) knows all connections.

use std::io::{self, Read, Write};
use std::time::Duration;

use mainspring_host::net::{AsFd, AsRawFd, BorrowedFd, LocalStream, RawFd};
use mainspring_host::socket::widen;
use mainspring_host::sys::peer_uid;
use mainspring_job::Audit;

use super::feed::Feed;
use super::rate::Bucket;
use crate::protocol::{
    Done, ErrorKind, ErrorWire, IdentifiedRequest, MAX_APPLIED_FILES, MAX_REQUEST_BYTES, Response,
};
use crate::waiting::is_left;
use mainspring_exec::clock::Moment;

/// The most requests of one connection in one turn of the loop: one group commit's worth, so that all of them
/// share it and no connection starves the others.
pub(super) const MAX_REQUESTS_PER_TURN: usize = 1_024;

/// How long requests are taken in one turn, measured between two of them: no job is late for more than that
/// and the longest answer.
pub(super) const TURN_TIME: Duration = Duration::from_millis(10);

/// How many bytes of answers may wait for a client to read them.
const MAX_UNREAD_BYTES: usize = 1 << 20;

/// How much room the kernel is asked for between the server and a client: a page of a list, which is a
/// quarter of a megabyte, goes there in one turn of the loop. Linux gives twice as much as is asked for, and
/// takes what is asked for to be at most `net.core.wmem_max`, 208 KiB by default.
const SEND_ROOM_BYTES: usize = 256 << 10;

/// How much is read from a connection at once.
pub(super) const READ_BYTES: usize = 64 << 10;

/// How much longer a request of the server's own listener may be than others: it takes files of
/// [`MAX_REQUEST_BYTES`], and writes the fields that were left out and the caller beside them.
const LISTENER_ROOM_BYTES: usize = 64 << 10;

/// The most that it writes beside one file.
const BESIDE_FILE_BYTES: usize = 64;

const _: () = assert!(MAX_APPLIED_FILES * BESIDE_FILE_BYTES < LISTENER_ROOM_BYTES);
const _: () = assert!(READ_BYTES * 4 < MAX_REQUEST_BYTES, "the longest request is read to its end");

/// What is known of the next line in what was read. No byte is looked at twice, however slowly the others
/// come.
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
    stream: LocalStream,
    /// Whether there may be something to read: poll has said so, and it was not read to its end.
    is_heard: bool,
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
    /// How many of them look for output that it will follow.
    pub(super) follow_count: usize,
    /// When it last asked for something or read something.
    pub(super) active: Moment,
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
    /// Whose process connected, as far as the operating system knows.
    uid: Option<u32>,
    /// The caller of the request that is under way.
    pub(super) audit: Option<Audit>,
}

impl Peer {
    pub(super) fn new(number: u64, stream: LocalStream, bucket: Bucket, now: Moment) -> io::Result<Peer> {
        stream.set_nonblocking(true)?;
        widen(&stream, SEND_ROOM_BYTES);
        let uid = peer_uid(&stream).ok();
        Ok(Peer {
            number,
            stream,
            is_heard: true,
            unread: Vec::new(),
            start: 0,
            line: Line::NotBefore(0),
            taken_count: 0,
            unsent: Vec::new(),
            awaited_count: 0,
            waited_count: 0,
            asking_count: 0,
            follow_count: 0,
            active: now,
            refusal: None,
            is_closed: false,
            is_broken: false,
            feed: None,
            bucket,
            is_listener: false,
            uid,
            audit: None,
        })
    }

    /// The same as a connection of the server's own listener.
    pub(super) fn of_the_listener(self) -> Peer {
        Peer { is_listener: true, ..self }
    }

    /// Queues an answer.
    #[expect(clippy::needless_pass_by_value, reason = "an answer is sent once")]
    pub(super) fn answer(&mut self, id: u64, response: Response) {
        response.write_line(id, &mut self.unsent);
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
        0 < self.waited_count || 0 < self.follow_count || self.feed.as_ref().is_some_and(|feed| feed.follows)
    }

    /// Whether it could make room for another connection.
    pub(super) fn is_idle(&self) -> bool {
        self.awaited_count == 0 && self.asking_count == 0 && !self.is_waiting() && !self.is_listener
    }

    /// Notices that the client has gone, and not only said its last request.
    pub(super) fn look(&mut self) {
        let is_gone = self.is_closed && !self.has_request() && is_left(self.stream.as_fd());
        self.is_broken |= is_gone;
    }

    fn is_full(&self) -> bool {
        MAX_UNREAD_BYTES <= self.unsent.len()
    }

    fn request_bytes_max(&self) -> usize {
        MAX_REQUEST_BYTES + if self.is_listener { LISTENER_ROOM_BYTES } else { 0 }
    }

    fn has_request(&self) -> bool {
        matches!(self.line, Line::Ends(_))
    }

    /// Whether its next request may be taken now.
    pub(super) fn is_ready(&self) -> bool {
        self.has_request() && !self.is_full() && self.asking_count == 0
    }

    fn find_line(&mut self) {
        if let Line::NotBefore(from) = self.line {
            let found = self.unread[from..].iter().position(|&byte| byte == b'\n');
            self.line = found.map_or(Line::NotBefore(self.unread.len()), |at| Line::Ends(from + at));
        }
    }

    /// The caller, by the operating system.
    pub(super) fn owner(&self) -> String {
        self.uid.map_or_else(|| "unknown".to_owned(), |uid| format!("uid {uid}"))
    }

    /// There may be something to read.
    pub(super) fn hear(&mut self) {
        self.is_heard = true;
    }

    /// What poll calls it.
    pub(super) fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Reads what is there, if there may be anything. What `buffer` holds does not matter; it is
    /// [`READ_BYTES`] long.
    pub(super) fn read(&mut self, buffer: &mut [u8], now: Moment) {
        debug_assert_eq!(buffer.len(), READ_BYTES);
        debug_assert!(self.start <= self.unread.len(), "what was taken had been read");
        self.taken_count = 0;
        self.unread.drain(..self.start);
        self.line = match self.line {
            Line::Ends(end) => Line::Ends(end - self.start),
            Line::NotBefore(from) => Line::NotBefore(from - self.start),
        };
        self.start = 0;
        while self.is_heard && !self.is_full() && !self.is_closed && !self.is_broken {
            if self.request_bytes_max() < self.unread.len() {
                break;
            }
            match self.stream.read(buffer) {
                Ok(0) => self.is_closed = true,
                Ok(count) => {
                    self.active = now;
                    self.unread.extend_from_slice(&buffer[..count]);
                    self.find_line();
                    // A stream gives all it has, as far as there is room: this was the end. What comes later,
                    // and the end of the stream, poll tells.
                    self.is_heard = count == buffer.len();
                    if READ_BYTES * 4 < self.unread.len() && self.has_request() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_heard = false,
                Err(_) => self.is_broken = true,
            }
        }
        let most = self.request_bytes_max();
        if most < self.unread.len() && !self.has_request() {
            let message = format!("a request has at most {most} bytes");
            self.refuse(message);
        }
    }

    /// Takes the next request, if there is one and its answer may be written.
    pub(super) fn next_request(&mut self) -> Option<IdentifiedRequest> {
        let Line::Ends(end) = self.line else { return None };
        if self.is_full() || 0 < self.asking_count || MAX_REQUESTS_PER_TURN <= self.taken_count {
            return None;
        }
        debug_assert_eq!(self.unread[end], b'\n', "a request is a line");
        let parsed = IdentifiedRequest::read(&self.unread[self.start..end]);
        (self.start, self.line) = (end + 1, Line::NotBefore(end + 1));
        self.taken_count += 1;
        self.find_line();
        match parsed {
            Ok(request) => Some(request),
            Err(error) => {
                self.refuse(error.message);
                None
            }
        }
    }

    /// Says what is wrong with the connection as a whole, and reads no more of it.
    fn refuse(&mut self, message: String) {
        debug_assert!(self.refusal.is_none(), "nothing is read after what was refused");
        self.refusal = Some(message);
        self.unread.clear();
        (self.start, self.line) = (0, Line::NotBefore(0));
        self.is_closed = true;
    }

    pub(super) fn write(&mut self, now: Moment) {
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
    pub(super) fn say(&mut self, message: String, now: Moment) {
        self.answer(0, ErrorWire::response(ErrorKind::Temporary, message));
        self.write(now);
    }

    pub(super) fn is_over(&self) -> bool {
        debug_assert!(self.waited_count <= self.awaited_count, "the end of a run is an answer");
        let has_nothing_to_come = self.awaited_count == 0
            && self.asking_count == 0
            && self.feed.is_none()
            && self.refusal.is_none();
        self.is_broken
            || (self.is_closed && self.unsent.is_empty() && (has_nothing_to_come || self.feed.is_some()))
    }

    /// Adds what to poll.
    pub(super) fn watch<'a>(
        &'a self,
        readable: &mut Vec<BorrowedFd<'a>>,
        writable: &mut Vec<BorrowedFd<'a>>,
        left: &mut Vec<BorrowedFd<'a>>,
    ) {
        let stream = self.stream.as_fd();
        if self.is_closed {
            left.push(stream);
        }
        if !self.is_full() && !self.is_closed {
            readable.push(stream);
        }
        if !self.unsent.is_empty() {
            writable.push(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_host::net::pair;

    #[test]
    fn a_request_of_the_listener_has_room_for_what_stands_around_files() {
        let now = Moment::now();
        let mut buffer = vec![0; READ_BYTES];
        let line = "x".repeat(READ_BYTES);
        let mut is_refused = |is_listener: bool, bytes: usize| {
            let (mut writer, stream) = pair().unwrap();
            let peer = Peer::new(1, stream, Bucket::new(1, now), now).unwrap();
            let mut peer = if is_listener { peer.of_the_listener() } else { peer };
            let mut left = bytes;
            while 0 < left && peer.refusal.is_none() {
                // Less than is read at once, so that no request ends in what was read too much.
                let count = left.min(READ_BYTES / 2);
                writer.write_all(&line.as_bytes()[..count]).unwrap();
                (peer.is_heard, left) = (true, left - count);
                peer.read(&mut buffer, now);
            }
            peer.refusal.is_some()
        };
        assert!(!is_refused(false, MAX_REQUEST_BYTES));
        assert!(is_refused(false, MAX_REQUEST_BYTES + 1));
        assert!(!is_refused(true, MAX_REQUEST_BYTES + MAX_APPLIED_FILES * BESIDE_FILE_BYTES));
        assert!(is_refused(true, MAX_REQUEST_BYTES + LISTENER_ROOM_BYTES + 1));
    }
}

//! The sockets that a loop waits for: registered, modified and deregistered by id, from any thread.
//!
//! ```text
//!   register(source, interest) ──▶ SourceId      the loop owns a share of the source
//!   ready:  id ──▶ the source and its interest; an id that is gone ──▶ nothing
//!   deregister(id) ──▶ the source
//! ```
//!
//! A source is anything with a descriptor: a socket, a pipe, an enum of them. While it is registered it
//! cannot be closed, because the loop shares it; the program works with it through `&S`, as `&TcpStream` can
//! read and write.
//!
//! Ids are numbered and never given twice, and the kernel returns the number with each event. So an id kept
//! too long, or an event that was on its way while its source was deregistered, reaches nothing, even if the
//! next socket has the same descriptor.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `entries` | `state` | a look or a change, and for `modify` one system call that does not wait |
//! | `next_key` | `state` | numbers are given in order |
//! | `is_closed` | `state` | once true, nothing is registered or handed out any more |
//!
//! Cost: one system call and a hash table's operation each; a lock, a look and a reference count per event.
//!
//! It does not make sockets non-blocking, and it does not read or write.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use polling::{Event, PollMode, Poller};

use super::sys::Registration;
use crate::sync::{Mutex, lock};

/// Any source: for a loop with sources of several types, each registered as an `Arc<AnySource>`.
pub type AnySource = dyn AsFd + Send + Sync;

/// The name of one source in one loop. It names that source for ever.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use mainspring::Task;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::Poll;
/// use mainspring::driver::poll::Interest;
/// use mainspring::queue::RedBlackTree;
///
/// let driver: Poll<RedBlackTree<Task>, UnixStream> = Poll::new(RedBlackTree::new(), Monotonic::new())?;
/// let (socket, _peer) = UnixStream::pair()?;
/// socket.set_nonblocking(true)?;
/// let id = driver.sources().register(socket, Interest::Readable)?;
/// assert!(driver.sources().source(id).is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(usize);

impl fmt::Display for SourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a loop waits for on a source.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use mainspring::Task;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::Poll;
/// use mainspring::driver::poll::Interest;
/// use mainspring::queue::RedBlackTree;
///
/// let driver: Poll<RedBlackTree<Task>, UnixStream> = Poll::new(RedBlackTree::new(), Monotonic::new())?;
/// let (socket, _peer) = UnixStream::pair()?;
/// socket.set_nonblocking(true)?;
/// let id = driver.sources().register(socket, Interest::Readable)?;
/// assert!(driver.sources().modify(id, Interest::Both)?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a socket has two directions")]
pub enum Interest {
    /// That something can be read, a connection accepted, or that the other end is gone.
    Readable,
    /// That something can be written, or that the other end is gone.
    Writable,
    /// Both of these.
    Both,
    /// Nothing, until it is modified.
    Nothing,
}

impl Interest {
    fn includes_reading(self) -> bool {
        matches!(self, Interest::Readable | Interest::Both)
    }

    fn includes_writing(self) -> bool {
        matches!(self, Interest::Writable | Interest::Both)
    }

    fn event(self, key: usize) -> Event {
        Event::new(key, self.includes_reading(), self.includes_writing())
    }

    /// Level-triggered: what is not read to the end is told again, so a handler cannot lose an event. A
    /// source without an interest would still tell again and again that its other end is gone: it
    /// may tell once.
    fn mode(self) -> PollMode {
        if self == Interest::Nothing { PollMode::Oneshot } else { PollMode::Level }
    }
}

/// A source on which something can be done without waiting, as far as its interest goes.
///
/// ```
/// use std::io::Read;
/// use std::os::unix::net::UnixStream;
/// use mainspring::driver::poll::{Ready, Serve};
/// use mainspring::driver::{Fire, FiredTimer};
///
/// /// Prints what it reads, and what fires.
/// struct Printer;
///
/// impl Fire<&'static str> for Printer {
///     fn fire(&mut self, fired: FiredTimer<&'static str>) {
///         println!("{}", fired.payload);
///     }
/// }
///
/// impl Serve<&'static str, UnixStream> for Printer {
///     fn ready(&mut self, ready: Ready<UnixStream>) {
///         let mut bytes = [0; 64];
///         if ready.is_readable {
///             println!("{:?} bytes", (&*ready.source).read(&mut bytes));
///         }
///     }
/// }
/// ```
#[non_exhaustive]
pub struct Ready<S: ?Sized> {
    /// Its id.
    pub id: SourceId,
    /// Itself, still registered.
    pub source: Arc<S>,
    /// It can be read; to its end or to an error, perhaps.
    pub is_readable: bool,
    /// It can be written, or writing fails at once.
    pub is_writable: bool,
}

impl<S: ?Sized> fmt::Debug for Ready<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ready { id, is_readable, is_writable, .. } = self;
        let mut ready = formatter.debug_struct("Ready");
        ready.field("id", id).field("is_readable", is_readable).field("is_writable", is_writable);
        ready.finish_non_exhaustive()
    }
}

/// The sources of one loop. Clones are the same.
///
/// ```
/// use std::os::unix::net::UnixStream;
/// use mainspring::Task;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::Poll;
/// use mainspring::driver::poll::Interest;
/// use mainspring::queue::RedBlackTree;
///
/// let driver: Poll<RedBlackTree<Task>, UnixStream> = Poll::new(RedBlackTree::new(), Monotonic::new())?;
/// let (socket, _peer) = UnixStream::pair()?;
/// socket.set_nonblocking(true)?;
/// let id = driver.sources().register(socket, Interest::Readable)?;
/// assert_eq!(driver.sources().len(), 1);
/// driver.sources().deregister(id);
/// assert!(driver.sources().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Sources<S: ?Sized> {
    shared: Arc<Shared<S>>,
}

struct Shared<S: ?Sized> {
    poller: Arc<Poller>,
    state: Mutex<State<S>>,
}

struct State<S: ?Sized> {
    entries: HashMap<usize, Entry<S>>,
    next_key: usize,
    is_closed: bool,
}

struct Entry<S: ?Sized> {
    registration: Registration<S>,
    interest: Interest,
}

impl<S: ?Sized> Sources<S> {
    pub(super) fn new(poller: Arc<Poller>) -> Sources<S> {
        let state = State { entries: HashMap::new(), next_key: 0, is_closed: false };
        Sources { shared: Arc::new(Shared { poller, state: Mutex::new(state) }) }
    }

    /// Makes the loop wait for `source`, from its next wait on, or from the present one. It should be
    /// non-blocking. A caller that wants it back if this fails gives an `Arc` of which it keeps a clone.
    ///
    /// # Errors
    /// The driver has been shut down; or the system refuses: the source is registered already
    /// (`AlreadyExists`), is a regular file (`PermissionDenied`), or there are too many.
    pub fn register(&self, source: impl Into<Arc<S>>, interest: Interest) -> io::Result<SourceId>
    where
        S: AsFd,
    {
        let key = self.next_key()?;
        // An event that comes before the entry is made finds nothing, and is told again.
        let (event, mode) = (interest.event(key), interest.mode());
        let registration = Registration::new(&self.shared.poller, source.into(), event, mode)?;
        let entry = Entry { registration, interest };
        let mut state = lock(&self.shared.state);
        if state.is_closed {
            drop(state);
            return Err(closed());
        }
        let replaced = state.entries.insert(key, entry);
        drop(state);
        debug_assert!(replaced.is_none(), "no key is given twice");
        Ok(SourceId(key))
    }

    fn next_key(&self) -> io::Result<usize> {
        let mut state = lock(&self.shared.state);
        // The last number means the poller's own notification. Only a 32-bit system can live to see it.
        if state.is_closed || state.next_key == usize::MAX {
            return Err(closed());
        }
        let key = state.next_key;
        state.next_key += 1;
        Ok(key)
    }

    /// Changes what the loop waits for on a source. Called from the loop's thread, it counts for the events
    /// of the present round that have not been handed out. `false` for a stale id.
    ///
    /// # Errors
    /// The system refuses, for want of memory.
    pub fn modify(&self, id: SourceId, interest: Interest) -> io::Result<bool> {
        let mut state = lock(&self.shared.state);
        let Some(entry) = state.entries.get_mut(&id.0) else { return Ok(false) };
        entry.registration.modify(interest.event(id.0), interest.mode())?;
        entry.interest = interest;
        Ok(true)
    }

    /// Takes a source out of the loop and gives it back; `None` for a stale id. No event of it is handed out
    /// from now on; one that is just being handled on the loop's thread is not waited for.
    pub fn deregister(&self, id: SourceId) -> Option<Arc<S>> {
        let entry = lock(&self.shared.state).entries.remove(&id.0)?;
        Some(Arc::clone(entry.registration.source()))
    }

    /// Takes all sources out and gives them back, in the order in which they were registered: for a program
    /// that wants to go on with them after the driver.
    pub fn deregister_all(&self) -> Vec<(SourceId, Arc<S>)> {
        let entries = std::mem::take(&mut lock(&self.shared.state).entries);
        let back =
            entries.iter().map(|(&key, entry)| (SourceId(key), Arc::clone(entry.registration.source())));
        let mut back: Vec<_> = back.collect();
        back.sort_unstable_by_key(|&(id, _)| id);
        back
    }

    /// Returns a registered source; `None` for a stale id.
    pub fn source(&self, id: SourceId) -> Option<Arc<S>> {
        lock(&self.shared.state).entries.get(&id.0).map(|entry| Arc::clone(entry.registration.source()))
    }

    /// Returns how many sources are registered.
    pub fn len(&self) -> usize {
        lock(&self.shared.state).entries.len()
    }

    /// Tells whether no source is registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// From now on nothing is registered and nothing is handed out.
    pub(super) fn close(&self) {
        lock(&self.shared.state).is_closed = true;
    }

    /// What an event means now: its source may be gone, or its interest another.
    pub(super) fn ready(&self, event: Event) -> Option<Ready<S>> {
        let state = lock(&self.shared.state);
        let entry = state.entries.get(&event.key).filter(|_| !state.is_closed)?;
        let is_readable = event.readable && entry.interest.includes_reading();
        let is_writable = event.writable && entry.interest.includes_writing();
        let source = Arc::clone(entry.registration.source());
        (is_readable || is_writable).then_some(Ready {
            id: SourceId(event.key),
            source,
            is_readable,
            is_writable,
        })
    }
}

fn closed() -> io::Error {
    io::Error::other("the driver takes no more sources")
}

impl<S: ?Sized> Clone for Sources<S> {
    fn clone(&self) -> Sources<S> {
        Sources { shared: Arc::clone(&self.shared) }
    }
}

impl<S: ?Sized> fmt::Debug for Sources<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sources").field("len", &self.len()).finish_non_exhaustive()
    }
}

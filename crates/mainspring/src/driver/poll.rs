//! The driver whose one loop waits for sockets and timers at once: nginx, and Go's network poller.
//!
//! ```text
//!   loop { wait(sockets, notifier, next_wakeup);  hand out the events;  advance, pop and fire what is due }
//!                 ▲            ▲
//!         register, modify     schedule and reset to an earlier time, stop: from any thread
//! ```
//!
//! One object, a [`Serve`], receives both, on the loop's thread and with no lock held: it may register,
//! deregister, schedule and cancel, and needs no lock for what it keeps itself. Events of a round are handed
//! out in the order in which the system told them; timers that are due fire after them, equals as the queue
//! states, so a request that the round brought is seen before its timeout. More due timers than a batch (64)
//! let a round of events in between, so neither starves the other.
//!
//! Wake-up rule: the loop sleeps until a source is ready, the queue's next wakeup, or a notification, which
//! only a timer that is scheduled or reset to before that wakeup sends, once, and [`stop`](Poll::stop). So
//! nothing due and nothing ready means no wake-up at all. What the loop's own thread schedules sends none.
//!
//! Waiting goes through the [`Clock`], at a notifier whose parker is the poller, so any clock drives it: see
//! [`Parker`]. Real sockets do not follow a manual clock, though. With a stepped one time moves when it is
//! told to and sockets when they like; a leaping one leaps whenever no socket is ready at that moment, so it
//! is of little use with sockets.
//!
//! On shutdown the handler that is running ends, nothing more is handed out or fired, all pending timers are
//! handed back, and the loop releases its sources, which closes those that the program does not hold;
//! [`deregister_all`](Sources::deregister_all) takes them out before.
//!
//! | field | guard | why |
//! |---|---|---|
//! | the queue | its shard | see [`shard`](super) |
//! | the sources | [`Sources`] | looked up once per event |
//! | the events | the poller's place | only the loop's thread takes that lock |
//! | the thread | [`driver_threads`](super) | shutdown waits for it |
//!
//! Cost: on Linux five system calls per round (the wait, and two each for its timeout and its notification),
//! a lock and a look per event, one lock per operation on a timer and per firing. A handler that takes long
//! keeps everybody else waiting. It does not make reads and writes wait or resume: handlers do.
//!
//! Source: nginx's `ngx_process_events_and_timers`; Go's `runtime/netpoll.go`; the crate `polling`.

mod parker;
mod sources;
mod sys;

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::{ResetError, Tick, TimerQueue};
use polling::Event;

pub use self::sources::{AnySource, Interest, Ready, SourceId, Sources};

use self::parker::PollParker;
use super::driver_threads::DriverThreads;
use super::shard::{NoWatch, Role, Shard, Turn};
use super::shard_set::{ShardSet, drive_shards, shard};
use super::{
    Counts, Driver, Fire, Part, Refusal, RefusedTimer, THREAD_NAME, TimerId, Timers, UnfiredTimer,
    panic_message,
};
use crate::clock::{Clock, Notifier, Parker};

/// Receives what a loop has: timers that fire, by [`Fire`], and sources `S` that are ready, on the same
/// thread.
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
pub trait Serve<T, S: ?Sized>: Fire<T> {
    /// Takes a source that is ready. It is told again in the next round if it still is, so a handler that can
    /// do nothing with it for now modifies its interest.
    fn ready(&mut self, ready: Ready<S>);

    /// Hears that `ready` panicked, with the panic's message, or a note that it had none. The source has been
    /// deregistered, since it would be ready again at once. Unless overridden, writes a line to standard
    /// error.
    fn source_panicked(&mut self, id: SourceId, message: &str) {
        eprintln!("mainspring: source {id} panicked and was deregistered: {message}");
    }

    /// Hears that the poller failed, so that a loop on a thread of the driver's own ends. Unless overridden,
    /// writes a line to standard error.
    fn failed(&mut self, error: &io::Error) {
        eprintln!("mainspring: the poll driver ends: {error}");
    }
}

/// A driver with one queue of timers and any number of sources, for one thread to run.
///
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use mainspring::clock::{Clock, Monotonic};
/// use mainspring::driver::poll::{Interest, Ready, Serve};
/// use mainspring::driver::{Fire, FiredTimer, Poll, Timers};
/// use mainspring_queue::RedBlackTree;
///
/// /// Prints what it reads until its timer fires.
/// struct Reader(Arc<Poll<RedBlackTree<&'static str>, UnixStream>>);
///
/// impl Fire<&'static str> for Reader {
///     fn fire(&mut self, fired: FiredTimer<&'static str>) {
///         println!("{}", fired.payload);
///         self.0.stop();
///     }
/// }
///
/// impl Serve<&'static str, UnixStream> for Reader {
///     fn ready(&mut self, ready: Ready<UnixStream>) {
///         let mut bytes = [0; 64];
///         let byte_count = (&*ready.source).read(&mut bytes).unwrap_or(0);
///         println!("{} says {}", ready.id, bytes[..byte_count].escape_ascii());
///     }
/// }
///
/// let clock = Arc::new(Monotonic::new());
/// let driver = Arc::new(Poll::new(RedBlackTree::new(), clock.clone())?);
/// let (source, mut peer) = UnixStream::pair()?;
/// source.set_nonblocking(true)?;
/// driver.sources().register(source, Interest::Readable)?;
/// driver.schedule(clock.after(Duration::from_millis(10)), "time is up")?;
/// peer.write_all(b"hello")?;
/// driver.run(&mut Reader(driver.clone()))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Poll<Q, S: ?Sized = AnySource> {
    /// The one.
    shards: [Arc<Shard<Q>>; 1],
    notifier: Notifier,
    parker: Arc<PollParker>,
    sources: Sources<S>,
    threads: DriverThreads,
}

impl<Q, S: ?Sized> Poll<Q, S> {
    /// Makes a driver without sources. Nothing happens until some thread [runs](Self::run) it, or
    /// [`start`](Self::start) starts one.
    ///
    /// # Errors
    /// The operating system has no poller left to give: too many open files.
    pub fn new(queue: Q, clock: impl Clock) -> io::Result<Poll<Q, S>> {
        let poller = Arc::new(polling::Poller::new()?);
        let parker = Arc::new(PollParker::new(Arc::clone(&poller)));
        let notifier = Notifier::at(Arc::clone(&parker) as Arc<dyn Parker>);
        let shard = Shard::new(0, queue, clock.into_shared(), Arc::new(notifier.clone()));
        Ok(Poll {
            shards: [Arc::new(shard)],
            notifier,
            parker,
            sources: Sources::new(poller),
            threads: DriverThreads::new(),
        })
    }

    /// The sources, to register, modify and deregister from any thread.
    pub fn sources(&self) -> &Sources<S> {
        &self.sources
    }

    /// Starts the thread that runs the driver until it is shut down. Call it once.
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn start<T>(self: &Arc<Self>, mut serve: impl Serve<T, S> + 'static) -> io::Result<()>
    where
        Q: TimerQueue<T> + Send + 'static,
        S: Send + Sync + 'static,
    {
        let driver = Arc::clone(self);
        let run = move || {
            if let Err(error) = driver.run(&mut serve) {
                serve.failed(&error);
            }
        };
        self.threads.start(THREAD_NAME.to_owned(), run).map(|_| ())
    }

    /// Hands out events and fires timers on the calling thread, sleeping in between, until
    /// [`stop`](Self::stop) is called.
    ///
    /// Only one thread may run a driver at a time.
    ///
    /// # Errors
    /// The system would not wait, for want of memory. The driver has been stopped then.
    pub fn run<T>(&self, serve: &mut impl Serve<T, S>) -> io::Result<()>
    where
        Q: TimerQueue<T>,
    {
        let mut round = Vec::new();
        loop {
            match self.shards[0].turn(Role::Owner, serve, &NoWatch) {
                Turn::Idle(until) => self.shards[0].sleep(&self.notifier, until),
                // Sockets get a look in between.
                Turn::Busy => _ = self.parker.wait(Some(Duration::ZERO)),
                Turn::Stopping => return Ok(()),
            }
            self.parker.take(&mut round).inspect_err(|_| self.stop())?;
            round.drain(..).for_each(|event| self.hand_out(event, serve));
        }
    }

    /// Makes the running thread return after the handler that it is in. From now on no timer and no source is
    /// taken.
    pub fn stop(&self) {
        self.shards[0].stop();
        self.sources.close();
        self.notifier.notify();
    }

    fn hand_out<T>(&self, event: Event, serve: &mut impl Serve<T, S>) {
        let Some(ready) = self.sources.ready(event) else { return };
        let id = ready.id;
        // What a panic leaves half done is the handler's own: the driver shares nothing with it.
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| serve.ready(ready))) else { return };
        // Dropping the source, the report and the panic's own value are the owner's code as well.
        let _ = catch_unwind(AssertUnwindSafe(|| self.bury(id, serve, panic)));
    }

    fn bury<T>(&self, id: SourceId, serve: &mut impl Serve<T, S>, panic: Box<dyn Any + Send>) {
        let source = self.sources.deregister(id);
        serve.source_panicked(id, &panic_message(&*panic));
        drop((source, panic));
    }
}

drive_shards!([Q, S] Poll<Q, S> where
    Q: TimerQueue<T> + Send,
    S: Send + Sync + ?Sized,
);

impl<T, Q, S> ShardSet<T> for Poll<Q, S>
where
    T: Send,
    Q: TimerQueue<T> + Send,
    S: Send + Sync + ?Sized,
{
    type Queue = Q;

    fn shard_of_caller(&self) -> Result<&Arc<Shard<Q>>, Refusal> {
        Ok(&self.shards[0])
    }

    fn shards(&self) -> &[Arc<Shard<Q>>] {
        &self.shards
    }

    fn end(&self) {
        self.stop();
        self.threads.wait_for_end();
        // Their drops are their owners' code: a panic is printed, and the timers are handed back all the
        // same.
        let sources = self.sources.deregister_all();
        sources.into_iter().for_each(|source| _ = catch_unwind(AssertUnwindSafe(|| drop(source))));
    }
}

impl<Q, S: ?Sized> fmt::Debug for Poll<Q, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Poll").finish_non_exhaustive()
    }
}

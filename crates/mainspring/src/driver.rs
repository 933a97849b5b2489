//! Drivers wait for deadlines and fire timers.
//!
//! ```text
//!   any thread:  handle --schedule/cancel/reset--> driver's lock { queue }
//!   its thread:  advance -> pop -> (lock released) fire -> pop -> ... -> sleep until next_wakeup
//! ```
//!
//! A driver owns a queue, asks a [`Clock`], and hands each due timer to the [`Fire`] it was given,
//! never while a lock is held: what is fired may schedule, cancel and reset freely, its own timers included.
//! [`Timers`] is what a [`Handle`](crate::Handle) asks of it, whatever queue is behind.
//!
//! Firing wins: where a driver has fallen 50 ms behind, threads that schedule or reset pause for a
//! millisecond each time, until it has caught up. [`Counts::held_back`] says how often. A thread that fires
//! never pauses.
//!
//! | driver | queues | threads | a timer goes to | wakes |
//! |---|---|---|---|---|
//! | [`Single`] | one | one of its own, or the caller's | the one queue | its thread, if it sleeps past the deadline |
//! | [`Striped`] | n | one of its own | its caller's stripe | its thread, if it sleeps past the deadline |
//! | [`Sharded`] | n | one per queue, started when it is first needed | its caller's shard | the shard's thread |
//! | [`PerWorker`] | one per worker | the program's workers | the worker that schedules it | the owner, or the worker that sleeps longest |
//! | `Poll` (feature `poll`) | one | one of its own, or the caller's, which waits for sockets too | the one queue | its thread, if it sleeps past the deadline |
//!
//! Every driver is a [`Driver`] and passes the suite in `tests/drivers.rs`.
//!
//! It does not know what a payload is: fronts do.

mod counts;
mod driver_threads;
pub(crate) mod handoffs;
mod panic_capture;
pub mod per_worker;
#[cfg(all(feature = "poll", unix))]
pub mod poll;
mod refused_timer;
#[cfg(feature = "report")]
mod report;
mod shard;
mod shard_set;
pub mod sharded;
pub mod single;
pub mod striped;

#[doc(inline)]
pub use counts::Counts;
#[doc(inline)]
pub use per_worker::PerWorker;
#[cfg(all(feature = "poll", unix))]
#[doc(inline)]
pub use poll::Poll;
#[doc(inline)]
pub use refused_timer::{Refusal, RefusedTimer};
#[cfg(feature = "report")]
#[doc(inline)]
pub use report::Report;
#[doc(inline)]
pub use sharded::Sharded;
#[doc(inline)]
pub use single::Single;
#[doc(inline)]
pub use striped::Striped;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mainspring_queue::{ResetError, Tick};

use crate::clock::Clock;
use crate::sync::atomic::Ordering;

/// What the threads of drivers are called, for debuggers and `top`.
const THREAD_NAME: &str = "mainspring";

/// The name of one timer in one driver: which of its queues, and the timer's id there. It names that timer
/// for ever.
///
/// ```
/// use std::num::NonZeroU32;
/// use mainspring::TimerId;
///
/// let in_queue = mainspring::queue::TimerId::from_parts(7, NonZeroU32::MIN);
/// let id = TimerId::from_parts(3, in_queue);
/// assert_eq!((id.shard(), id.timer(), id.to_string()), (3, in_queue, "3:7.1".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId {
    shard: u32,
    timer: mainspring_queue::TimerId,
}

impl TimerId {
    /// Makes an id of its two parts. For drivers: an id that no driver gave out names no timer.
    pub const fn from_parts(shard: u32, timer: mainspring_queue::TimerId) -> TimerId {
        TimerId { shard, timer }
    }

    /// Returns the number of the driver's queue that the timer is in.
    pub const fn shard(self) -> u32 {
        self.shard
    }

    /// Returns the timer's id in that queue.
    pub const fn timer(self) -> mainspring_queue::TimerId {
        self.timer
    }
}

impl fmt::Display for TimerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.shard, self.timer)
    }
}

/// A timer whose time has come, on its way to its owner.
///
/// ```
/// use std::sync::mpsc::channel;
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::FiredTimer;
/// use mainspring::queue::wheel::Chunked;
///
/// let (sender, fired) = channel();
/// let send = move |fired: FiredTimer<&'static str>| sender.send(fired).unwrap_or(());
/// let engine = Engine::start(Chunked::new(), Monotonic::new(), send)?;
/// let id = engine.handle().schedule_after(Duration::from_millis(1), "payload")?;
/// let fired = fired.recv()?;
/// assert_eq!((fired.id, fired.payload), (id, "payload"));
/// assert!(fired.deadline <= fired.now, "never early");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "drivers outside of this crate make it")]
pub struct FiredTimer<T> {
    /// The timer's id, which is stale from now on.
    pub id: TimerId,
    /// When it was to fire.
    pub deadline: Tick,
    /// When the driver took it out; `now.since(deadline)` is its lateness in ticks.
    pub now: Tick,
    /// What the owner gave.
    pub payload: T,
}

/// A timer that did not fire before its driver was shut down.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::FiredTimer;
/// use mainspring::queue::wheel::Chunked;
///
/// let engine = Engine::start(Chunked::new(), Monotonic::new(), |_: FiredTimer<&str>| ())?;
/// engine.handle().schedule_after(Duration::from_secs(60), "unsent")?;
/// let unfired = engine.shutdown();
/// assert_eq!(unfired[0].payload, "unsent");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "drivers outside of this crate make it")]
pub struct UnfiredTimer<T> {
    /// The timer's id, which is stale from now on.
    pub id: TimerId,
    /// When it was to fire.
    pub deadline: Tick,
    /// What the owner gave.
    pub payload: T,
}

/// Receives timers as they fire, on the driver's thread. Any `FnMut(FiredTimer<T>) + Send` is one.
///
/// The next timer waits until `fire` returns: a slow one makes the others late.
///
/// ```
/// use std::sync::mpsc::{Sender, channel};
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::{Fire, FiredTimer};
/// use mainspring::queue::wheel::Chunked;
///
/// /// Sends on what fires.
/// struct Forward(Sender<u64>);
///
/// impl Fire<u64> for Forward {
///     fn fire(&mut self, fired: FiredTimer<u64>) {
///         self.0.send(fired.payload).unwrap_or(());
///     }
/// }
///
/// let (sender, connections) = channel();
/// let engine = Engine::start(Chunked::new(), Monotonic::new(), Forward(sender))?;
/// engine.handle().schedule_after(Duration::from_millis(1), 7)?;
/// assert_eq!(connections.recv()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Fire<T>: Send {
    /// Takes a timer that is due.
    fn fire(&mut self, fired: FiredTimer<T>);

    /// Hears that `fire` panicked. The driver continues with the next timer. Unless overridden, writes a line
    /// to standard error.
    fn panicked(&mut self, panic: &FiringPanic) {
        eprintln!("mainspring: {panic}");
    }
}

impl<T, F: FnMut(FiredTimer<T>) + Send> Fire<T> for F {
    fn fire(&mut self, fired: FiredTimer<T>) {
        self(fired);
    }
}

/// A timer whose firing panicked.
///
/// ```
/// use std::sync::mpsc::{Sender, channel};
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::{Fire, FiredTimer, FiringPanic};
/// use mainspring::queue::wheel::Chunked;
///
/// /// Sends on what fires.
/// struct Forward(Sender<u64>);
///
/// impl Fire<u64> for Forward {
///     fn fire(&mut self, fired: FiredTimer<u64>) {
///         self.0.send(fired.payload).unwrap_or(());
///     }
///
///     fn panicked(&mut self, panic: &FiringPanic) {
///         println!("{} panicked: {}", panic.id, panic.message);
///     }
/// }
///
/// let (sender, connections) = channel();
/// let engine = Engine::start(Chunked::new(), Monotonic::new(), Forward(sender))?;
/// engine.handle().schedule_after(Duration::from_millis(1), 7)?;
/// assert_eq!(connections.recv()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FiringPanic {
    /// The timer's id.
    pub id: TimerId,
    /// Its deadline.
    pub deadline: Tick,
    /// The panic's message, or a note that it had none.
    pub message: String,
}

impl FiringPanic {
    /// Tells of a panic that a driver has caught.
    pub fn new(id: TimerId, deadline: Tick, panic: &(dyn Any + Send)) -> FiringPanic {
        FiringPanic { id, deadline, message: panic_message(panic) }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (None, Some(message)) => message.clone(),
        (None, None) => "(a panic without a message)".to_owned(),
    }
}

impl fmt::Display for FiringPanic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FiringPanic { id, deadline, message } = self;
        write!(formatter, "timer {id}, due at tick {deadline}, panicked: {message}")
    }
}

/// What any thread may ask of a driver, whatever its queue. Behind it is a lock that is held for one queue
/// operation.
///
/// ```
/// use std::sync::Arc;
/// use mainspring::Tick;
/// use mainspring::clock::Manual;
/// use mainspring::driver::{Single, Timers};
/// use mainspring::queue::wheel::Chunked;
///
/// let driver: Arc<dyn Timers<&str>> = Arc::new(Single::new(Chunked::new(), Manual::stepped()));
/// let id = driver.schedule(Tick::new(30), "later")?;
/// driver.reset(id, Tick::new(60))?;
/// assert_eq!(driver.cancel(id), Some("later"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Timers<T>: Send + Sync {
    /// Adds a timer. See [`TimerQueue::schedule`](mainspring_queue::TimerQueue::schedule).
    ///
    /// # Errors
    /// The payload comes back: rejected by the queue, or the driver has stopped.
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>>;

    /// Adds a timer that no limit turns away: for one that repeats, whose room was taken while it fired, and
    /// for a waiter that could not be told otherwise. It goes past a limit on the number of timers, and one
    /// beyond the queue's horizon fires there, early, so that its owner looks, and adds it again.
    ///
    /// # Errors
    /// The payload comes back: the driver has stopped, has no thread, or no timer has a name left.
    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>>;

    /// Returns the part of the driver that the calling thread schedules into, for what is held as long as a
    /// timer: threads that hold parts of their own write to no memory that they share.
    ///
    /// # Errors
    /// The operating system would not start the thread that the part needs.
    fn local(&self) -> Result<Arc<dyn Part<T>>, Refusal>
    where
        Self: 'static,
        T: 'static;

    /// Returns the number of that part, which [`Part::shard`] tells as well: a part that is known by it need
    /// not be asked for.
    ///
    /// # Errors
    /// As [`local`](Self::local).
    fn local_shard(&self) -> Result<u32, Refusal>
    where
        Self: 'static,
        T: 'static,
    {
        self.local().map(|part| part.shard())
    }

    /// Removes a pending timer and returns its payload. `None`: it fired, is being fired, was cancelled, or
    /// never was. What was cancelled is gone for every caller when this returns, and does not fire.
    fn cancel(&self, id: TimerId) -> Option<T>;

    /// Moves a pending timer.
    ///
    /// # Errors
    /// It is no longer pending, or the new deadline is beyond the queue's horizon.
    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError>;

    /// Returns a pending timer's deadline.
    fn deadline(&self, id: TimerId) -> Option<Tick>;

    /// Tells whether a timer fires just now, on some thread. A driver that cannot tell says no, which is what
    /// happens unless this is overridden.
    fn is_firing(&self, id: TimerId) -> bool {
        let _ = id;
        false
    }

    /// Waits until a timer that fires on another thread has fired; does not wait for the calling one. A wait
    /// for a timer that waits for the caller never ends. A driver that cannot tell does not wait, which is
    /// what happens unless this is overridden.
    fn wait_for_firing(&self, id: TimerId) {
        let _ = id;
    }

    /// Returns how many timers are pending.
    fn len(&self) -> usize;

    /// Tells whether no timer is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what the driver has done so far.
    fn counts(&self) -> Counts;

    /// Returns the same with the distribution of latenesses, which is empty unless this is overridden.
    #[cfg(feature = "report")]
    fn report(&self) -> Report {
        Report { counts: self.counts(), ..Report::default() }
    }

    /// The clock whose ticks the deadlines are.
    fn clock(&self) -> &Arc<dyn Clock>;
}

/// The part of a driver that some thread schedules into, and a timer holds: a queue, its lock, and whom to
/// wake. The methods are those of [`Timers`], for this part's timers alone; an id of another part names none
/// of them.
///
/// ```
/// use std::sync::Arc;
/// use mainspring::Tick;
/// use mainspring::clock::Manual;
/// use mainspring::driver::{Striped, Timers};
/// use mainspring::queue::wheel::Chunked;
///
/// let driver = Arc::new(Striped::new(4, Chunked::new, Manual::stepped()));
/// let mine = Timers::<&str>::local(&*driver)?; // of the calling thread
/// let id = mine.schedule(Tick::new(30), "later")?;
/// assert_eq!(driver.cancel(id), Some("later"), "the driver knows it too");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Part<T>: Send + Sync {
    /// The number that its timers' [ids](TimerId::shard) name it by: another for each part of a driver, for
    /// ever.
    fn shard(&self) -> u32;

    /// Adds a timer, as [`Timers::schedule`].
    ///
    /// # Errors
    /// As there.
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>>;

    /// Adds a timer that no limit turns away, as [`Timers::schedule_assured`].
    ///
    /// # Errors
    /// As there.
    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>>;

    /// Removes a pending timer and returns its payload, as [`Timers::cancel`].
    fn cancel(&self, id: TimerId) -> Option<T>;

    /// Moves a pending timer, as [`Timers::reset`].
    ///
    /// # Errors
    /// As there.
    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError>;

    /// Changes a pending timer's payload where it is, under the part's lock: `change` should be short, and
    /// run no code of the owner's. `false`: it is no longer pending, or the queue cannot lend payloads;
    /// `change` was not called.
    fn update(&self, id: TimerId, change: &mut dyn FnMut(&mut T)) -> bool;

    /// Returns a pending timer's deadline.
    fn deadline(&self, id: TimerId) -> Option<Tick>;

    /// Tells whether a timer fires just now, as [`Timers::is_firing`].
    fn is_firing(&self, id: TimerId) -> bool {
        let _ = id;
        false
    }

    /// Waits for the end of a firing, as [`Timers::wait_for_firing`].
    fn wait_for_firing(&self, id: TimerId) {
        let _ = id;
    }

    /// How many ticks after its deadline a timer may be fired by the queue's design: what one of its slots
    /// lasts; 1, on its tick, unless this is overridden.
    fn granularity(&self) -> u64 {
        1
    }

    /// The driver's clock.
    fn clock(&self) -> &Arc<dyn Clock>;
}

/// A driver: what a handle asks, and an end.
///
/// ```
/// use mainspring::Tick;
/// use mainspring::clock::Manual;
/// use mainspring::driver::{Driver, Refusal, Single, Timers};
/// use mainspring::queue::wheel::Chunked;
///
/// let driver = Single::new(Chunked::new(), Manual::stepped());
/// driver.schedule(Tick::new(30), "later")?;
/// assert_eq!(driver.shutdown().len(), 1);
/// assert_eq!(driver.schedule(Tick::new(30), "too late").unwrap_err().reason, Refusal::Stopped);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Driver<T>: Timers<T> {
    /// Stops firing, waits for what is firing on threads of the driver's own, and returns all timers that did
    /// not fire, earliest first. From then on no timer is taken.
    ///
    /// Several threads may call it: each waits, and each timer is handed back to one of them. Called from a
    /// thread of the driver's own it waits neither for itself nor for others of them that are in this call.
    fn shutdown(&self) -> Vec<UnfiredTimer<T>>;
}

/// How many threads have scheduled something. The standard library's atomic: it is no part of a protocol.
static THREAD_COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

std::thread_local! {
    /// A number for each thread, in the order of their first timers. Only the number matters: relaxed.
    static THREAD_NUMBER: usize = THREAD_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// The calling thread's number, by which drivers spread threads over shards.
fn thread_number() -> usize {
    THREAD_NUMBER.with(|number| *number)
}

//! What waits for deadlines and fires timers.
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
//! Firing wins: where a driver has fallen 50 ms behind, threads that schedule or reset pause for a millisecond each time, until
//! it has caught up. [`Counts::held_back`] says how often. A thread that fires never pauses.
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

mod caught;
mod crew;
mod lane;
mod lanes;
mod open_metrics;
pub mod per_worker;
#[cfg(all(feature = "poll", unix))]
pub mod poll;
pub mod sharded;
pub mod single;
pub mod striped;

pub use per_worker::PerWorker;
#[cfg(all(feature = "poll", unix))]
pub use poll::Poll;
pub use sharded::Sharded;
pub use single::Single;
pub use striped::Striped;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use hdrhistogram::Histogram;
use mainspring_queue::{Reason, Rejected, ResetError, Tick};

use crate::clock::Clock;
use crate::sync::atomic::Ordering;

/// What the threads of drivers are called, for debuggers and `top`.
const THREAD_NAME: &str = "mainspring";

/// The name of one timer in one driver: which of its queues, and the timer's id there. It names that timer for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId {
    lane: u32,
    timer: mainspring_queue::TimerId,
}

impl TimerId {
    /// Makes an id of its two parts. For drivers: an id that no driver gave out names no timer.
    pub const fn from_parts(lane: u32, timer: mainspring_queue::TimerId) -> TimerId {
        TimerId { lane, timer }
    }

    /// Returns the number of the driver's queue that the timer is in.
    pub const fn lane(self) -> u32 {
        self.lane
    }

    /// Returns the timer's id in that queue.
    pub const fn timer(self) -> mainspring_queue::TimerId {
        self.timer
    }
}

impl fmt::Display for TimerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.lane, self.timer)
    }
}

/// A timer whose time has come, on its way to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "drivers outside of this crate make it")]
pub struct Fired<T> {
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
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "drivers outside of this crate make it")]
pub struct Unfired<T> {
    /// The timer's id, which is stale from now on.
    pub id: TimerId,
    /// When it was to fire.
    pub deadline: Tick,
    /// What the owner gave.
    pub payload: T,
}

/// Receives timers as they fire, on the driver's thread. Any `FnMut(Fired<T>) + Send` is one.
///
/// The next timer waits until `fire` returns: a slow one makes the others late.
pub trait Fire<T>: Send {
    /// Takes a timer that is due.
    fn fire(&mut self, fired: Fired<T>);

    /// Hears that `fire` panicked, or the drop of a payload that was discarded. The driver goes on with the next timer.
    /// Unless overridden, writes a line to standard error.
    fn panicked(&mut self, panic: &Panicked) {
        eprintln!("mainspring: {panic}");
    }
}

impl<T, F: FnMut(Fired<T>) + Send> Fire<T> for F {
    fn fire(&mut self, fired: Fired<T>) {
        self(fired);
    }
}

/// A timer whose firing panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Panicked {
    /// The timer's id.
    pub id: TimerId,
    /// Its deadline.
    pub deadline: Tick,
    /// The panic's message, or a note that it had none.
    pub message: String,
}

impl Panicked {
    /// Tells of a panic that a driver has caught.
    pub fn new(id: TimerId, deadline: Tick, panic: &(dyn Any + Send)) -> Panicked {
        Panicked { id, deadline, message: panic_message(panic) }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (None, Some(message)) => message.clone(),
        (None, None) => "(a panic without a message)".to_owned(),
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Panicked { id, deadline, message } = self;
        write!(formatter, "timer {id}, due at tick {deadline}, panicked: {message}")
    }
}

/// What a driver has done so far. `scheduled` is
/// `fired + cancelled + pending` at any time, and `fired + cancelled` plus what shutdown handed back in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Timers taken.
    pub scheduled: u64,
    /// Timers cancelled while they were pending.
    pub cancelled: u64,
    /// Timers moved to another deadline.
    pub reset: u64,
    /// Timers handed to [`Fire`], those that panicked included.
    pub fired: u64,
    /// Firings that panicked.
    pub panicked: u64,
    /// How often the driver's thread went on after a wait.
    pub wakeups: u64,
    /// Firings by another worker than the one that the timer belonged to.
    pub stolen: u64,
    /// The largest lateness of a firing, in ticks.
    pub lateness_ticks_max: u64,
    /// How often a thread that scheduled or reset a timer was made to pause because firing had fallen behind.
    pub held_back: u64,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        let Counts {
            scheduled,
            cancelled,
            reset,
            fired,
            panicked,
            wakeups,
            stolen,
            lateness_ticks_max,
            held_back,
        } = *other;
        self.scheduled += scheduled;
        self.cancelled += cancelled;
        self.reset += reset;
        self.fired += fired;
        self.panicked += panicked;
        self.wakeups += wakeups;
        self.stolen += stolen;
        self.lateness_ticks_max = self.lateness_ticks_max.max(lateness_ticks_max);
        self.held_back += held_back;
    }
}

/// What a driver has done so far, with the distribution of latenesses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The sums.
    pub counts: Counts,
    /// How late timers fired, in ticks, to two digits: `lateness_ticks.value_at_quantile(0.99)`. A callback that takes long
    /// shows here as the lateness of those behind it.
    pub lateness_ticks: Histogram<u64>,
}

impl Default for Report {
    fn default() -> Report {
        Report { counts: Counts::default(), lateness_ticks: lane::empty_lateness() }
    }
}

/// A timer that a driver would not take. The payload comes back.
///
/// It is an error for `?` whatever the payload is, one that may not be shared between threads included.
///
/// ```
/// use mainspring::driver::{Refusal, Refused};
///
/// fn hand_on(refused: Refused<Box<dyn FnOnce() + Send>>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     Err(refused)?
/// }
/// let refused = Refused::new(Refusal::Stopped, Box::new(|| ()) as Box<_>);
/// assert_eq!(hand_on(refused).unwrap_err().to_string(), Refusal::Stopped.to_string());
/// ```
pub struct Refused<T> {
    /// Why.
    pub reason: Refusal,
    /// Never locked but to take the payload out: a mutex may be shared whatever is in it.
    payload: std::sync::Mutex<T>,
}

impl<T> Refused<T> {
    /// Gives a payload back. For drivers.
    pub fn new(reason: Refusal, payload: T) -> Refused<T> {
        Refused { reason, payload: std::sync::Mutex::new(payload) }
    }

    /// Returns what the caller gave.
    pub fn into_payload(self) -> T {
        self.payload.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Why a driver would not take a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue rejected the deadline, or is full.
    Rejected(Reason),
    /// The engine has been shut down, or was dropped.
    Stopped,
    /// The operating system would not start the thread that the timer needs.
    NoThread,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Rejected(reason) => reason.fmt(formatter),
            Refusal::Stopped => formatter.write_str("the engine has been shut down, or was dropped"),
            Refusal::NoThread => formatter.write_str("no thread could be started for the timer"),
        }
    }
}

/// Its message says all: it has no source.
impl std::error::Error for Refusal {}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Refused").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(formatter)
    }
}

impl<T> std::error::Error for Refused<T> {}

impl<T> From<Rejected<T>> for Refused<T> {
    fn from(rejected: Rejected<T>) -> Refused<T> {
        Refused::new(Refusal::Rejected(rejected.reason), rejected.payload)
    }
}

/// Drops the payload.
impl<T> From<Refused<T>> for Refusal {
    fn from(refused: Refused<T>) -> Refusal {
        refused.reason
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::Rejected(reason)
    }
}

/// What any thread may ask of a driver, whatever its queue. Behind it is a lock that is held for one queue operation.
pub trait Timers<T>: Send + Sync {
    /// Adds a timer. See [`TimerQueue::schedule`](mainspring_queue::TimerQueue::schedule).
    ///
    /// # Errors
    /// The payload comes back: rejected by the queue, or the driver has stopped.
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>>;

    /// Adds a timer that no limit turns away: for one that repeats, whose room was taken while it fired, and for whoever waits
    /// and could not be told. It goes past a limit on the number of timers, and one beyond the queue's horizon fires there,
    /// early, so that its owner looks, and adds it again.
    ///
    /// # Errors
    /// The payload comes back: the driver has stopped, has no thread, or no timer has a name left.
    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>>;

    /// Returns the part of the driver that the calling thread schedules into, for what is held as long as a timer: threads that hold
    /// parts of their own write to no memory that they share.
    ///
    /// # Errors
    /// The operating system would not start the thread that the part needs.
    fn local(&self) -> Result<Arc<dyn Part<T>>, Refusal>
    where
        Self: 'static,
        T: 'static;

    /// Removes a pending timer and returns its payload. `None`: it fired, is being fired, was cancelled, or never was.
    fn cancel(&self, id: TimerId) -> Option<T>;

    /// Removes a pending timer, if there is one, without waiting for any other thread: the payload is dropped, here or by the
    /// thread that fires, which reports it if that panics. A firing that begins after this has returned is not that timer's.
    fn discard(&self, id: TimerId);

    /// Moves a pending timer.
    ///
    /// # Errors
    /// It is no longer pending, or the new deadline is beyond the queue's horizon.
    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError>;

    /// Returns a pending timer's deadline.
    fn deadline(&self, id: TimerId) -> Option<Tick>;

    /// Tells whether a timer fires just now, on some thread. A driver that cannot tell says no, which is what happens unless this
    /// is overridden.
    fn is_firing(&self, id: TimerId) -> bool {
        let _ = id;
        false
    }

    /// Waits until a timer that fires on another thread has fired; does not wait for the calling one. A wait for a timer that
    /// waits for the caller never ends. A driver that cannot tell does not wait, which is what happens unless this is overridden.
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

    /// Returns the same with the distribution of latenesses: some kilobytes.
    fn report(&self) -> Report;

    /// The clock whose ticks the deadlines are.
    fn clock(&self) -> &Arc<dyn Clock>;
}

/// The part of a driver that some thread schedules into, and a timer holds: a queue, its lock, and whom to wake. The methods are
/// those of [`Timers`], for this part's timers alone; an id of another part names none of them.
pub trait Part<T>: Send + Sync {
    /// Adds a timer, as [`Timers::schedule`].
    ///
    /// # Errors
    /// As there.
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>>;

    /// Adds a timer that no limit turns away, as [`Timers::schedule_assured`].
    ///
    /// # Errors
    /// As there.
    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>>;

    /// Removes a pending timer and returns its payload, as [`Timers::cancel`].
    fn cancel(&self, id: TimerId) -> Option<T>;

    /// Removes a pending timer without waiting, as [`Timers::discard`].
    fn discard(&self, id: TimerId);

    /// Moves a pending timer, as [`Timers::reset`].
    ///
    /// # Errors
    /// As there.
    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError>;

    /// Changes a pending timer's payload where it is, under the part's lock: `change` should be short, and run no code of the
    /// owner's. `false`: it is no longer pending, or the queue cannot lend payloads; `change` was not called.
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

    /// The driver's clock.
    fn clock(&self) -> &Arc<dyn Clock>;
}

/// A driver: what a handle asks, and an end.
pub trait Driver<T>: Timers<T> {
    /// Stops firing, waits for what is firing on threads of the driver's own, and returns all timers that did not fire, earliest
    /// first. From then on no timer is taken.
    ///
    /// Several threads may call it: each waits, and each timer is handed back to one of them. Called from a thread of the
    /// driver's own it waits neither for itself nor for others of them that are in this call.
    fn shutdown(&self) -> Vec<Unfired<T>>;
}

/// How many threads have scheduled something. The standard library's atomic: it is no part of a protocol.
static THREAD_COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

std::thread_local! {
    /// A number for each thread, in the order of their first timers. Only the number matters: relaxed.
    static THREAD_NUMBER: usize = THREAD_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// The calling thread's number, by which drivers spread threads over lanes.
fn thread_number() -> usize {
    THREAD_NUMBER.with(|number| *number)
}

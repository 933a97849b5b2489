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
//! It does not know what a payload is: fronts do.

pub mod single;

pub use single::Single;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use mainspring_queue::{Expired, Reason, Rejected, ResetError, Tick, TimerId};

use crate::clock::Clock;

/// A timer whose time has come, on its way to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired<T> {
    /// The timer, as the queue handed it out. Its id is stale.
    pub timer: Expired<T>,
    /// When the driver took it out; `now.since(timer.deadline)` is its lateness in ticks.
    pub now: Tick,
}

/// Receives timers as they fire, on the driver's thread. Any `FnMut(Fired<T>) + Send` is one.
///
/// The next timer waits until `fire` returns: a slow one makes the others late.
pub trait Fire<T>: Send {
    /// Takes a timer that is due.
    fn fire(&mut self, fired: Fired<T>);

    /// Hears that `fire` panicked. The driver goes on with the next timer. Unless overridden, writes a line to standard
    /// error.
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
pub struct Panicked {
    /// The timer's id.
    pub id: TimerId,
    /// Its deadline.
    pub deadline: Tick,
    /// The panic's message, or a note that it had none.
    pub message: String,
}

impl Panicked {
    fn new(id: TimerId, deadline: Tick, panic: &(dyn Any + Send)) -> Panicked {
        let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(message), _) => (*message).to_owned(),
            (None, Some(message)) => message.clone(),
            (None, None) => "(a panic without a message)".to_owned(),
        };
        Panicked { id, deadline, message }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Panicked { id, deadline, message } = self;
        write!(formatter, "timer {id}, due at tick {deadline}, panicked: {message}")
    }
}

/// What a driver has done so far. `scheduled == fired + cancelled + unfired` once it has stopped, and `+ pending` before.
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
    /// The largest lateness of a firing, in ticks.
    pub lateness_ticks_max: u64,
}

/// A timer that a driver would not take. The payload comes back.
#[derive(Clone, PartialEq, Eq)]
pub struct Refused<T> {
    /// Why.
    pub reason: Refusal,
    /// What the caller gave.
    pub payload: T,
}

/// Why a driver would not take a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue rejected the deadline, or is full.
    Rejected(Reason),
    /// The driver has been shut down.
    Stopped,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Rejected(reason) => reason.fmt(formatter),
            Refusal::Stopped => formatter.write_str("the driver has been shut down"),
        }
    }
}

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
        Refused { reason: Refusal::Rejected(rejected.reason), payload: rejected.payload }
    }
}

/// What any thread may ask of a driver, whatever its queue. Behind it is a lock that is held for one queue operation.
pub trait Timers<T>: Send + Sync {
    /// Adds a timer. See [`TimerQueue::schedule`](mainspring_queue::TimerQueue::schedule).
    ///
    /// # Errors
    /// The payload comes back: rejected by the queue, or the driver has stopped.
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>>;

    /// Removes a pending timer and returns its payload. `None`: it fired, is being fired, was cancelled, or never was.
    fn cancel(&self, id: TimerId) -> Option<T>;

    /// Moves a pending timer.
    ///
    /// # Errors
    /// It is no longer pending, or the new deadline is beyond the queue's horizon.
    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError>;

    /// Returns a pending timer's deadline.
    fn deadline(&self, id: TimerId) -> Option<Tick>;

    /// Returns how many timers are pending.
    fn len(&self) -> usize;

    /// Tells whether no timer is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what the driver has done so far.
    fn counts(&self) -> Counts;

    /// The clock whose ticks the deadlines are.
    fn clock(&self) -> &Arc<dyn Clock>;
}

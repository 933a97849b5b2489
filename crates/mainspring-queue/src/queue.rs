//! The contract that every timer queue keeps.
//!
//! A queue holds *timers*: a deadline and a payload. It reads no clock and runs no user code; its owner says
//! what time it is and takes out what is due.
//!
//! ```text
//!   schedule(deadline, payload) --> pending --advance(now)--> expired --pop_expired()--> fired
//!                                      |   \___ reset ___/       |
//!                                      +-------- cancel ---------+--> the payload comes back
//! ```
//!
//! The contract, which the public suite `contract::exercise` checks on every structure:
//!
//! 1. **Never early.** A timer is handed out only when its deadline is at or before the time of the last
//!    advance.
//! 2. **Never lost.** A timer whose deadline, rounded up to the queue's [granularity](Profile::granularity),
//!    is at or before the time of the last advance is handed out by `pop_expired`: no further advance is
//!    needed. That holds for a deadline in the past too, so a delay of 0 is due at once and is found by the
//!    next pop.
//! 3. **Once.** Each payload leaves the queue exactly once: by `pop_expired`, by `cancel`, inside a
//!    [`RejectedTimer`], or dropped with the queue.
//! 4. **An id names one timer for ever.** Ids are a slot number and a generation; an id whose timer fired or
//!    was cancelled touches no other timer.
//! 5. **Expired is still pending.** Until `pop_expired` hands it out, a timer can be cancelled and reset,
//!    whether its deadline has passed or not. (Go promises the same since 1.23: nothing arrives after a
//!    Stop.)
//! 6. **`next_wakeup` is a lower bound.** It is never later than the tick at which the earliest timer expires
//!    (where one has expired already: than now), and it is `None` exactly if the queue is empty. Waking early
//!    is harmless.
//! 7. **Progress.** After `advance(next_wakeup())` something has expired or the next wakeup has moved on, and
//!    a timer expires after finitely many such steps.
//! 8. **Time does not go back.** `advance` to an earlier tick than before changes nothing. Any jump forward
//!    is legal, up to [`Tick::MAX`]; its cost does not grow with its length.
//! 9. **Bounded memory.** What a queue holds is proportional to the largest number of timers it held at once
//!    since it was last compacted, whatever the sequence of calls.
//!
//! Order: see [`Order`]; what equal deadlines do: see [`Equals`]. Both are stated by the queue's [`Profile`].
//!
//! Idea: advancing and draining are separated so that a callback may use the queue freely, no lock need be
//! held over user code, and a driver can stop after a bounded batch.

use core::fmt;
use core::num::NonZeroU32;

pub use crate::budget::Budget;
use crate::tick::Tick;

/// The name of one timer in one queue: a slot number and the slot's generation.
///
/// Ids are not reused: a slot's generation grows each time its timer leaves, and a slot whose generation is
/// used up (after some 4,294,967,294 timers) is given up. An id means nothing to any other queue, which
/// cannot tell it from its own. `Option<TimerId>` takes 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId {
    pub(crate) index: u32,
    pub(crate) generation: NonZeroU32,
}

/// The first generation of a fresh record. In the crate's own tests it is shortly before the last, so that
/// every run uses records up.
pub(crate) const FIRST_GENERATION: NonZeroU32 =
    if cfg!(test) { NonZeroU32::new(u32::MAX - 12).expect("it is not 0") } else { NonZeroU32::MIN };

impl TimerId {
    /// Makes an id of its two parts. For queues: an id that no queue gave out names no timer.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use mainspring_queue::TimerId;
    ///
    /// let id = TimerId::from_parts(7, NonZeroU32::MIN);
    /// assert_eq!((id.index(), id.generation().get(), id.to_string()), (7, 1, "7.1".to_owned()));
    /// ```
    pub const fn from_parts(index: u32, generation: NonZeroU32) -> TimerId {
        TimerId { index, generation }
    }

    /// Returns the number of the slot that the timer is in.
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Returns which of the slot's timers it is.
    pub const fn generation(self) -> NonZeroU32 {
        self.generation
    }
}

impl fmt::Display for TimerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.index, self.generation)
    }
}

/// A timer that left its queue because it was due.
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Chunked};
///
/// let mut queue = Chunked::new();
/// let id = queue.schedule(Tick::new(5), "tea")?;
/// queue.advance(Tick::new(9));
/// let expired = queue.pop_expired().expect("it is due");
/// assert_eq!((expired.id, expired.deadline, expired.payload), (id, Tick::new(5), "tea"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "queues outside of this crate make it")]
pub struct ExpiredTimer<T> {
    /// The timer's id, which is stale from now on.
    pub id: TimerId,
    /// The deadline that was asked for, not rounded to any granularity.
    pub deadline: Tick,
    /// What the owner gave to `schedule`.
    pub payload: T,
}

/// A timer that a queue would not take. The payload comes back.
///
/// ```
/// use mainspring_queue::{Reason, Tick, TimerQueue, wheel::Simple};
///
/// let mut ring = Simple::new(60);
/// let rejected = ring.schedule(Tick::new(61), "far").expect_err("the ring is shorter");
/// assert_eq!((rejected.reason, rejected.payload), (Reason::BeyondHorizon, "far"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "queues outside of this crate make it")]
pub struct RejectedTimer<T> {
    /// Why the queue refused.
    pub reason: Reason,
    /// What the owner gave to `schedule`.
    pub payload: T,
}

/// Why a queue would not take a deadline.
///
/// ```
/// use mainspring_queue::{Reason, Tick, TimerQueue, wheel::Simple};
///
/// let mut ring = Simple::new(60);
/// let reason = ring.schedule(Tick::new(61), "far").map_err(Reason::from);
/// assert_eq!(reason, Err(Reason::BeyondHorizon));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The deadline lies further ahead than the structure can hold. Schedule again when time has come closer,
    /// or use a structure without a horizon.
    BeyondHorizon,
    /// The queue holds as many timers as it can name (just under 2^32) or as it was told to hold.
    Full,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Reason::BeyondHorizon => "the deadline lies beyond the queue's horizon",
            Reason::Full => "the queue is full",
        })
    }
}

impl core::error::Error for Reason {}

impl<T> fmt::Debug for RejectedTimer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RejectedTimer").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for RejectedTimer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(formatter)
    }
}

impl<T> core::error::Error for RejectedTimer<T> {}

/// Drops the payload: for `?` where the error must be `Sync` and the payload is not.
impl<T> From<RejectedTimer<T>> for Reason {
    fn from(rejected: RejectedTimer<T>) -> Reason {
        rejected.reason
    }
}

/// Why a timer was not moved.
///
/// ```
/// use mainspring_queue::{ResetError, Tick, TimerQueue, wheel::Simple};
///
/// let mut ring = Simple::new(60);
/// let id = ring.schedule(Tick::new(5), "near")?;
/// assert_eq!(ring.reset(id, Tick::new(61)), Err(ResetError::BeyondHorizon));
/// assert_eq!(ring.cancel(id), Some("near"), "it stayed");
/// assert_eq!(ring.reset(id, Tick::new(6)), Err(ResetError::NotPending));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResetError {
    /// The id names no pending timer: it fired, was cancelled, or never was. Nothing changed.
    NotPending,
    /// The timer is pending and keeps its old deadline: the structure cannot hold the new one.
    BeyondHorizon,
}

impl fmt::Display for ResetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ResetError::NotPending => "the timer is no longer pending",
            ResetError::BeyondHorizon => "the new deadline lies beyond the queue's horizon",
        })
    }
}

impl core::error::Error for ResetError {}

/// In which order `pop_expired` hands out timers that are expired at the same time.
///
/// ```
/// use mainspring_queue::{Order, RedBlackTree, TimerQueue, wheel::Cascading};
///
/// assert_eq!(TimerQueue::<()>::profile(&RedBlackTree::new()).order, Order::Deadline);
/// assert_eq!(TimerQueue::<()>::profile(&Cascading::new()).order, Order::Expiry);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// By deadline: always the earliest pending deadline, even one that was scheduled last.
    Deadline,
    /// By expiry: in the order in which the timers became due. A timer that is scheduled or reset to the past
    /// while others wait to be popped comes after them.
    Expiry,
    /// Any order.
    Unspecified,
}

/// What timers do that compare equal in the queue's [`Order`].
///
/// ```
/// use mainspring_queue::{Equals, RedBlackTree, Tick, TimerQueue};
///
/// let mut queue = RedBlackTree::new();
/// assert_eq!(queue.profile().equals, Equals::Fifo);
/// queue.schedule(Tick::new(5), 1)?;
/// queue.schedule(Tick::new(5), 2)?;
/// queue.advance(Tick::new(5));
/// let order: Vec<i32> = std::iter::from_fn(|| queue.pop_expired()).map(|timer| timer.payload).collect();
/// assert_eq!(order, [1, 2]);
/// # Ok::<(), mainspring_queue::RejectedTimer<i32>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Equals {
    /// First scheduled, first fired; a reset goes to the back.
    Fifo,
    /// First scheduled, first fired; a timer that was reset comes anywhere among its equals.
    FifoUnlessReset,
    /// Any order.
    Unspecified,
}

/// What a structure promises beyond the common contract.
///
/// ```
/// use mainspring_queue::{Equals, Order, Profile};
///
/// let exact = Profile::exact(Order::Deadline, Equals::Fifo);
/// assert_eq!((exact.granularity, exact.horizon), (1, None));
/// let coarse = exact.with_granularity(100).with_horizon(51_200);
/// assert_eq!((coarse.granularity, coarse.horizon), (100, Some(51_200)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// A timer may fire up to this many ticks, less one, after its deadline; 1 is exact. At least 1.
    pub granularity: u64,
    /// The longest delay, in ticks from the last advance, that is taken; `None`: any deadline is.
    pub horizon: Option<u64>,
    /// The order of expired timers.
    pub order: Order,
    /// The order of equals.
    pub equals: Equals,
}

impl Profile {
    /// Makes the profile of a structure that fires at the tick of the deadline and takes any deadline.
    pub const fn exact(order: Order, equals: Equals) -> Profile {
        Profile { granularity: 1, horizon: None, order, equals }
    }

    /// Changes the granularity.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    pub const fn with_granularity(self, granularity: u64) -> Profile {
        assert!(granularity > 0, "a granularity is a tick or more");
        Profile { granularity, ..self }
    }

    /// Changes the longest delay that is taken.
    #[must_use]
    pub const fn with_horizon(self, horizon: u64) -> Profile {
        Profile { horizon: Some(horizon), ..self }
    }
}

/// What a pop with a [`Budget`] came to.
///
/// ```
/// use mainspring_queue::{Budget, PopResult, Tick, TimerQueue, wheel::Chunked};
///
/// let mut queue = Chunked::new();
/// queue.schedule(Tick::new(5), "due")?;
/// queue.advance(Tick::new(5));
/// assert_eq!(queue.pop_within(&mut Budget::new(0)), PopResult::Paused);
/// assert!(matches!(queue.pop_within(&mut Budget::new(1)), PopResult::Timer(timer) if timer.payload == "due"));
/// assert_eq!(queue.pop_within(&mut Budget::new(1)), PopResult::Nothing);
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an owner must deal with each answer")]
pub enum PopResult<T> {
    /// A timer that is due.
    Timer(ExpiredTimer<T>),
    /// The budget is used up; there may be more. Call again.
    Paused,
    /// No more is due at the time of the last advance.
    Nothing,
}

/// A collection of timers, ordered by deadline. See the [module](self) for the contract.
///
/// Costs are stated by each structure. Nothing here blocks, reads a clock, or runs the owner's code (but for
/// the payloads' `Drop` when a full queue is dropped).
///
/// ```
/// use mainspring_queue::{heap::Quaternary, Tick, TimerQueue};
///
/// let mut queue = Quaternary::new();
/// let tea = queue.schedule(Tick::new(240), "tea")?;
/// let egg = queue.schedule(Tick::new(300), "egg")?;
/// assert_eq!(queue.next_wakeup(), Some(Tick::new(240)));
///
/// assert_eq!(queue.cancel(egg), Some("egg"));
/// queue.advance(Tick::new(250));
/// let expired = queue.pop_expired().expect("the tea is due");
/// assert_eq!((expired.id, expired.deadline, expired.payload), (tea, Tick::new(240), "tea"));
/// assert_eq!(queue.cancel(tea), None);
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
pub trait TimerQueue<T> {
    /// Adds a timer that becomes due at `deadline`, which may lie in the past.
    ///
    /// # Errors
    /// [`RejectedTimer`] with the payload: beyond the horizon, or full.
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>>;

    /// Adds a timer as [`schedule`](Self::schedule) does, and past a limit that the queue was told to keep:
    /// for a timer that must not be turned away, such as one that repeats, whose room was taken while it
    /// fired.
    ///
    /// # Errors
    /// [`RejectedTimer`] with the payload: beyond the horizon, or no name is left.
    // By force, as what it calls may be: so the payload is moved once.
    #[inline(always)]
    fn schedule_past_limit(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        self.schedule(deadline, payload)
    }

    /// Removes a pending timer and returns its payload. `None`: it fired, was cancelled, or never was.
    fn cancel(&mut self, id: TimerId) -> Option<T>;

    /// Gives a pending timer a new deadline, earlier or later, or in the past. Its id and payload stay.
    ///
    /// # Errors
    /// [`ResetError::NotPending`] for a stale id; [`ResetError::BeyondHorizon`] where the timer stays as it
    /// was.
    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError>;

    /// Returns a pending timer's deadline as it was asked for; `None` for a stale id. O(1).
    fn deadline(&self, id: TimerId) -> Option<Tick>;

    /// Lends a pending timer's payload, to be changed where it is; `None` for a stale id. O(1).
    ///
    /// A structure that cannot lend returns `None` for any id, which is what happens unless this is
    /// overridden: a caller that wants to change a payload can cancel the timer and schedule it again.
    fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        let _ = id;
        None
    }

    /// Returns the tick to advance to next: never later than the tick at which the earliest timer expires.
    ///
    /// At or before [`now`](Self::now): something is waiting to be popped, or a spurious advance is wanted.
    /// `None` exactly if the queue is empty.
    fn next_wakeup(&self) -> Option<Tick>;

    /// Moves time forward to `now`. An earlier tick than before is ignored.
    fn advance(&mut self, now: Tick);

    /// Hands out one timer that is due, or `None` if no more is due at the time of the last advance.
    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>>;

    /// Moves time forward as [`advance`](Self::advance) does, with so much of the work as the budget allows:
    /// the rest is done by the next calls of this or of [`pop_within`](Self::pop_within). Until then a later
    /// [`next_wakeup`](Self::next_wakeup) may be in the past. A structure that does not say that it bounds
    /// its steps does all of the work at once.
    fn advance_within(&mut self, now: Tick, budget: &mut Budget) {
        let _ = budget;
        self.advance(now);
    }

    /// Hands out one timer as [`pop_expired`](Self::pop_expired) does, which takes one off the budget, or
    /// stops when the budget is used up. A structure that does not say that it bounds its steps counts only
    /// what it hands out.
    fn pop_within(&mut self, budget: &mut Budget) -> PopResult<T> {
        if budget.is_used_up() {
            return PopResult::Paused;
        }
        let popped = self.pop_expired();
        budget.spend(usize::from(popped.is_some()));
        popped.map_or(PopResult::Nothing, PopResult::Timer)
    }

    /// Returns the time of the last advance.
    fn now(&self) -> Tick;

    /// Returns how many timers are pending, those that expired and were not popped included. O(1).
    fn len(&self) -> usize;

    /// Tells whether no timer is pending. O(1).
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the pending timer with the earliest deadline, without taking it out. O(n) unless the structure
    /// says better: to know when to look again, ask [`next_wakeup`](Self::next_wakeup).
    fn peek(&self) -> Option<(TimerId, Tick)>;

    /// Gives back memory that the pending timers do not need, as far as that is possible without moving them.
    /// O(n). A structure that does not say that it can gives nothing back.
    ///
    /// For a program whose crowd of timers has gone for good: what is given back must be taken again when
    /// they return.
    fn compact(&mut self) {}

    /// Gives back memory that a crowd of timers has left behind, if it is several times what the pending ones
    /// need, with so much of the work as the budget allows; returns whether there is more to do. For drivers,
    /// which call it before they sleep: with nothing to do it is as cheap as a look at
    /// [`len`](Self::len). A structure that does not say that it bounds its steps gives nothing back.
    fn trim(&mut self, budget: &mut Budget) -> bool {
        let _ = budget;
        false
    }

    /// Tells what this structure promises beyond the common contract.
    fn profile(&self) -> Profile;

    /// Walks the whole structure and panics with a sentence if an invariant does not hold.
    ///
    /// For tests: O(n) or more. A structure that has no invariants of its own checks nothing.
    ///
    /// # Panics
    /// If the structure is broken, which is a bug in it.
    fn check(&self) {}

    /// Takes the queue apart and returns every timer that did not fire, in the order in which it would have.
    ///
    /// For shutting down: O(n log n).
    fn into_unfired(mut self) -> alloc::vec::Vec<ExpiredTimer<T>>
    where
        Self: Sized,
    {
        self.advance(Tick::MAX);
        core::iter::from_fn(|| self.pop_expired()).collect()
    }
}

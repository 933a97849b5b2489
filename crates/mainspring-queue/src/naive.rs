//! The oracle: a list of timers, searched from end to end.
//!
//! ```text
//!   [ (5, #0) (9, #1) (5, #2) ]     in the order of scheduling
//! ```
//!
//! It shares no code with the other structures and is short enough to be seen to be right.
//!
//! Cost: everything O(n), but `schedule` O(1). Memory per timer beyond the payload: 24. Granularity: one
//! tick. Equals fire first in, first out; a reset goes behind its equals.
//!
//! It does not use generations: ids are numbered from 0 and never come back.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::queue::{
    Equals, ExpiredTimer, Order, Profile, Reason, RejectedTimer, ResetError, TimerId, TimerQueue,
};
use crate::tick::Tick;

/// The oracle that all other structures are compared with. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, Naive};
///
/// let mut queue = Naive::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Naive<T> {
    timers: Vec<ExpiredTimer<T>>,
    next_index: u32,
    now: Tick,
}

impl<T> Naive<T> {
    /// Makes an empty list at tick 0. Allocates nothing.
    pub const fn new() -> Naive<T> {
        Naive { timers: Vec::new(), next_index: 0, now: Tick::ZERO }
    }

    fn place(&self, id: TimerId) -> Option<usize> {
        self.timers.iter().position(|timer| timer.id == id)
    }

    /// The first of the earliest timers: `min_by_key` keeps the first of equals.
    fn earliest(&self) -> Option<usize> {
        (0..self.timers.len()).min_by_key(|&place| self.timers[place].deadline)
    }
}

impl<T> Default for Naive<T> {
    fn default() -> Naive<T> {
        Naive::new()
    }
}

impl<T> TimerQueue<T> for Naive<T> {
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let Some(after) = self.next_index.checked_add(1) else {
            return Err(RejectedTimer { reason: Reason::Full, payload });
        };
        let id = TimerId { index: self.next_index, generation: NonZeroU32::MIN };
        self.next_index = after;
        self.timers.push(ExpiredTimer { id, deadline, payload });
        Ok(id)
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        let place = self.place(id)?;
        Some(self.timers.remove(place).payload)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let place = self.place(id).ok_or(ResetError::NotPending)?;
        let timer = self.timers.remove(place);
        self.timers.push(ExpiredTimer { deadline, ..timer });
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.place(id).map(|place| self.timers[place].deadline)
    }

    fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.place(id).map(|place| &mut self.timers[place].payload)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        self.earliest().map(|place| self.timers[place].deadline)
    }

    fn advance(&mut self, now: Tick) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        let place = self.earliest()?;
        (self.timers[place].deadline <= self.now).then(|| self.timers.remove(place))
    }

    fn now(&self) -> Tick {
        self.now
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.earliest().map(|place| (self.timers[place].id, self.timers[place].deadline))
    }

    fn compact(&mut self) {
        self.timers.shrink_to_fit();
    }

    fn profile(&self) -> Profile {
        Profile::exact(Order::Deadline, Equals::Fifo)
    }

    fn check(&self) {
        for (place, timer) in self.timers.iter().enumerate() {
            assert_eq!(self.place(timer.id), Some(place), "ids differ");
            assert!(timer.id.index < self.next_index, "ids were given out");
        }
    }
}

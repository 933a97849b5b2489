//! A queue that holds at most so many timers.
//!
//! Around any queue: what would be one too many is rejected as [`Full`](crate::Reason::Full) with its
//! payload. Netty's wheel has such a limit, so that a server under attack cannot be made to hold timers
//! without end. Only [`schedule_past_limit`](TimerQueue::schedule_past_limit) goes past it; what it adds
//! counts like any other.
//!
//! Cost: a comparison per schedule. It changes nothing else.

use crate::queue::{Budget, ExpiredTimer, PopResult, Reason, RejectedTimer, ResetError, TimerId, TimerQueue};
use crate::tick::Tick;

/// A queue with a limit. See the [module](self).
///
/// ```
/// use mainspring_queue::{LimitedQueue, Reason, Tick, TimerQueue, wheel::Rounds};
///
/// let mut queue = LimitedQueue::new(Rounds::new(512, 100), 1);
/// queue.schedule(Tick::new(10), "first")?;
/// let rejected = queue.schedule(Tick::new(20), "second").expect_err("one is the limit");
/// assert_eq!((rejected.reason, rejected.payload), (Reason::Full, "second"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LimitedQueue<Q> {
    queue: Q,
    pending_count_max: usize,
    /// How many were taken past the limit so far.
    exempt_count: usize,
}

impl<Q> LimitedQueue<Q> {
    /// Limits a queue to so many pending timers, those that expired and were not popped included.
    pub const fn new(queue: Q, pending_count_max: usize) -> LimitedQueue<Q> {
        LimitedQueue { queue, pending_count_max, exempt_count: 0 }
    }
}

impl<T, Q: TimerQueue<T>> TimerQueue<T> for LimitedQueue<Q> {
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        if self.pending_count_max <= self.queue.len() {
            return Err(RejectedTimer { reason: Reason::Full, payload });
        }
        self.queue.schedule(deadline, payload)
    }

    fn schedule_past_limit(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let id = self.queue.schedule_past_limit(deadline, payload)?;
        self.exempt_count = self.exempt_count.saturating_add(1);
        Ok(id)
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.queue.cancel(id)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        self.queue.reset(id, deadline)
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        self.queue.pop_expired()
    }

    fn pop_within(&mut self, budget: &mut Budget) -> PopResult<T> {
        self.queue.pop_within(budget)
    }

    fn check(&self) {
        let count_max = self.pending_count_max.saturating_add(self.exempt_count);
        assert!(
            self.queue.len() <= count_max,
            "no more timers are held than the limit and what was exempt from it"
        );
        self.queue.check();
    }

    crate::forward!(rest: limited => limited.queue);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Naive;

    #[test]
    fn what_is_exempt_is_taken_and_counts_for_the_others() {
        let mut queue = LimitedQueue::new(Naive::new(), 1);
        queue.schedule(Tick::new(1), 1).unwrap();
        let exempt = queue.schedule_past_limit(Tick::new(2), 2).unwrap();
        queue.check();
        assert_eq!(queue.schedule(Tick::new(3), 3).map_err(|rejected| rejected.reason), Err(Reason::Full));
        queue.advance(Tick::new(1));
        assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some(1));
        assert!(queue.schedule(Tick::new(3), 3).is_err(), "the exempt one has the room");
        assert_eq!(queue.cancel(exempt), Some(2));
        queue.schedule(Tick::new(3), 3).unwrap();
        queue.check();
    }
}

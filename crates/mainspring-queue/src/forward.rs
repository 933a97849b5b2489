//! Queues that are another queue: a pointer to one, or a name of its own for one.
//!
//! ```text
//!   Box<dyn TimerQueue<T>>, &mut Q   ──▶ the queue behind the pointer
//!   RedBlackTree<T>(SortedQueue<Tree, T>) ──▶ the shell in it, which is no part of the public interface
//! ```
//!
//! `forward` writes the methods of [`TimerQueue`](crate::TimerQueue), each of which calls the same method of
//! the inner queue. A macro does it, because a trait's methods cannot be handed on otherwise, and ten
//! structures need it: a type alias would make the shells public.
//!
//! Cost: nothing for a structure; a virtual call for a queue that is chosen at run time.
//!
//! It does not forward `into_unfired`, which the trait writes for each queue from the other methods.

use alloc::boxed::Box;

use crate::queue::{
    Budget, ExpiredTimer, PopResult, Profile, RejectedTimer, ResetError, TimerId, TimerQueue,
};
use crate::tick::Tick;

/// Writes the methods of `TimerQueue<T>`: `$inner` is the inner queue of `$queue`.
macro_rules! forward {
    ($queue:ident => $inner:expr) => {
        #[inline]
        fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
            let $queue = self;
            $inner.schedule(deadline, payload)
        }

        #[inline]
        fn schedule_past_limit(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
            let $queue = self;
            $inner.schedule_past_limit(deadline, payload)
        }

        #[inline]
        fn cancel(&mut self, id: TimerId) -> Option<T> {
            let $queue = self;
            $inner.cancel(id)
        }

        #[inline]
        fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
            let $queue = self;
            $inner.reset(id, deadline)
        }

        #[inline]
        fn deadline(&self, id: TimerId) -> Option<Tick> {
            let $queue = self;
            $inner.deadline(id)
        }

        #[inline]
        fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
            let $queue = self;
            $inner.payload_mut(id)
        }

        #[inline]
        fn next_wakeup(&self) -> Option<Tick> {
            let $queue = self;
            $inner.next_wakeup()
        }

        #[inline]
        fn advance(&mut self, now: Tick) {
            let $queue = self;
            $inner.advance(now);
        }

        #[inline]
        fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
            let $queue = self;
            $inner.pop_expired()
        }

        #[inline]
        fn advance_within(&mut self, now: Tick, budget: &mut Budget) {
            let $queue = self;
            $inner.advance_within(now, budget);
        }

        #[inline]
        fn pop_within(&mut self, budget: &mut Budget) -> PopResult<T> {
            let $queue = self;
            $inner.pop_within(budget)
        }

        #[inline]
        fn now(&self) -> Tick {
            let $queue = self;
            $inner.now()
        }

        #[inline]
        fn len(&self) -> usize {
            let $queue = self;
            $inner.len()
        }

        #[inline]
        fn peek(&self) -> Option<(TimerId, Tick)> {
            let $queue = self;
            $inner.peek()
        }

        fn compact(&mut self) {
            let $queue = self;
            $inner.compact();
        }

        #[inline]
        fn trim(&mut self, budget: &mut Budget) -> bool {
            let $queue = self;
            $inner.trim(budget)
        }

        fn profile(&self) -> Profile {
            let $queue = self;
            $inner.profile()
        }

        fn check(&self) {
            let $queue = self;
            $inner.check();
        }
    };
}

pub(crate) use forward;

/// A queue that is chosen at run time is a queue: `Box<dyn TimerQueue<T> + Send>`.
impl<T, Q: TimerQueue<T> + ?Sized> TimerQueue<T> for Box<Q> {
    forward!(queue => (**queue));
}

/// A borrowed queue is a queue.
impl<T, Q: TimerQueue<T> + ?Sized> TimerQueue<T> for &mut Q {
    forward!(queue => (**queue));
}

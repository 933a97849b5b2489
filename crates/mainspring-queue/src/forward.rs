//! Queues that are another queue: a pointer to one, a name of its own for one, one with something beside it.
//!
//! ```text
//!   Box<dyn TimerQueue<T>>, &mut Q        ──▶ the queue behind the pointer
//!   RedBlackTree<T>(SortedQueue<Tree, T>) ──▶ the shell in it, which is no part of the public interface
//!   LimitedQueue { queue, .. }            ──▶ the queue in it, but for what is counted
//! ```
//!
//! [`forward`](crate::forward) writes the methods of [`TimerQueue`](crate::TimerQueue), each of which calls
//! the same method of the inner queue. A macro does it, because a trait's methods cannot be handed on
//! otherwise, and a dozen structures need it: a type alias would make the shells public.
//!
//! Cost: nothing for a structure; a virtual call for a queue that is chosen at run time.
//!
//! It does not forward `into_unfired`, which the trait writes for each queue from the other methods.

use alloc::boxed::Box;

use crate::queue::TimerQueue;

/// Writes the methods of an `impl<T> TimerQueue<T>` that call an inner queue: `forward!(queue =>
/// queue.inner)` all of them, and `forward!(rest: queue => queue.inner)` those by which no timer is added,
/// moved or taken out. The others are `schedule`, `schedule_past_limit`, `cancel`, `reset`, `pop_expired`,
/// `pop_within`, and `check`.
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Chunked};
///
/// /// A queue with a name.
/// struct Named<Q> {
///     name: &'static str,
///     queue: Q,
/// }
///
/// impl<T, Q: TimerQueue<T>> TimerQueue<T> for Named<Q> {
///     mainspring_queue::forward!(named => named.queue);
/// }
///
/// let mut queue = Named { name: "retries", queue: Chunked::new() };
/// queue.schedule(Tick::new(5), 7)?;
/// assert_eq!((queue.name, queue.len()), ("retries", 1));
/// # Ok::<(), mainspring_queue::RejectedTimer<i32>>(())
/// ```
#[macro_export]
macro_rules! forward {
    ($queue:ident => $inner:expr) => {
        $crate::forward! { self, $queue => $inner;
            fn schedule(&mut self, deadline: $crate::Tick, payload: T)
                -> Result<$crate::TimerId, $crate::RejectedTimer<T>>;
            fn schedule_past_limit(&mut self, deadline: $crate::Tick, payload: T)
                -> Result<$crate::TimerId, $crate::RejectedTimer<T>>;
            fn cancel(&mut self, id: $crate::TimerId) -> Option<T>;
            fn reset(&mut self, id: $crate::TimerId, deadline: $crate::Tick) -> Result<(), $crate::ResetError>;
            fn pop_expired(&mut self) -> Option<$crate::ExpiredTimer<T>>;
            fn pop_within(&mut self, budget: &mut $crate::Budget) -> $crate::PopResult<T>;
            fn check(&self);
        }
        $crate::forward!(rest: $queue => $inner);
    };
    (rest: $queue:ident => $inner:expr) => {
        $crate::forward! { self, $queue => $inner;
            fn deadline(&self, id: $crate::TimerId) -> Option<$crate::Tick>;
            fn payload_mut(&mut self, id: $crate::TimerId) -> Option<&mut T>;
            fn next_wakeup(&self) -> Option<$crate::Tick>;
            fn advance(&mut self, now: $crate::Tick);
            fn advance_within(&mut self, now: $crate::Tick, budget: &mut $crate::Budget);
            fn now(&self) -> $crate::Tick;
            fn len(&self) -> usize;
            fn peek(&self) -> Option<($crate::TimerId, $crate::Tick)>;
            fn compact(&mut self);
            fn trim(&mut self, budget: &mut $crate::Budget) -> bool;
            fn profile(&self) -> $crate::Profile;
        }
    };
    ($this:ident, $queue:ident => $inner:expr; $(
        fn $method:ident(&$($receiver:ident)+ $(, $argument:ident: $kind:ty)*) $(-> $answer:ty)?;
    )+) => {
        $(
            #[inline]
            fn $method(&$($receiver)+ $(, $argument: $kind)*) $(-> $answer)? {
                let $queue = $this;
                $inner.$method($($argument),*)
            }
        )+
    };
}

/// A queue that is chosen at run time is a queue: `Box<dyn TimerQueue<T> + Send>`.
impl<T, Q: TimerQueue<T> + ?Sized> TimerQueue<T> for Box<Q> {
    crate::forward!(queue => (**queue));
}

/// A borrowed queue is a queue.
impl<T, Q: TimerQueue<T> + ?Sized> TimerQueue<T> for &mut Q {
    crate::forward!(queue => (**queue));
}

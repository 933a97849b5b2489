//! The timers of a shard that are firing just now, and waiting for their ends.
//!
//! ```text
//!   turn:    [ pop, firing += id ] fire [ firing -= id, tell waiters ]        [ ]: under the shard's lock
//!   waiter:  [ is id in firing, on another thread? wait, look again ]
//! ```
//!
//! A timer that is cancelled in vain fires or has fired. A thread that frees what it uses must know that it
//! has ended: Linux has `timer_delete_sync` for that.
//!
//! Guard: all of it is under the shard's lock. `waiter_count` spares the thread that fires a call into the
//! kernel.
//!
//! Cost: a store and a comparison per firing, under a lock that is held anyway; a short list's where several
//! threads fire.
//!
//! Source: Linux, `kernel/time/timer.c`, `timer_delete_sync`.

use mainspring_queue::TimerId;

use super::backoff::thread_address;

/// A timer that fires.
#[derive(Clone, Copy, Debug)]
struct Firing {
    timer: TimerId,
    /// The thread that fires it: see [`thread_address`].
    thread: usize,
}

/// The timers that fire: one, or one per thread that steals.
#[derive(Debug, Default)]
pub(super) struct Firings {
    /// Most often the only one: it is found without a look at memory of its own.
    first: Option<Firing>,
    others: Vec<Firing>,
    waiter_count: usize,
}

impl Firings {
    #[inline]
    pub(super) fn begin(&mut self, timer: TimerId) {
        debug_assert!(!self.contains(timer), "a timer fires once at a time");
        let firing = Firing { timer, thread: thread_address() };
        match self.first {
            None => self.first = Some(firing),
            Some(_) => self.others.push(firing),
        }
    }

    /// Ends a firing; tells whether a thread waits for one to end.
    #[inline]
    pub(super) fn end(&mut self, timer: TimerId) -> bool {
        if self.first.is_some_and(|firing| firing.timer == timer) {
            self.first = None;
        } else {
            let index = self.others.iter().position(|firing| firing.timer == timer);
            debug_assert!(index.is_some(), "a firing that ends was begun");
            if let Some(index) = index {
                self.others.swap_remove(index);
            }
        }
        self.waiter_count > 0
    }

    pub(super) fn contains(&self, timer: TimerId) -> bool {
        self.iter().any(|firing| firing.timer == timer)
    }

    /// Whether another thread than the calling one fires a timer.
    pub(super) fn contains_on_other_thread(&self, timer: TimerId) -> bool {
        let own = thread_address();
        self.iter().any(|firing| firing.timer == timer && firing.thread != own)
    }

    fn iter(&self) -> impl Iterator<Item = &Firing> {
        self.first.iter().chain(&self.others)
    }

    /// The calling thread is about to wait for the end of a firing.
    pub(super) fn begin_wait(&mut self) {
        self.waiter_count += 1;
    }

    /// The calling thread has waited, and looks again.
    pub(super) fn end_wait(&mut self) {
        assert!(0 < self.waiter_count, "a wait that ends was begun");
        self.waiter_count -= 1;
    }
}

//! Which timers of a lane fire just now, and waiting for their ends.
//!
//! ```text
//!   turn:    [ pop, firing += id ] fire [ firing -= id, tell who waits ]        [ ]: under the lane's lock
//!   waiter:  [ is id in firing, on another thread? wait, look again ]
//! ```
//!
//! A timer that is cancelled in vain fires or has fired. Whoever frees what it uses must know that it has
//! ended: Linux has `timer_delete_sync` for that.
//!
//! Guard: all of it is under the lane's lock. `waiter_count` spares the thread that fires a call into the
//! kernel.
//!
//! Cost: a short list's push and pop per firing, under a lock that is held anyway.
//!
//! Source: Linux, `kernel/time/timer.c`, `timer_delete_sync`.

use mainspring_queue::TimerId;

use super::relief::own_place;
use super::{Lane, State};
use crate::sync::PoisonError;

/// A timer that fires.
#[derive(Clone, Copy, Debug)]
struct Firing {
    timer: TimerId,
    /// The thread that fires it: see [`own_place`].
    thread: usize,
}

/// The timers that fire: one, or one per thread that steals.
#[derive(Debug, Default)]
pub(super) struct Firings {
    all: Vec<Firing>,
    waiter_count: usize,
}

impl Firings {
    #[inline]
    pub(super) fn begin(&mut self, timer: TimerId) {
        self.all.push(Firing { timer, thread: own_place() });
    }

    /// Ends a firing; tells whether anybody waits for one to end.
    #[inline]
    pub(super) fn end(&mut self, timer: TimerId) -> bool {
        if let Some(place) = self.all.iter().position(|firing| firing.timer == timer) {
            self.all.swap_remove(place);
        }
        self.waiter_count > 0
    }

    pub(super) fn contains(&self, timer: TimerId) -> bool {
        self.all.iter().any(|firing| firing.timer == timer)
    }

    fn contains_on_other_thread(&self, timer: TimerId, own: usize) -> bool {
        self.all.iter().any(|firing| firing.timer == timer && firing.thread != own)
    }
}

impl<Q> Lane<Q> {
    /// Waits until a timer does not fire, unless the calling thread fires it.
    pub(super) fn wait_for_firing(&self, timer: TimerId) {
        let own = own_place();
        let mut state = self.state();
        while state.firings.contains_on_other_thread(timer, own) {
            state.firings.waiter_count += 1;
            state = self.has_fired.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.firings.waiter_count -= 1;
        }
    }

    /// Notes the end of a firing.
    #[inline]
    pub(super) fn end_firing(&self, state: &mut State<Q>, timer: TimerId) {
        if state.firings.end(timer) {
            self.has_fired.notify_all();
        }
    }
}

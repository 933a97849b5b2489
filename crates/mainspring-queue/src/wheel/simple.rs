//! The simple timing wheel: one ring, one slot a tick.
//!
//! ```text
//!              now
//!               v
//!   [ 40 ][ - ][ - ][ 35 35 ][ - ][ 37 ][ - ][ 39 ]      ring of 8, now = 34: deadlines 35 ..= 42 fit
//! ```
//!
//! Cost: schedule, cancel, reset, pop O(1); advance O(ticks), at most once round the ring, plus the timers
//! that expire; `next_wakeup` O(ring), exact. Memory: 8 per slot, 24 per timer beyond the payload.
//! Granularity: one tick. Equals fire first in, first out.
//!
//! It does not hold a deadline more than a ring ahead: that is rejected, and the payload comes back.
//!
//! Source: Varghese and Lauck, scheme 4. Exactly the ring's size is the longest delay: the slot under the
//! hand has been emptied and is free for the tick one ring ahead.

use super::{Geometry, Slot, Slots, Wheel};
use crate::queue::TimerQueue;
use crate::tick::Tick;

/// The simple timing wheel. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Simple};
///
/// let mut queue = Simple::new(400);
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simple<T>(Wheel<Ring, T>);

impl<T> Simple<T> {
    /// Makes an empty wheel at tick 0 whose ring has `slot_count` slots, which is the longest delay it takes.
    ///
    /// # Panics
    /// If `slot_count` is 0 or does not fit in 32 bits.
    pub fn new(slot_count: usize) -> Simple<T> {
        assert!(slot_count > 0, "a ring has a slot");
        Simple(Wheel::over(Ring { slot_count: slot_count as u64 }, slot_count))
    }
}

impl<T> TimerQueue<T> for Simple<T> {
    crate::forward!(queue => queue.0);
}

/// One ring of slots, a tick each.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    slot_count: u64,
}

impl Ring {
    fn slot_at(&self, tick: Tick) -> Slot {
        Slot::number((tick.get() % self.slot_count) as usize)
    }
}

impl Geometry for Ring {
    fn horizon(&self) -> Option<u64> {
        Some(self.slot_count)
    }

    fn place<T>(&mut self, _slots: &mut Slots<T>, _now: Tick, due: Tick) -> Slot {
        self.slot_at(due)
    }

    fn advance<T>(&mut self, slots: &mut Slots<T>, now: Tick, target: Tick) {
        let tick_count = target.since(now).min(self.slot_count);
        for delay in 1..=tick_count {
            slots.expire_all(self.slot_at(now.after(delay)));
        }
    }

    fn next_wakeup<T>(&self, slots: &Slots<T>, now: Tick) -> Tick {
        (1..=self.slot_count)
            .map(|delay| now.after(delay))
            .find(|&tick| !slots.is_vacant(self.slot_at(tick)))
            .expect("a waiting timer is in a slot of the ring")
    }

    fn check_timer(&self, now: Tick, slot: Slot, due: Tick) {
        assert_eq!(slot, self.slot_at(due), "a timer is in its deadline's slot");
        assert!(due.since(now) <= self.slot_count, "a timer is within the horizon");
    }
}

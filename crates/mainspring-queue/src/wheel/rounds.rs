//! The hashed wheel: one ring of any size and tick; a far timer waits for its round.
//!
//! ```text
//!   tick 10, ring of 4, now = 30           slot = (deadline / 10, rounded up) mod 4
//!   [ 40  80(+1) ][ 50 ][ - ][ 70 150(+2) ]
//!     ^ (+n): n more rounds of the hand before it is due
//! ```
//!
//! With 512 slots of 100 ms it is Netty's `HashedWheelTimer`; with 60 slots of a second and repeat counts
//! kept by the keyed front it is the wheel of "virtual levels", where the rounds that a timer has left stand
//! for the level it would have in a hierarchy. Both originals keep the count of rounds in the timer and lower
//! it at each visit. Here it [follows](Rounds::remaining_rounds) from the deadline, so that a visit writes
//! nothing.
//!
//! Cost: schedule, cancel, reset, pop O(1). A visit of a slot looks at each timer in it, due or not: n/ring
//! per tick on average. Advance O(ticks), at most once round the ring, plus the visits; a jump of more than a
//! ring sorts what it found. `next_wakeup` O(ring): the next slot with a timer, whatever its round. Memory: 8
//! per slot, 24 per timer beyond the payload. Granularity: the tick of the ring; a timer fires when its slot
//! is over, never early. Equals, which are all timers of one slot and round, fire first in, first out.
//!
//! It does not suit many far timers: each is looked at once a round.
//!
//! Source: Varghese and Lauck, scheme 6; Netty, `HashedWheelTimer`.

use alloc::vec::Vec;

use super::{Geometry, Slot, Slots, Wheel};
use crate::queue::{TimerId, TimerQueue};
use crate::tick::Tick;

/// The hashed wheel with rounds. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Rounds};
///
/// let mut queue = Rounds::new(512, 100);
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rounds<T>(Wheel<HashedRing, T>);

impl<T> Rounds<T> {
    /// Makes an empty wheel at tick 0 of `slot_count` slots of `ticks_per_slot` ticks each.
    ///
    /// # Panics
    /// If either is 0, or `slot_count` does not fit in 32 bits.
    pub fn new(slot_count: usize, ticks_per_slot: u64) -> Rounds<T> {
        assert!(slot_count > 0, "a ring has a slot");
        assert!(ticks_per_slot > 0, "a slot lasts a tick");
        let ring = HashedRing { slot_count: slot_count as u64, ticks_per_slot, late: Vec::new() };
        Rounds(Wheel::over(ring, slot_count))
    }

    /// Returns how many times the hand passes a timer's slot before the visit at which it expires: its
    /// virtual level. `None` for a stale id; 0 for an expired timer. O(1).
    pub fn remaining_rounds(&self, id: TimerId) -> Option<u64> {
        let due = self.0.slots.arena.find(id)?.deadline.round_up(self.0.geometry.ticks_per_slot);
        if due <= self.0.now {
            return Some(0);
        }
        let ahead = self.0.geometry.turn_of(due) - self.0.geometry.turn_at(self.0.now);
        Some(ahead.saturating_sub(1) / self.0.geometry.slot_count)
    }
}

impl<T> TimerQueue<T> for Rounds<T> {
    crate::forward!(queue => queue.0);
}

/// One ring of slots that each last some ticks. A *turn* is a slot's width in time: turn n ends at tick
/// n * `ticks_per_slot`, when the slot n mod `slot_count` is visited.
#[derive(Clone, Debug)]
pub(crate) struct HashedRing {
    slot_count: u64,
    ticks_per_slot: u64,
    /// Room to sort the timers that a long jump found, kept for the next one.
    late: Vec<(Tick, u32)>,
}

impl HashedRing {
    /// The turn at which a timer is due. Rounded up, so that the end of time, which may be no multiple, has a
    /// turn of its own.
    fn turn_of(&self, due: Tick) -> u64 {
        due.get().div_ceil(self.ticks_per_slot)
    }

    /// The last turn that has ended.
    fn turn_at(&self, now: Tick) -> u64 {
        if now == Tick::MAX { self.turn_of(now) } else { now.get() / self.ticks_per_slot }
    }

    fn slot_at(&self, turn: u64) -> Slot {
        Slot::number((turn % self.slot_count) as usize)
    }
}

impl Geometry for HashedRing {
    fn granularity(&self) -> u64 {
        self.ticks_per_slot
    }

    fn place<T>(&mut self, _slots: &mut Slots<T>, _now: Tick, due: Tick) -> Slot {
        self.slot_at(self.turn_of(due))
    }

    fn advance<T>(&mut self, slots: &mut Slots<T>, now: Tick, target: Tick) {
        let (start, end) = (self.turn_at(now), self.turn_at(target));
        let visit_count = (end - start).min(self.slot_count);
        for turn in start + 1..=start + visit_count {
            let found = slots.iter(self.slot_at(turn)).map(|(index, record)| (record.deadline, index));
            self.late.extend(found.filter(|(deadline, _)| deadline.round_up(self.ticks_per_slot) <= target));
        }
        if end - start > self.slot_count {
            self.late.sort_by_key(|(deadline, _)| deadline.round_up(self.ticks_per_slot));
        }
        for (_, index) in self.late.drain(..) {
            slots.expire(index);
        }
    }

    fn next_wakeup<T>(&self, slots: &Slots<T>, now: Tick) -> Tick {
        let start = self.turn_at(now);
        let turn = (1..=self.slot_count)
            .map_while(|ahead| start.checked_add(ahead))
            .find(|&turn| !slots.is_vacant(self.slot_at(turn)))
            .expect("a waiting timer is in a slot of the ring");
        Tick::new(turn.saturating_mul(self.ticks_per_slot))
    }

    fn check_timer(&self, _now: Tick, slot: Slot, due: Tick) {
        assert_eq!(slot, self.slot_at(self.turn_of(due)), "a timer is in its turn's slot");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::TimerQueue;

    #[test]
    fn rounds_count_down_as_the_hand_passes() {
        let mut wheel = Rounds::new(4, 10);
        let id = wheel.schedule(Tick::new(115), ()).expect("a hashed wheel has no horizon");
        for (now, rounds) in [(0, 2), (39, 2), (40, 1), (79, 1), (80, 0), (119, 0)] {
            wheel.advance(Tick::new(now));
            assert_eq!(wheel.remaining_rounds(id), Some(rounds), "at {now}");
            assert!(wheel.pop_expired().is_none(), "at {now}");
        }
        wheel.advance(Tick::new(120));
        assert_eq!(wheel.pop_expired().map(|timer| timer.id), Some(id));
        assert_eq!(wheel.remaining_rounds(id), None);
    }
}

//! The cascading wheel: 256 near slots and four levels of 64, 32 bits of time: the wheel of skynet and of old
//! Linux.
//!
//! ```text
//!   tick  = | beyond | 31..26 | 25..20 | 19..14 | 13..8 | 7..0 |
//!              far      t[3]     t[2]     t[1]    t[0]    near
//!             1 list  64 slots 64 slots 64 slots 64 slots 256 slots
//! ```
//!
//! A timer whose deadline agrees with now in all but the lowest 8 bits is near; otherwise it waits at the
//! highest group of bits that differs. When the near slots have gone round, one slot of t\[0\] cascades down;
//! when t\[0\] has, one of t\[1\]; and so on.
//!
//! In the originals time is 32 bits wide and wraps; skynet puts what lies beyond the wrap into t\[3\] and
//! needs delays to stay below 0xFC000000. Here ticks have 64 bits, and what differs above bit 31 waits in a
//! list of its own, which is looked at when time enters the 2^32 ticks in which its earliest deadline lies.
//! So every delay is right, on either side of a wrap, and a delay of 0 expires at once and is found at the
//! next advance, as skynet's own fires at the next tick.
//!
//! Cost: schedule, cancel, reset, pop O(1); a timer moves down at most five times. Advance O(1) per tick, and
//! never more than O(slots) per slot that held something, so that a jump over empty time is cheap.
//! `next_wakeup` O(slots): the start of the first non-empty slot. Memory: 4 KiB, and 24 per timer beyond the
//! payload. Granularity: one tick. Equals fire first in, first out.
//!
//! It does not bound a cascade: a slot of t\[3\] may hold most of the timers.
//!
//! Source: skynet, `skynet_timer.c`; Linux up to 4.7, `kernel/timer.c`.

use super::{Geometry, Slot, Slots, Wheel};
use crate::queue::TimerQueue;
use crate::tick::Tick;

const NEAR_BITS: u32 = 8;
const LEVEL_BITS: u32 = 6;
const LEVEL_COUNT: u32 = 4;
const NEAR_COUNT: usize = 1 << NEAR_BITS;
const LEVEL_SLOT_COUNT: usize = 1 << LEVEL_BITS;

/// The bits of time that the wheel itself holds.
const SPAN_BITS: u32 = NEAR_BITS + LEVEL_COUNT * LEVEL_BITS;
const _: () = assert!(SPAN_BITS == 32);

const FAR: usize = NEAR_COUNT + LEVEL_COUNT as usize * LEVEL_SLOT_COUNT;

/// The cascading wheel of skynet and of Linux up to 4.7. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Cascading};
///
/// let mut queue = Cascading::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cascading<T>(Wheel<Cascade, T>);

impl<T> Cascading<T> {
    /// Makes an empty wheel at tick 0.
    pub fn new() -> Cascading<T> {
        Cascading(Wheel::over(Cascade { far_earliest: Tick::MAX }, FAR + 1))
    }
}

impl<T> Default for Cascading<T> {
    fn default() -> Cascading<T> {
        Cascading::new()
    }
}

impl<T> TimerQueue<T> for Cascading<T> {
    crate::forward!(queue => queue.0);
}

/// The five rings and the far list.
#[derive(Clone, Debug)]
pub(crate) struct Cascade {
    /// Not later than the earliest deadline in the far list.
    far_earliest: Tick,
}

/// A group of bits of the tick: near, or one of the levels.
#[derive(Clone, Copy)]
struct Ring {
    shift: u32,
    slot_count: usize,
    base: usize,
}

impl Ring {
    const NEAR: Ring = Ring { shift: 0, slot_count: NEAR_COUNT, base: 0 };

    const fn level(level: u32) -> Ring {
        Ring {
            shift: NEAR_BITS + level * LEVEL_BITS,
            slot_count: LEVEL_SLOT_COUNT,
            base: NEAR_COUNT + level as usize * LEVEL_SLOT_COUNT,
        }
    }

    /// All rings, finest first.
    const ALL: [Ring; 1 + LEVEL_COUNT as usize] =
        [Ring::NEAR, Ring::level(0), Ring::level(1), Ring::level(2), Ring::level(3)];

    fn digit(self, tick: Tick) -> usize {
        (tick.get() >> self.shift) as usize & (self.slot_count - 1)
    }

    fn slot(self, digit: usize) -> Slot {
        Slot::number(self.base + digit)
    }

    /// The first tick of the slot `digit` in the turn of this ring in which `now` lies.
    fn start(self, now: Tick, digit: usize) -> Tick {
        let turn_mask = ((self.slot_count as u64) << self.shift) - 1;
        Tick::new((now.get() & !turn_mask) + ((digit as u64) << self.shift))
    }
}

fn choose(now: Tick, due: Tick) -> Slot {
    let highest_differing_bit = 63 - ((now.get() ^ due.get()) | 1).leading_zeros();
    if highest_differing_bit >= SPAN_BITS {
        return Slot::number(FAR);
    }
    let ring = match highest_differing_bit.checked_sub(NEAR_BITS) {
        None => Ring::NEAR,
        Some(bit) => Ring::level(bit / LEVEL_BITS),
    };
    ring.slot(ring.digit(due))
}

impl Cascade {
    /// The first slot with a timer that starts after `now` and not after `limit`, and its start.
    fn next_slot<T>(&self, slots: &Slots<T>, now: Tick, limit: Tick) -> Option<(Slot, Tick)> {
        for ring in Ring::ALL {
            for digit in ring.digit(now) + 1..ring.slot_count {
                let start = ring.start(now, digit);
                if limit < start {
                    return None;
                }
                if !slots.is_vacant(ring.slot(digit)) {
                    return Some((ring.slot(digit), start));
                }
            }
        }
        let far = Slot::number(FAR);
        let start = Tick::new(self.far_earliest.get() >> SPAN_BITS << SPAN_BITS);
        (!slots.is_vacant(far) && start <= limit).then_some((far, start))
    }
}

impl Geometry for Cascade {
    fn place<T>(&mut self, _slots: &mut Slots<T>, now: Tick, due: Tick) -> Slot {
        let slot = choose(now, due);
        if slot == Slot::number(FAR) {
            self.far_earliest = self.far_earliest.min(due);
        }
        slot
    }

    fn vacated(&mut self, slot: Slot) {
        if slot == Slot::number(FAR) {
            self.far_earliest = Tick::MAX;
        }
    }

    fn advance<T>(&mut self, slots: &mut Slots<T>, mut now: Tick, target: Tick) {
        while let Some((slot, start)) = self.next_slot(slots, now, target) {
            now = start;
            if slot.as_number() < NEAR_COUNT {
                slots.expire_all(slot);
                continue;
            }
            self.vacated(slot);
            slots.cascade(slot, now, 1, |slots, due| self.place(slots, now, due));
        }
    }

    fn next_wakeup<T>(&self, slots: &Slots<T>, now: Tick) -> Tick {
        let (_, start) = self.next_slot(slots, now, Tick::MAX).expect("a waiting timer is in a slot");
        start
    }

    fn check_timer(&self, now: Tick, slot: Slot, due: Tick) {
        assert_eq!(slot, choose(now, due), "a timer is where its deadline first differs from now");
        assert!(slot != Slot::number(FAR) || self.far_earliest <= due, "the earliest far deadline is known");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::TimerQueue;

    /// skynet's bound on delays.
    const ORIGINAL_BOUND: u64 = 0xFC00_0000;
    const WRAP: u64 = 1 << 32;

    /// Schedules one timer at `start + delay` and walks from wakeup to wakeup until it fires; returns the
    /// number of wakeups.
    fn walk(start: u64, delay: u64) -> u32 {
        let mut wheel = Cascading::new();
        wheel.advance(Tick::new(start));
        let deadline = Tick::new(start).after(delay);
        wheel.schedule(deadline, ()).expect("a cascading wheel has no horizon");
        for wakeup_count in 0..10 {
            if let Some(timer) = wheel.pop_expired() {
                assert_eq!(timer.deadline, deadline);
                assert_eq!(wheel.now(), deadline, "neither early nor late from {start} by {delay}");
                return wakeup_count;
            }
            wheel.advance(wheel.next_wakeup().expect("a timer is pending"));
            wheel.check();
        }
        panic!("the timer from {start} by {delay} did not fire");
    }

    #[test]
    fn every_delay_is_exact_on_both_sides_of_the_wrap() {
        let starts =
            [0, 1, WRAP - 300, WRAP - 256, WRAP - 1, WRAP, WRAP + 1, 5 * WRAP - 1, u64::MAX - 3 * WRAP];
        let delays = [1, 2, 255, 256, 257, 1 << 14, (1 << 20) - 1, 1 << 26, ORIGINAL_BOUND - 1];
        let beyond = [ORIGINAL_BOUND, ORIGINAL_BOUND + 1, WRAP - 1, WRAP, WRAP + 1, 3 * WRAP - 1];
        for start in starts {
            for delay in delays.into_iter().chain(beyond) {
                assert!(walk(start, delay) <= 6);
            }
        }
    }

    #[test]
    fn a_delay_of_zero_is_found_by_the_next_advance() {
        for start in [0, 255, WRAP - 1, WRAP] {
            assert_eq!(walk(start, 0), 0);
        }
    }

    #[test]
    fn the_end_of_time_is_few_wakeups_away() {
        assert!(walk(0, u64::MAX) <= 6);
    }

    #[test]
    fn ticking_across_the_wrap_fires_each_timer_at_its_tick() {
        let mut wheel = Cascading::new();
        let start = WRAP - 400;
        wheel.advance(Tick::new(start));
        for delay in 0..800 {
            wheel.schedule(Tick::new(start + delay), delay).expect("a cascading wheel has no horizon");
        }
        for delay in 0..800 {
            wheel.advance(Tick::new(start + delay));
            assert_eq!(wheel.pop_expired().map(|timer| timer.payload), Some(delay));
            assert!(wheel.pop_expired().is_none());
        }
    }
}

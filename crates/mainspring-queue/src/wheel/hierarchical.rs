//! The hierarchical wheel: a ring per level; timers move down as time passes.
//!
//! ```text
//!   sizes 10, 10, 10; now = 134                     far: beyond the current thousand
//!   level 2, 100 ticks a slot   [ . . 2xx . . 5xx . . . . ]
//!   level 1,  10 ticks a slot   [ . . . . 14x . . 17x . . ]
//!   level 0,   1 tick  a slot   [ . . . . . 135 . . 138 . ]
//! ```
//!
//! Read a tick as a clock does: with sizes 60, 60, 24 it is seconds, minutes, hours. A timer waits at the
//! highest digit in which its deadline differs from now. When now reaches that digit, the slot's timers move
//! down to where they differ next, and at the lowest level they expire. So all timers of a level are earlier
//! than those of the next one, and timers of one deadline are always together and keep their order. What
//! differs above the top level is *far* and waits in one list, looked at when the top level has gone round.
//!
//! Cost: schedule O(levels), cancel, reset and pop O(1); a timer moves down at most once a level. Advance
//! O(slots passed), never more than all slots per slot that held something. `next_wakeup` O(slots): the start
//! of the first non-empty slot. Memory: 8 per slot, 24 per timer beyond the payload. Granularity: one tick.
//! Equals fire first in, first out.
//!
//! It does not spread the work: moving a slot down costs as much as there is in it.
//!
//! Source: Varghese and Lauck, scheme 7.

use alloc::vec::Vec;

use super::{Geometry, Slot, Slots, Wheel};
use crate::queue::TimerQueue;
use crate::tick::Tick;

/// The hierarchical wheel. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Hierarchical};
///
/// let mut queue = Hierarchical::new(&[60, 60, 24]);
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchical<T>(Wheel<Levels, T>);

impl<T> Hierarchical<T> {
    /// Makes an empty wheel at tick 0 with one level per size, finest first.
    ///
    /// Sizes 60, 60, 24 make the clock of the paper: 86,400 ticks before the far list is needed.
    ///
    /// # Panics
    /// If there is no size, one is less than 2, their product is 2^63 or more, or their sum does not fit in
    /// 32 bits.
    pub fn new(sizes: &[usize]) -> Hierarchical<T> {
        assert!(!sizes.is_empty(), "a wheel has a level");
        let mut levels = Vec::new();
        let (mut width, mut base) = (1_u64, 0);
        for &size in sizes {
            assert!(size >= 2, "a level has two slots or more");
            levels.push(Level { size: size as u64, width, base });
            width = width.checked_mul(size as u64).expect("the span of all levels is below 2^63 ticks");
            base += size;
        }
        assert!(width < 1 << 63, "the span of all levels is below 2^63 ticks");
        Hierarchical(Wheel::over(
            Levels { levels, span: width, far: Slot::number(base), far_earliest: Tick::MAX },
            base + 1,
        ))
    }
}

impl<T> TimerQueue<T> for Hierarchical<T> {
    crate::forward!(queue => queue.0);
}

/// One ring of slots.
#[derive(Clone, Debug)]
struct Level {
    size: u64,
    /// Ticks per slot.
    width: u64,
    /// The number of its first slot.
    base: usize,
}

impl Level {
    fn digit(&self, tick: Tick) -> u64 {
        tick.get() / self.width % self.size
    }

    fn slot(&self, digit: u64) -> Slot {
        Slot::number(self.base + digit as usize)
    }

    /// The first tick of the slot `digit` within the turn of this level in which `now` lies.
    fn start(&self, now: Tick, digit: u64) -> Tick {
        let turn = self.width * self.size;
        // The last turn before the end of time may be cut short: nothing is due in the slots beyond.
        Tick::new(now.get() / turn * turn).after(digit * self.width)
    }
}

/// The levels, finest first.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    levels: Vec<Level>,
    /// Ticks in a turn of the highest level.
    span: u64,
    far: Slot,
    /// Not later than the earliest far deadline.
    far_earliest: Tick,
}

impl Levels {
    /// The slot for a deadline from now on.
    fn choose(&self, now: Tick, due: Tick) -> Slot {
        if now.get() / self.span != due.get() / self.span {
            return self.far;
        }
        let differing = self.levels.iter().rev().find(|level| level.digit(now) != level.digit(due));
        let level = differing.unwrap_or(&self.levels[0]);
        level.slot(level.digit(due))
    }

    /// The first slot with a timer that starts after `now` and not after `limit`, and its start.
    fn next_slot<T>(&self, slots: &Slots<T>, now: Tick, limit: Tick) -> Option<(Slot, Tick)> {
        for level in &self.levels {
            for digit in level.digit(now) + 1..level.size {
                let start = level.start(now, digit);
                if limit < start {
                    return None;
                }
                if !slots.is_vacant(level.slot(digit)) {
                    return Some((level.slot(digit), start));
                }
            }
        }
        let start = Tick::new(self.far_earliest.get() / self.span * self.span);
        (!slots.is_vacant(self.far) && start <= limit).then_some((self.far, start))
    }
}

impl Geometry for Levels {
    fn place<T>(&mut self, _slots: &mut Slots<T>, now: Tick, due: Tick) -> Slot {
        let slot = self.choose(now, due);
        if slot == self.far {
            self.far_earliest = self.far_earliest.min(due);
        }
        slot
    }

    fn vacated(&mut self, slot: Slot) {
        if slot == self.far {
            self.far_earliest = Tick::MAX;
        }
    }

    fn advance<T>(&mut self, slots: &mut Slots<T>, mut now: Tick, target: Tick) {
        while let Some((slot, start)) = self.next_slot(slots, now, target) {
            now = start;
            self.vacated(slot);
            slots.cascade(slot, now, 1, |slots, due| self.place(slots, now, due));
        }
    }

    fn next_wakeup<T>(&self, slots: &Slots<T>, now: Tick) -> Tick {
        let (_, start) = self.next_slot(slots, now, Tick::MAX).expect("a waiting timer is in a slot");
        start
    }

    fn check_timer(&self, now: Tick, slot: Slot, due: Tick) {
        assert_eq!(slot, self.choose(now, due), "a timer is where its deadline first differs from now");
        if slot == self.far {
            assert!(self.far_earliest <= due, "the earliest far deadline is remembered");
        }
    }
}

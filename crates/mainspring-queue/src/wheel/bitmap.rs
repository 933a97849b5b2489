//! The bitmapped wheel: eleven levels of 64 slots hold all of time; a word per level says which slots are
//! occupied.
//!
//! ```text
//!   tick = 4 + 10 x 6 bits:   level 10 | level 9 | ... | level 1 | level 0
//!   levels     0b..0000000011                 bit l: level l is occupied
//!   occupied   0: 0b..0100000000100000        bit s: slot s of the level is occupied
//!              1: 0b..0000000000001000
//!   earliest   per slot: not later than the earliest deadline in it
//! ```
//!
//! As in the [hierarchical](super::hierarchical) wheel a timer waits at the highest digit in which its
//! deadline differs from now; digits have 6 bits, so that a level's slots fit in one word. Occupied digits
//! are always larger than now's, and all timers of a level are earlier than those of the next one: the first
//! timer is in the lowest set bit of the lowest occupied level, which two instructions find. Since 64 bits of
//! ticks are covered there is no far list, no horizon and no wrap.
//!
//! Cost: schedule, cancel, reset, pop and `next_wakeup` O(1). Advance O(levels) per occupied slot that it
//! passes, and empty time costs nothing, however long; a timer moves down at most once a level. `next_wakeup`
//! is the exact earliest deadline, or, where that timer was cancelled or reset while others shared its slot,
//! its old one: never later, and gone after one wakeup. Memory: 16 for each of the 704 slots; 24 per timer
//! beyond the payload. Granularity: one tick. Equals fire first in, first out.
//!
//! It does not bound the work of a step: a slot moves down as a whole. [`Chunked`](super::Chunked) does.
//!
//! Source: the occupancy words are those of W. Ahern's `timeout.c` and of tokio's timer; the earliest
//! deadline of a slot is ours.

use alloc::vec::Vec;

use super::{Geometry, Slot, Slots, Wheel};
use crate::queue::TimerQueue;
use crate::tick::Tick;

const DIGIT_BITS: u32 = 6;
const SLOT_COUNT: u32 = 1 << DIGIT_BITS;
const LEVEL_COUNT: u32 = u64::BITS.div_ceil(DIGIT_BITS);
const _: () = assert!(SLOT_COUNT == u64::BITS);
const _: () = assert!(LEVEL_COUNT <= u16::BITS);

/// The bitmapped wheel. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Bitmap};
///
/// let mut queue = Bitmap::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bitmap<T>(Wheel<Words, T>);

impl<T> Bitmap<T> {
    /// Makes an empty wheel at tick 0.
    pub fn new() -> Bitmap<T> {
        let slot_count = (LEVEL_COUNT * SLOT_COUNT) as usize;
        let mut earliest = Vec::new();
        earliest.resize(slot_count, Tick::MAX);
        let words = Words { levels: 0, occupied: [0; LEVEL_COUNT as usize], earliest };
        Bitmap(Wheel::over(words, slot_count))
    }
}

impl<T> Default for Bitmap<T> {
    fn default() -> Bitmap<T> {
        Bitmap::new()
    }
}

impl<T> TimerQueue<T> for Bitmap<T> {
    crate::forward!(queue => queue.0);
}

/// The occupancy words.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    levels: u16,
    occupied: [u64; LEVEL_COUNT as usize],
    earliest: Vec<Tick>,
}

fn digit(tick: Tick, level: u32) -> u32 {
    (tick.get() >> (level * DIGIT_BITS)) as u32 % SLOT_COUNT
}

fn slot(level: u32, digit: u32) -> Slot {
    Slot::number((level * SLOT_COUNT + digit) as usize)
}

/// The level at which a later tick differs from now.
fn level_of(now: Tick, due: Tick) -> u32 {
    let differing = (now.get() ^ due.get()) | 1;
    (u64::BITS - 1 - differing.leading_zeros()) / DIGIT_BITS
}

/// The first tick of a slot in the turn of its level in which `now` lies.
fn start(now: Tick, level: u32, digit: u32) -> Tick {
    let shift = level * DIGIT_BITS;
    // The highest level's turn is all of time.
    let above = now.get().checked_shr(shift + DIGIT_BITS).unwrap_or(0);
    Tick::new(((above << DIGIT_BITS) | u64::from(digit)) << shift)
}

impl Words {
    /// The first occupied slot: its level and digit.
    fn first(&self) -> Option<(u32, u32)> {
        let level = self.levels.trailing_zeros();
        (level < LEVEL_COUNT).then(|| (level, self.occupied[level as usize].trailing_zeros()))
    }

    fn occupy(&mut self, now: Tick, due: Tick) -> Slot {
        let level = level_of(now, due);
        let digit = digit(due, level);
        let slot = slot(level, digit);
        let earliest = &mut self.earliest[slot.as_number()];
        let bit = 1 << digit;
        let is_occupied = self.occupied[level as usize] & bit != 0;
        *earliest = if is_occupied { due.min(*earliest) } else { due };
        self.occupied[level as usize] |= bit;
        self.levels |= 1 << level;
        slot
    }

    fn vacate(&mut self, level: u32, digit: u32) {
        self.occupied[level as usize] &= !(1 << digit);
        if self.occupied[level as usize] == 0 {
            self.levels &= !(1 << level);
        }
    }
}

impl Geometry for Words {
    fn place<T>(&mut self, _slots: &mut Slots<T>, now: Tick, due: Tick) -> Slot {
        self.occupy(now, due)
    }

    fn vacated(&mut self, slot: Slot) {
        let number = slot.as_number() as u32;
        self.vacate(number / SLOT_COUNT, number % SLOT_COUNT);
    }

    fn advance<T>(&mut self, slots: &mut Slots<T>, mut now: Tick, target: Tick) {
        while let Some((level, digit)) = self.first() {
            let start = start(now, level, digit);
            if target < start {
                break;
            }
            now = start;
            self.vacate(level, digit);
            if level == 0 {
                slots.expire_all(slot(level, digit));
                continue;
            }
            slots.cascade(slot(level, digit), now, 1, |_, due| self.occupy(now, due));
        }
    }

    fn next_wakeup<T>(&self, _slots: &Slots<T>, _now: Tick) -> Tick {
        let (level, digit) = self.first().expect("a waiting timer's slot is occupied");
        self.earliest[slot(level, digit).as_number()]
    }

    fn check_timer(&self, now: Tick, slot: Slot, due: Tick) {
        let level = level_of(now, due);
        assert_eq!(slot, self::slot(level, digit(due, level)), "a timer is where it first differs from now");
        assert!(self.earliest[slot.as_number()] <= due, "a slot knows its earliest deadline");
    }

    fn check_slots<T>(&self, slots: &Slots<T>) {
        for number in 0..LEVEL_COUNT * SLOT_COUNT {
            let (level, digit) = (number / SLOT_COUNT, number % SLOT_COUNT);
            let is_occupied = self.occupied[level as usize] >> digit & 1 == 1;
            assert_ne!(is_occupied, slots.is_vacant(slot(level, digit)), "a bit says what its slot holds");
        }
        for (level, occupied) in self.occupied.iter().enumerate() {
            assert_eq!(self.levels >> level & 1 == 1, *occupied != 0, "a bit says what its level holds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::TimerQueue;

    #[test]
    fn the_next_wakeup_is_the_earliest_deadline_at_any_distance() {
        let mut wheel = Bitmap::new();
        for bits in (0..64).rev() {
            let deadline = Tick::new((1 << bits) + (1 << bits) / 3);
            wheel.schedule(deadline, ()).expect("a bitmapped wheel has no horizon");
            assert_eq!(wheel.next_wakeup(), Some(deadline));
        }
    }

    #[test]
    fn each_timer_takes_one_wakeup() {
        let mut wheel = Bitmap::new();
        for number in 0..1_000_u64 {
            let deadline = Tick::new(number * 2_592_001 + 1);
            wheel.schedule(deadline, ()).expect("a bitmapped wheel has no horizon");
        }
        let mut wakeup_count = 0;
        while let Some(wakeup) = wheel.next_wakeup() {
            wheel.advance(wakeup);
            wakeup_count += 1;
            assert!(wheel.pop_expired().is_some(), "no wakeup is spurious when nothing is cancelled");
        }
        assert_eq!(wakeup_count, 1_000);
    }
}

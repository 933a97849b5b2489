//! The overflow wheel: levels made when needed, driven by a heap of non-empty slots. Kafka's.
//!
//! ```text
//!   ring of 20, tick 1
//!   level 0,   1 tick  a slot:  now ..  now + 20      \
//!   level 1,  20 ticks a slot:  up to  +400            >  order: a heap of slots by expiration (17) (40) (400) ..
//!   level 2, 400 ticks a slot:  made when first needed /          next_wakeup = its head
//! ```
//!
//! The tick of level n + 1 is the span of level n. A timer goes to the finest level that reaches its
//! deadline. A slot's *expiration* is its first tick. A slot enters the heap when it gets a timer under an
//! expiration that it did not have yet, and leaves it when time reaches that expiration: then the slot's
//! timers are placed again, in a finer level, or expire. Time goes from one non-empty slot to the next, so
//! ticks without work cost nothing.
//!
//! Kafka rounds deadlines down to its tick and so fires up to a tick early; here they are rounded up. A slot
//! whose timers were all cancelled stays in the heap until its expiration, as in Kafka: at most one spurious
//! wakeup per slot.
//!
//! Cost: schedule O(levels), and O(log slots) if it is the first of its slot; cancel and reset O(1); advance
//! O(log slots) per slot that comes due plus its timers, each moving at most once a level; empty ticks cost
//! nothing; `next_wakeup` O(1), exact per slot. Memory: 24 per slot of each level that was needed, and per
//! timer 24 beyond the payload. Granularity: the tick of level 0. Equals in any order: timers of one deadline
//! may wait in two levels.
//!
//! It does not give levels back.
//!
//! Source: Kafka, `TimingWheel.scala` and `SystemTimer`; the article "Apache Kafka, Purgatory, and
//! Hierarchical Timing Wheels"; RussellLuo/timingwheel, which follows it.

use alloc::vec;
use alloc::vec::Vec;

use super::{Geometry, Slot, Slots, Wheel};
use crate::heap::Quaternary;
use crate::queue::{Equals, TimerQueue};
use crate::tick::Tick;

/// The overflow wheel of Kafka. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Overflow};
///
/// let mut queue = Overflow::new(20, 1);
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// assert_eq!(queue.level_count(), 2, "a ring of 20 slots, and one of 20 times their width");
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Overflow<T>(Wheel<Levels, T>);

impl<T> Overflow<T> {
    /// Makes an empty wheel at tick 0 whose levels have `slot_count` slots each, those of the finest
    /// `ticks_per_slot` ticks wide. Kafka's own figures are 20 slots of 1 ms.
    ///
    /// # Panics
    /// If `slot_count` is less than 2, or `ticks_per_slot` is 0.
    pub fn new(slot_count: usize, ticks_per_slot: u64) -> Overflow<T> {
        assert!(slot_count >= 2, "a level has two slots or more");
        assert!(ticks_per_slot > 0, "a slot lasts a tick");
        let levels = Levels {
            slot_count: slot_count as u64,
            ticks_per_slot,
            widths: Vec::new(),
            expirations: vec![None; LEVELS],
            order: Quaternary::new(),
        };
        Overflow(Wheel::over(levels, LEVELS))
    }

    /// Returns how many levels have been needed so far.
    pub fn level_count(&self) -> usize {
        self.0.geometry.widths.len()
    }
}

impl<T> TimerQueue<T> for Overflow<T> {
    crate::forward!(queue => queue.0);
}

/// The number of the slot for the end of time where that is no multiple of a slot's width. It is beyond the
/// finest level's last turn, in whose slots it would meet timers of another turn.
const END: usize = 0;

/// The number of the first level's first slot.
const LEVELS: usize = END + 1;

/// The levels and the order of their slots.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    slot_count: u64,
    ticks_per_slot: u64,
    /// Ticks per slot of each level, finest first.
    widths: Vec<u64>,
    /// Under which expiration each slot is in the heap.
    expirations: Vec<Option<Tick>>,
    order: Quaternary<Slot>,
}

impl Levels {
    /// Finds the finest level that reaches `due`; it may be one more than there are.
    fn reach(&self, now: Tick, due: Tick) -> usize {
        let mut width = self.ticks_per_slot;
        let mut level = 0;
        loop {
            let start = Tick::new(now.get() / width * width);
            match width.checked_mul(self.slot_count) {
                Some(span) if span <= due.since(start) => width = span,
                // A level whose span does not fit in 64 bits reaches all there is.
                _ => return level,
            }
            level += 1;
        }
    }

    /// The slot of `due` in a level, and that slot's expiration.
    fn slot_in(&self, level: usize, due: Tick) -> (Slot, Tick) {
        let width = self.widths[level];
        let turn = due.get() / width;
        let number = LEVELS + level * self.slot_count as usize + (turn % self.slot_count) as usize;
        (Slot::number(number), Tick::new(turn * width))
    }

    /// Whether a due tick is the end of time, and no multiple of a slot's width.
    fn is_end(&self, due: Tick) -> bool {
        !due.get().is_multiple_of(self.ticks_per_slot)
    }

    fn add_level<T>(&mut self, slots: &mut Slots<T>) {
        let width = self.widths.last().map_or(self.ticks_per_slot, |width| width * self.slot_count);
        self.widths.push(width);
        slots.grow(self.slot_count as usize);
        self.expirations.resize(LEVELS + self.widths.len() * self.slot_count as usize, None);
    }
}

impl Geometry for Levels {
    fn granularity(&self) -> u64 {
        self.ticks_per_slot
    }

    fn equals(&self) -> Equals {
        Equals::Unspecified
    }

    fn place<T>(&mut self, slots: &mut Slots<T>, now: Tick, due: Tick) -> Slot {
        let (slot, expiration) = if self.is_end(due) {
            (Slot::number(END), due)
        } else {
            let level = self.reach(now, due);
            while self.widths.len() <= level {
                self.add_level(slots);
            }
            self.slot_in(level, due)
        };
        let known = &mut self.expirations[slot.as_number()];
        if *known != Some(expiration) {
            assert_eq!(*known, None, "a slot is used again only after its expiration");
            *known = Some(expiration);
            self.order.schedule(expiration, slot).expect("there are fewer slots than a heap can hold");
        }
        slot
    }

    fn advance<T>(&mut self, slots: &mut Slots<T>, _now: Tick, target: Tick) {
        self.order.advance(target);
        while let Some(next) = self.order.pop_expired() {
            let (slot, now) = (next.payload, next.deadline);
            self.expirations[slot.as_number()] = None;
            slots.cascade(slot, now, self.ticks_per_slot, |slots, due| self.place(slots, now, due));
        }
    }

    fn next_wakeup<T>(&self, _slots: &Slots<T>, _now: Tick) -> Tick {
        self.order.next_wakeup().expect("a waiting timer's slot is in the order")
    }

    fn check_timer(&self, now: Tick, slot: Slot, due: Tick) {
        if self.is_end(due) {
            assert_eq!(slot, Slot::number(END), "the end of time has a slot of its own");
            return assert_eq!(self.expirations[END], Some(due), "a non-empty slot is in the order");
        }
        let level = (slot.as_number() - LEVELS) / self.slot_count as usize;
        let (expected, expiration) = self.slot_in(level, due);
        assert_eq!(slot, expected, "a timer is in its deadline's slot");
        assert_eq!(self.expirations[slot.as_number()], Some(expiration), "a non-empty slot is in the order");
        assert!(self.reach(now, due) <= level, "a timer is in a level that reaches its deadline");
        assert!(now < expiration, "a slot whose expiration has come is empty");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::TimerId;

    fn schedule(wheel: &mut Overflow<()>, deadline: u64) -> TimerId {
        wheel.schedule(Tick::new(deadline), ()).expect("an overflow wheel has no horizon")
    }

    #[test]
    fn a_level_is_made_when_it_is_first_needed() {
        let mut wheel = Overflow::new(20, 1);
        assert_eq!(wheel.level_count(), 0);
        schedule(&mut wheel, 19);
        assert_eq!(wheel.level_count(), 1);
        schedule(&mut wheel, 20);
        assert_eq!(wheel.level_count(), 2);
        schedule(&mut wheel, 400);
        assert_eq!(wheel.level_count(), 3);
        wheel.schedule(Tick::MAX, ()).expect("an overflow wheel has no horizon");
        assert_eq!(wheel.level_count(), 15);
    }

    #[test]
    fn a_slot_enters_the_order_once_per_expiration() {
        let mut wheel = Overflow::new(20, 1);
        for _ in 0..3 {
            schedule(&mut wheel, 7);
        }
        let cancelled = schedule(&mut wheel, 9);
        wheel.cancel(cancelled).expect("the timer is pending");
        schedule(&mut wheel, 9);
        assert_eq!(wheel.0.geometry.order.len(), 2);
        wheel.advance(Tick::new(7));
        assert_eq!(wheel.0.geometry.order.len(), 1);
        schedule(&mut wheel, 27);
        assert_eq!(wheel.0.geometry.order.len(), 2);
    }

    #[test]
    fn empty_ticks_need_no_wakeup() {
        let mut wheel = Overflow::new(20, 1);
        schedule(&mut wheel, 1_000_000);
        let mut wakeup_count = 0;
        while wheel.pop_expired().is_none() {
            wheel.advance(wheel.next_wakeup().expect("a timer is pending"));
            wakeup_count += 1;
        }
        assert_eq!(wheel.now(), Tick::new(1_000_000));
        assert!(wakeup_count <= wheel.level_count());
    }

    #[test]
    fn what_is_due_in_the_last_slots_of_time_comes_whatever_a_slot_lasts() {
        let last = u64::MAX;
        for ticks_per_slot in 1..=24 {
            for slot_count in [2, 3, 20] {
                for start in (0..60).map(|before| last - before) {
                    let mut wheel = Overflow::new(slot_count, ticks_per_slot);
                    wheel.advance(Tick::new(start));
                    for deadline in [last, last - 1, start, start + (last - start) / 2, last] {
                        schedule(&mut wheel, deadline);
                        wheel.check();
                    }
                    let mut count = 0;
                    while let Some(next) = wheel.next_wakeup() {
                        wheel.advance(next);
                        wheel.check();
                        schedule(&mut wheel, last);
                        count += core::iter::from_fn(|| wheel.pop_expired()).count();
                        if wheel.now() == Tick::MAX {
                            break;
                        }
                    }
                    assert!(5 < count, "{count} of slots of {ticks_per_slot} from {start}");
                    assert!(wheel.is_empty(), "slots of {ticks_per_slot} from {start}");
                }
            }
        }
    }
}

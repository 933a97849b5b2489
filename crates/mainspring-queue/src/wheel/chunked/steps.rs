//! Advances the chunked wheel in time: one bounded step after another.
//!
//! ```text
//!   settle:  batch <-- due <-- slot of level 0 <-- open slots, a chunk at a time <-- slots ahead, a share with each tick
//! ```
//!
//! [`settle`](Chunked::settle) works until a due timer stands first, all time up to now is worked off, or the
//! budget is used up; each step looks at one chunk, or moves `reached` to the next event.
//!
//! Cost: a step O(chunk); with each event, shares of the slots ahead of at most [`PREPARED_CHUNK_COUNT_MAX`]
//! chunks a level.
//!
//! It hands nothing out and sweeps nothing.

use super::chunks::CHUNK_HINT_COUNT;
use super::records::{HINT_TICK_BITS, Hint};
use super::rings::{DIGIT_BITS, Outlook, Rings, Slot};
use super::{Chunked, RoundEnd};
use crate::queue::Budget;
use crate::tick::Tick;

/// How many chunks one advance spreads over the level below ahead of their time, at most: about 50 us of
/// work.
const PREPARED_CHUNK_COUNT_MAX: u64 = 256;

impl<T> Chunked<T> {
    /// Works off the slots as far as that goes, and says how far deadlines can be put without a look at what
    /// is left.
    pub(super) fn settle(&mut self, budget: &mut Budget) -> RoundEnd {
        let settled = self.work_off(budget);
        self.is_idle = settled == RoundEnd::Idle;
        self.gate = if self.open == 0 { self.now } else { Tick::MAX };
        settled
    }

    /// Works off the slots until a due timer stands first, all time up to now is worked off, or the budget is
    /// used up.
    fn work_off(&mut self, budget: &mut Budget) -> RoundEnd {
        if self.now < self.quiet_until {
            return RoundEnd::Idle;
        }
        // What is known of an idle wheel holds until time moves.
        let mut known = self.is_idle.then_some(self.next);
        let foreseen = known.unwrap_or(Tick::MAX);
        loop {
            if budget.is_used_up() {
                return RoundEnd::Paused;
            }
            if self.is_ready(budget) {
                return RoundEnd::Ready;
            }
            if !self.due.is_empty() {
                self.fill_batch(budget);
            } else if self.open != 0 {
                // Nothing is left in it: it has all of its room for what the slot holds.
                self.batch.clear();
                let level = self.open.trailing_zeros();
                self.spread(Slot::of(self.reached, level), budget);
            } else if self.late.front().is_some_and(|(turn, _)| *turn == self.reached) {
                self.admit_late();
            } else if self.reached < self.now {
                let next = known.take().or_else(|| self.next_event()).unwrap_or(self.now);
                self.move_to(next.min(self.now), budget);
            } else {
                if foreseen <= self.now {
                    // Something was to be due, and nothing was.
                    self.skip_dead();
                }
                Outlook { next: self.next, quiet_until: self.quiet_until } = self.rings.outlook(self.reached);
                return RoundEnd::Idle;
            }
        }
    }

    /// Drops what died at the head of the batch.
    #[inline]
    fn is_ready(&mut self, budget: &mut Budget) -> bool {
        while let Some(hint) = self.batch.first() {
            if self.records.deadline_of(hint).is_some_and(|deadline| deadline <= self.reached) {
                return true;
            }
            self.batch.take_first();
            budget.spend(1);
            self.put_again(hint);
        }
        false
    }

    fn fill_batch(&mut self, budget: &mut Budget) {
        self.batch.clear();
        while self.batch.has_room() && self.batch.count() < budget.left() && !self.due.is_empty() {
            let taken = self.chunks.take_first(&mut self.due);
            self.sweep.forget(taken.cursor);
            let count = self.batch.count();
            for hint in taken.as_slice() {
                self.batch.push_if_current(*hint, &self.records);
            }
            // Those in the batch are counted when they are taken out of it.
            budget.spend(count + taken.as_slice().len() - self.batch.count());
        }
    }

    fn admit_late(&mut self) {
        for _ in 0..CHUNK_HINT_COUNT {
            let Some(&(turn, hint)) = self.late.front() else { return };
            if turn != self.reached {
                return;
            }
            self.late.pop_front();
            self.push_due(hint);
        }
    }

    /// Moves the first chunk of a slot to the level below, or to what is due.
    fn spread(&mut self, from: Slot, budget: &mut Budget) {
        let chain = self.rings.chain_mut(from);
        if let Some(hint) = self.chunks.take_lone(chain) {
            budget.spend(1);
            self.vacate(from.index());
            return self.spread_hint(from, hint);
        }
        let taken = self.chunks.take_first(chain);
        self.sweep.forget(taken.cursor);
        budget.spend(taken.as_slice().len());
        if chain.is_empty() {
            self.vacate(from.index());
        }
        taken.as_slice().iter().for_each(|hint| self.spread_hint(from, *hint));
    }

    #[inline(always)]
    fn spread_hint(&mut self, from: Slot, hint: Hint) {
        if from.level * DIGIT_BITS <= HINT_TICK_BITS {
            let low = (1 << (from.level * DIGIT_BITS)) - 1;
            let tick = Tick::new(from.start().get() | (hint.tick_bits() & low));
            self.put_below(from, hint, tick);
        } else if let Some(deadline) = self.records.deadline_of(hint) {
            self.put_again_below(from, hint.at(deadline), deadline);
        }
    }

    /// Hears that the last chunk of a slot is gone.
    pub(super) fn vacate(&mut self, index: usize) {
        let slot = Rings::slot_of(index);
        self.rings.vacate(slot);
        let is_around = Slot::of(self.reached, slot.level).index() == index;
        self.open &= !(u32::from(is_around) << slot.level);
    }

    #[inline(always)]
    fn put_below(&mut self, from: Slot, hint: Hint, tick: Tick) {
        if self.reached < from.start() {
            self.append(Slot::of(tick, from.level - 1), hint, tick);
        } else if self.reached < tick {
            self.append(Slot::between(self.reached, tick), hint, tick);
        } else if self.due.is_empty() && self.batch.has_room() {
            // It would be looked at next: a sparse wheel takes no chunk for it.
            self.batch.push_if_current(hint, &self.records);
        } else {
            self.push_due(hint);
        }
    }

    /// The same for a hint whose timer may have been reset to a time after the slot's. One that comes after
    /// its timer's deadline has woken from the dead, and is dropped: the timer, which may be due, has
    /// another.
    #[cold]
    fn put_again_below(&mut self, from: Slot, hint: Hint, deadline: Tick) {
        if Slot::of(deadline, from.level) == from {
            self.put_below(from, hint, deadline);
        } else if from.start() < deadline {
            self.put_ahead(hint, deadline);
        }
    }

    /// The next tick at which something is to be done; `reached` if it is now.
    pub(super) fn next_event(&self) -> Option<Tick> {
        if self.open != 0 || !self.due.is_empty() {
            return Some(self.reached);
        }
        let late = self.late.front().map(|(turn, _)| *turn);
        let ahead = self.rings.next(self.reached);
        late.into_iter().chain(ahead).min()
    }

    fn move_to(&mut self, tick: Tick, budget: &mut Budget) {
        let passed = tick.since(self.reached);
        self.reached = tick;
        let slot = Slot::of(tick, 0);
        if self.rings.is_occupied(slot) {
            assert!(self.due.is_empty(), "time does not pass over what is due");
            self.sweep.slot_is_due(slot.index());
            self.due = self.rings.take(slot);
        }
        if self.rings.levels() & 1 == 1 {
            self.look_ahead(slot);
        }
        let mut levels = self.rings.levels() & !1;
        while levels != 0 {
            let level = levels.trailing_zeros();
            levels &= levels - 1;
            let around = Slot::of(tick, level);
            self.open |= u32::from(self.rings.is_occupied(around)) << level;
            self.prepare(Slot { level, number: around.number + 1 }, passed, budget);
        }
    }

    /// Asks for the memory that the next ticks need, so early that it has come by then: a slot's chunks, and
    /// the records that its hints name.
    #[inline]
    fn look_ahead(&self, now: Slot) {
        let slot = |distance| {
            // Past the end of time there is nothing, which is right too.
            let slot = Slot { number: now.number.wrapping_add(distance), ..now };
            self.rings.is_occupied(slot).then(|| self.rings.chain(slot))
        };
        if let Some(chain) = slot(3) {
            self.chunks.prefetch_first(chain);
        }
        for (chain, chunk_number) in [(slot(2), 0), (slot(1), 1)] {
            if let Some(chain) = chain {
                self.chunks.look_at(chain, chunk_number, |hint| self.records.prefetch(hint));
            }
        }
    }

    /// Spreads a part of the slot that comes next over the level below, ahead of its time: as large a part as
    /// of the time until then has passed.
    fn prepare(&mut self, next: Slot, passed: u64, budget: &mut Budget) {
        if !self.rings.is_occupied(next) {
            return;
        }
        // What passed before the slot became the next one does not count.
        let passed = passed.min(self.reached.since(next.before().start()));
        let chunk_count = u64::from(self.rings.chain(next).chunk_count);
        let whole = next.start().since(self.reached).saturating_add(passed);
        // So many bits as the product needs.
        let shift = u32::BITS.saturating_sub(whole.leading_zeros());
        let share = 1 + chunk_count * (passed >> shift) / (whole >> shift);
        for _ in 0..share.min(chunk_count).min(PREPARED_CHUNK_COUNT_MAX) {
            // The sweep may have left less of it meanwhile. What a small budget leaves undone is done when
            // the slot is open.
            if budget.is_used_up() || !self.rings.is_occupied(next) {
                return;
            }
            self.spread(next, budget);
        }
    }

    /// Puts a hint that was looked at where it belongs now, unless it is dead.
    #[inline]
    pub(super) fn put_again(&mut self, hint: Hint) {
        if let Some(deadline) = self.records.deadline_of(hint) {
            self.put_ahead(hint.at(deadline), deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::TimerQueue;

    #[test]
    fn a_small_budget_bounds_what_is_prepared_as_well() {
        let mut wheel = Chunked::new();
        for number in 0..200_000 {
            wheel.schedule(Tick::new(65_536 + number * 7_919 % 65_536), ()).expect("there is room");
        }
        // Something happens at this tick, so that the slots ahead are looked at.
        wheel.schedule(Tick::new(5_000), ()).expect("there is room");
        let next = Slot { level: 2, number: 1 };
        let before = wheel.rings.chain(next).chunk_count;
        wheel.advance_within(Tick::new(5_000), &mut Budget::new(50));
        let prepared_count = before - wheel.rings.chain(next).chunk_count;
        assert!(prepared_count <= 2, "{prepared_count} chunks of 31 are not about 50 timers");
        wheel.advance(Tick::new(70_000));
        wheel.check();
    }
}

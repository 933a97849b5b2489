//! Gives memory of the chunked wheel back when a crowd has gone.
//!
//! | memory | is given back | by |
//! |---|---|---|
//! | records | when there are four for each live one | taking free ones off the end, one by one |
//! | chunks, while something lives | when there are four for each in use | copying those in use, if these are few |
//! | chunks, when nothing lives | when there are more than a few | dropping all |
//!
//! No timer is moved, because ids are places: one at the end of the table keeps all of it. What is free is
//! used from the front, so that such an end is seldom kept for long. A dead hint keeps its chunk until its
//! time has come, or until timers are added and it is swept.
//!
//! Cost: a unit of the budget for each record, and a copy of 256 KiB at most; some comparisons where there is
//! nothing to do. Each timer that has gone pays for one record. A step of the kernel's comes with every two
//! huge pages.
//!
//! It does not decide when: drivers do, before they sleep.

use super::Chunked;
use super::chunks::{Chain, Chunks};
use super::records::{Hint, Records};
use super::rings::Rings;
use super::sweep::Sweep;
use crate::queue::{Budget, TimerQueue};
use crate::tick::Tick;

/// How many chunks there may be for each one in use before the others are given back.
const ROOM_PER_CHUNK_MAX: usize = 4;
/// So many are always kept: 16 KiB. In the crate's own tests so few that every run gives some back.
const TRIMMED_CHUNK_COUNT: usize = if cfg!(test) { 2 } else { 64 };
/// How many chunks in use are copied, at most: 256 KiB, about 50 us. With more of them the table stays, which
/// is an eighth of what the crowd took.
const COPIED_CHUNK_COUNT_MAX: usize = 1_024;

impl<T> Chunked<T> {
    pub(super) fn trim_within(&mut self, budget: &mut Budget) -> bool {
        let has_more = self.records.trim(budget);
        if TRIMMED_CHUNK_COUNT < self.chunks.len() {
            let used_count = self.chunks.used_count();
            if self.is_empty() {
                self.drop_chunks();
            } else if used_count <= COPIED_CHUNK_COUNT_MAX
                && used_count * ROOM_PER_CHUNK_MAX < self.chunks.len()
            {
                self.copy_chunks(|_, _| true);
            }
        }
        has_more
    }

    /// Drops the hints of slots and of what is due: all are dead.
    fn drop_chunks(&mut self) {
        (self.chunks, self.due, self.sweep) = (Chunks::new(), Chain::EMPTY, Sweep::START);
        let mut index = 0;
        while let Some(found) = self.rings.occupied_from(index) {
            *self.rings.chain_mut(Rings::slot_of(found)) = Chain::EMPTY;
            self.vacate(found);
            index = found + 1;
        }
        if self.is_idle {
            (self.next, self.quiet_until) = (Tick::MAX, Tick::MAX);
        }
    }

    /// Copies the hints that are wanted to chunks of a new table.
    pub(super) fn copy_chunks(&mut self, is_wanted: impl Fn(&Records<T>, Hint) -> bool) {
        let old = core::mem::replace(&mut self.chunks, Chunks::new());
        let records = &self.records;
        self.due = self.chunks.copy(&old, &self.due, |hint| is_wanted(records, hint));
        let mut index = 0;
        while let Some(found) = self.rings.occupied_from(index) {
            let chain = self.rings.chain_mut(Rings::slot_of(found));
            *chain = self.chunks.copy(&old, chain, |hint| is_wanted(&self.records, hint));
            if chain.is_empty() {
                self.vacate(found);
            }
            index = found + 1;
        }
        // A sweep stood in chunks that are gone.
        self.sweep = Sweep::START;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wheel in which so many timers wait, a few ticks apart.
    fn crowd(count: u64) -> (Chunked<u64>, alloc::vec::Vec<crate::TimerId>) {
        let mut wheel = Chunked::new();
        let schedule = |number| wheel.schedule(Tick::new(1 + number * 3), number).expect("there is room");
        let ids = (0..count).map(schedule).collect();
        (wheel, ids)
    }

    /// Trims until there is no more to do, in small steps, and returns how many that were.
    fn trim(wheel: &mut Chunked<u64>) -> usize {
        let mut step_count = 1;
        while wheel.trim(&mut Budget::new(100)) {
            wheel.check();
            step_count += 1;
        }
        wheel.check();
        assert!(!wheel.records.is_roomy());
        step_count
    }

    #[test]
    fn a_crowd_that_was_cancelled_gives_its_memory_back_in_small_steps() {
        let (mut wheel, ids) = crowd(10_000);
        let before = wheel.chunks.len();
        ids[10..].iter().for_each(|id| _ = wheel.cancel(*id).expect("it is pending"));
        let step_count = trim(&mut wheel);
        assert!((90..=110).contains(&step_count), "{step_count} steps of 100");
        assert_eq!(wheel.chunks.len(), before, "dead hints are in use");
        // The records of the dead hints come back, as others.
        let again: alloc::vec::Vec<_> = (10..200)
            .map(|number| wheel.schedule(Tick::new(1 + number * 3), number).expect("there is room"))
            .collect();
        wheel.check();
        assert!(again.iter().all(|id| !ids.contains(id)));
        wheel.advance(Tick::new(100_000));
        let fired = core::iter::from_fn(|| wheel.pop_expired()).map(|timer| timer.payload);
        assert!(fired.eq(0..200));
        trim(&mut wheel);
        assert_eq!(wheel.chunks.len(), 0);
    }

    #[test]
    fn what_nothing_lives_in_is_dropped_at_once_and_goes_on() {
        let (mut wheel, ids) = crowd(10_000);
        ids.iter().for_each(|id| _ = wheel.cancel(*id).expect("it is pending"));
        trim(&mut wheel);
        assert_eq!((wheel.chunks.len(), wheel.next_wakeup()), (0, None));
        wheel.schedule(Tick::new(70_000), 7).expect("there is room");
        wheel.check();
        assert_eq!(wheel.next_wakeup(), Some(Tick::new(70_000)));
        wheel.advance(Tick::new(70_000));
        assert_eq!(wheel.pop_expired().map(|timer| timer.payload), Some(7));
    }

    #[test]
    fn a_timer_at_the_end_keeps_the_records_until_it_has_gone() {
        let (mut wheel, ids) = crowd(1_000);
        ids[..999].iter().for_each(|id| _ = wheel.cancel(*id).expect("it is pending"));
        assert!(!wheel.trim(&mut Budget::unlimited()));
        assert!(wheel.records.is_roomy());
        assert_eq!(wheel.cancel(ids[999]), Some(999));
        trim(&mut wheel);
    }
}

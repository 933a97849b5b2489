//! The chunked wheel's own check: walks all that there is.
//!
//! Each live timer must have a hint that lies where time will come by no later than its deadline. There may
//! be others that name it, left by earlier timers of its record whose version has come round: they may lie
//! anywhere. And all counts, bits and minima must say what is there.
//!
//! Cost: O(hints log hints). It repairs nothing.

use alloc::vec::Vec;

use super::Chunked;
use super::records::Hint;
use super::rings::{Rings, Slot};
use crate::tick::Tick;

impl<T> Chunked<T> {
    pub(super) fn check_all(&self) {
        self.records.check();
        assert!(self.now <= self.gate, "what is due does not pass the gate");
        let is_idle =
            self.batch.first().is_none() && self.due.is_empty() && self.late.is_empty() && self.open == 0;
        assert!(!self.is_idle || is_idle, "what is idle has nothing to do");
        assert!(
            !self.is_idle || self.next_event().is_none_or(|next| self.now < next),
            "what is idle is up to date"
        );
        assert!(
            !self.is_idle || self.next_event().is_none_or(|next| self.next <= next),
            "what is idle knows no later event than there is"
        );
        assert!(self.open == 0 || self.gate == Tick::MAX, "what is open is behind the gate");
        self.rings.check();
        let mut found = Vec::new();
        let mut chunk_count = self.chunks.check(&self.due);
        // What is due, and what came late, is looked at before time moves.
        self.find(self.chunks.iter(&self.due), Tick::ZERO, &mut found);
        self.find(self.batch.rest().iter().copied(), Tick::ZERO, &mut found);
        assert!(self.late.iter().is_sorted_by_key(|(turn, _)| *turn), "what came late waits for its turn");
        assert!(self.late.iter().all(|(turn, _)| *turn <= self.now), "what came late has come");
        self.find(self.late.iter().map(|(_, hint)| *hint), Tick::ZERO, &mut found);
        let mut index = 0;
        while let Some(occupied) = self.rings.occupied_from(index) {
            let slot = Rings::slot_of(occupied);
            let chain = self.rings.chain(slot);
            chunk_count += self.chunks.check(chain);
            // Slots stand for this turn and the next: the place on the line of all is this one or the one two
            // turns on.
            let ahead = self.rings.ahead(slot, self.reached);
            let is_open = self.open >> slot.level & 1 == 1 && ahead == Slot::of(self.reached, slot.level);
            assert!(is_open || self.reached < ahead.start(), "a slot that time has reached is open");
            assert!(ahead.start() <= chain.earliest, "the earliest of a slot is in it");
            self.find(self.chunks.iter(chain), chain.earliest, &mut found);
            index = occupied + 1;
        }
        assert_eq!(self.chunks.used_count(), chunk_count, "the count of chunks is right");
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), self.records.len() as usize, "each live timer has a hint that comes in time");
    }

    /// Notes the timers that hints will find in time, which are looked at by `earliest`.
    fn find(&self, hints: impl Iterator<Item = Hint>, earliest: Tick, found: &mut Vec<u32>) {
        for hint in hints {
            if self.records.deadline_of(hint).is_some_and(|deadline| earliest <= deadline) {
                found.push(hint.index());
            }
        }
    }
}

//! The chunked wheel's own check: walks all that there is.
//!
//! Each hint that is current must lie where time will come by no later than its timer's deadline; each live timer must
//! have one; and all counts, bits and minima must say what is there.
//!
//! Cost: O(hints log hints). It repairs nothing.

use alloc::vec::Vec;

use super::Chunked;
use super::records::Hint;
use super::rings::{Place, Rings};
use crate::tick::Tick;

impl<T> Chunked<T> {
    pub(super) fn check_all(&self) {
        self.records.check();
        assert!(self.now <= self.gate, "what is due does not pass the gate");
        assert!(self.open == 0 || self.gate == Tick::MAX, "what is open is behind the gate");
        self.rings.check();
        let mut found = Vec::new();
        let mut chunk_count = self.chunks.check(&self.due);
        self.check_hints(self.chunks.iter(&self.due), self.reached, &mut found);
        self.check_hints(self.batch.rest().iter().copied(), self.reached, &mut found);
        assert!(self.late.iter().is_sorted_by_key(|(turn, _)| *turn), "who came late waits for a turn");
        assert!(self.late.iter().all(|(turn, _)| *turn <= self.now), "who came late has come");
        self.check_hints(self.late.iter().map(|(_, hint)| *hint), self.now, &mut found);
        let mut index = 0;
        while let Some(occupied) = self.rings.occupied_from(index) {
            let place = Rings::place_of(occupied);
            let chain = self.rings.chain(place);
            chunk_count += self.chunks.check(chain);
            // Slots stand for this turn and the next: the place on the line of all is this one or the one two turns on.
            let ahead = self.rings.ahead(place, self.reached);
            let is_open = self.open >> place.level & 1 == 1 && ahead == Place::of(self.reached, place.level);
            assert!(is_open || self.reached < ahead.start(), "a slot that time has reached is open");
            assert!(ahead.start() <= chain.earliest, "the earliest of a slot is in it");
            self.check_hints(self.chunks.iter(chain), Tick::MAX, &mut found);
            for hint in self.chunks.iter(chain) {
                let deadline = self.records.deadline_of(hint);
                assert!(
                    deadline.is_none_or(|deadline| chain.earliest <= deadline),
                    "a slot knows its earliest"
                );
            }
            index = occupied + 1;
        }
        assert_eq!(self.chunks.used_count(), chunk_count, "the count of chunks is right");
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), self.records.len() as usize, "each live timer has a hint");
    }

    /// Notes the current hints and checks that their timers are due by `latest`, or were reset.
    fn check_hints(&self, hints: impl Iterator<Item = Hint>, latest: Tick, found: &mut Vec<u32>) {
        for hint in hints {
            let Some(deadline) = self.records.deadline_of(hint) else { continue };
            assert!(
                deadline <= latest || self.now < deadline || hint != hint.at(deadline),
                "a due timer waits"
            );
            found.push(hint.index());
        }
    }
}

//! The records of a queue's timers, addressed by generation-checked ids.
//!
//! ```text
//!   records  [ gen 1 | live ] [ gen 4 | free -> 3 ] [ gen 2 | live ] [ gen 9 | free -> none ]
//!                                 ^ first_free
//! ```
//!
//! A record keeps the timer's deadline, its payload and a *link*: whatever the structure needs to find the
//! timer again (a heap position, tree pointers, list pointers). Freed records are chained and used again,
//! last freed first, under a new generation; a record whose generations are used up is never used again.
//! Records lie in a [`Table`], in huge pages if there are many: a step of a tree is then one miss of the
//! caches instead of two, the second for the page's address.
//!
//! Cost: every operation O(1), insertion amortised. Memory per timer: 8 (deadline) + 4 (generation) + link +
//! payload with its discriminant. It stays as large as the most timers that lived at once until it is
//! compacted.
//!
//! It does not order anything.
//!
//! Source: generational arenas, as in the `slab` and `slotmap` crates' documentation.

use core::num::NonZeroU32;

use crate::queue::{ExpiredTimer, FIRST_GENERATION, Reason, RejectedTimer, TimerId};
use crate::table::Table;
use crate::tick::Tick;

/// Stands for "no record" in links. The number of records stays below it.
pub(crate) const NONE: u32 = u32::MAX;

/// One timer's record.
#[derive(Clone, Debug)]
pub(crate) struct Record<L, T> {
    /// The deadline as asked for.
    pub(crate) deadline: Tick,
    /// Where the structure keeps the timer.
    pub(crate) link: L,
    generation: NonZeroU32,
    state: State<T>,
}

#[derive(Clone, Debug)]
enum State<T> {
    Live(T),
    /// The next free record, or [`NONE`].
    Free(u32),
}

/// All records of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Arena<L, T> {
    records: Table<Record<L, T>>,
    first_free: u32,
    live_count: u32,
    /// Where the generations of new records begin: past those of all records that were given back.
    fresh_generation: NonZeroU32,
}

impl<L, T> Record<L, T> {
    fn is_reusable(&self) -> bool {
        matches!(self.state, State::Free(_)) && self.generation < NonZeroU32::MAX
    }
}

impl<L, T> Arena<L, T> {
    pub(crate) const fn new() -> Arena<L, T> {
        Arena { records: Table::new(), first_free: NONE, live_count: 0, fresh_generation: FIRST_GENERATION }
    }

    pub(crate) fn len(&self) -> usize {
        self.live_count as usize
    }

    /// Adds a live record.
    pub(crate) fn insert(
        &mut self,
        deadline: Tick,
        link: L,
        payload: T,
    ) -> Result<TimerId, RejectedTimer<T>> {
        let index = self.first_free;
        if index != NONE {
            let record = self.records.at_mut(index);
            let State::Free(next) = record.state else {
                unreachable!("the free chain holds only free records");
            };
            self.first_free = next;
            record.deadline = deadline;
            record.link = link;
            record.state = State::Live(payload);
            self.live_count += 1;
            return Ok(TimerId { index, generation: record.generation });
        }
        let index = self.records.len();
        if index == NONE {
            return Err(RejectedTimer { reason: Reason::Full, payload });
        }
        let generation = self.fresh_generation;
        self.records.push(Record { deadline, link, generation, state: State::Live(payload) });
        self.live_count += 1;
        Ok(TimerId { index, generation })
    }

    /// Tells whether `id` names a live record; its index then does too.
    pub(crate) fn contains(&self, id: TimerId) -> bool {
        self.find(id).is_some()
    }

    /// The record that `id` names, if it lives.
    pub(crate) fn find(&self, id: TimerId) -> Option<&Record<L, T>> {
        let record = self.records.find(id.index)?;
        (record.generation == id.generation && matches!(record.state, State::Live(_))).then_some(record)
    }

    /// The payload of the record that `id` names, if it lives, to be changed.
    pub(crate) fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        match self.records.find_mut(id.index)? {
            Record { generation, state: State::Live(payload), .. } if *generation == id.generation => {
                Some(payload)
            }
            _ => None,
        }
    }

    /// The live record at an index that the structure's own links gave.
    pub(crate) fn at(&self, index: u32) -> &Record<L, T> {
        let record = self.records.at(index);
        debug_assert!(matches!(record.state, State::Live(_)), "a structure links live records only");
        record
    }

    /// The same, to change it.
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut Record<L, T> {
        let record = self.records.at_mut(index);
        debug_assert!(matches!(record.state, State::Live(_)), "a structure links live records only");
        record
    }

    /// The id of the live record at `index`.
    pub(crate) fn id_at(&self, index: u32) -> TimerId {
        TimerId { index, generation: self.at(index).generation }
    }

    /// Frees the live record at `index`, which the structure has unlinked, and returns what it held.
    pub(crate) fn remove(&mut self, index: u32) -> ExpiredTimer<T> {
        let record = self.records.at_mut(index);
        let id = TimerId { index, generation: record.generation };
        let State::Live(payload) = core::mem::replace(&mut record.state, State::Free(NONE)) else {
            unreachable!("a structure removes live records only");
        };
        if let Some(generation) = record.generation.checked_add(1) {
            record.generation = generation;
            record.state = State::Free(self.first_free);
            self.first_free = index;
        }
        self.live_count -= 1;
        ExpiredTimer { id, deadline: record.deadline, payload }
    }

    /// The live record with the earliest deadline. O(records).
    pub(crate) fn earliest(&self) -> Option<(TimerId, Tick)> {
        let live = self
            .records
            .as_slice()
            .iter()
            .zip(0..)
            .filter(|(record, _)| matches!(record.state, State::Live(_)));
        let (record, index) = live.min_by_key(|(record, _)| record.deadline)?;
        Some((TimerId { index, generation: record.generation }, record.deadline))
    }

    /// Gives back the free records behind the last live one. O(records).
    pub(crate) fn compact(&mut self) {
        // Generations never start over. A record whose generations are used up stays: its successor could not
        // be told from it.
        while let Some(last) = self.records.pop_if(|record| Record::is_reusable(record)) {
            self.fresh_generation = self.fresh_generation.max(last.generation);
        }
        self.records.shrink_to_fit();
        self.first_free = NONE;
        for index in (0..self.records.len()).rev() {
            let record = self.records.at_mut(index);
            if record.is_reusable() {
                record.state = State::Free(self.first_free);
                self.first_free = index;
            }
        }
    }

    /// Walks all records and the free chain.
    pub(crate) fn check(&self) {
        let live =
            self.records.as_slice().iter().filter(|record| matches!(record.state, State::Live(_))).count();
        assert_eq!(live, self.len(), "the count of live records is right");
        let mut free_count = 0;
        let mut index = self.first_free;
        while index != NONE {
            let State::Free(next) = self.records.at(index).state else {
                panic!("record {index} is in the free chain and lives");
            };
            free_count += 1;
            assert!(free_count <= self.records.len() as usize, "the free chain ends");
            index = next;
        }
        let used_up =
            self.records.as_slice().iter().filter(|record| record.generation == NonZeroU32::MAX).count();
        assert!(live + free_count <= self.records.len() as usize, "no record is both live and free");
        assert!(live + free_count + used_up >= self.records.len() as usize, "no record is lost");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(arena: &mut Arena<(), &'static str>, payload: &'static str) -> TimerId {
        arena.insert(Tick::ZERO, (), payload).expect("the arena has room")
    }

    #[test]
    fn a_freed_record_is_used_again_under_another_id() {
        let mut arena = Arena::new();
        let first = insert(&mut arena, "first");
        assert_eq!(arena.remove(first.index).payload, "first");
        let second = insert(&mut arena, "second");
        assert_eq!(second.index, first.index);
        assert_ne!(second, first);
        assert!(!arena.contains(first));
        assert!(arena.contains(second));
        arena.check();
    }

    #[test]
    fn what_is_compacted_never_comes_back_under_an_old_id() {
        let mut arena = Arena::new();
        let ids = ["a", "b", "c", "d"].map(|payload| insert(&mut arena, payload));
        for id in [ids[1], ids[2], ids[3]] {
            arena.remove(id.index);
        }
        arena.compact();
        arena.check();
        assert_eq!(arena.records.len(), 1);
        let again = ["e", "f", "g"].map(|payload| insert(&mut arena, payload));
        assert!(ids[1..].iter().all(|old| !arena.contains(*old) && !again.contains(old)));
        arena.remove(ids[0].index);
        arena.compact();
        assert_eq!(arena.first_free, ids[0].index, "a free record before a live one stays");
        arena.check();
    }

    #[test]
    fn a_record_with_no_generation_left_is_given_up() {
        let mut arena = Arena::new();
        let first = insert(&mut arena, "first");
        arena.records.at_mut(first.index).generation = NonZeroU32::MAX;
        let last = arena.id_at(first.index);
        arena.remove(last.index);
        let next = insert(&mut arena, "next");
        assert_ne!(next.index, first.index);
        assert!(!arena.contains(last));
        arena.check();
    }
}

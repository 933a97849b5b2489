//! The records of the chunked wheel: what a timer is, whatever its slot.
//!
//! ```text
//!   32 bytes:  version  generation | deadline | live?  payload of 8 bytes
//!   hint       index 32 | version 16 | low bits of the tick 16
//! ```
//!
//! A record does not know where it waits: a [`Hint`] in some slot names it. A hint is *current* while the
//! record lives and has the hint's version; a cancel, a firing and a reset to an earlier deadline each end a
//! version, and leave the hint behind as a dead one. A version comes round again after 65,536 changes of one
//! record. If a hint of that version is still in a slot, it wakes from the dead: it names a timer that
//! exists, whose deadline decides, so that nothing is early or lost; but that timer may come before its
//! equals, and one for a time that has passed before what was due earlier.
//!
//! Cost: every operation O(1) and one random access, of one cache line. Memory per timer: 16 beyond the
//! payload and its discriminant. (With 24 bytes, the discriminant beside the version, a quarter of all
//! records lies across two lines: a pair of schedule and cancel among a million took 200 ns instead of 165, a
//! firing 77 instead of 57.)
//!
//! It orders nothing.

use core::num::NonZeroU32;

use super::free::Free;
use crate::queue::{Budget, Equals, ExpiredTimer, FIRST_GENERATION, Order, TimerId};
use crate::table::Table;
use crate::tick::Tick;

/// How many records that were never used become free at once.
const FRESH_COUNT: u32 = 32;
/// So many groups of fresh records have names of 32 bits.
const RECORD_COUNT_MAX: u32 = u32::MAX - (FRESH_COUNT - 1);

/// How many records there may be for each live one before the end of the table is given back.
const ROOM_PER_TIMER_MAX: u32 = 4;
/// So many are always kept: 128 KiB for a payload of 48. In the crate's own tests so few that every run gives
/// some back.
const TRIMMED_RECORD_COUNT: u32 = if cfg!(test) { 2 * FRESH_COUNT } else { 2_048 };

/// What a version grows by. In the crate's own tests so much that there are only four: versions come round
/// in every run.
const VERSION_STEP: u16 = if cfg!(test) { 1 << 14 } else { 1 };

/// A hint that wakes from the dead may let its record's new timer come before its turn: with four versions
/// that happens all the time.
pub(super) const ORDER: (Order, Equals) = if VERSION_STEP == 1 {
    (Order::Expiry, Equals::FifoUnlessReset)
} else {
    (Order::Unspecified, Equals::Unspecified)
};

/// Where a slot says that a timer may be due: 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint(u64);

/// How many low bits of its tick a hint knows: enough for two levels, so that slots of a minute move down
/// without a look at any record.
pub(super) const HINT_TICK_BITS: u32 = 16;
const TICK_SHIFT: u32 = u64::BITS - HINT_TICK_BITS;
const VERSION_SHIFT: u32 = u32::BITS;

impl Hint {
    /// Fills unused places.
    pub(super) const NONE: Hint = Hint(0);

    #[inline]
    fn new(index: u32, version: u16, tick: Tick) -> Hint {
        let record = u64::from(version) << VERSION_SHIFT | u64::from(index);
        Hint(tick.get() << TICK_SHIFT | record)
    }

    #[inline]
    pub(super) fn index(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn version(self) -> u16 {
        (self.0 >> VERSION_SHIFT) as u16
    }

    /// The lowest bits of the tick at which the hint is to be looked at.
    #[inline]
    pub(super) fn tick_bits(self) -> u64 {
        self.0 >> TICK_SHIFT
    }

    /// The same hint, to be looked at at another tick.
    #[inline]
    pub(super) fn at(self, tick: Tick) -> Hint {
        Hint::new(self.index(), self.version(), tick)
    }
}

/// A timer, or room for one. The id with the record's generation was given out if the record lives, and not
/// before: who knows the generation knows that it lives.
#[derive(Clone, Debug)]
struct Record<T> {
    /// Grows when a timer leaves and when its hint is given up.
    version: u16,
    /// Grows when a timer leaves.
    generation: NonZeroU32,
    deadline: Tick,
    /// `None` in a free record.
    payload: Option<T>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Record<u64>>() == 32);

impl<T> Record<T> {
    /// A record whose generations are used up is given up when its timer leaves.
    fn is_reusable(&self) -> bool {
        self.payload.is_none() && !self.is_given_up()
    }

    fn is_given_up(&self) -> bool {
        self.payload.is_none() && self.generation == NonZeroU32::MAX
    }

    fn id(&self, index: u32) -> TimerId {
        TimerId { index, generation: self.generation }
    }

    /// Ends the timer: what named it, id and hint, does so no more. Returns its payload, and the generation
    /// of the next timer in the record.
    #[inline(always)]
    fn end(&mut self) -> Option<(T, NonZeroU32)> {
        let payload = self.payload.take()?;
        self.version = self.version.wrapping_add(VERSION_STEP);
        self.generation = self.generation.saturating_add(1);
        Some((payload, self.generation))
    }
}

/// What a reset asks of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotChange {
    /// Nothing: the old hint comes first, and will find the new deadline.
    Later,
    /// A place for this hint: the old one would come too late.
    Earlier(Hint),
}

/// All records of one wheel.
#[derive(Clone, Debug)]
pub(super) struct Records<T> {
    records: Table<Record<T>>,
    free: Free,
    /// Records whose generations are used up.
    given_up_count: u32,
    /// Where the generations of new records begin: past those of all records that were given back.
    fresh_generation: NonZeroU32,
    /// The same for versions: a hint of a record that was given back may wait somewhere still.
    fresh_version: u16,
}

impl<T> Records<T> {
    pub(super) const fn new() -> Records<T> {
        Records {
            records: Table::new(),
            free: Free::new(),
            given_up_count: 0,
            fresh_generation: FIRST_GENERATION,
            fresh_version: 0,
        }
    }

    /// How many timers live: the records that are neither free nor given up. Counted on demand, so that no
    /// change of a timer has to count.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.records.len() - self.free.len() as u32 - self.given_up_count
    }

    /// Adds a timer, and says which hint finds it. Gives the payload back for want of names.
    #[inline(always)]
    pub(super) fn insert(&mut self, deadline: Tick, payload: T) -> Result<(TimerId, Hint), T> {
        let index = match self.free.take() {
            Some(index) => index,
            None => match self.refill() {
                Some(index) => index,
                None => return Err(payload),
            },
        };
        let record = self.records.at_mut(index);
        debug_assert!(record.payload.is_none(), "what is free does not live");
        record.deadline = deadline;
        record.payload = Some(payload);
        let hint = Hint::new(index, record.version, deadline);
        Ok((record.id(index), hint))
    }

    /// Fills the magazine, with records that were never used if all others live, and takes one.
    #[cold]
    fn refill(&mut self) -> Option<u32> {
        if !self.free.refill() {
            if RECORD_COUNT_MAX - FRESH_COUNT < self.records.len() {
                return None;
            }
            let start = self.records.len();
            let (version, generation) = (self.fresh_version, self.fresh_generation);
            for _ in 0..FRESH_COUNT {
                self.records.push(Record { version, generation, deadline: Tick::ZERO, payload: None });
            }
            // The lowest is taken first.
            (start..start + FRESH_COUNT).rev().for_each(|index| self.free.put(index));
        }
        self.free.take()
    }

    /// Returns a live timer's deadline.
    #[inline]
    pub(super) fn deadline(&self, id: TimerId) -> Option<Tick> {
        let record = self.records.find(id.index)?;
        (record.generation == id.generation && !record.is_given_up()).then_some(record.deadline)
    }

    /// Lends a live timer's payload.
    #[inline]
    pub(super) fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        let record = self.records.find_mut(id.index)?;
        if record.generation == id.generation { record.payload.as_mut() } else { None }
    }

    /// Ends a timer and returns its payload.
    #[inline(always)]
    pub(super) fn remove(&mut self, id: TimerId) -> Option<T> {
        let record = self.records.find_mut(id.index)?;
        if record.generation != id.generation {
            return None;
        }
        let (payload, generation) = record.end()?;
        self.reuse(id.index, generation);
        Some(payload)
    }

    /// Ends the timer that a hint names, if the hint is current and the timer is due at `now`.
    #[inline(always)]
    pub(super) fn take(&mut self, hint: Hint, now: Tick) -> Option<ExpiredTimer<T>> {
        let index = hint.index();
        let record = self.records.find_mut(index)?;
        if record.version != hint.version() || now < record.deadline {
            return None;
        }
        let (id, deadline) = (record.id(index), record.deadline);
        let (payload, generation) = record.end()?;
        self.reuse(index, generation);
        Some(ExpiredTimer { id, deadline, payload })
    }

    /// Has a record used by another timer, of this generation. The last generation is no timer's: a free
    /// record that has it is given up, and could not be told from one that may be used once more.
    #[inline(always)]
    fn reuse(&mut self, index: u32, generation: NonZeroU32) {
        if generation < NonZeroU32::MAX {
            self.free.put(index);
        } else {
            self.given_up_count += 1;
        }
    }

    /// Gives a live timer another deadline. Only one after `now` can be reached by the old hint.
    #[inline(always)]
    pub(super) fn reset(&mut self, id: TimerId, to: Tick, now: Tick) -> Option<SlotChange> {
        let record = self.records.find_mut(id.index)?;
        if record.generation != id.generation || record.is_given_up() {
            return None;
        }
        let is_later = now < to && record.deadline <= to;
        record.deadline = to;
        if is_later {
            return Some(SlotChange::Later);
        }
        record.version = record.version.wrapping_add(VERSION_STEP);
        Some(SlotChange::Earlier(Hint::new(id.index, record.version, to)))
    }

    /// Asks for the memory of a hint's record, which will be needed soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, hint: Hint) {
        self.records.prefetch(hint.index());
    }

    /// Tells whether a hint is current. The version alone does not say so: it may have come round in a record
    /// that is free now. And the record may have been given back.
    #[inline(always)]
    pub(super) fn is_current(&self, hint: Hint) -> bool {
        let Some(record) = self.records.find(hint.index()) else { return false };
        // Both without a branch: neither can be foreseen.
        (record.version == hint.version()) & record.payload.is_some()
    }

    /// The deadline of the timer that a hint names, if the hint is current.
    #[inline]
    pub(super) fn deadline_of(&self, hint: Hint) -> Option<Tick> {
        let record = self.records.find(hint.index())?;
        (record.version == hint.version() && record.payload.is_some()).then_some(record.deadline)
    }

    /// The live timer with the earliest deadline. O(records).
    pub(super) fn earliest(&self) -> Option<(TimerId, Tick)> {
        let live = self.records.as_slice().iter().zip(0..).filter(|(record, _)| record.payload.is_some());
        let (record, index) = live.min_by_key(|(record, _)| record.deadline)?;
        Some((record.id(index), record.deadline))
    }

    /// Gives back the memory behind the last live record. O(records).
    pub(super) fn compact(&mut self) {
        while self.pop_free() {}
        self.records.shrink_to_fit();
        let used = self.records.as_slice().iter().zip(0..);
        self.free = used.filter(|(record, _)| record.is_reusable()).map(|(_, index)| index).collect();
    }

    /// Takes the last record away if it can be used again; tells whether it did.
    fn pop_free(&mut self) -> bool {
        // Generations never start over. A record whose generations are used up stays: its successor could not
        // be told from it.
        let Some(record) = self.records.pop_if(Record::is_reusable) else { return false };
        self.fresh_generation = self.fresh_generation.max(record.generation);
        self.fresh_version = self.fresh_version.max(record.version);
        true
    }

    /// Gives back free records behind the last live one while there are several times as many records as live
    /// ones, as far as the budget goes; tells whether there are more. Dead hints may name what is gone.
    pub(super) fn trim(&mut self, budget: &mut Budget) -> bool {
        let before = self.records.len();
        while self.is_roomy() && !budget.is_used_up() {
            if !self.pop_free() {
                break;
            }
            self.free.remove(self.records.len());
            budget.spend(1);
        }
        // A table that grows keeps the room that it has just taken.
        if self.records.len() < before {
            self.records.shrink();
        }
        budget.is_used_up() && self.is_roomy()
    }

    /// Tells whether there are several times as many records as are needed.
    pub(super) fn is_roomy(&self) -> bool {
        let needed = TRIMMED_RECORD_COUNT.max(self.len().saturating_mul(ROOM_PER_TIMER_MAX));
        needed < self.records.len()
    }

    /// Counts all records.
    pub(super) fn check(&self) {
        let records = self.records.as_slice();
        let live = records.iter().filter(|record| record.payload.is_some()).count();
        assert_eq!(live, self.len() as usize, "the count of live records is right");
        let mut reusable_count = 0;
        for (record, index) in records.iter().zip(0..) {
            let is_free = self.free.contains(index);
            assert_eq!(
                record.is_reusable(),
                is_free,
                "record {index} is free exactly if it can be used again"
            );
            reusable_count += usize::from(is_free);
        }
        assert_eq!(reusable_count, self.free.len(), "each free record is free once");
    }
}

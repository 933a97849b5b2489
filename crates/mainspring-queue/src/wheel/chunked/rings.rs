//! The slots of the chunked wheel: eight rings of 512, and which of them are occupied.
//!
//! ```text
//!   tick = 8 digits of 8 bits:  ... | digit 2 | digit 1 | digit 0
//!   level l, slot = (tick >> 8 l) mod 512:   [ 256 slots of this turn | 256 of the next ]
//!   a deadline waits at the highest digit in which it differs from now
//! ```
//!
//! A ring is two turns long, so that the slot after now's at level l + 1 can be spread over level l little by
//! little before its time comes.
//!
//! Cost: a slot is found with a few instructions, the first occupied one of a level by a look at up to nine
//! words. Memory: 32 per slot, for the levels up to the highest that was used.
//!
//! It moves nothing: [`Chunked`](super::Chunked) does.

use alloc::vec::Vec;

use super::chunks::Chain;
use crate::tick::Tick;

pub(super) const DIGIT_BITS: u32 = 8;
const TURN_COUNT: u64 = 1 << DIGIT_BITS;
const SLOT_COUNT: u64 = 2 * TURN_COUNT;
const LEVEL_COUNT: u32 = u64::BITS / DIGIT_BITS;
const WORD_COUNT: usize = (SLOT_COUNT / u64::BITS as u64) as usize;

/// A slot's level and its number on the line of all of the level's slots since tick 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) level: u32,
    pub(super) number: u64,
}

impl Slot {
    /// The slot of a level that a tick belongs to.
    #[inline]
    pub(super) fn of(tick: Tick, level: u32) -> Slot {
        Slot { level, number: tick.get() >> (level * DIGIT_BITS) }
    }

    /// Where a deadline waits: at the highest digit in which it differs from now.
    #[inline]
    pub(super) fn between(now: Tick, deadline: Tick) -> Slot {
        let differing = (now.get() ^ deadline.get()) | 1;
        Slot::of(deadline, differing.ilog2() / DIGIT_BITS)
    }

    /// The index of that slot among all, with few instructions: for the hottest path. Now is before the
    /// deadline.
    #[inline(always)]
    pub(super) fn index_between(now: Tick, deadline: Tick) -> usize {
        let differing = (now.get() ^ deadline.get()) | 1;
        // Eight levels of eight bits: a digit's shift is the number of the highest bit without its own lowest
        // three.
        let shift = ((u64::BITS - 1) ^ differing.leading_zeros()) & (u64::BITS - DIGIT_BITS);
        let slot = (deadline.get() >> shift) % SLOT_COUNT;
        (slot + u64::from(shift) * (SLOT_COUNT / u64::from(DIGIT_BITS))) as usize
    }

    /// The slot before this one, in whose time this one is spread.
    #[inline]
    pub(super) fn before(self) -> Slot {
        Slot { number: self.number.saturating_sub(1), ..self }
    }

    /// The first tick of the slot.
    #[inline]
    pub(super) fn start(self) -> Tick {
        Tick::new(self.number << (self.level * DIGIT_BITS))
    }

    /// The slot's index among all.
    #[inline]
    pub(super) fn index(self) -> usize {
        (u64::from(self.level) * SLOT_COUNT + self.number % SLOT_COUNT) as usize
    }
}

/// What there is to do, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    /// No hint has an earlier tick.
    pub(super) next: Tick,
    /// Nothing is to be spread before.
    pub(super) quiet_until: Tick,
}

#[derive(Clone, Debug)]
pub(super) struct Rings {
    chains: Vec<Chain>,
    occupied: [[u64; WORD_COUNT]; LEVEL_COUNT as usize],
    /// A bit per level that has an occupied slot.
    levels: u32,
    /// How many slots are occupied.
    occupied_count: u32,
    /// How many were at once.
    occupied_count_max: u32,
}

impl Rings {
    pub(super) const fn new() -> Rings {
        Rings {
            chains: Vec::new(),
            occupied: [[0; WORD_COUNT]; LEVEL_COUNT as usize],
            levels: 0,
            occupied_count: 0,
            occupied_count_max: 0,
        }
    }

    /// The slot with an index, if its level was ever used.
    #[inline(always)]
    pub(super) fn find_mut(&mut self, index: usize) -> Option<&mut Chain> {
        self.chains.get_mut(index)
    }

    /// A slot.
    pub(super) fn chain_mut(&mut self, slot: Slot) -> &mut Chain {
        if self.chains.len() <= slot.index() {
            self.grow(slot.level);
        }
        &mut self.chains[slot.index()]
    }

    #[cold]
    fn grow(&mut self, level: u32) {
        self.chains.resize((level + 1) as usize * SLOT_COUNT as usize, Chain::EMPTY);
    }

    #[inline]
    pub(super) fn occupy(&mut self, slot: Slot) {
        let number = slot.number % SLOT_COUNT;
        let word = &mut self.occupied[slot.level as usize][(number / 64) as usize];
        self.occupied_count += u32::from(*word >> (number % 64) & 1 == 0);
        self.occupied_count_max = self.occupied_count_max.max(self.occupied_count);
        *word |= 1 << (number % 64);
        self.levels |= 1 << slot.level;
    }

    pub(super) fn occupied_count(&self) -> usize {
        self.occupied_count as usize
    }

    /// How many slots were occupied at once since [`compact`](Self::compact).
    pub(super) fn occupied_count_max(&self) -> usize {
        self.occupied_count_max as usize
    }

    /// Forgets how many slots there were.
    pub(super) fn compact(&mut self) {
        self.occupied_count_max = self.occupied_count;
    }

    /// Takes a chain out of its slot, which becomes vacant.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot) -> Chain {
        let chain = core::mem::replace(&mut self.chains[slot.index()], Chain::EMPTY);
        self.vacate(slot);
        chain
    }

    /// Hears that the last chunk of a slot is gone.
    pub(super) fn vacate(&mut self, slot: Slot) {
        let number = slot.number % SLOT_COUNT;
        let words = &mut self.occupied[slot.level as usize];
        words[(number / 64) as usize] &= !(1 << (number % 64));
        self.occupied_count -= 1;
        if words.iter().all(|word| *word == 0) {
            self.levels &= !(1 << slot.level);
        }
    }

    #[inline]
    pub(super) fn is_occupied(&self, slot: Slot) -> bool {
        let number = slot.number % SLOT_COUNT;
        self.occupied[slot.level as usize][(number / 64) as usize] >> (number % 64) & 1 == 1
    }

    /// A bit per level that has an occupied slot.
    #[inline]
    pub(super) fn levels(&self) -> u32 {
        self.levels
    }

    pub(super) fn chain(&self, slot: Slot) -> &Chain {
        &self.chains[slot.index()]
    }

    /// The first occupied slot of a level that has one, from now's own on.
    #[inline]
    pub(super) fn first(&self, now: Tick, level: u32) -> Slot {
        let from = Slot::of(now, level);
        let words = &self.occupied[level as usize];
        let slot = from.number % SLOT_COUNT;
        let (word, bit) = ((slot / 64) as usize, slot % 64);
        let rest = words[word] >> bit;
        if rest != 0 {
            return Slot { level, number: from.number + u64::from(rest.trailing_zeros()) };
        }
        // The word that now is in comes last again, for what is almost two turns ahead.
        for step in 1..=WORD_COUNT {
            let found = words[(word + step) % WORD_COUNT];
            if found != 0 {
                let distance = step as u64 * 64 - bit + u64::from(found.trailing_zeros());
                return Slot { level, number: from.number + distance };
            }
        }
        unreachable!("a level with its bit set has an occupied slot")
    }

    /// The earliest tick of an occupied slot.
    #[inline]
    fn earliest(&self, slot: Slot) -> Tick {
        if slot.level == 0 { slot.start() } else { self.chains[slot.index()].earliest }
    }

    /// The next event: not later than the earliest tick of a hint, and past now. `None` if all slots are
    /// vacant.
    #[inline]
    pub(super) fn next(&self, now: Tick) -> Option<Tick> {
        let mut levels = self.levels;
        let mut next = None;
        while levels != 0 {
            let level = levels.trailing_zeros();
            levels &= levels - 1;
            let slot = self.first(now, level);
            let tick = self.earliest(slot);
            next = Some(next.map_or(tick, |next: Tick| next.min(tick)));
            // What waits at higher levels is past this turn.
            if slot.number / TURN_COUNT == Slot::of(now, level).number / TURN_COUNT {
                break;
            }
        }
        next
    }

    /// The slot that the next event is in, and when it is.
    pub(super) fn next_slot(&self, now: Tick) -> Option<(Slot, Tick)> {
        let next = self.next(now)?;
        let levels = (0..LEVEL_COUNT).filter(|level| self.levels >> level & 1 == 1);
        let slot = levels.map(|level| self.first(now, level)).find(|slot| self.earliest(*slot) == next)?;
        Some((slot, next))
    }

    /// The next event, as [`next`](Self::next), and until when there is nothing to do: the beginning of the
    /// slot before the first occupied one, at any level. The end of time if all slots are vacant.
    pub(super) fn outlook(&self, now: Tick) -> Outlook {
        let mut outlook = Outlook { next: Tick::MAX, quiet_until: Tick::MAX };
        let (mut levels, mut is_sought) = (self.levels, true);
        while levels != 0 {
            let level = levels.trailing_zeros();
            levels &= levels - 1;
            let slot = self.first(now, level);
            outlook.quiet_until = outlook.quiet_until.min(slot.before().start());
            if is_sought {
                outlook.next = outlook.next.min(self.earliest(slot));
                is_sought = slot.number / TURN_COUNT != Slot::of(now, level).number / TURN_COUNT;
            }
        }
        outlook
    }

    /// The first occupied slot at or behind an index, by its index.
    pub(super) fn occupied_from(&self, index: usize) -> Option<usize> {
        let words = self.occupied.as_flattened();
        let first = words.get(index / 64).map(|word| word & (u64::MAX << (index % 64)))?;
        if first != 0 {
            return Some(index / 64 * 64 + first.trailing_zeros() as usize);
        }
        let rest = words.iter().enumerate().skip(index / 64 + 1);
        let (number, word) = rest.into_iter().find(|(_, word)| **word != 0)?;
        Some(number * 64 + word.trailing_zeros() as usize)
    }

    /// The slot with an index, on the first turns of its level.
    pub(super) fn slot_of(index: usize) -> Slot {
        Slot { level: (index as u64 / SLOT_COUNT) as u32, number: index as u64 % SLOT_COUNT }
    }

    /// The same slot on the line that now is on.
    pub(super) fn ahead(&self, slot: Slot, now: Tick) -> Slot {
        let from = Slot::of(now, slot.level).number;
        Slot { number: from + slot.number.wrapping_sub(from) % SLOT_COUNT, ..slot }
    }

    /// Checks that the bits say what the slots hold.
    pub(super) fn check(&self) {
        let bits = self.occupied.as_flattened().iter().map(|word| word.count_ones());
        assert_eq!(bits.sum::<u32>(), self.occupied_count, "the count of occupied slots is right");
        assert!(self.occupied_count <= self.occupied_count_max, "no more are occupied than ever were");
        for (index, chain) in self.chains.iter().enumerate() {
            let slot = Rings::slot_of(index);
            assert_ne!(self.is_occupied(slot), chain.is_empty(), "a bit says what its slot holds");
        }
        for (level, words) in self.occupied.iter().enumerate() {
            let is_occupied = words.iter().any(|word| *word != 0);
            assert_eq!(self.levels >> level & 1 == 1, is_occupied, "a bit says what its level holds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_occupied_slot_is_found_two_turns_ahead() {
        for now in [0, 1, 63, 64, 255, 256, 300, 511, 512, 1_000_003] {
            for distance in [1, 62, 63, 64, 65, 255, 256, 300, 510, 511] {
                let mut rings = Rings::new();
                let slot = Slot { level: 0, number: now + distance };
                rings.occupy(slot);
                assert_eq!(rings.first(Tick::new(now), 0), slot, "{now} + {distance}");
            }
        }
    }

    #[test]
    fn every_deadline_has_a_place() {
        let last = Slot::between(Tick::ZERO, Tick::MAX);
        assert_eq!(last, Slot { level: 7, number: 255 });
        assert_eq!(last.start(), Tick::new(255 << 56));
        assert_eq!(Slot::between(Tick::new(255), Tick::new(256)), Slot { level: 1, number: 1 });
        assert_eq!(Slot::between(Tick::new(254), Tick::new(255)), Slot { level: 0, number: 255 });
        for (now, deadline) in (0..64).flat_map(|now| (0..64).map(move |bit| (1 << now, u64::MAX >> bit))) {
            let (now, deadline) = (Tick::new(now), Tick::new(deadline));
            assert_eq!(Slot::index_between(now, deadline), Slot::between(now, deadline).index());
        }
    }
}

//! The set of free records: a bitmap behind a small magazine.
//!
//! ```text
//!   put --> [ last ] --> take
//!              |  ^
//!           [ magazine: those freed before, in cache ]
//!              | full: the older half         ^ empty: the lowest
//!              v                              |
//!   bitmap    0b..0100 1100   a bit per record; a bit per word of it says that the word has one
//! ```
//!
//! A record that was just freed is warm and is used again first. What overflows is handed out lowest first,
//! so that live records stay dense at the front of their table, and a crowd that has gone leaves an end that
//! can be given back.
//!
//! Cost: O(1), amortised over the magazine; a refill looks at one word of 4,096 records each. Memory: an
//! eighth of a byte per record. It needs no access to the records themselves: with a chain through them, as
//! usual in arenas, each insert after a great drain waits for the memory of the one before.
//!
//! Source: J. Bonwick, "Magazines and Vmem" (2001).

use alloc::vec::Vec;

const MAGAZINE_COUNT: usize = 64;
const SPILLED_COUNT: usize = MAGAZINE_COUNT / 2;
const WORD_BITS: u32 = u64::BITS;
/// Is no record's index.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Free {
    /// The last freed, or `NONE`: a timer that comes when another has gone needs nothing else.
    last: u32,
    magazine: [u32; MAGAZINE_COUNT],
    magazine_count: usize,
    words: Vec<u64>,
    /// A bit per word that is not zero.
    summary: Vec<u64>,
    /// No word of the summary before this one has a bit.
    first: usize,
    /// The bits in `words`.
    spilled_count: usize,
}

impl Free {
    pub(super) const fn new() -> Free {
        Free {
            last: NONE,
            magazine: [0; MAGAZINE_COUNT],
            magazine_count: 0,
            words: Vec::new(),
            summary: Vec::new(),
            first: 0,
            spilled_count: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.last != NONE) + self.magazine_count + self.spilled_count
    }

    /// Takes one that needs no refill.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<u32> {
        if self.last != NONE {
            return Some(core::mem::replace(&mut self.last, NONE));
        }
        if self.magazine_count == 0 {
            return None;
        }
        self.magazine_count -= 1;
        Some(self.magazine[self.magazine_count % MAGAZINE_COUNT])
    }

    /// Puts one in that is not there.
    #[inline(always)]
    pub(super) fn put(&mut self, index: u32) {
        let before = core::mem::replace(&mut self.last, index);
        if before != NONE {
            self.put_back(before);
        }
    }

    #[inline(never)]
    fn put_back(&mut self, index: u32) {
        if self.magazine_count == MAGAZINE_COUNT {
            self.spill();
        }
        self.magazine[self.magazine_count % MAGAZINE_COUNT] = index;
        self.magazine_count += 1;
    }

    #[cold]
    fn spill(&mut self) {
        let magazine = self.magazine;
        let (older, newer) = magazine.split_at(SPILLED_COUNT);
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for index in older {
            (lowest, highest) = (lowest.min(*index), highest.max(*index));
        }
        self.reserve(highest);
        for index in older {
            set(&mut self.words, &mut self.summary, *index);
        }
        self.first = self.first.min((lowest / WORD_BITS / WORD_BITS) as usize);
        self.magazine[..SPILLED_COUNT].copy_from_slice(newer);
        self.magazine_count = SPILLED_COUNT;
        self.spilled_count += SPILLED_COUNT;
    }

    /// Makes room for the bit of an index.
    fn reserve(&mut self, index: u32) {
        let word = (index / WORD_BITS) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / WORD_BITS as usize + 1, 0);
        }
    }

    /// Fills the empty magazine with the lowest, and tells whether there were any.
    #[cold]
    pub(super) fn refill(&mut self) -> bool {
        if self.spilled_count == 0 {
            return false;
        }
        let mut taken = [0; SPILLED_COUNT];
        let mut taken_count = 0;
        while taken_count < SPILLED_COUNT && self.spilled_count != 0 {
            while self.summary[self.first] == 0 {
                self.first += 1;
            }
            let number = self.first as u32 * WORD_BITS + self.summary[self.first].trailing_zeros();
            let word = &mut self.words[number as usize];
            taken[taken_count] = number * WORD_BITS + word.trailing_zeros();
            *word &= *word - 1;
            if *word == 0 {
                self.summary[self.first] &= !(1 << (number % WORD_BITS));
            }
            taken_count += 1;
            self.spilled_count -= 1;
        }
        // The lowest is taken out first.
        taken[..taken_count].reverse();
        self.magazine[..taken_count].copy_from_slice(&taken[..taken_count]);
        self.magazine_count = taken_count;
        true
    }

    /// Takes out one that is in. O(magazine).
    pub(super) fn remove(&mut self, index: u32) {
        let magazine = &self.magazine[..self.magazine_count];
        if self.last == index {
            self.last = NONE;
        } else if let Some(place) = magazine.iter().position(|free| *free == index) {
            self.magazine.copy_within(place + 1..self.magazine_count, place);
            self.magazine_count -= 1;
        } else {
            let number = index / WORD_BITS;
            let word = &mut self.words[number as usize];
            assert!(*word >> (index % WORD_BITS) & 1 == 1, "what is taken out is in");
            *word &= !(1 << (index % WORD_BITS));
            if *word == 0 {
                self.summary[(number / WORD_BITS) as usize] &= !(1 << (number % WORD_BITS));
            }
            self.spilled_count -= 1;
        }
    }

    /// Tells whether one is in. For checks: O(magazine).
    pub(super) fn contains(&self, index: u32) -> bool {
        let word = self.words.get((index / WORD_BITS) as usize);
        let is_spilled = word.is_some_and(|word| word >> (index % WORD_BITS) & 1 == 1);
        is_spilled || self.last == index || self.magazine[..self.magazine_count].contains(&index)
    }
}

/// Sets the bit of an index, for which there is room.
#[inline(always)]
fn set(words: &mut [u64], summary: &mut [u64], index: u32) {
    let number = index / WORD_BITS;
    let word = &mut words[number as usize];
    if *word == 0 {
        summary[(number / WORD_BITS) as usize] |= 1 << (number % WORD_BITS);
    }
    *word |= 1 << (index % WORD_BITS);
}

impl FromIterator<u32> for Free {
    fn from_iter<I: IntoIterator<Item = u32>>(indices: I) -> Free {
        let mut free = Free::new();
        for index in indices {
            free.reserve(index);
            set(&mut free.words, &mut free.summary, index);
            free.spilled_count += 1;
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_freed_comes_back_first() {
        let mut free: Free = (0..1_000).collect();
        free.put(5_000);
        free.put(4_000);
        assert_eq!([free.take(), free.take(), free.take()], [Some(4_000), Some(5_000), None]);
        assert!(free.refill());
        assert_eq!(free.take(), Some(0));
    }

    #[test]
    fn what_is_taken_out_does_not_come_back() {
        let mut free = Free::new();
        (0..200).for_each(|index| free.put(index));
        for index in (100..200).rev() {
            assert!(free.contains(index));
            free.remove(index);
            assert!(!free.contains(index));
        }
        assert_eq!(free.len(), 100);
        let mut taken: Vec<u32> =
            core::iter::from_fn(|| free.take().or_else(|| free.refill().then(|| free.take())?)).collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..100));
    }

    #[test]
    fn each_comes_back_once_and_the_lowest_of_a_crowd_first() {
        let mut free = Free::new();
        let indices: Vec<u32> = (0..10_000).map(|number| number * 7_919 % 10_007).collect();
        indices.iter().for_each(|index| free.put(*index));
        assert_eq!(free.len(), 10_000);
        assert!(indices.iter().all(|index| free.contains(*index)));
        let mut taken: Vec<u32> =
            core::iter::from_fn(|| free.take().or_else(|| free.refill().then(|| free.take())?)).collect();
        assert!(taken[MAGAZINE_COUNT..].is_sorted());
        taken.sort_unstable();
        let mut expected = indices;
        expected.sort_unstable();
        assert_eq!(taken, expected);
        assert_eq!(free.len(), 0);
    }
}

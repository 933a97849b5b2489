//! The hints that are due next, whose records were looked at together.
//!
//! ```text
//!   due: [31] -> [31] -> [4]  --fill-->  batch [ h h h h h h h h . . . ]  --next--> pop
//! ```
//!
//! Waiting for one record after another is what makes a drain slow: their memory is asked for in one sweep
//! through several chunks, and is there when the timers are popped.
//!
//! Cost: 1 KiB in the wheel itself. Hints in it are not swept; they are looked at again when they are popped.

use super::chunks::CHUNK_HINT_COUNT;
use super::records::{Hint, Records};

/// Four chunks and a place that is written to and not kept.
pub(super) const BATCH_HINT_COUNT: usize = 128;
const _: () = assert!(4 * CHUNK_HINT_COUNT < BATCH_HINT_COUNT);

#[derive(Clone, Debug)]
pub(super) struct Batch {
    hints: [Hint; BATCH_HINT_COUNT],
    count: usize,
    next: usize,
}

impl Batch {
    pub(super) const EMPTY: Batch = Batch { hints: [Hint::NONE; BATCH_HINT_COUNT], count: 0, next: 0 };

    /// The hints that are left.
    #[inline]
    pub(super) fn rest(&self) -> &[Hint] {
        self.hints.get(self.next..self.count).unwrap_or_default()
    }

    /// The first hint that is left.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<Hint> {
        (self.next < self.count).then(|| self.hints[self.next % BATCH_HINT_COUNT])
    }

    /// Takes out the first hint that is left.
    #[inline(always)]
    pub(super) fn take_first(&mut self) -> Option<Hint> {
        let first = self.first()?;
        self.next += 1;
        Some(first)
    }

    /// How many hints there are, those that were taken out included.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn clear(&mut self) {
        (self.count, self.next) = (0, 0);
    }

    /// Tells whether a chunk's hints find room.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.count + CHUNK_HINT_COUNT < BATCH_HINT_COUNT
    }

    /// Appends a hint if it is current; there is room. Without a branch: whether it is cannot be foreseen.
    #[inline(always)]
    pub(super) fn push_if_current<T>(&mut self, hint: Hint, records: &Records<T>) {
        self.hints[self.count % BATCH_HINT_COUNT] = hint;
        self.count += usize::from(records.is_current(hint));
    }
}

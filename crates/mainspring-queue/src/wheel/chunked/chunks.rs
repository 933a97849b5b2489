//! Slots as chains of chunks of hints.
//!
//! ```text
//!   chain   first --> [ h h h .. h | 15 ] --> [ h h h h | 9 ] --> [ h h ] <-- last, with 2 of 15 taken
//!                      128 bytes, two lines
//! ```
//!
//! Hints are appended to the last chunk and read in order; a chunk that was swept may be partly full, and no
//! chunk of a chain is empty. Freed chunks are used again, last freed first.
//!
//! Cost: append O(1): one line that is warm if the slot is; reading streams. Memory: 8.5 bytes a hint, and up to a chunk for
//! each slot in use.
//!
//! It does not know what a hint means.

use super::pages::Pages;
use super::records::Hint;
use crate::tick::Tick;

/// With the link, two lines of 64 bytes.
pub(super) const CHUNK_HINT_COUNT: usize = 15;

/// 8 KiB.
const PAGE_COUNT: usize = 64;

/// Stands for "no chunk".
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Chunk {
    next: u32,
    /// How many hints it has, unless it is the last of its chain.
    count: u32,
    hints: [Hint; CHUNK_HINT_COUNT],
}

const _: () = assert!(size_of::<Chunk>() == 128);

impl Chunk {
    const EMPTY: Chunk = Chunk { next: NONE, count: 0, hints: [Hint::NONE; CHUNK_HINT_COUNT] };
}

/// A slot.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    /// How many hints the last chunk has; a full chunk's worth if there is none.
    last_count: u32,
    /// How long the chain is.
    pub(super) chunk_count: u32,
    /// Not later than the earliest tick of a hint in it.
    pub(super) earliest: Tick,
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain {
        first: NONE,
        last: NONE,
        last_count: CHUNK_HINT_COUNT as u32,
        chunk_count: 0,
        earliest: Tick::MAX,
    };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.chunk_count == 0
    }
}

/// The hints of a chunk that was taken out of its chain.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    hints: [Hint; CHUNK_HINT_COUNT],
    count: usize,
}

impl Taken {
    #[inline]
    pub(super) fn as_slice(&self) -> &[Hint] {
        &self.hints[..self.count]
    }
}

/// All chunks of one wheel, and how many hints are in them.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    chunks: Pages<Chunk, PAGE_COUNT>,
    first_free: u32,
    /// No chunk from here on was used yet.
    fresh: u32,
    hint_count: usize,
}

/// Where a sweep of a chain stands: behind this chunk, or before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor(u32);

impl Cursor {
    pub(super) const START: Cursor = Cursor(NONE);
}

impl Chunks {
    pub(super) const fn new() -> Chunks {
        Chunks { chunks: Pages::new(), first_free: NONE, fresh: 0, hint_count: 0 }
    }

    #[inline]
    pub(super) fn hint_count(&self) -> usize {
        self.hint_count
    }

    /// Appends a hint if the last chunk has room.
    #[inline(always)]
    pub(super) fn append(&mut self, chain: &mut Chain, hint: Hint) -> bool {
        if CHUNK_HINT_COUNT <= chain.last_count as usize {
            return false;
        }
        self.chunks.at_mut(chain.last).hints[chain.last_count as usize] = hint;
        chain.last_count += 1;
        self.hint_count += 1;
        true
    }

    /// Appends a hint.
    pub(super) fn push(&mut self, chain: &mut Chain, hint: Hint) {
        if !self.append(chain, hint) {
            self.append_chunk(chain, hint);
        }
    }

    /// Appends a chunk with a hint.
    pub(super) fn append_chunk(&mut self, chain: &mut Chain, hint: Hint) {
        let index = self.allocate();
        if chain.is_empty() {
            chain.first = index;
        } else {
            let last = self.chunks.at_mut(chain.last);
            last.next = index;
            last.count = CHUNK_HINT_COUNT as u32;
        }
        chain.last = index;
        chain.last_count = 0;
        chain.chunk_count += 1;
        let has_room = self.append(chain, hint);
        assert!(has_room, "a new chunk has room");
    }

    fn allocate(&mut self) -> u32 {
        let index = self.first_free;
        if index != NONE {
            self.first_free = core::mem::replace(&mut self.chunks.at_mut(index).next, NONE);
            return index;
        }
        if self.fresh as usize == self.chunks.len() {
            self.chunks.grow(|| Chunk::EMPTY);
        }
        // There are fewer chunks than a u32 can name: each holds a hint, and of these there are few for each record.
        self.fresh += 1;
        self.fresh - 1
    }

    fn free(&mut self, index: u32) {
        self.chunks.at_mut(index).next = self.first_free;
        self.first_free = index;
    }

    /// How many hints a chunk of a chain has.
    fn count(&self, chain: &Chain, index: u32) -> usize {
        let count = if index == chain.last { chain.last_count } else { self.chunks.at(index).count };
        count as usize
    }

    /// Takes out the first chunk of a chain that is not empty.
    #[inline]
    pub(super) fn take_first(&mut self, chain: &mut Chain) -> Taken {
        let index = chain.first;
        let count = self.count(chain, index);
        let chunk = self.chunks.at_mut(index);
        let taken = Taken { hints: chunk.hints, count };
        let next = core::mem::replace(&mut chunk.next, self.first_free);
        self.first_free = index;
        self.hint_count -= count;
        if index == chain.last {
            *chain = Chain::EMPTY;
        } else {
            chain.first = next;
            chain.chunk_count -= 1;
        }
        taken
    }

    /// Sweeps chunks behind the cursor: keeps the hints that are wanted, in order, filling up the chunk before. Returns the
    /// cursor for the next one, or `None` at the end, and takes what it swept off the count.
    pub(super) fn sweep(
        &mut self,
        chain: &mut Chain,
        mut cursor: Cursor,
        chunk_count: &mut usize,
        is_wanted: impl Fn(Hint) -> bool,
    ) -> Option<Cursor> {
        while !chain.is_empty() && cursor.0 != chain.last {
            if *chunk_count == 0 {
                return Some(cursor);
            }
            *chunk_count -= 1;
            cursor = self.sweep_chunk(chain, cursor, &is_wanted);
        }
        None
    }

    #[inline(always)]
    fn sweep_chunk(&mut self, chain: &mut Chain, cursor: Cursor, is_wanted: impl Fn(Hint) -> bool) -> Cursor {
        let index = if cursor == Cursor::START { chain.first } else { self.chunks.at(cursor.0).next };
        let count = self.count(chain, index);
        let hints = &self.chunks.at(index).hints;
        let mut kept = [Hint::NONE; CHUNK_HINT_COUNT + 1];
        let mut kept_count = 0;
        for hint in hints.iter().take(count) {
            // Without a branch: whether a hint is dead cannot be foreseen.
            kept[kept_count % kept.len()] = *hint;
            kept_count += usize::from(is_wanted(*hint));
        }
        self.hint_count -= count - kept_count;
        let mut rest = &kept[..kept_count];
        if cursor != Cursor::START {
            rest = self.fill_up(cursor.0, rest);
        }
        if rest.is_empty() {
            self.unlink(chain, cursor, index);
            return cursor;
        }
        let chunk = self.chunks.at_mut(index);
        for (place, hint) in chunk.hints.iter_mut().zip(rest) {
            *place = *hint;
        }
        chunk.count = rest.len() as u32;
        if index == chain.last {
            chain.last_count = rest.len() as u32;
        }
        Cursor(index)
    }

    /// Appends to a chunk what it has room for, and returns the rest.
    fn fill_up<'h>(&mut self, index: u32, hints: &'h [Hint]) -> &'h [Hint] {
        let chunk = self.chunks.at_mut(index);
        let room = chunk.hints.iter_mut().skip(chunk.count as usize);
        let moved_count = room.zip(hints).map(|(place, hint)| *place = *hint).count();
        chunk.count += moved_count as u32;
        &hints[moved_count..]
    }

    fn unlink(&mut self, chain: &mut Chain, cursor: Cursor, index: u32) {
        let next = self.chunks.at(index).next;
        let is_last = index == chain.last;
        self.free(index);
        match (cursor == Cursor::START, is_last) {
            (true, true) => *chain = Chain::EMPTY,
            (true, false) => {
                chain.first = next;
                chain.chunk_count -= 1;
            }
            (false, _) => {
                let before = self.chunks.at_mut(cursor.0);
                before.next = next;
                chain.chunk_count -= 1;
                if is_last {
                    before.next = NONE;
                    chain.last = cursor.0;
                    chain.last_count = before.count;
                }
            }
        }
    }

    /// Copies what is wanted of a chain of other chunks.
    pub(super) fn copy(&mut self, from: &Chunks, chain: &Chain, is_wanted: impl Fn(Hint) -> bool) -> Chain {
        let mut copy = Chain::EMPTY;
        for hint in from.iter(chain).filter(|hint| is_wanted(*hint)) {
            self.push(&mut copy, hint);
            copy.earliest = chain.earliest;
        }
        copy
    }

    /// The hints of a chain, in order.
    pub(super) fn iter(&self, chain: &Chain) -> impl Iterator<Item = Hint> {
        let mut index = chain.first;
        let chunks = core::iter::from_fn(move || {
            let chunk = (index != NONE).then(|| self.chunks.at(index))?;
            let hints = &chunk.hints[..self.count(chain, index)];
            index = if index == chain.last { NONE } else { chunk.next };
            Some(hints)
        });
        chunks.flatten().copied()
    }

    /// Walks a chain and returns how many hints it has.
    pub(super) fn check(&self, chain: &Chain) -> usize {
        let (mut index, mut last, mut chunk_count, mut hint_count) = (chain.first, NONE, 0, 0);
        while index != NONE {
            let count = self.count(chain, index);
            assert!(0 < count, "no chunk of a chain is empty");
            assert!(count <= CHUNK_HINT_COUNT, "a chunk holds what it can hold");
            hint_count += count;
            chunk_count += 1;
            assert!(chunk_count <= self.fresh, "a chain ends");
            last = index;
            index = if index == chain.last { NONE } else { self.chunks.at(index).next };
        }
        assert_eq!(chain.last, last, "a chain knows its last chunk");
        assert_eq!(chain.chunk_count, chunk_count, "a chain knows its length");
        assert!(!chain.is_empty() || chain.earliest == Tick::MAX, "what is empty has no earliest hint");
        hint_count
    }
}

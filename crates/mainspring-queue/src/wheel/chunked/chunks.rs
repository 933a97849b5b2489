//! Slots as chains of chunks of hints.
//!
//! ```text
//!   chain   first --> [ h h h .. h | 31 ] --> [ h h h h | 9 ] --> [ h h ] <-- end: the last, with 2 of 31 taken
//!                      256 bytes, four lines
//!   chain   h          a lone hint lies in the chain itself
//! ```
//!
//! Hints are appended to the last chunk and read in order; a chunk that was swept may be partly full, and no
//! chunk of a chain is empty. Freed chunks are used again, last freed first.
//!
//! Cost: append O(1): one line that is warm if the slot is; reading streams. Memory: 8.3 bytes a hint, and up
//! to a chunk for each slot in use.
//!
//! It does not know what a hint means.

use super::records::Hint;
use crate::table::Table;
use crate::tick::Tick;

/// With the link, four lines of 64 bytes: with two, a timer costs 5 % more and takes 2 bytes more; with
/// eight, ticks move crowds that take 200 us.
pub(super) const CHUNK_HINT_COUNT: usize = 31;

/// Stands for "no chunk".
const NONE: u32 = u32::MAX;

/// Stands for "no chunk, but a lone hint".
const LONE: u32 = u32::MAX - 1;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Chunk {
    hints: [Hint; CHUNK_HINT_COUNT],
    next: u32,
    /// How many hints it has, unless it is the last of its chain.
    count: u32,
}

const _: () = assert!(size_of::<Chunk>() == 256);

impl Chunk {
    const EMPTY: Chunk = Chunk { next: NONE, count: 0, hints: [Hint::NONE; CHUNK_HINT_COUNT] };
}

/// A slot.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The first chunk; [`NONE`] if there is no hint, [`LONE`] if there is only `lone`.
    first: u32,
    /// How long the chain is; 0 for a lone hint.
    pub(super) chunk_count: u32,
    end: End,
    /// Not later than the earliest tick of a hint in it.
    pub(super) earliest: Tick,
    /// The only hint, for which a sparse wheel takes no chunk.
    lone: Hint,
}

const _: () = assert!(size_of::<Chain>() == 32);

impl Chain {
    pub(super) const EMPTY: Chain = Chain {
        first: NONE,
        end: End::new(NONE, CHUNK_HINT_COUNT as u32),
        chunk_count: 0,
        earliest: Tick::MAX,
        lone: Hint::NONE,
    };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    #[inline]
    fn is_lone(&self) -> bool {
        self.first == LONE
    }

    fn last(&self) -> u32 {
        self.end.chunk()
    }
}

/// The last chunk of a chain and how many hints it has, in one word: what an append reads and writes. A full
/// chunk that is none if there is none.
#[derive(Clone, Copy, Debug)]
struct End(u64);

const COUNT_BITS: u32 = 5;
const _: () = assert!(CHUNK_HINT_COUNT < 1 << COUNT_BITS);

impl End {
    const fn new(chunk: u32, count: u32) -> End {
        End((chunk as u64) << COUNT_BITS | count as u64)
    }

    #[inline]
    fn chunk(self) -> u32 {
        (self.0 >> COUNT_BITS) as u32
    }

    #[inline]
    fn count(self) -> usize {
        (self.0 % (1 << COUNT_BITS)) as usize
    }
}

/// The hints of a chunk that was taken out of its chain.
#[derive(Clone, Debug)]
pub(super) struct TakenChunk {
    /// Where a sweep stands that stands behind this chunk: before the first, now.
    pub(super) cursor: Cursor,
    hints: [Hint; CHUNK_HINT_COUNT],
    count: usize,
}

impl TakenChunk {
    #[inline]
    pub(super) fn as_slice(&self) -> &[Hint] {
        &self.hints[..self.count]
    }
}

/// All chunks of one wheel.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    chunks: Table<Chunk>,
    first_free: u32,
    /// How many are in chains, with the lone hints, each of which stands for one.
    used_count: u32,
    /// How many of these are lone hints.
    lone_count: u32,
}

/// Where a sweep of a chain stands: behind this chunk, or before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor(u32);

impl Cursor {
    pub(super) const START: Cursor = Cursor(NONE);
}

impl Chunks {
    pub(super) const fn new() -> Chunks {
        Chunks { chunks: Table::new(), first_free: NONE, used_count: 0, lone_count: 0 }
    }

    /// How many chunks are in chains. A lone hint counts as one.
    #[inline]
    pub(super) fn used_count(&self) -> usize {
        self.used_count as usize
    }

    /// How many chunks there are, in chains or free.
    pub(super) fn len(&self) -> usize {
        self.chunks.len() as usize
    }

    /// For how many hints there is room in chains.
    pub(super) fn hint_count(&self) -> usize {
        (self.used_count - self.lone_count) as usize * CHUNK_HINT_COUNT + self.lone_count as usize
    }

    /// Appends a hint if the last chunk has room.
    #[inline(always)]
    pub(super) fn append(&mut self, chain: &mut Chain, hint: Hint) -> bool {
        let count = chain.end.count();
        if CHUNK_HINT_COUNT <= count {
            return false;
        }
        self.chunks.at_mut(chain.end.chunk()).hints[count] = hint;
        chain.end.0 += 1;
        true
    }

    /// Appends a hint, and tells whether that took a chunk behind another.
    pub(super) fn push(&mut self, chain: &mut Chain, hint: Hint) -> bool {
        !self.append(chain, hint) && self.append_chunk(chain, hint)
    }

    /// Appends a hint that the last chunk has no room for, and tells whether that took a chunk behind
    /// another: the first hint of a chain needs none, and the second takes the first chunk.
    pub(super) fn append_chunk(&mut self, chain: &mut Chain, hint: Hint) -> bool {
        if chain.is_empty() {
            (chain.first, chain.lone) = (LONE, hint);
            self.used_count += 1;
            self.lone_count += 1;
            return false;
        }
        let index = self.allocate();
        let before = core::mem::replace(&mut chain.end, End::new(index, 0)).chunk();
        let is_behind = !chain.is_lone();
        if is_behind {
            let last = self.chunks.at_mut(before);
            last.next = index;
            last.count = CHUNK_HINT_COUNT as u32;
        } else {
            chain.first = index;
            self.used_count -= 1;
            self.lone_count -= 1;
            self.append(chain, chain.lone);
        }
        chain.chunk_count += 1;
        let has_room = self.append(chain, hint);
        assert!(has_room, "a new chunk has room");
        is_behind
    }

    fn allocate(&mut self) -> u32 {
        self.used_count += 1;
        let index = self.first_free;
        if index != NONE {
            self.first_free = core::mem::replace(&mut self.chunks.at_mut(index).next, NONE);
            // The next to be allocated: its link must be read then.
            self.chunks.prefetch(self.first_free);
            return index;
        }
        // There are fewer chunks than a u32 can name: each holds a hint, and of these there are few for each
        // record.
        self.chunks.push(Chunk::EMPTY);
        self.chunks.len() - 1
    }

    fn free(&mut self, index: u32) {
        self.used_count -= 1;
        self.chunks.at_mut(index).next = self.first_free;
        self.first_free = index;
    }

    /// How many hints a chunk of a chain has.
    fn count(&self, chain: &Chain, index: u32) -> usize {
        if index == chain.last() { chain.end.count() } else { self.chunks.at(index).count as usize }
    }

    /// Takes out a lone hint: the chain is empty then.
    #[inline]
    pub(super) fn take_lone(&mut self, chain: &mut Chain) -> Option<Hint> {
        if !chain.is_lone() {
            return None;
        }
        self.used_count -= 1;
        self.lone_count -= 1;
        Some(core::mem::replace(chain, Chain::EMPTY).lone)
    }

    /// Takes out the first chunk of a chain that is not empty.
    #[inline]
    pub(super) fn take_first(&mut self, chain: &mut Chain) -> TakenChunk {
        if let Some(hint) = self.take_lone(chain) {
            let mut taken =
                TakenChunk { cursor: Cursor::START, hints: [Hint::NONE; CHUNK_HINT_COUNT], count: 1 };
            taken.hints[0] = hint;
            return taken;
        }
        let index = chain.first;
        let count = self.count(chain, index);
        let chunk = self.chunks.at_mut(index);
        let taken = TakenChunk { cursor: Cursor(index), hints: chunk.hints, count };
        let next = core::mem::replace(&mut chunk.next, self.first_free);
        self.first_free = index;
        self.used_count -= 1;
        if index == chain.last() {
            *chain = Chain::EMPTY;
        } else {
            chain.first = next;
            chain.chunk_count -= 1;
            // It is the next to be taken.
            self.chunks.prefetch(next);
        }
        taken
    }

    /// Sweeps chunks behind the cursor, but not the last: keeps the hints that are wanted, in order, filling
    /// up the chunk before. Returns the cursor for the next one, or `None` at the end, and takes what it
    /// swept off the count of chunks to sweep.
    pub(super) fn sweep(
        &mut self,
        chain: &mut Chain,
        mut cursor: Cursor,
        chunk_count: &mut usize,
        is_wanted: impl Fn(Hint) -> bool,
    ) -> Option<Cursor> {
        if chain.is_lone() {
            return None;
        }
        loop {
            let index = if cursor == Cursor::START { chain.first } else { self.chunks.at(cursor.0).next };
            if index == chain.last() || index == NONE {
                self.merge_last(chain, cursor);
                return None;
            }
            if *chunk_count == 0 {
                return Some(cursor);
            }
            *chunk_count -= 1;
            cursor = self.sweep_chunk(chain, cursor, index, &is_wanted);
        }
    }

    /// Shows the hints of a chain's chunk with a number, and asks for the memory of the one behind it. Those
    /// before should be in cache by now.
    #[inline]
    pub(super) fn look_at(&self, chain: &Chain, number: u32, mut show: impl FnMut(Hint)) {
        if chain.is_lone() {
            return show(chain.lone);
        }
        let mut index = chain.first;
        for _ in 0..number {
            if index == chain.last() {
                return;
            }
            index = self.chunks.at(index).next;
        }
        self.show(chain, index, show);
    }

    /// The same for so many chunks that a sweep will come to next.
    pub(super) fn look_behind(
        &self,
        chain: &Chain,
        cursor: Cursor,
        chunk_count: usize,
        mut show: impl FnMut(Hint),
    ) {
        if cursor == Cursor::START {
            return;
        }
        let mut index = cursor.0;
        for _ in 0..chunk_count {
            if index == chain.last() {
                return;
            }
            index = self.chunks.at(index).next;
            self.show(chain, index, &mut show);
        }
    }

    #[inline]
    fn show(&self, chain: &Chain, index: u32, show: impl FnMut(Hint)) {
        let count = self.count(chain, index);
        let chunk = self.chunks.at(index);
        chunk.hints[..count].iter().copied().for_each(show);
        if index != chain.last() {
            self.chunks.prefetch(chunk.next);
        }
    }

    /// Asks for the memory of a chain's first chunk.
    #[inline]
    pub(super) fn prefetch_first(&self, chain: &Chain) {
        if !chain.is_lone() {
            self.chunks.prefetch(chain.first);
        }
    }

    #[inline(always)]
    fn sweep_chunk(
        &mut self,
        chain: &mut Chain,
        cursor: Cursor,
        index: u32,
        is_wanted: impl Fn(Hint) -> bool,
    ) -> Cursor {
        let chunk = self.chunks.at(index);
        let mut hints = [Hint::NONE; CHUNK_HINT_COUNT + 1];
        let mut kept_count = 0;
        for hint in &chunk.hints[..chunk.count as usize] {
            // Without a branch: whether a hint is dead cannot be foreseen.
            hints[kept_count % hints.len()] = *hint;
            kept_count += usize::from(is_wanted(*hint));
        }
        let mut rest = &hints[..kept_count];
        if cursor != Cursor::START {
            rest = self.fill_up(cursor.0, rest);
        }
        if rest.is_empty() {
            self.unlink(chain, cursor, index);
            return cursor;
        }
        let chunk = self.chunks.at_mut(index);
        for (slot, hint) in chunk.hints.iter_mut().zip(rest) {
            *slot = *hint;
        }
        chunk.count = rest.len() as u32;
        Cursor(index)
    }

    /// Makes one chunk of a chain's last and the one before it, behind which the cursor is, if they fit into
    /// one: else a slot with few timers would keep a chunk for those that a sweep has left and another for
    /// those that came after.
    fn merge_last(&mut self, chain: &mut Chain, cursor: Cursor) {
        let (last, last_count) = (chain.last(), chain.end.count());
        if cursor == Cursor::START {
            return;
        }
        let count = self.chunks.at(cursor.0).count as usize + last_count;
        if CHUNK_HINT_COUNT < count {
            return;
        }
        let hints = self.chunks.at(last).hints;
        let rest = self.fill_up(cursor.0, &hints[..last_count]);
        assert!(rest.is_empty(), "what fits is moved");
        self.free(last);
        chain.end = End::new(cursor.0, count as u32);
        chain.chunk_count -= 1;
    }

    /// Appends to a chunk what it has room for, and returns the rest.
    fn fill_up<'h>(&mut self, index: u32, hints: &'h [Hint]) -> &'h [Hint] {
        let chunk = self.chunks.at_mut(index);
        let room = chunk.hints.iter_mut().skip(chunk.count as usize);
        let moved_count = room.zip(hints).map(|(slot, hint)| *slot = *hint).count();
        chunk.count += moved_count as u32;
        &hints[moved_count..]
    }

    /// Takes a chunk that is not the last out of its chain.
    fn unlink(&mut self, chain: &mut Chain, cursor: Cursor, index: u32) {
        let next = self.chunks.at(index).next;
        self.free(index);
        chain.chunk_count -= 1;
        if cursor == Cursor::START {
            chain.first = next;
        } else {
            self.chunks.at_mut(cursor.0).next = next;
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
        let lone = chain.is_lone().then_some(chain.lone);
        let mut index = if chain.is_lone() { NONE } else { chain.first };
        let chunks = core::iter::from_fn(move || {
            let chunk = (index != NONE).then(|| self.chunks.at(index))?;
            let hints = &chunk.hints[..self.count(chain, index)];
            index = if index == chain.last() { NONE } else { chunk.next };
            Some(hints)
        });
        lone.into_iter().chain(chunks.flatten().copied())
    }

    /// Walks a chain and returns how many chunks it has; a lone hint counts as one.
    pub(super) fn check(&self, chain: &Chain) -> usize {
        if chain.is_lone() {
            assert_eq!(chain.chunk_count, 0, "a lone hint has no chunk");
            assert_eq!(chain.end.count(), CHUNK_HINT_COUNT, "what has no chunk has no room");
            return 1;
        }
        let (mut index, mut last, mut chunk_count) = (chain.first, NONE, 0);
        while index != NONE {
            let count = self.count(chain, index);
            assert!(0 < count, "no chunk of a chain is empty");
            assert!(count <= CHUNK_HINT_COUNT, "a chunk holds what it can hold");
            chunk_count += 1;
            assert!(chunk_count <= self.chunks.len(), "a chain ends");
            last = index;
            index = if index == chain.last() { NONE } else { self.chunks.at(index).next };
        }
        assert_eq!(chain.last(), last, "a chain knows its last chunk");
        assert_eq!(chain.chunk_count, chunk_count, "a chain knows its length");
        assert!(!chain.is_empty() || chain.earliest == Tick::MAX, "what is empty has no earliest hint");
        chunk_count as usize
    }
}

//! The sweep of dead hints: its position, the speed that it needs, and the reason that memory is bounded.
//!
//! ```text
//!   round:  due -> slot 0 of level 0 -> .. -> slot 511 of the highest level -> the next round
//!                       ^ index, cursor: what lies before has been swept in this round
//! ```
//!
//! A cancelled timer leaves its hint behind. While hints outnumber the live timers [`HINTS_PER_TIMER_MAX`]
//! times, every chunk that is added to a chain sweeps up to [`SWEPT_CHUNK_COUNT_MAX`] others, going round all
//! slots: the work of a step is bounded, and so is the memory. A program that only cancels sweeps nothing:
//! memory grows with what is added alone. A slot's last chunk is left alone: it has the youngest hints, few
//! of which are dead, and may have to take more.
//!
//! **Why the bound holds**, whatever is scheduled, cancelled and reset, and however time moves. The last
//! chunk of each slot is not counted. Let there be N others, too many by the rule above, and at most L live
//! timers at any time.
//!
//! 1. A chunk that is added behind another is always paid for: `append_chunk` and `push_due` are the only
//!    ways into a chain, for new timers, for resets and for what time moves alike. So while `a` chunks are
//!    added, `8 a` are swept.
//! 2. The sweep never starts over. A chunk that is taken out of a chain is its first: the sweep stands behind
//!    it (then it stands before the first now, and has lost nothing), or has not come to it, or has left it
//!    far behind. A slot that becomes due as a whole takes the sweep's place along (`slot_is_due`). All else
//!    that moves is taken out chunk by chunk, and the chunks that it fills are added chunks.
//! 3. So a round comes to each chunk at most once, and ends when `8 a = N + a`: at most N / 7 chunks are
//!    added in it.
//! 4. What there is after a round: of the N chunks what was alive when the round came by, filled up to L / 31
//!    chunks and one more for each slot; and the N / 7 that were added.
//!
//! A round that begins with too many hints ends with a seventh of them and the living. The limit may be
//! passed in the middle of a round, which can end without a gain: then there are 8/7 of the limit, and during
//! the next round 8/7 of that. So there are never more than 64/49 of the limit, 5.3 hints for each timer:
//! [`hint_count_max`].
//!
//! Hints that came late wait in a queue of their own, which is swept as a whole when it has come to the same
//! limit.
//!
//! Cost: about one look at a record per cancelled timer; at most 248 with a chunk that is added. It drops
//! nothing that is alive.
//!
//! Source: Go's timers are swept when a quarter is dead, all at once (`clearDeletedTimers`, Go 1.14).

use core::cmp::Ordering;
use core::mem::replace;

use super::batch::BATCH_HINT_COUNT;
use super::chunks::{CHUNK_HINT_COUNT, Chain, Chunks, Cursor};
use super::records::Records;
use super::rings::Rings;

/// How many hints there may be for each live timer before the dead ones are swept.
const HINTS_PER_TIMER_MAX: usize = 4;
/// As many more may always be there: a few kilobytes, so that small crowds are not swept all the time.
const HINT_SLACK_COUNT: usize = 1_024;
/// How many chunks are swept for each that is added, at most: it stops where there are no longer too many
/// hints, most often after one or two. With two or less no bound can be shown; with eight it is 1.31 times
/// the limit, for 10 us of work at worst.
const SWEPT_CHUNK_COUNT_MAX: usize = 8;
/// After so many it looks whether there are still too many.
const SWEPT_AT_ONCE_COUNT: usize = 2;
const _: () = assert!(SWEPT_CHUNK_COUNT_MAX.is_multiple_of(SWEPT_AT_ONCE_COUNT));

/// The parts of a wheel that a sweep works on.
pub(super) struct SweepParts<'a, T> {
    pub(super) records: &'a Records<T>,
    pub(super) chunks: &'a mut Chunks,
    pub(super) rings: &'a mut Rings,
    /// What is due.
    pub(super) due: &'a mut Chain,
}

impl<T> SweepParts<'_, T> {
    fn has_too_many_hints(&self) -> bool {
        let chunk_count = self.chunks.used_count() - self.rings.occupied_count();
        exceeds(chunk_count * CHUNK_HINT_COUNT, self.records.len() as usize)
    }
}

/// What the sweep has done of this round.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    /// Where it stands in what is due; `None` if it is through with that.
    due: Option<Cursor>,
    /// It is through with the slots before this index, and stands in this one.
    index: usize,
    cursor: Cursor,
}

impl Sweep {
    /// The beginning of a round.
    pub(super) const START: Sweep = Sweep { due: Some(Cursor::START), index: 0, cursor: Cursor::START };

    /// Hears that the first chunk of a chain was taken out, by the cursor behind it. A sweep that stands
    /// there stands before the chunk that is the first now.
    #[inline]
    pub(super) fn forget(&mut self, taken: Cursor) {
        if self.cursor == taken {
            self.cursor = Cursor::START;
        }
        if self.due == Some(taken) {
            self.due = Some(Cursor::START);
        }
    }

    /// Hears that the chain of a slot is what is due from now on, where nothing was.
    #[inline]
    pub(super) fn slot_is_due(&mut self, index: usize) {
        self.due = match index.cmp(&self.index) {
            Ordering::Less => None,
            Ordering::Equal => Some(replace(&mut self.cursor, Cursor::START)),
            Ordering::Greater => Some(Cursor::START),
        };
    }

    /// Hears that a slot was taken apart, and that no hint in it is dead. A sweep that stands there continues
    /// behind it.
    pub(super) fn slot_is_clean(&mut self, index: usize) {
        if self.index == index {
            (self.index, self.cursor) = (index + 1, Cursor::START);
        }
    }

    /// Drops dead hints if there are too many. To be called for each chunk that is added to a chain.
    pub(super) fn run<T>(&mut self, parts: &mut SweepParts<'_, T>) {
        let mut swept_count = 0;
        while parts.has_too_many_hints() && swept_count < SWEPT_CHUNK_COUNT_MAX {
            let mut chunk_count = SWEPT_AT_ONCE_COUNT;
            while 0 < chunk_count {
                self.sweep_chain(parts, &mut chunk_count);
            }
            swept_count += SWEPT_AT_ONCE_COUNT;
        }
    }

    /// Sweeps what is due or a slot, and continues to the next if that is done.
    fn sweep_chain<T>(&mut self, parts: &mut SweepParts<'_, T>, chunk_count: &mut usize) {
        let SweepParts { records, chunks, rings, due } = parts;
        let is_wanted = |hint| records.is_current(hint);
        if let Some(cursor) = self.due {
            self.due = chunks.sweep(due, cursor, chunk_count, is_wanted);
            return;
        }
        let Some(found) = rings.occupied_from(self.index) else {
            // A round ends here, whatever is left to do: there may be nothing but dead hints in the batch.
            *chunk_count = 0;
            *self = Sweep::START;
            return;
        };
        let cursor = if found == self.index { self.cursor } else { Cursor::START };
        let chain = rings.chain_mut(Rings::slot_of(found));
        let next = chunks.sweep(chain, cursor, chunk_count, is_wanted);
        if let Some(cursor) = next {
            (self.index, self.cursor) = (found, cursor);
            let chain = rings.chain(Rings::slot_of(found));
            chunks.look_behind(chain, cursor, SWEPT_AT_ONCE_COUNT, |hint| records.prefetch(hint));
        } else {
            (self.index, self.cursor) = (found + 1, Cursor::START);
        }
    }
}

/// Whether so many hints are too many.
pub(super) fn exceeds(hint_count: usize, live_count: usize) -> bool {
    HINTS_PER_TIMER_MAX * live_count + HINT_SLACK_COUNT < hint_count
}

/// The bound of all hints, with the free places of their chunks. See the [module](self).
pub(super) fn hint_count_max(timer_count_max: usize, slot_count: usize) -> usize {
    let limit = HINTS_PER_TIMER_MAX * timer_count_max + HINT_SLACK_COUNT;
    // The last of each chain does not count, and the one before it may be almost empty.
    let exempt = 2 * (slot_count + 1) * CHUNK_HINT_COUNT;
    let in_chunks = (limit + exempt) * 64 / 49;
    in_chunks + limit + BATCH_HINT_COUNT
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::queue::TimerQueue;
    use crate::tick::Tick;
    use crate::wheel::Chunked;

    /// As many hints at most are in a wheel, those in the last chunks of its slots not counted.
    fn hint_count<T>(wheel: &Chunked<T>) -> usize {
        let chunk_count = wheel.chunks.used_count() - wheel.rings.occupied_count();
        chunk_count * CHUNK_HINT_COUNT + wheel.late.len()
    }

    /// Schedules and cancels at random distances, and returns the most hints there ever were.
    fn hint_count_max(live_count: u64, distance: impl Fn(u64) -> u64) -> usize {
        let mut wheel = Chunked::new();
        let mut draw = 88_172_645_463_325_252_u64;
        let mut ids: Vec<_> = (0..live_count)
            .map(|number| wheel.schedule(Tick::new(distance(number)), ()).expect("there is room"))
            .collect();
        let mut most = 0;
        for number in 0..live_count * 40 {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            let victim = (draw % live_count) as usize;
            let id = wheel.schedule(Tick::new(distance(draw >> 20)), ()).expect("there is room");
            let old = replace(&mut ids[victim], id);
            assert_eq!(wheel.cancel(old), Some(()), "step {number}");
            most = most.max(hint_count(&wheel));
        }
        wheel.check();
        most
    }

    #[test]
    fn dead_hints_stay_in_proportion_to_the_living() {
        // Sweeping continues while a round is under way: half as many again may die meanwhile.
        let bound = (HINTS_PER_TIMER_MAX + 2) * 5_000 + HINT_SLACK_COUNT;
        assert!(hint_count_max(5_000, |draw| 1 + draw % 60_000) < bound);
        assert!(hint_count_max(5_000, |_| 30_000) < bound);
        assert!(hint_count_max(5_000, |draw| 1 << (draw % 60)) < bound);
        assert!(hint_count_max(5_000, |_| 0) < bound, "what is due at once is swept as well");
    }

    #[test]
    fn resets_to_and_fro_leave_no_more() {
        let mut wheel = Chunked::new();
        let ids: Vec<_> =
            (0..1_000).map(|_| wheel.schedule(Tick::new(50_000), ()).expect("there is room")).collect();
        for round in 0..200 {
            for id in &ids {
                let deadline = if round % 2 == 0 { 10_000 - round } else { 90_000 };
                wheel.reset(*id, Tick::new(deadline)).expect("it is pending");
            }
        }
        wheel.check();
        assert!(hint_count(&wheel) < (HINTS_PER_TIMER_MAX + 2) * 1_000 + HINT_SLACK_COUNT);
    }
}

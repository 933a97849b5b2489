//! Where the sweep of dead hints stands, and how fast it must be.
//!
//! A cancelled timer leaves its hint behind. When hints outnumber the live timers [`HINTS_PER_TIMER_MAX`] times, every
//! sixteenth change sweeps a few chunks, going round all slots: the work of a step is bounded, and so is the memory.
//!
//! Cost: about one look at a record per cancelled timer. It drops nothing that is alive.
//!
//! Source: Go's timers are swept when a quarter is dead, all at once (`clearDeletedTimers`, Go 1.14).

use super::Chunked;
use super::chunks::{Chunks, Cursor};
use super::rings::Rings;

/// How many hints there may be for each live timer before the dead ones are swept.
const HINTS_PER_TIMER_MAX: usize = 4;
/// As many more may always be there: a few kilobytes, so that small crowds are not swept all the time.
const HINT_SLACK_COUNT: usize = 1_024;
/// After how many dead hints the balance is looked at.
const CHANGES_PER_LOOK: u32 = 32;
/// How many chunks are swept at a look. One would keep up with sixteen new dead hints where most of what it finds is
/// dead; two do so anyhow.
const CHUNKS_PER_LOOK: usize = 4;

/// Which chain is being swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// What is due.
    Due,
    /// The slots from this index on.
    Slots(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Sweep {
    pub(super) stage: Stage,
    pub(super) cursor: Cursor,
    changes_left: u32,
}

impl Sweep {
    pub(super) const fn new() -> Sweep {
        Sweep { stage: Stage::Due, cursor: Cursor::START, changes_left: CHANGES_PER_LOOK }
    }

    /// Counts a hint that died, and tells whether it is time for a look.
    #[inline]
    pub(super) fn is_look_due(&mut self) -> bool {
        self.changes_left -= 1;
        let is_due = self.changes_left == 0;
        if is_due {
            self.changes_left = CHANGES_PER_LOOK;
        }
        is_due
    }

    /// How many chunks must be swept now.
    pub(super) fn chunk_count(chunks: &Chunks, live_count: usize) -> usize {
        if exceeds(chunks.hint_count(), live_count) { CHUNKS_PER_LOOK } else { 0 }
    }

    /// Starts a chain over that has changed behind the sweep's back.
    #[inline]
    pub(super) fn forget(&mut self, stage: Stage) {
        if self.stage == stage {
            self.cursor = Cursor::START;
        }
    }

    /// Goes on to another chain.
    pub(super) fn go_on(&mut self, stage: Stage) {
        self.stage = stage;
        self.cursor = Cursor::START;
    }
}

/// Whether so many hints are too many.
pub(super) fn exceeds(hint_count: usize, live_count: usize) -> bool {
    HINTS_PER_TIMER_MAX * live_count + HINT_SLACK_COUNT < hint_count
}

impl<T> Chunked<T> {
    /// Counts a hint that died, and sweeps if there are too many.
    #[inline(always)]
    pub(super) fn bury(&mut self) {
        if self.sweep.is_look_due() {
            self.sweep();
        }
    }

    #[cold]
    fn sweep(&mut self) {
        let live_count = self.records.len() as usize;
        let mut chunk_count = Sweep::chunk_count(&self.chunks, live_count);
        while 0 < chunk_count {
            self.sweep_chain(&mut chunk_count);
        }
        if exceeds(self.late.len(), live_count) {
            let records = &self.records;
            self.late.retain(|(_, hint)| records.is_current(*hint));
        }
    }

    fn sweep_chain(&mut self, chunk_count: &mut usize) {
        let (records, cursor) = (&self.records, self.sweep.cursor);
        let is_wanted = |hint| records.is_current(hint);
        match self.sweep.stage {
            Stage::Due => match self.chunks.sweep(&mut self.due, cursor, chunk_count, is_wanted) {
                Some(cursor) => self.sweep.cursor = cursor,
                None => self.sweep.go_on(Stage::Slots(0)),
            },
            Stage::Slots(index) => {
                let Some(found) = self.rings.occupied_from(index) else {
                    // A round ends here, whatever is left to do: there may be nothing but dead hints in the batch.
                    *chunk_count = 0;
                    return self.sweep.go_on(Stage::Due);
                };
                let cursor = if found == index { cursor } else { Cursor::START };
                let chain = self.rings.chain_mut(Rings::place_of(found));
                let next = self.chunks.sweep(chain, cursor, chunk_count, is_wanted);
                if chain.is_empty() {
                    self.vacate(found);
                }
                match next {
                    Some(cursor) => (self.sweep.stage, self.sweep.cursor) = (Stage::Slots(found), cursor),
                    None => self.sweep.go_on(Stage::Slots(found + 1)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::queue::TimerQueue;
    use crate::tick::Tick;

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
            let old = core::mem::replace(&mut ids[victim], id);
            assert_eq!(wheel.cancel(old), Some(()), "step {number}");
            most = most.max(wheel.chunks.hint_count() + wheel.late.len());
        }
        wheel.check();
        most
    }

    #[test]
    fn dead_hints_stay_in_proportion_to_the_living() {
        // Sweeping goes on while a round is under way: half as many again may die meanwhile.
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
        assert!(wheel.chunks.hint_count() < (HINTS_PER_TIMER_MAX + 2) * 1_000 + HINT_SLACK_COUNT);
    }
}

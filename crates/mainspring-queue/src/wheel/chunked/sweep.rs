//! Where the sweep of dead hints stands, and how fast it must be.
//!
//! A cancelled timer leaves its hint behind. When hints outnumber the live timers [`HINTS_PER_TIMER_MAX`] times, every chunk
//! that is added sweeps a few, going round all slots: the work of a step is bounded, and so is the memory. Who only cancels
//! sweeps nothing: memory grows with what is added alone. A slot's last chunk is left alone: it has the youngest hints,
//! few of which are dead, and may have to take more.
//!
//! Cost: about one look at a record per cancelled timer. It drops nothing that is alive.
//!
//! Source: Go's timers are swept when a quarter is dead, all at once (`clearDeletedTimers`, Go 1.14).

use super::Chunked;
use super::chunks::{CHUNK_HINT_COUNT, Cursor};
use super::rings::Rings;

/// How many hints there may be for each live timer before the dead ones are swept.
const HINTS_PER_TIMER_MAX: usize = 4;
/// As many more may always be there: a few kilobytes, so that small crowds are not swept all the time.
const HINT_SLACK_COUNT: usize = 1_024;
/// How many chunks are swept for each that is added. One would keep up if all that it finds were dead; of two, half may
/// live.
const CHUNKS_PER_CHUNK: usize = 2;

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
}

impl Sweep {
    pub(super) const fn new() -> Sweep {
        Sweep { stage: Stage::Due, cursor: Cursor::START }
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
    /// Sweeps if there are too many hints. To be called for each chunk that a new hint needed.
    pub(super) fn sweep(&mut self) {
        // A chain's last chunk may have but one hint: such chunks do not count, and are not swept.
        let chunk_count = self.chunks.used_count() - self.rings.occupied_count();
        if !exceeds(chunk_count * CHUNK_HINT_COUNT, self.records.len() as usize) {
            return;
        }
        let mut chunk_count = CHUNKS_PER_CHUNK;
        while 0 < chunk_count {
            self.sweep_chain(&mut chunk_count);
        }
    }

    /// Drops the dead among those that came late if there are too many.
    pub(super) fn sweep_late(&mut self) {
        if exceeds(self.late.len(), self.records.len() as usize) {
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
                match next {
                    Some(cursor) => {
                        (self.sweep.stage, self.sweep.cursor) = (Stage::Slots(found), cursor);
                        let chain = self.rings.chain(Rings::place_of(found));
                        self.chunks.look_behind(chain, cursor, |hint| self.records.prefetch(hint));
                    }
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
            let old = core::mem::replace(&mut ids[victim], id);
            assert_eq!(wheel.cancel(old), Some(()), "step {number}");
            most = most.max(hint_count(&wheel));
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
        assert!(hint_count(&wheel) < (HINTS_PER_TIMER_MAX + 2) * 1_000 + HINT_SLACK_COUNT);
    }
}

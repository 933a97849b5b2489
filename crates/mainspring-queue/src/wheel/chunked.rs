//! The chunked wheel: slots are streams of 8-byte hints, and the timers' records alone say what is true.
//! Mainspring's own.
//!
//! ```text
//!   tick = 8 digits of 8 bits: level l has a ring of 512 slots of 256^l ticks each, this turn and the next
//!
//!   slot     -> [ 31 hints ] -> [ 31 hints ] -> [ 4 ]      hint = record index 32 | version 16 | low bits of the tick 16
//!                    |
//!   records  [ version, generation | deadline | payload ]  half a line of memory each; ids are index and generation
//!
//!   schedule  write a record, append a hint               cancel  empty the record; its hint is dead and stays
//!   reset     later: write the deadline, and the old hint will find it; earlier: a new hint, the old one is dead
//!   advance   slots become due as whole chains; coarse slots are spread over the level below, a part with each step
//! ```
//!
//! A timer waits at the highest digit in which its deadline differs from now, as in all [wheels](super) that
//! cascade. Nothing points from a record to its slot. So a cancel touches one line of memory and no
//! neighbour's; a slot is read as a stream; and what moves down a level knows its tick from its slot and its
//! own low bits, without a look at any record. The price are dead hints: when they outnumber the live timers
//! three times they are swept, a few chunks at a time.
//!
//! **Bounded steps.** A slot that comes next is spread ahead of its time, as large a part with each tick as
//! of the time has passed; that is why a ring has two turns. A due slot is one chain, taken over whole. So a
//! million timers in one slot, or in one minute, are never moved at once; only a jump over the time for which
//! they were being prepared does that, and [`advance_within`](crate::TimerQueue::advance_within) and
//! [`pop_within`](crate::TimerQueue::pop_within) bound that too. No table is ever copied to grow. What is
//! popped after a jump comes out in order: slots are worked off as timers are popped.
//!
//! **Memory that comes in time.** Records and chunks lie in tables of huge pages (`table.rs`). What a step
//! will need is asked for before: chunks three ticks ahead, records two, and what a sweep comes to next.
//!
//! Cost: schedule, cancel, reset O(1), with the sweep amortised; pop O(1) amortised, with each timer moved
//! down at most once a level; advance O(slots that hold timers) and nothing for empty time; `next_wakeup`
//! O(levels), exact, or the tick of a timer that was cancelled or reset: never later, and after one wakeup in
//! vain up to 2,048 such ticks that come next are gone: see `skip.rs`.
//!
//! Memory: 40.5 bytes per timer with a payload of 8, up to 2 MiB more in each of two tables once they have 2
//! MiB; 16 KiB for each level in use, 8 KiB for the first records and chunks. A dead hint takes 8.3 bytes.
//! Whatever is asked of the wheel and however time moves, it has room for at most 5.3 hints (36 bytes more)
//! for each of the most timers that there were at once, and for 1,338 hints, and three chunks (768 bytes) for
//! each slot in use: `sweep.rs` says why. What is scheduled to the past while a budget keeps the work behind
//! waits in a queue of its own: 16 bytes each, swept at 4 for each timer and 1,024.
//!
//! Granularity: one tick. Order: by expiry; equals first in, first out, but a timer that was reset comes
//! anywhere among its equals. So may a timer whose record has changed 65,536 times while a dead hint of it
//! waited: see `records.rs`.
//!
//! It has no horizon, and it does not give memory back by itself: see [`trim`](crate::TimerQueue::trim),
//! which drivers call, and [`compact`](crate::TimerQueue::compact).
//!
//! # What was tried
//! A million timers unless it says otherwise, ns, one core of an AMD EPYC (Zen 4) that other programs shared,
//! November 2026; each row's figures and the row "as it was" beside it come from the same minutes. A random
//! access to a table of a million records costs 20 there; with ids looked up in a second table, checked and
//! written back, 51. BENCHMARKS.md has the comparison with other libraries.
//!
//! | design | churn | churn of 1,000 | first in, first out | reset later | insert / fire | worst tick, us |
//! |---|---|---|---|---|---|---|
//! | as it was | 157 | 14.0 | 13.9 | 52 | 32 / 58 | 80 |
//! | linked lists by index, 64 slots, eager unlinking ([`Bitmap`](super::Bitmap)) | 284 | 17.4 | 15.0 | 169 | 32 / 360 | 11,000 |
//! | rings of 64 (and 128) slots | 153 | 13.5 | 14.1 | 52 | 33 / 76 | 79-140 |
//! | every reset makes a new hint | 155 | 14.0 | 13.8 | 130 | 32 / 58 | 81 |
//! | versions in a table of their own (struct of arrays) | 159 | 14.6 | 14.6 | 43 | 36 / 97 | 88-119 |
//! | records touched when a slot is spread, to have them in cache later | 151 | 13.7 | 13.7 | 46 | 32 / 65 | 82 |
//! | records of 24 bytes, a quarter of them across two lines | 200 | 14.0 | 13.9 | 42 | 28 / 77 | 125 |
//! | one chunk at a time looked at when due, 24 bytes | - | - | - | - | 24 / 68 | 115 |
//! | no sweep at all (memory without bound) | 130 | 22 | - | - | - | - |
//!
//! That was in safe code, with tables of pages, chunks of 15 and counts in every call ("as it was" is of that
//! day). Then, with compilers running beside it:
//!
//! | design | churn | churn of 1,000 | first in, first out | reset later | insert / fire | worst tick, us |
//! |---|---|---|---|---|---|---|
//! | as it is | 146-157 | 10-11 | 7.5 | 46 | 14.5 / 25 | 40-110 |
//! | as it was | 185 | 14 | 14.7 | 46 | 36 / 53 | 75 |
//! | without huge pages | 162-180 | 10-11 | 16 | 47 | 54 / 32 | 40-130 |
//! | without asking for memory ahead | 147-157 | 10-11 | 7.5 | 42 | 14.5 / 48 | 70-170 |
//! | chunks of 15 (and 63) | - | 11 (9.7) | 7.3 | - | 15.3 / 27 (14 / 25) | 45-90 (210) |
//! | memory of chunks asked for past the caches | as it is | - | - | - | - | - |
//!
//! A sparse wheel (W4: a thousand timers in thirty days; ns a fire, lowest of 20 rounds, three runs in turns,
//! a Xeon at 2.5 GHz; a lazy heap takes 54):
//!
//! | design | ns |
//! |---|---|
//! | a lone hint in its chain, no chunk (as it is) | 111.5-112.6 |
//! | a chunk for each | 119.9-121.6 |
//! | the chunk's link and first hints in one line, only that is copied | 137.9-139.1 |
//! | the same, all of it copied | 129.5-133.9 |
//! | slots of one chunk not spread ahead of their time | 122.4-124.3 |
//!
//! The worst single schedule while growing to ten million: 80 to 400 us, which is the kernel's time for fresh
//! memory; 890 us with vectors, when they are moved.
//!
//! What limits it: at a million a pair of schedule and cancel waits for two lines of memory one after the
//! other, an id's and its record's, and its 150 instructions, of which the caller's are 40, let the processor
//! look ahead no further than to the next pair or two.
//!
//! Source: the aligned digits are those of Linux's timer wheel before 4.8 and of W. Ahern's `timeout.c`; lazy
//! deletion with a sweep is Go 1.14's; hints, spreading ahead of time and lazy later resets in a wheel are
//! ours.

mod batch;
mod check;
mod chunks;
mod free;
mod records;
mod rings;
mod skip;
mod steps;
mod sweep;
mod trim;

use alloc::collections::VecDeque;

use self::batch::Batch;
use self::chunks::{Chain, Chunks};
use self::records::{Hint, Records, SlotChange};
use self::rings::{Rings, Slot};
use self::sweep::{Sweep, SweepParts};
use crate::queue::{
    Budget, ExpiredTimer, PopResult, Profile, Reason, RejectedTimer, ResetError, TimerId, TimerQueue,
};
use crate::tick::Tick;

/// The chunked wheel: Mainspring's own. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, wheel::Chunked};
///
/// let mut queue = Chunked::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunked<T> {
    records: Records<T>,
    chunks: Chunks,
    rings: Rings,
    /// The last advance.
    now: Tick,
    /// How far the slots have been worked off: at or before `now`.
    reached: Tick,
    /// Before this tick nothing is to be done, whatever is advanced to: no hint's slot, nor the one before
    /// it, begins earlier.
    quiet_until: Tick,
    /// Nothing is due, and all time up to `now` is worked off: a pop need not look again.
    is_idle: bool,
    /// While that is so: when there is something to do next. No hint in a slot has an earlier tick.
    next: Tick,
    /// A bit per level whose slot around `reached` has still to be spread.
    open: u32,
    /// A deadline up to here may be due or belong behind what is still to be spread: `now` or later, and the
    /// end of time while a slot is open.
    gate: Tick,
    /// What `reached` has reached, in order.
    due: Chain,
    /// What came after its time while `reached` lagged behind: with the time that it came at, which is its
    /// turn.
    late: VecDeque<(Tick, Hint)>,
    /// The first hints of `due`, looked at together.
    batch: Batch,
    sweep: Sweep,
}

/// Whether a round of work came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundEnd {
    /// The first of the batch is due.
    Ready,
    /// Nothing is due.
    Idle,
    /// The budget is used up.
    Paused,
}

impl<T> Chunked<T> {
    /// Makes an empty wheel at tick 0. Allocates nothing.
    pub const fn new() -> Chunked<T> {
        Chunked {
            records: Records::new(),
            chunks: Chunks::new(),
            rings: Rings::new(),
            now: Tick::ZERO,
            reached: Tick::ZERO,
            quiet_until: Tick::ZERO,
            is_idle: true,
            next: Tick::MAX,
            open: 0,
            gate: Tick::ZERO,
            due: Chain::EMPTY,
            late: VecDeque::new(),
            batch: Batch::EMPTY,
            sweep: Sweep::START,
        }
    }

    /// Returns for how many hints there is room in what is in use now: the hints of living timers, dead ones,
    /// and the free places of chunks. 8.3 bytes each. O(1).
    ///
    /// It is at most [`hint_count_max`](Self::hint_count_max).
    pub fn hint_count(&self) -> usize {
        self.chunks.hint_count() + self.late.len() + self.batch.rest().len()
    }

    /// Returns the bound of [`hint_count`](Self::hint_count) for a queue that never held more than
    /// `timer_count_max` timers at once, whatever was asked of it: see the [module](self). O(1).
    pub fn hint_count_max(&self, timer_count_max: usize) -> usize {
        sweep::hint_count_max(timer_count_max, self.rings.occupied_count_max())
    }

    /// Gives a hint its first place. Inlined by force: it is half of what a schedule costs.
    #[inline(always)]
    fn put(&mut self, hint: Hint, deadline: Tick) {
        if deadline <= self.gate {
            self.put_through_gate(hint, deadline);
        } else if !self.append_at(Slot::index_between(self.reached, deadline), hint, deadline) {
            self.append_chunk(Slot::between(self.reached, deadline), hint, deadline);
        }
    }

    #[cold]
    fn put_through_gate(&mut self, hint: Hint, deadline: Tick) {
        if deadline <= self.now {
            self.put_late(hint);
        } else {
            self.put_ahead(hint, deadline);
        }
    }

    /// Puts a hint where time will come by.
    fn put_ahead(&mut self, hint: Hint, tick: Tick) {
        let slot = Slot::between(self.reached, tick);
        let slot = if self.open == 0 { slot } else { self.behind_open(slot, tick) };
        self.append(slot, hint, tick);
    }

    /// A slot that is being spread still takes what belongs to it, so that equals keep their order.
    fn behind_open(&self, slot: Slot, tick: Tick) -> Slot {
        let level = u32::BITS - 1 - self.open.leading_zeros();
        let open = (slot.level + 1..=level).rev().filter(|level| self.open >> level & 1 == 1);
        let mut open = open.map(|level| Slot::of(tick, level));
        open.find(|open| *open == Slot::of(self.reached, open.level)).unwrap_or(slot)
    }

    /// Appends a hint to a slot.
    #[inline(always)]
    fn append(&mut self, slot: Slot, hint: Hint, tick: Tick) {
        if !self.append_at(slot.index(), hint, tick) {
            self.append_chunk(slot, hint, tick);
        }
    }

    /// Appends a hint to the slot with an index, if its last chunk has room.
    #[inline(always)]
    fn append_at(&mut self, index: usize, hint: Hint, tick: Tick) -> bool {
        let Some(chain) = self.rings.find_mut(index) else { return false };
        if !self.chunks.append(chain, hint) {
            return false;
        }
        // It seldom is.
        if tick < chain.earliest {
            chain.earliest = tick;
            self.next = self.next.min(tick);
        }
        true
    }

    #[cold]
    fn append_chunk(&mut self, slot: Slot, hint: Hint, tick: Tick) {
        let chain = self.rings.chain_mut(slot);
        // What is vacant has no earliest tick but the end of time.
        chain.earliest = chain.earliest.min(tick);
        self.next = self.next.min(tick);
        let is_first = chain.is_empty();
        if self.chunks.append_chunk(chain, hint) {
            self.sweep();
        } else if is_first {
            self.rings.occupy(slot);
            self.quiet_until = self.quiet_until.min(slot.before().start());
        }
    }

    /// Drops dead hints if there are too many. To be called for each chunk that is added to a chain.
    fn sweep(&mut self) {
        let Chunked { records, chunks, rings, due, sweep, .. } = self;
        sweep.run(&mut SweepParts { records, chunks, rings, due });
    }

    /// Drops the dead among those that came late if there are too many.
    fn sweep_late(&mut self) {
        let records = &self.records;
        if sweep::exceeds(self.late.len(), records.len() as usize) {
            self.late.retain(|(_, hint)| records.is_current(*hint));
        }
    }

    /// Hands out the next timer that is due.
    #[inline]
    fn pop_next(&mut self) -> Option<ExpiredTimer<T>> {
        loop {
            while let Some(hint) = self.batch.take_first() {
                if let Some(expired) = self.records.take(hint, self.reached) {
                    return Some(expired);
                }
                self.put_again(hint);
            }
            match self.settle(&mut Budget::unlimited()) {
                RoundEnd::Ready => {}
                RoundEnd::Idle => return None,
                RoundEnd::Paused => unreachable!("an unlimited budget is not used up"),
            }
        }
    }

    /// Appends a hint to what is due.
    fn push_due(&mut self, hint: Hint) {
        if self.chunks.push(&mut self.due, hint) {
            self.sweep();
        }
    }

    /// A deadline that has passed is due now, and its turn comes after all that was due before.
    fn put_late(&mut self, hint: Hint) {
        self.quiet_until = Tick::ZERO;
        self.is_idle = false;
        if self.reached == self.now && self.open == 0 && self.late.is_empty() {
            self.push_due(hint);
        } else {
            self.late.push_back((self.now, hint));
            self.sweep_late();
        }
    }
}

impl<T> Default for Chunked<T> {
    fn default() -> Chunked<T> {
        Chunked::new()
    }
}

impl<T> TimerQueue<T> for Chunked<T> {
    #[inline(always)]
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let inserted = self.records.insert(deadline, payload);
        let (id, hint) = inserted.map_err(|payload| RejectedTimer { reason: Reason::Full, payload })?;
        self.put(hint, deadline);
        Ok(id)
    }

    #[inline(always)]
    fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.records.remove(id)
    }

    #[inline(always)]
    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let moved = self.records.reset(id, deadline, self.now).ok_or(ResetError::NotPending)?;
        if let SlotChange::Earlier(hint) = moved {
            self.put(hint, deadline);
        }
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.records.deadline(id)
    }

    fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.records.payload_mut(id)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        if self.is_empty() {
            return None;
        }
        if self.is_idle {
            return Some(self.next);
        }
        if self.batch.first().is_some() {
            return Some(self.reached);
        }
        let next = self.next_event();
        assert!(next.is_some(), "a live timer has a hint");
        next
    }

    fn advance(&mut self, now: Tick) {
        self.advance_within(now, &mut Budget::unlimited());
    }

    fn advance_within(&mut self, now: Tick, budget: &mut Budget) {
        self.now = self.now.max(now);
        self.settle(budget);
    }

    #[inline(always)]
    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        if self.is_idle { None } else { self.pop_next() }
    }

    fn pop_within(&mut self, budget: &mut Budget) -> PopResult<T> {
        while !budget.is_used_up() {
            if let Some(hint) = self.batch.take_first() {
                budget.spend(1);
                if let Some(expired) = self.records.take(hint, self.reached) {
                    return PopResult::Timer(expired);
                }
                self.put_again(hint);
            } else if self.settle(budget) == RoundEnd::Idle {
                return PopResult::Nothing;
            }
        }
        PopResult::Paused
    }

    fn now(&self) -> Tick {
        self.now
    }

    #[inline]
    fn len(&self) -> usize {
        self.records.len() as usize
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.records.earliest()
    }

    fn compact(&mut self) {
        self.copy_chunks(Records::is_current);
        self.late.retain(|(_, hint)| self.records.is_current(*hint));
        self.late.shrink_to_fit();
        let batch = core::mem::replace(&mut self.batch, Batch::EMPTY);
        batch.rest().iter().for_each(|hint| self.batch.push_if_current(*hint, &self.records));
        self.records.compact();
        self.rings.compact();
    }

    fn trim(&mut self, budget: &mut Budget) -> bool {
        self.trim_within(budget)
    }

    fn profile(&self) -> Profile {
        let (order, equals) = records::ORDER;
        Profile::exact(order, equals)
    }

    fn check(&self) {
        self.check_all();
    }
}

//! The 4-ary heap with lazy removal: cancel and reset only mark.
//!
//! ```text
//!   heap     [ (5, #2) | (8, #0 gone) (6, #3 -> 60, later) (9, #1 -> 7, earlier) ]     earliest_moved = 7
//! ```
//!
//! A heap entry is (the deadline it was placed under, record, generation). What became of it shows in the
//! record:
//!
//! | Go 1.23 bits | here | ten states of Go 1.14 |
//! |---|---|---|
//! | heaped | the generations agree, the deadlines too | waiting |
//! | heaped, modified; `when` later | the record's deadline is later than the entry's | modified later |
//! | heaped, modified; `when` earlier | the record's deadline is earlier; `earliest_moved` knows of it | modified earlier |
//! | heaped, zombie | the generations differ: the record was freed, perhaps used again | deleted |
//! | none of them | no entry | no status, removed |
//! | (held by the lock) | (a queue is `&mut self`) | running, removing, moving, modifying |
//!
//! Cancel frees the record and gives the payload back at once; only the entry of 16 bytes stays behind. The
//! head is cleaned when a timer is inserted, so that it tells the truth; all entries are put right when a
//! timer that was moved earlier comes due, or when more than a quarter of them are dead, so that a program
//! that makes and cancels timers for ever holds a bounded heap.
//!
//! Cost: schedule O(log4 n); cancel and reset O(1), amortised (a sweep of n entries is paid for by n/4
//! cancels); pop O(4 log4 n); an earlier reset that comes due costs O(n), shared by all that wait.
//! `next_wakeup` O(1), a lower bound: a dead or later head may wake the driver early once. Memory per timer
//! beyond the payload: 16 to 21.4 (heap entry, with the share of dead ones) + 16 (record). Granularity: one
//! tick. Equals fire in any order.
//!
//! It does not do well for timers that move earlier all the time: `Quaternary` does.
//!
//! Source: Go from 1.14, `runtime/time.go`; the bits of Go 1.23.

use alloc::vec::Vec;

use super::{Entry, build, check_order, sift_down, sift_up};
use crate::arena::Arena;
use crate::queue::{Equals, ExpiredTimer, Order, Profile, RejectedTimer, ResetError, TimerId, TimerQueue};
use crate::tick::Tick;

/// Dead entries are swept when there are more than one in this many. Go's figure.
const DEAD_SHARE: usize = 4;

/// A heap of at most this many entries is not swept for its dead: there is nothing to win.
const SWEEP_MIN: usize = 16;

/// The 4-ary heap of Go from 1.14: cancel and reset only mark. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, heap::Lazy};
///
/// let mut queue = Lazy::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lazy<T> {
    arena: Arena<(), T>,
    /// By the deadlines that they were placed under.
    entries: Vec<Entry<TimerId>>,
    /// How many entries' timers are gone.
    dead_count: usize,
    /// At or before the earliest deadline of the timers whose entries stand under a later one.
    earliest_moved: Option<Tick>,
    now: Tick,
}

impl<T> Lazy<T> {
    /// Makes an empty heap at tick 0. Allocates nothing.
    pub const fn new() -> Lazy<T> {
        Lazy {
            arena: Arena::new(),
            entries: Vec::new(),
            dead_count: 0,
            earliest_moved: None,
            now: Tick::ZERO,
        }
    }

    /// Sweeps the dead entries and puts the moved ones right. O(n).
    fn adjust(&mut self) {
        let arena = &self.arena;
        self.entries.retain_mut(|entry| match arena.find(entry.name) {
            Some(record) => {
                entry.deadline = record.deadline;
                true
            }
            None => false,
        });
        build(&mut self.entries);
        self.dead_count = 0;
        self.earliest_moved = None;
    }

    /// Removes dead entries from the head and puts a moved head in its place, until the head tells the truth.
    fn clean_head(&mut self) {
        while let Some(head) = self.entries.first().copied() {
            match self.arena.find(head.name).map(|record| record.deadline) {
                Some(deadline) if deadline == head.deadline => return,
                Some(deadline) => {
                    self.entries[0].deadline = deadline;
                    sift_down(&mut self.entries, 0, |_, _| ());
                }
                None => {
                    self.remove_head();
                    self.dead_count -= 1;
                }
            }
        }
    }

    fn remove_head(&mut self) {
        self.entries.swap_remove(0);
        if !self.entries.is_empty() {
            sift_down(&mut self.entries, 0, |_, _| ());
        }
    }

    fn sweep_if_many_dead(&mut self) {
        if self.entries.len() > SWEEP_MIN && self.dead_count > self.entries.len() / DEAD_SHARE {
            self.adjust();
        }
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Lazy<T> {
        Lazy::new()
    }
}

impl<T> TimerQueue<T> for Lazy<T> {
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        self.clean_head();
        let id = self.arena.insert(deadline, (), payload)?;
        self.entries.push(Entry { deadline, name: id });
        let last = self.entries.len() - 1;
        sift_up(&mut self.entries, last, |_, _| ());
        self.sweep_if_many_dead();
        Ok(id)
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        if !self.arena.contains(id) {
            return None;
        }
        let payload = self.arena.remove(id.index).payload;
        self.dead_count += 1;
        self.sweep_if_many_dead();
        Some(payload)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        if !self.arena.contains(id) {
            return Err(ResetError::NotPending);
        }
        let record = self.arena.at_mut(id.index);
        if deadline < record.deadline {
            // Perhaps still later than the entry stands under: then the mark is one too many, and harmless.
            self.earliest_moved = Some(self.earliest_moved.map_or(deadline, |moved| moved.min(deadline)));
        }
        record.deadline = deadline;
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.arena.find(id).map(|record| record.deadline)
    }

    fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.arena.payload_mut(id)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        if self.is_empty() {
            return None;
        }
        let head = self.entries.first().map(|entry| entry.deadline);
        [head, self.earliest_moved].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Tick) {
        self.now = self.now.max(now);
        if self.earliest_moved.is_some_and(|moved| moved <= self.now) {
            self.adjust();
        }
        // A head that is dead or moved must not be the next wakeup again.
        self.clean_head();
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        if self.earliest_moved.is_some_and(|moved| moved <= self.now) {
            self.adjust();
        }
        self.clean_head();
        let head = self.entries.first().copied()?;
        if self.now < head.deadline {
            return None;
        }
        self.remove_head();
        // The dead are a larger share of what is left.
        self.sweep_if_many_dead();
        Some(self.arena.remove(head.name.index))
    }

    fn now(&self) -> Tick {
        self.now
    }

    fn len(&self) -> usize {
        self.arena.len()
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.arena.earliest()
    }

    fn compact(&mut self) {
        self.adjust();
        self.entries.shrink_to_fit();
        self.arena.compact();
    }

    fn profile(&self) -> Profile {
        Profile::exact(Order::Deadline, Equals::Unspecified)
    }

    fn check(&self) {
        self.arena.check();
        check_order(&self.entries);
        let mut dead_count = 0;
        for entry in &self.entries {
            match self.arena.find(entry.name) {
                None => dead_count += 1,
                Some(record) if record.deadline < entry.deadline => {
                    let moved = self.earliest_moved.expect("a timer that moved earlier is remembered");
                    assert!(moved <= record.deadline, "the earliest of the moved timers is remembered");
                }
                Some(_) => (),
            }
        }
        assert_eq!(dead_count, self.dead_count, "the count of dead entries is right");
        assert_eq!(self.entries.len() - dead_count, self.len(), "each live record has one entry");
        let allowed = SWEEP_MIN.max(self.len() * DEAD_SHARE / (DEAD_SHARE - 1) + DEAD_SHARE);
        assert!(self.entries.len() <= allowed, "dead entries are swept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn making_and_cancelling_for_ever_holds_a_bounded_heap() {
        let mut queue = Lazy::new();
        for step in 0..100_000_u64 {
            let id = queue.schedule(Tick::new(1_000_000 + step), step).expect("the heap has room");
            assert_eq!(queue.cancel(id), Some(step));
            assert!(queue.entries.len() <= SWEEP_MIN + 1);
        }
        queue.check();
    }

    #[test]
    fn a_reset_leaves_the_entry_where_it_is_until_it_matters() {
        let mut queue = Lazy::new();
        let id = queue.schedule(Tick::new(10), ()).expect("the heap has room");
        for later in 11..1_000 {
            queue.reset(id, Tick::new(later)).expect("the timer is pending");
        }
        assert_eq!(queue.entries.len(), 1);
        assert_eq!(queue.next_wakeup(), Some(Tick::new(10)));
        queue.advance(Tick::new(10));
        assert_eq!(queue.next_wakeup(), Some(Tick::new(999)));
    }
}

//! The 4-ary heap with eager removal: each record knows its place in the heap.
//!
//! ```text
//!   heap     [ (5, #2) | (8, #0) (6, #3) (9, #1) ]      (deadline, record)
//!   records  #0: place 1   #1: place 3   #2: place 0   #3: place 2
//! ```
//!
//! Cost: schedule O(log4 n) (often O(1): a later deadline stays at the bottom), cancel, reset and pop O(4
//! log4 n), `next_wakeup` O(1), exact. Memory per timer beyond the payload: 16 (heap entry) + 16 (record).
//! Granularity: one tick. Equals fire in any order.
//!
//! It does not keep cancelled timers: what is cancelled is gone at once, at the price of moving entries.
//!
//! Source: Go up to 1.13, `runtime/time.go`: one heap up to 1.9, 64 of them from 1.10.

use alloc::vec::Vec;

use super::{Entry, check_order, sift_down, sift_up};
use crate::arena::Arena;
use crate::queue::{Equals, TimerQueue};
use crate::sorted_queue::{SortedIndex, SortedQueue};
use crate::tick::Tick;

/// The 4-ary heap of Go up to 1.13: cancel and reset move entries at once. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, heap::Quaternary};
///
/// let mut queue = Quaternary::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quaternary<T>(SortedQueue<Places, T>);

impl<T> Quaternary<T> {
    /// Makes an empty heap at tick 0. Allocates nothing.
    pub const fn new() -> Quaternary<T> {
        Quaternary(SortedQueue::over(Places { entries: Vec::new() }))
    }
}

impl<T> Default for Quaternary<T> {
    fn default() -> Quaternary<T> {
        Quaternary::new()
    }
}

impl<T> TimerQueue<T> for Quaternary<T> {
    crate::forward!(queue => queue.0);
}

/// The heap itself: entries that name records, which name their entries' places.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    entries: Vec<Entry<u32>>,
}

impl Places {
    /// Restores the order around a place whose entry is new or changed.
    fn settle<T>(&mut self, arena: &mut Arena<u32, T>, place: usize) {
        let place = sift_up(&mut self.entries, place, |index, place| arena.at_mut(index).link = place as u32);
        sift_down(&mut self.entries, place, |index, place| arena.at_mut(index).link = place as u32);
    }
}

impl SortedIndex for Places {
    type Link = u32;
    const EQUALS: Equals = Equals::Unspecified;

    fn insert<T>(&mut self, arena: &mut Arena<u32, T>, index: u32) {
        let place = self.entries.len();
        self.entries.push(Entry { deadline: arena.at(index).deadline, name: index });
        sift_up(&mut self.entries, place, |index, place| arena.at_mut(index).link = place as u32);
    }

    fn remove<T>(&mut self, arena: &mut Arena<u32, T>, index: u32) {
        let place = arena.at(index).link as usize;
        assert_eq!(self.entries[place].name, index, "a record knows its place");
        self.entries.swap_remove(place);
        if place < self.entries.len() {
            self.settle(arena, place);
        }
    }

    fn relocate<T>(&mut self, arena: &mut Arena<u32, T>, index: u32, deadline: Tick) {
        let record = arena.at_mut(index);
        record.deadline = deadline;
        let place = record.link as usize;
        self.entries[place].deadline = deadline;
        self.settle(arena, place);
    }

    fn first<T>(&self, _arena: &Arena<u32, T>) -> Option<(Tick, u32)> {
        self.entries.first().map(|entry| (entry.deadline, entry.name))
    }

    fn compact(&mut self) {
        self.entries.shrink_to_fit();
    }

    fn check<T>(&self, arena: &Arena<u32, T>) {
        assert_eq!(self.entries.len(), arena.len(), "each live record has one entry");
        check_order(&self.entries);
        for (place, entry) in self.entries.iter().enumerate() {
            let record = arena.at(entry.name);
            assert_eq!(record.link as usize, place, "a record knows its place");
            assert_eq!(record.deadline, entry.deadline, "entry and record agree on the deadline");
        }
    }
}

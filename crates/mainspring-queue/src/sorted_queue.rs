//! The queue over any structure that keeps its timers sorted by deadline.
//!
//! ```text
//!   SortedQueue { now, arena: records by id, order: the structure over record indices }
//!   advance(now): one store          pop_expired: take the first if first.deadline <= now
//! ```
//!
//! Heap, tree and skip list differ in how they order record numbers, and in nothing else: each implements
//! [`SortedIndex`], and this shell makes it a [`TimerQueue`]. There is no list of expired timers: whatever is
//! at the front and due is expired, so an advance costs nothing, and what is popped is always the earliest
//! deadline there is.
//!
//! Cost: the index's own, plus O(1). It does not look into the index.

use crate::arena::Arena;
use crate::queue::{Equals, ExpiredTimer, Order, Profile, RejectedTimer, ResetError, TimerId, TimerQueue};
use crate::tick::Tick;

/// A structure that orders live records by deadline.
pub(crate) trait SortedIndex {
    /// What the structure keeps in each record.
    type Link: Default;

    /// What records of equal deadline do.
    const EQUALS: Equals;

    /// Adds the live record at `index`, after all of equal deadline if the structure is first in, first out.
    fn insert<T>(&mut self, arena: &mut Arena<Self::Link, T>, index: u32);

    /// Takes the record at `index`, which is in the structure, out of it. The record stays alive.
    fn remove<T>(&mut self, arena: &mut Arena<Self::Link, T>, index: u32);

    /// Moves the record at `index` to `deadline`.
    fn relocate<T>(&mut self, arena: &mut Arena<Self::Link, T>, index: u32, deadline: Tick) {
        self.remove(arena, index);
        arena.at_mut(index).deadline = deadline;
        self.insert(arena, index);
    }

    /// The deadline and index of the first record.
    fn first<T>(&self, arena: &Arena<Self::Link, T>) -> Option<(Tick, u32)>;

    /// Gives back memory that it does not need.
    fn compact(&mut self) {}

    /// Panics if the structure does not hold each live record once, in order.
    fn check<T>(&self, arena: &Arena<Self::Link, T>);
}

/// A timer queue over a sorted index: what [`heap::Quaternary`](crate::heap::Quaternary),
/// [`RedBlackTree`](crate::RedBlackTree) and [`SkipList`](crate::SkipList) hold.
#[derive(Clone, Debug)]
pub(crate) struct SortedQueue<I: SortedIndex, T> {
    arena: Arena<I::Link, T>,
    index: I,
    now: Tick,
}

impl<I: SortedIndex, T> SortedQueue<I, T> {
    pub(crate) const fn over(index: I) -> SortedQueue<I, T> {
        SortedQueue { arena: Arena::new(), index, now: Tick::ZERO }
    }

    #[cfg(test)]
    pub(crate) const fn index(&self) -> &I {
        &self.index
    }
}

impl<I: SortedIndex, T> TimerQueue<T> for SortedQueue<I, T> {
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let id = self.arena.insert(deadline, I::Link::default(), payload)?;
        self.index.insert(&mut self.arena, id.index);
        Ok(id)
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        if !self.arena.contains(id) {
            return None;
        }
        self.index.remove(&mut self.arena, id.index);
        Some(self.arena.remove(id.index).payload)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        if !self.arena.contains(id) {
            return Err(ResetError::NotPending);
        }
        self.index.relocate(&mut self.arena, id.index, deadline);
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.arena.find(id).map(|record| record.deadline)
    }

    fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.arena.payload_mut(id)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        self.index.first(&self.arena).map(|(deadline, _)| deadline)
    }

    fn advance(&mut self, now: Tick) {
        self.now = self.now.max(now);
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        let (deadline, index) = self.index.first(&self.arena)?;
        if self.now < deadline {
            return None;
        }
        self.index.remove(&mut self.arena, index);
        Some(self.arena.remove(index))
    }

    fn now(&self) -> Tick {
        self.now
    }

    fn len(&self) -> usize {
        self.arena.len()
    }

    /// As fast as `next_wakeup`.
    fn peek(&self) -> Option<(TimerId, Tick)> {
        let (deadline, index) = self.index.first(&self.arena)?;
        Some((self.arena.id_at(index), deadline))
    }

    fn compact(&mut self) {
        self.arena.compact();
        self.index.compact();
    }

    fn profile(&self) -> Profile {
        Profile::exact(Order::Deadline, I::EQUALS)
    }

    fn check(&self) {
        self.arena.check();
        self.index.check(&self.arena);
    }
}

//! Timing wheels: timers hashed by deadline into slots that time walks over.
//!
//! ```text
//!   slots     1: #4 <-> #0 <-> #7     2: -     3: #2     ...     EXPIRED: #5 <-> #1
//!             \__ a doubly linked list through the records __/
//! ```
//!
//! What all wheels share is here: `Slots`, the lists through the arena's records, and `Wheel`, the shell
//! that makes any `Geometry` a [`TimerQueue`]. A geometry answers two questions: into which slot does a
//! deadline go, and what happens to the slots as time moves.
//!
//! | wheel | slots | far deadlines | empty ticks | `next_wakeup` |
//! |---|---|---|---|---|
//! | [`Simple`] | one ring | rejected | skipped, one look each | exact |
//! | [`Rounds`] | one ring | wait for their round | skipped, one look each | a non-empty slot |
//! | [`Hierarchical`] | a ring per level | move down | skipped | a slot's start |
//! | [`Overflow`] | a ring per level, made when needed | move down | cost nothing: a heap of slots | a slot's start |
//! | [`Cascading`] | 256 + 4 x 64 | move down | skipped | a slot's start |
//! | [`Bitmap`] | 11 x 64 | move down | skipped by bits | exact, or a cancelled timer's tick |
//! | [`Chunked`] | 8 x 512 | move down, ahead of time | skipped by bits | exact, or a cancelled or reset timer's tick |
//!
//! [`Chunked`] has a structure of its own; what is said here is about the others.
//!
//! Cost common to all: schedule, cancel and reset O(1) plus the geometry's choice of a slot. Memory per timer
//! beyond the payload: 24 (record with links); 8 per slot. Timers of one slot keep their order.
//!
//! It does not bound the work of one advance: a slot with a million timers is moved in one go.
//!
//! Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels" (1987).

pub mod bitmap;
pub mod cascading;
pub mod chunked;
pub mod hierarchical;
pub mod overflow;
pub mod rounds;
pub mod simple;

#[doc(inline)]
pub use bitmap::Bitmap;
#[doc(inline)]
pub use cascading::Cascading;
#[doc(inline)]
pub use chunked::Chunked;
#[doc(inline)]
pub use hierarchical::Hierarchical;
#[doc(inline)]
pub use overflow::Overflow;
#[doc(inline)]
pub use rounds::Rounds;
#[doc(inline)]
pub use simple::Simple;

use alloc::vec::Vec;

use crate::arena::{Arena, NONE, Record};
use crate::queue::{
    Equals, ExpiredTimer, Order, Profile, Reason, RejectedTimer, ResetError, TimerId, TimerQueue,
};
use crate::tick::Tick;

/// The number of a list of timers: 0 is the list of the expired, the geometry numbers its own from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

impl Slot {
    const EXPIRED: Slot = Slot(0);

    /// The slot that a geometry counts as `number`, from 0.
    fn number(number: usize) -> Slot {
        Slot(number as u32 + 1)
    }

    /// The geometry's number of this slot.
    fn as_number(self) -> usize {
        assert_ne!(self, Slot::EXPIRED, "the list of the expired has no number");
        self.0 as usize - 1
    }
}

/// What a timer's record keeps: its neighbours and the list that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    previous: u32,
    next: u32,
    slot: Slot,
}

impl Link {
    const LOOSE: Link = Link { previous: NONE, next: NONE, slot: Slot::EXPIRED };
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

impl Ends {
    const EMPTY: Ends = Ends { first: NONE, last: NONE };
}

/// The lists of timers of one wheel.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    arena: Arena<Link, T>,
    lists: Vec<Ends>,
}

impl<T> Slots<T> {
    fn new(slot_count: usize) -> Slots<T> {
        let mut slots = Slots { arena: Arena::new(), lists: Vec::new() };
        slots.grow(slot_count + 1);
        slots
    }

    /// Adds empty slots. Slots are named by 32 bits.
    fn grow(&mut self, slot_count: usize) {
        let total = self.lists.len() + slot_count;
        assert!(total < NONE as usize, "a wheel has fewer than 2^32 slots");
        self.lists.resize(total, Ends::EMPTY);
    }

    fn is_vacant(&self, slot: Slot) -> bool {
        self.lists[slot.0 as usize].first == NONE
    }

    /// Appends a record that is in no list.
    fn push(&mut self, index: u32, slot: Slot) {
        let ends = &mut self.lists[slot.0 as usize];
        let previous = core::mem::replace(&mut ends.last, index);
        if previous == NONE {
            ends.first = index;
        } else {
            self.arena.at_mut(previous).link.next = index;
        }
        self.arena.at_mut(index).link = Link { previous, next: NONE, slot };
    }

    /// Takes a record out of its list.
    fn unlink(&mut self, index: u32) {
        let Link { previous, next, slot } = self.arena.at(index).link;
        let ends = &mut self.lists[slot.0 as usize];
        if previous == NONE {
            ends.first = next;
        }
        if next == NONE {
            ends.last = previous;
        }
        if previous != NONE {
            self.arena.at_mut(previous).link.next = next;
        }
        if next != NONE {
            self.arena.at_mut(next).link.previous = previous;
        }
    }

    /// Moves a record to the end of the list of the expired.
    fn expire(&mut self, index: u32) {
        self.unlink(index);
        self.push(index, Slot::EXPIRED);
    }

    /// Moves all of a slot, in order, to the end of the list of the expired.
    fn expire_all(&mut self, slot: Slot) {
        self.empty(slot, |slots, index| slots.push(index, Slot::EXPIRED));
    }

    /// Empties a slot and hands its records over in order. They are in no list then: `place` must push each,
    /// and may push it to the same slot.
    fn empty(&mut self, slot: Slot, mut place: impl FnMut(&mut Slots<T>, u32)) {
        let ends = core::mem::replace(&mut self.lists[slot.0 as usize], Ends::EMPTY);
        let mut index = ends.first;
        while index != NONE {
            let next = self.arena.at(index).link.next;
            place(self, index);
            index = next;
        }
    }

    /// Empties a slot that time has reached: what is due by `now`, rounded up to the granularity, expires;
    /// the rest goes where `choose` says for its due tick.
    fn cascade(
        &mut self,
        slot: Slot,
        now: Tick,
        granularity: u64,
        mut choose: impl FnMut(&mut Slots<T>, Tick) -> Slot,
    ) {
        self.empty(slot, |slots, index| {
            let due = slots.arena.at(index).deadline.round_up(granularity);
            let slot = if due <= now { Slot::EXPIRED } else { choose(slots, due) };
            slots.push(index, slot);
        });
    }

    /// The records of a slot, in order.
    fn iter(&self, slot: Slot) -> impl Iterator<Item = (u32, &Record<Link, T>)> {
        let mut index = self.lists[slot.0 as usize].first;
        core::iter::from_fn(move || {
            let record = (index != NONE).then(|| (index, self.arena.at(index)))?;
            index = record.1.link.next;
            Some(record)
        })
    }

    /// Walks all lists and calls `visit` with each record.
    fn check(&self, mut visit: impl FnMut(Slot, Tick)) {
        self.arena.check();
        let mut count = 0;
        for number in 0..self.lists.len() {
            let slot = Slot(number as u32);
            let mut previous = NONE;
            for (index, record) in self.iter(slot) {
                assert_eq!(record.link.slot, slot, "a timer knows its slot");
                assert_eq!(record.link.previous, previous, "a timer knows the one before it");
                visit(slot, record.deadline);
                previous = index;
                count += 1;
                assert!(count <= self.arena.len(), "a list ends");
            }
            assert_eq!(self.lists[number].last, previous, "a slot knows its last timer");
        }
        assert_eq!(count, self.arena.len(), "each live record is in one slot");
    }
}

/// Where deadlines go and how time moves: what makes one wheel different from another.
pub(crate) trait Geometry {
    /// Ticks per slot of the finest level; at least 1.
    fn granularity(&self) -> u64 {
        1
    }

    /// The longest delay that is taken.
    fn horizon(&self) -> Option<u64> {
        None
    }

    /// What timers do that become due at the same tick.
    fn equals(&self) -> Equals {
        Equals::Fifo
    }

    /// Chooses a slot for a timer that is due at `due`, later than `now`, within the horizon and rounded up
    /// to the granularity. A timer is put there at once.
    fn place<T>(&mut self, slots: &mut Slots<T>, now: Tick, due: Tick) -> Slot;

    /// Hears that a slot became vacant because its last timer was cancelled or reset.
    fn vacated(&mut self, _slot: Slot) {}

    /// Moves the due timers of `now + 1 ..= target` to the list of the expired, in order, and others where
    /// they belong at `target`.
    fn advance<T>(&mut self, slots: &mut Slots<T>, now: Tick, target: Tick);

    /// When the owner must advance next, given that a timer waits in a slot: later than `now`, and not later
    /// than the earliest of the due ticks.
    fn next_wakeup<T>(&self, slots: &Slots<T>, now: Tick) -> Tick;

    /// Panics unless a timer that is due at `due` may be in `slot` at `now`.
    fn check_timer(&self, now: Tick, slot: Slot, due: Tick);

    /// Panics unless what the geometry knows of the slots as a whole is right.
    fn check_slots<T>(&self, _slots: &Slots<T>) {}
}

/// A timer queue over a geometry: what each wheel but [`Chunked`] holds.
#[derive(Clone, Debug)]
pub(crate) struct Wheel<G, T> {
    geometry: G,
    slots: Slots<T>,
    now: Tick,
}

impl<G: Geometry, T> Wheel<G, T> {
    fn over(geometry: G, slot_count: usize) -> Wheel<G, T> {
        Wheel { geometry, slots: Slots::new(slot_count), now: Tick::ZERO }
    }

    /// When a timer is due, unless that lies beyond the horizon.
    fn due(&self, deadline: Tick) -> Option<Tick> {
        let due = deadline.round_up(self.geometry.granularity());
        self.geometry.horizon().is_none_or(|horizon| due.since(self.now) <= horizon).then_some(due)
    }

    /// Puts a record that is in no slot into that of its due tick: the list of the expired if it has passed.
    fn put(&mut self, index: u32, due: Tick) {
        let Wheel { geometry, slots, now } = self;
        let slot = if due <= *now { Slot::EXPIRED } else { geometry.place(slots, *now, due) };
        slots.push(index, slot);
    }

    /// Takes a record out of its slot and tells the geometry if nothing is left there.
    fn take_out(&mut self, index: u32) {
        let slot = self.slots.arena.at(index).link.slot;
        self.slots.unlink(index);
        if slot != Slot::EXPIRED && self.slots.is_vacant(slot) {
            self.geometry.vacated(slot);
        }
    }
}

impl<G: Geometry, T> TimerQueue<T> for Wheel<G, T> {
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let Some(due) = self.due(deadline) else {
            return Err(RejectedTimer { reason: Reason::BeyondHorizon, payload });
        };
        // The record comes first: a full arena must not leave the geometry waiting for a timer.
        let id = self.slots.arena.insert(deadline, Link::LOOSE, payload)?;
        self.put(id.index, due);
        Ok(id)
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        if !self.slots.arena.contains(id) {
            return None;
        }
        self.take_out(id.index);
        Some(self.slots.arena.remove(id.index).payload)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        if !self.slots.arena.contains(id) {
            return Err(ResetError::NotPending);
        }
        let due = self.due(deadline).ok_or(ResetError::BeyondHorizon)?;
        self.take_out(id.index);
        self.slots.arena.at_mut(id.index).deadline = deadline;
        self.put(id.index, due);
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.slots.arena.find(id).map(|record| record.deadline)
    }

    fn payload_mut(&mut self, id: TimerId) -> Option<&mut T> {
        self.slots.arena.payload_mut(id)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        if self.is_empty() {
            return None;
        }
        if !self.slots.is_vacant(Slot::EXPIRED) {
            return Some(self.now);
        }
        Some(self.geometry.next_wakeup(&self.slots, self.now))
    }

    fn advance(&mut self, now: Tick) {
        if now <= self.now {
            return;
        }
        self.geometry.advance(&mut self.slots, self.now, now);
        self.now = now;
    }

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        let index = self.slots.lists[Slot::EXPIRED.0 as usize].first;
        if index == NONE {
            return None;
        }
        self.slots.unlink(index);
        Some(self.slots.arena.remove(index))
    }

    fn now(&self) -> Tick {
        self.now
    }

    fn len(&self) -> usize {
        self.slots.arena.len()
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.slots.arena.earliest()
    }

    fn compact(&mut self) {
        self.slots.arena.compact();
    }

    fn profile(&self) -> Profile {
        Profile {
            granularity: self.geometry.granularity(),
            horizon: self.geometry.horizon(),
            order: Order::Expiry,
            equals: self.geometry.equals(),
        }
    }

    fn check(&self) {
        let granularity = self.geometry.granularity();
        self.slots.check(|slot, deadline| {
            let due = deadline.round_up(granularity);
            if slot == Slot::EXPIRED {
                assert!(due <= self.now, "an expired timer is due");
            } else {
                assert!(self.now < due, "a timer that is due is expired");
                self.geometry.check_timer(self.now, slot, due);
            }
        });
        self.geometry.check_slots(&self.slots);
    }
}

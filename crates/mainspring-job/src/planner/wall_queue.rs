//! A queue of items that are due on the wall clock, which may be set back: a timer queue behind
//! [`WallTicks`].
//!
//! ```text
//!  add(item) ──▶ tick_of(due) ──▶ RedBlackTree ──▶ expired ──▶ due, by the clock? ──▶ pop_due
//!                                      ▲                            │ no: the clock was set back
//!                                      └────── at its tick of now ──┘
//! ```
//!
//! The first timer is always where its time says. When the clock is set back, timers that are early by it are
//! put back as they become the first. So [`WallQueue::next_due`] is exact to the millisecond, and causes no
//! look in vain.
//!
//! The queue is the tree and not a wheel, because the tree knows its first timer. A wheel names a time that
//! may be before it, and the program would wake up for nothing. Each of these timers is also written to disk,
//! so the tree's O(log n) is not measurable.
//!
//! Cost: O(log n) to add, cancel and pop; O(1) for `next_due`; a step back costs O(log n) once for each timer
//! that is due within it. Memory: 28 bytes for each beside the item, as long as no more live at once than
//! before.
//!
//! Equals: at one millisecond first in, first out. Does not order within a millisecond.

use jiff::Timestamp;
use mainspring_queue::{RedBlackTree, TimerId, TimerQueue};

use super::wall_ticks::WallTicks;

/// What has a time on the wall clock.
pub(super) trait Due {
    /// When it is due, on the wall clock.
    fn due(&self) -> Timestamp;
}

/// Timers on the wall clock. See the head of this file.
#[derive(Debug)]
pub(super) struct WallQueue<T> {
    ticks: WallTicks,
    timers: RedBlackTree<T>,
}

impl<T> Default for WallQueue<T> {
    fn default() -> WallQueue<T> {
        WallQueue { ticks: WallTicks::new(), timers: RedBlackTree::new() }
    }
}

impl<T: Due> WallQueue<T> {
    /// Takes in what the clock shows.
    pub(super) fn tell(&mut self, now: Timestamp) {
        self.timers.advance(self.ticks.tell(now));
        self.place_first();
    }

    /// Adds a timer.
    pub(super) fn add(&mut self, item: T) -> TimerId {
        let tick = self.ticks.tick_of(item.due());
        self.timers.schedule(tick, item).expect("the planner's limits are below 2^32")
    }

    /// Takes a timer out. `None`: it was taken out before.
    pub(super) fn cancel(&mut self, id: TimerId) -> Option<T> {
        let item = self.timers.cancel(id)?;
        self.place_first();
        Some(item)
    }

    /// When the first timer is due, to the millisecond, which is rounded up.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.timers.next_wakeup().map(|tick| self.ticks.time_of(tick))
    }

    /// Whether a timer is due that is due no later than a time.
    pub(super) fn has_due_by(&self, time: Timestamp) -> bool {
        let next = self.timers.next_wakeup();
        next.is_some_and(|tick| tick <= self.timers.now() && tick <= self.ticks.tick_of(time))
    }

    /// Takes out the first timer, if it is due.
    pub(super) fn pop_due(&mut self) -> Option<(TimerId, T)> {
        let expired = self.timers.pop_expired()?;
        self.place_first();
        Some((expired.id, expired.payload))
    }

    /// How many timers there are.
    pub(super) fn len(&self) -> usize {
        self.timers.len()
    }

    /// Takes all timers out, in the order of their ticks. O(n log n).
    pub(super) fn take_all(&mut self) -> Vec<T> {
        let mut empty = RedBlackTree::new();
        empty.advance(self.timers.now());
        let all = std::mem::replace(&mut self.timers, empty);
        all.into_unfired().into_iter().map(|timer| timer.payload).collect()
    }

    /// Whether a timer is in the queue.
    pub(super) fn holds(&self, id: TimerId) -> bool {
        self.timers.deadline(id).is_some()
    }

    /// Puts back what comes first too early, because the clock was set back.
    fn place_first(&mut self) {
        while let Some((id, placed)) = self.timers.peek() {
            let item = self.timers.payload_mut(id).expect("a tree lends what it holds");
            let right = self.ticks.tick_of(item.due());
            assert!(placed <= right, "a timer is early or right, and never late");
            if placed == right {
                return;
            }
            self.timers.reset(id, right).expect("it is pending, and a tree has no horizon");
        }
    }
}

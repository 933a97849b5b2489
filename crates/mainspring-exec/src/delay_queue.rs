//! Tasks that are held until their time, on the monotonic clock: a queue of mainspring-queue in nanoseconds.
//!
//! ```text
//! add(at, task), arm(at) ─▶ RedBlackTree ─▶ pop_due(now)
//!                                └─▶ wait(now): how long until the first is due
//! ```
//!
//! The queue is the tree because that knows its first timer: a thread that waits is woken once, and in time.
//!
//! Cost: O(log n) of those that are held, and an allocation as they grow.
//!
//! Equals: first in, first out. Does not read a clock, and does not wait.

use std::time::{Duration, Instant};

pub use mainspring_queue::TimerId;
use mainspring_queue::{RedBlackTree, Tick, TimerQueue};

/// A task that is held until its time, for its owner, who moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmedWait {
    id: TimerId,
    at: Instant,
}

/// See the head of this file.
#[derive(Debug)]
pub struct DelayQueue<T> {
    /// Tick 0.
    origin: Instant,
    queue: RedBlackTree<T>,
}

impl<T> DelayQueue<T> {
    /// Nothing yet. No time before the origin is told.
    pub fn new(origin: Instant) -> DelayQueue<T> {
        DelayQueue { origin, queue: RedBlackTree::new() }
    }

    /// Holds a task until then.
    pub fn add(&mut self, at: Instant, task: T) -> TimerId {
        let id = self.queue.schedule(self.ticks(at), task);
        id.unwrap_or_else(|_| panic!("fewer runs go on at once than a queue has names"))
    }

    /// Takes out a task that is still held.
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.queue.cancel(id)
    }

    /// Holds a task until `at`, moves it there, or takes it out for `None`. Does nothing for one that is held
    /// until then already.
    pub fn arm(&mut self, armed: &mut Option<ArmedWait>, at: Option<Instant>, task: T) {
        let before = armed.take().filter(|armed| self.queue.deadline(armed.id).is_some());
        *armed = before.filter(|before| at == Some(before.at));
        if armed.is_none() {
            if let Some(ArmedWait { id, .. }) = before {
                self.cancel(id);
            }
            *armed = at.map(|at| ArmedWait { id: self.add(at, task), at });
        }
    }

    /// Takes the first task, if its time has come.
    pub fn pop_due(&mut self, now: Instant) -> Option<T> {
        let now = self.ticks(now);
        self.queue.advance(now);
        let expired = self.queue.pop_expired()?;
        debug_assert!(expired.deadline <= now, "no task is early");
        Some(expired.payload)
    }

    /// How long it is until the first is due. `None`: nothing is held.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        self.first().map(|first| first.saturating_duration_since(now))
    }

    /// When the first is due.
    pub fn first(&self) -> Option<Instant> {
        let first = Duration::from_nanos(self.queue.next_wakeup()?.get());
        Some(self.origin + first)
    }

    /// How many are held.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The nanoseconds from the origin, for 584 years.
    fn ticks(&self, at: Instant) -> Tick {
        Tick::new(u64::try_from(at.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;

    #[test]
    fn a_task_is_due_at_its_nanosecond_and_not_before() {
        let start = Moment::now().monotonic;
        let later = |nanoseconds| start + Duration::from_nanos(nanoseconds);
        let mut held = DelayQueue::new(start);
        // The first is not the earliest.
        held.add(later(20_000_003), "c");
        held.add(later(20_000_003), "d");
        let gone = held.add(later(20_000_001), "b");
        held.add(later(20_000_000), "a");
        assert_eq!(held.cancel(gone), Some("b"));
        assert_eq!(
            (held.wait(start), held.pop_due(later(19_999_999))),
            (Some(Duration::from_millis(20)), None)
        );
        assert_eq!(held.pop_due(later(20_000_000)), Some("a"));
        assert_eq!(
            (held.wait(later(20_000_000)), held.pop_due(later(20_000_002))),
            (Some(Duration::from_nanos(3)), None)
        );
        assert_eq!(
            [held.pop_due(later(20_000_003)), held.pop_due(later(20_000_003))],
            [Some("c"), Some("d")]
        );
        assert!(held.is_empty() && held.wait(start).is_none());
    }

    #[test]
    fn a_wait_is_moved_and_disarmed_and_armed_again_after_its_end() {
        let start = Moment::now().monotonic;
        let at = |ms| Some(start + Duration::from_millis(ms));
        let (mut waits, mut armed) = (DelayQueue::new(start), None);
        for ms in [10, 10, 5] {
            waits.arm(&mut armed, at(ms), "it");
        }
        assert_eq!(waits.len(), 1);
        assert_eq!(waits.pop_due(start + Duration::from_millis(5)), Some("it"));
        waits.arm(&mut armed, at(5), "it");
        assert_eq!(waits.wait(start + Duration::from_millis(5)), Some(Duration::ZERO), "its time has passed");
        waits.arm(&mut armed, at(20), "it");
        waits.arm(&mut armed, None, "it");
        assert!(armed.is_none() && waits.is_empty());
        assert_eq!(waits.pop_due(start + Duration::from_millis(30)), None);
    }
}

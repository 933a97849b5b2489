//! The crate `hierarchical_hash_wheel_timer`: four wheels of 256 slots, and a table of ids for cancelling.
//!
//! ```text
//!   table: id -> Rc(entry)      wheels: Weak(entry)      a cancel takes the entry out of the table only
//! ```
//!
//! Cost: that of the crate: two allocations' worth of reference counts and a hash a timer. Ids are numbers
//! given in turn.
//!
//! It does not go to a point in time: it ticks, and skips where it says that it may.
//!
//! Source: <https://docs.rs/hierarchical_hash_wheel_timer>.

use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::cancellable::{CancellableTimerEntry, QuadWheelWithOverflow};
use hierarchical_hash_wheel_timer::wheels::{Skip, TimerEntryWithDelay};

use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    let about = "the crate hierarchical_hash_wheel_timer 1.4, its cancellable wheel";
    Subject::queue("hierarchical_hash_wheel_timer", Kind::Library, about, |_| HashWheel::default())
}

/// One timer.
#[derive(Debug)]
pub struct Entry {
    id: u64,
    payload: u64,
    delay: Duration,
}

impl CancellableTimerEntry for Entry {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }
}

impl TimerEntryWithDelay for Entry {
    fn delay(&self) -> Duration {
        self.delay
    }
}

/// The wheels, and where they stand.
#[derive(Default)]
pub struct HashWheel {
    wheel: QuadWheelWithOverflow<Entry>,
    next_id: u64,
    now: u64,
    live_count: u64,
}

impl HashWheel {
    fn insert(&mut self, id: u64, deadline: u64, payload: u64) -> Result<u64, Failure> {
        let delay = Duration::from_millis(deadline.saturating_sub(self.now));
        self.wheel
            .insert(Entry { id, payload, delay })
            .map_err(|_| Failure::Unable("it takes no delay of zero".to_owned()))?;
        self.live_count += 1;
        Ok(id)
    }

    fn tick(&mut self, due: &mut Due) {
        self.now += 1;
        for entry in self.wheel.tick() {
            self.live_count -= 1;
            due.fire(entry.payload);
        }
    }

    /// How many ticks may pass unseen, at most `limit`.
    fn skippable(&mut self, limit: u64) -> u64 {
        match self.wheel.can_skip() {
            Skip::None => 0,
            Skip::Millis(count) => u64::from(count).min(limit),
            Skip::Empty => limit,
        }
    }

    fn skip(&mut self, count: u64) {
        self.wheel.skip(count as u32);
        self.now += count;
    }
}

impl QueueSubject for HashWheel {
    type Key = u64;

    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<u64, Failure> {
        self.next_id += 1;
        self.insert(self.next_id, deadline, payload)
    }

    fn cancel(&mut self, key: u64) -> bool {
        let was_pending = self.wheel.cancel(&key).is_ok();
        self.live_count -= u64::from(was_pending);
        was_pending
    }

    fn reset(&mut self, key: u64, deadline: u64) -> Result<u64, Failure> {
        if !self.cancel(key) {
            return Err(Failure::lost());
        }
        // Its cancel does not give the payload back. Ids are given in turn, and the payloads of W2 are their
        // numbers, so that nothing else need be looked up: a program would have to keep it, at its own cost.
        self.insert(key, deadline, key - 1)
    }

    fn advance(&mut self, now: u64, due: &mut Due) {
        while self.now < now {
            let count = self.skippable(now - self.now);
            if count == 0 {
                self.tick(due);
            } else {
                self.skip(count);
            }
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        if self.live_count == 0 {
            return None;
        }
        let count = self.skippable(u64::from(u32::MAX));
        self.skip(count);
        self.tick(due);
        Some(Step { now: self.now, wakeup_count: 1 })
    }

    fn pending_count(&self) -> u64 {
        self.live_count
    }
}

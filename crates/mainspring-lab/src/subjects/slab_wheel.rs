//! The crate `slab-wheel`: a cascading wheel over a slab, by `Instant`s.
//!
//! Cost: that of the crate, and the conversion of ticks to `Instant`s, which its users pay as well.
//!
//! It does not move a timer: a reset removes it and inserts it again.
//!
//! Source: <https://docs.rs/slab-wheel>.

use std::time::{Duration, Instant};

use slab_wheel::{Key, Millis, TimingWheel};

use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::stopwatch;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    Subject::queue("slab-wheel", Kind::Library, "the crate slab-wheel 0.0.1, policy Millis", |_| {
        SlabWheel::new()
    })
}

/// The wheel, and where its time starts.
struct SlabWheel {
    wheel: TimingWheel<u64, Millis>,
    start: Instant,
    fired: Vec<(Key, u64)>,
    now: u64,
}

impl SlabWheel {
    /// Makes an empty one at tick 0.
    fn new() -> SlabWheel {
        let start = stopwatch::instant();
        SlabWheel { wheel: TimingWheel::starting_at(start), start, fired: Vec::new(), now: 0 }
    }

    #[inline]
    fn at(&self, tick: u64) -> Instant {
        self.start + Duration::from_millis(tick)
    }
}

impl QueueSubject for SlabWheel {
    type Key = Key;

    #[inline(always)]
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Key, Failure> {
        Ok(self.wheel.insert(self.at(deadline), payload))
    }

    #[inline(always)]
    fn cancel(&mut self, key: Key) -> bool {
        self.wheel.remove(key).is_some()
    }

    #[inline(always)]
    fn reset(&mut self, key: Key, deadline: u64) -> Result<Key, Failure> {
        let payload = self.wheel.remove(key).ok_or_else(Failure::lost)?;
        self.schedule(deadline, payload)
    }

    #[inline]
    fn advance(&mut self, now: u64, due: &mut Due) {
        self.now = now;
        self.wheel.advance_to(self.at(now));
        self.wheel.drain_expired_into(&mut self.fired);
        for (_, payload) in self.fired.drain(..) {
            due.fire(payload);
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        let next = self.wheel.next_expiry()?;
        // Its answer may be an instant that is not on the grid: a program would sleep to the next whole tick.
        let ticks = next.saturating_duration_since(self.start).as_nanos().div_ceil(1_000_000) as u64;
        Some(self.wake_at(ticks.max(self.now), due))
    }

    fn pending_count(&self) -> u64 {
        self.wheel.len() as u64
    }
}

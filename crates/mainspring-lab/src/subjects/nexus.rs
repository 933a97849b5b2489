//! The crate `nexus-timer`: a wheel of intrusive lists over a slab of its own, by `Instant`s.
//!
//! Cost: that of the crate. A handle outlives its timer's firing and must then be freed, which counts as part
//! of a fire.
//!
//! It does not check a handle: it cannot be copied, and using it up is the check.
//!
//! Source: <https://docs.rs/nexus-timer>.

use std::time::{Duration, Instant};

use nexus_timer::{TimerHandle, Wheel};

use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::stopwatch;
use crate::subject::{Kind, Subject};

/// Entries per chunk of its slab: its documentation's own example.
const CHUNK_CAPACITY: usize = 4_096;

/// Its ticks are cut off after a multiplication by an inverse, so that a whole millisecond may count as the
/// one before it. This far inside, each tick is its own.
const INSIDE_TICK: Duration = Duration::from_micros(1);

/// The subject.
pub fn subject() -> Subject {
    Subject::queue("nexus-timer", Kind::Library, "the crate nexus-timer 1.5, poll_and_rebalance", |_| {
        Nexus::new()
    })
}

/// The wheel, and where its time starts.
struct Nexus {
    wheel: Wheel<u64>,
    start: Instant,
    fired: Vec<u64>,
    now: u64,
}

impl Nexus {
    /// Makes an empty one at tick 0.
    fn new() -> Nexus {
        let start = stopwatch::instant();
        Nexus { wheel: Wheel::unbounded(CHUNK_CAPACITY, start), start, fired: Vec::new(), now: 0 }
    }

    #[inline]
    fn at(&self, tick: u64) -> Instant {
        self.start + Duration::from_millis(tick) + INSIDE_TICK
    }
}

impl QueueSubject for Nexus {
    type Key = TimerHandle<u64>;

    #[inline(always)]
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<TimerHandle<u64>, Failure> {
        Ok(self.wheel.schedule(self.at(deadline), payload))
    }

    #[inline(always)]
    fn cancel(&mut self, key: TimerHandle<u64>) -> bool {
        self.wheel.cancel(key).is_some()
    }

    #[inline(always)]
    fn reset(&mut self, key: TimerHandle<u64>, deadline: u64) -> Result<TimerHandle<u64>, Failure> {
        Ok(self.wheel.reschedule(key, self.at(deadline)))
    }

    #[inline]
    fn advance(&mut self, now: u64, due: &mut Due) {
        self.now = now;
        self.wheel.poll_and_rebalance(self.at(now), &mut self.fired);
        for payload in self.fired.drain(..) {
            due.fire(payload);
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        let next = self.wheel.next_deadline()?;
        let ticks = next.saturating_duration_since(self.start).as_millis() as u64;
        Some(self.wake_at(ticks.max(self.now), due))
    }

    fn release(&mut self, key: TimerHandle<u64>) {
        self.wheel.free(key);
    }

    fn pending_count(&self) -> u64 {
        self.wheel.len() as u64
    }
}

//! Timers of a loop on the monotonic clock, kept in a queue of mainspring-queue.
//!
//! ```text
//!  owner ── arm(at) ──▶ queue, in milliseconds ── wait ──▶ how long poll may sleep
//!                             └── due(now) ──▶ which wait is over
//! ```
//!
//! Deadlines are rounded up to a millisecond and the time is rounded down, so that no wait is over too early.
//!
//! Cost: O(1) to arm, to move, to disarm and to take; the next wake-up is known without a look at all waits.
//!
//! Does not read a clock: the time is an argument.

use std::time::{Duration, Instant};

use mainspring_queue::wheel::Chunked;
use mainspring_queue::{Tick, TimerId, TimerQueue};

use crate::clock::Moment;

/// A wait that is armed. Its owner keeps it, to move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmedWait {
    id: TimerId,
    at: Instant,
}

/// The waits of a loop. `W` names what is waited for.
#[derive(Debug)]
pub struct Waits<W> {
    /// Tick 0: the first time that was told.
    origin: Option<Instant>,
    queue: Chunked<W>,
}

impl<W> Default for Waits<W> {
    fn default() -> Waits<W> {
        Waits { origin: None, queue: Chunked::new() }
    }
}

impl<W> Waits<W> {
    /// Arms a wait until `at`, moves it there, or disarms it for `None`. Does nothing for one that is armed
    /// so already.
    pub fn arm(&mut self, armed: &mut Option<ArmedWait>, at: Option<Instant>, wait: W, now: Moment) {
        let origin = *self.origin.get_or_insert(now.monotonic);
        let pending = armed.take().filter(|armed| self.queue.deadline(armed.id).is_some());
        let Some(at) = at else {
            if let Some(ArmedWait { id, .. }) = pending {
                self.queue.cancel(id);
            }
            return;
        };
        let deadline = ticks_up(at.saturating_duration_since(origin));
        *armed = match pending {
            Some(pending) if pending.at == at => Some(pending),
            Some(ArmedWait { id, .. }) => {
                self.queue.reset(id, deadline).expect("it is pending, and the queue has no horizon");
                Some(ArmedWait { id, at })
            }
            None => {
                let id = self.queue.schedule(deadline, wait);
                let id = id.unwrap_or_else(|_| panic!("a loop has fewer waits than a queue has names"));
                Some(ArmedWait { id, at })
            }
        };
    }

    /// Takes a wait that is over. Call it until there is none, before [`wait`](Self::wait).
    pub fn due(&mut self, now: Moment) -> Option<W> {
        let origin = *self.origin.get_or_insert(now.monotonic);
        let now = ticks_down(now.monotonic.saturating_duration_since(origin));
        self.queue.advance(now);
        let expired = self.queue.pop_expired()?;
        debug_assert!(expired.deadline <= now, "no wait is over too early");
        Some(expired.payload)
    }

    /// How long the loop may sleep: never longer than until the first wait is over, and shorter where the
    /// queue wants to be looked at. `None` if nothing is waited for.
    pub fn wait(&self, now: Moment) -> Option<Duration> {
        let at = Duration::from_millis(self.queue.next_wakeup()?.get());
        let since =
            self.origin.map_or(Duration::ZERO, |origin| now.monotonic.saturating_duration_since(origin));
        Some(at.saturating_sub(since))
    }

    /// How many waits are armed.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing is waited for.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// A deadline: the first whole millisecond that is not before it.
fn ticks_up(time: Duration) -> Tick {
    ticks_down(time.saturating_add(Duration::from_nanos(999_999)))
}

/// The time: the last whole millisecond that is not after it.
fn ticks_down(time: Duration) -> Tick {
    Tick::new(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(start: Moment, nanoseconds: u64) -> Moment {
        Moment { monotonic: start.monotonic + Duration::from_nanos(nanoseconds), ..start }
    }

    #[test]
    fn a_wait_is_over_at_its_time_and_never_before() {
        let start = Moment::now();
        for at_ns in [0, 1, 999_999, 1_000_000, 1_000_001, 86_400_000_000_001, u64::MAX / 4] {
            let (mut waits, mut armed) = (Waits::default(), None);
            // The origin is no whole number of milliseconds before the deadline.
            assert_eq!(waits.due(start), None);
            waits.arm(&mut armed, Some(later(start, at_ns).monotonic), "it", start);
            let over_ns = at_ns.next_multiple_of(1_000_000);
            if 0 < over_ns {
                assert_eq!(waits.due(later(start, over_ns - 1)), None, "{at_ns}");
            }
            assert_eq!(waits.due(later(start, over_ns)), Some("it"), "{at_ns}");
            assert_eq!((waits.due(later(start, over_ns)), waits.wait(start)), (None, None));
        }
    }

    #[test]
    fn the_loop_sleeps_until_the_first_wait_and_finds_it() {
        let start = Moment::now();
        let mut waits = Waits::default();
        let mut armed = [None; 300];
        for (index, armed) in armed.iter_mut().enumerate() {
            // From a millisecond to a quarter of an hour, each somewhere else.
            let at = start.monotonic + Duration::from_micros((index as u64 * 7_919_993) % 900_000_000);
            waits.arm(armed, Some(at), index, start);
        }
        let (mut now, mut found, mut turn_count) = (start, 0, 0);
        while let Some(wait) = waits.wait(now) {
            now.monotonic += wait;
            turn_count += 1;
            while let Some(index) = waits.due(now) {
                let at = armed[index].expect("it was armed").at;
                assert!(at <= now.monotonic, "{index} is early");
                assert!(now.monotonic < at + Duration::from_millis(2), "{index} is late");
                found += 1;
            }
        }
        assert_eq!(found, armed.len());
        assert!(turn_count < 2 * armed.len() + 20, "{turn_count} turns are more than looks of the queue");
    }

    #[test]
    fn a_wait_is_moved_and_disarmed_and_armed_again_after_its_end() {
        let start = Moment::now();
        let at = |ms: u64| Some(later(start, ms * 1_000_000).monotonic);
        let (mut waits, mut armed) = (Waits::default(), None);
        waits.arm(&mut armed, at(10), "it", start);
        waits.arm(&mut armed, at(10), "it", start);
        waits.arm(&mut armed, at(5), "it", start);
        assert_eq!(waits.len(), 1);
        assert_eq!(waits.due(later(start, 5_000_000)), Some("it"));
        waits.arm(&mut armed, at(5), "it", start);
        assert_eq!(waits.wait(later(start, 5_000_000)), Some(Duration::ZERO), "its time has passed");
        waits.arm(&mut armed, at(20), "it", start);
        waits.arm(&mut armed, None, "it", start);
        assert!(armed.is_none() && waits.is_empty());
        assert_eq!(waits.due(later(start, 30_000_000)), None);
    }
}

//! Receives the fired timers of an engine: it counts them, and measures lateness where deadlines are known.
//!
//! ```text
//!   engine --fired(payload)--> Recorder { count, early, [now - (start + payload ns)] }     afterwards: a histogram
//! ```
//!
//! What stands here is part of the CPU time of W6, so it does no more than it must: a clock read, a count,
//! and a store into memory that was written before. A histogram at once, behind a lock and larger than a
//! cache, took twice as long.
//!
//! Cost: 30 ns a timer, most of it the clock read, the same for every engine: 0.03 CPU seconds of W6.
//!
//! It does not keep which timer was how late.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::stopwatch;

/// Payloads at or above this are no deadline: such a timer is only counted.
pub const UNTIMED: u64 = u64::MAX;

/// Lateness is recorded up to a minute, in ns.
pub(crate) const LATENESS_NS_MAX: u64 = 60_000_000_000;

/// Digits of a lateness that are kept in the end.
const DIGIT_COUNT: u8 = 3;

/// A place that no lateness has been stored at.
const NONE: u64 = u64::MAX;

const _: () = assert!(LATENESS_NS_MAX < NONE, "a lateness that is told is no mark");

/// The counts.
#[derive(Debug)]
pub struct Recorder {
    start: Instant,
    fired_count: AtomicU64,
    early_count: AtomicU64,
    lateness_ns_max: AtomicU64,
    /// By the order of firing.
    lateness_ns: Vec<AtomicU64>,
}

impl Recorder {
    /// Makes one whose time starts now, with room for the latenesses of so many timers.
    pub fn new(timed_count: u64) -> Recorder {
        Recorder {
            start: stopwatch::instant(),
            fired_count: AtomicU64::new(0),
            early_count: AtomicU64::new(0),
            lateness_ns_max: AtomicU64::new(0),
            lateness_ns: (0..timed_count).map(|_| AtomicU64::new(NONE)).collect(),
        }
    }

    /// The instant that a payload stands for.
    pub fn at(&self, payload: u64) -> Instant {
        self.start + Duration::from_nanos(payload)
    }

    /// Takes a timer that fired. Latenesses beyond the room that there is are not kept, and counted all the
    /// same.
    #[inline]
    pub fn fired(&self, payload: u64) {
        if payload == UNTIMED {
            self.fired_count.fetch_add(1, Ordering::Release);
            return;
        }
        let now_ns = self.now_ns();
        if now_ns < payload {
            self.early_count.fetch_add(1, Ordering::Relaxed);
        }
        let lateness_ns = now_ns.saturating_sub(payload);
        // It seldom is: a load instead of a change.
        if self.lateness_ns_max.load(Ordering::Relaxed) < lateness_ns {
            self.lateness_ns_max.fetch_max(lateness_ns, Ordering::Relaxed);
        }
        let place = self.fired_count.fetch_add(1, Ordering::Release);
        if let Some(slot) = self.lateness_ns.get(place as usize) {
            slot.store(lateness_ns, Ordering::Release);
        }
    }

    /// How long ago its time started, in ns.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        stopwatch::instant().saturating_duration_since(self.start).as_nanos() as u64
    }

    /// How late the latest was, in ns.
    pub fn lateness_ns_max(&self) -> u64 {
        self.lateness_ns_max.load(Ordering::Acquire)
    }

    /// How many fired.
    pub fn fired_count(&self) -> u64 {
        self.fired_count.load(Ordering::Acquire)
    }

    /// How many of them before their time.
    pub fn early_count(&self) -> u64 {
        self.early_count.load(Ordering::Acquire)
    }

    /// How late they were so far, in ns.
    ///
    /// # Panics
    /// Never: a minute to three digits is a legal histogram.
    pub fn lateness_ns(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_max(LATENESS_NS_MAX, DIGIT_COUNT)
            .expect("a minute to three digits is a legal histogram");
        let late = self.lateness_ns.iter().map(|slot| slot.load(Ordering::Acquire));
        late.filter(|&lateness_ns| lateness_ns != NONE)
            .for_each(|lateness_ns| histogram.saturating_record(lateness_ns));
        debug_assert!(histogram.len() <= self.fired_count(), "what is late has fired");
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latenesses_are_kept_as_far_as_there_is_room_and_all_firings_are_counted() {
        let recorder = Recorder::new(2);
        let hour_ns = 3_600_000_000_000;
        // Two in time, one an hour early, one that is not timed.
        for payload in [0, hour_ns, 0, UNTIMED] {
            recorder.fired(payload);
        }
        assert_eq!((recorder.fired_count(), recorder.early_count()), (4, 1));
        assert_eq!(recorder.lateness_ns().len(), 2);
        assert!(0 < recorder.lateness_ns_max() && recorder.lateness_ns_max() < hour_ns);
        assert_eq!(Recorder::new(5).lateness_ns().len(), 0);
    }
}

//! Where the timers of an engine end up: counted, and where their deadlines are known, measured.
//!
//! ```text
//!   engine --fired(payload)--> Sink { count, early, histogram of now - (start + payload ns) }
//! ```
//!
//! Cost: a clock read and a lock that one thread takes, 50 ns a timer, the same for every engine.
//!
//! It does not keep single latenesses: a histogram to three digits does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::stopwatch;

/// Payloads at or above this are no deadline: such a timer is only counted.
pub const UNTIMED: u64 = u64::MAX;

/// Lateness is recorded up to a minute, in ns.
const LATENESS_NS_MAX: u64 = 60_000_000_000;

/// Digits of a lateness that are kept.
const DIGIT_COUNT: u8 = 3;

/// The counts.
#[derive(Debug)]
pub struct Sink {
    start: Instant,
    fired_count: AtomicU64,
    early_count: AtomicU64,
    lateness_ns: Mutex<Histogram<u64>>,
}

impl Sink {
    /// Makes one whose time starts now.
    pub fn new() -> Sink {
        let histogram = Histogram::new_with_max(LATENESS_NS_MAX, DIGIT_COUNT);
        Sink {
            start: stopwatch::instant(),
            fired_count: AtomicU64::new(0),
            early_count: AtomicU64::new(0),
            lateness_ns: Mutex::new(histogram.expect("a minute to three digits is a legal histogram")),
        }
    }

    /// The instant that a payload stands for.
    pub fn at(&self, payload: u64) -> Instant {
        self.start + Duration::from_nanos(payload)
    }

    /// Takes a timer that fired.
    #[inline]
    pub fn fired(&self, payload: u64) {
        if payload != UNTIMED {
            let (now, deadline) = (stopwatch::instant(), self.at(payload));
            if now < deadline {
                self.early_count.fetch_add(1, Ordering::Relaxed);
            }
            let late_ns = now.saturating_duration_since(deadline).as_nanos() as u64;
            self.lateness_ns.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(late_ns);
        }
        self.fired_count.fetch_add(1, Ordering::Release);
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
    pub fn lateness_ns(&self) -> Histogram<u64> {
        self.lateness_ns.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Default for Sink {
    fn default() -> Sink {
        Sink::new()
    }
}

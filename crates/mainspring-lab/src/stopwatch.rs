//! Real time, for measuring: the one file of the lab that reads a clock.
//!
//! Cost: a clock read is 20 to 25 ns: never one per operation, but where an operation's own length is the
//! figure.
//!
//! It does not decide anything: what a subject does never depends on it.

#![expect(clippy::disallowed_methods, reason = "measuring is reading the clock")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// Now, by the monotonic clock.
pub fn instant() -> Instant {
    Instant::now()
}

/// Now, by the wall clock: the date of results.
pub fn date() -> Timestamp {
    Timestamp::now()
}

/// How long it is until an instant; nothing if it has passed.
pub fn until(instant: Instant) -> Duration {
    instant.saturating_duration_since(Instant::now())
}

/// Waits until an instant has passed.
pub fn sleep_until(instant: Instant) {
    loop {
        let left = until(instant);
        if left == Duration::ZERO {
            return;
        }
        thread::sleep(left);
    }
}

/// A running measurement of what the calling thread does: the time for which other threads kept it off its
/// core is taken off, if the kernel tells it (Linux with scheduler statistics). Reading it takes some
/// microseconds.
#[derive(Clone, Copy, Debug)]
pub struct OwnTime {
    stopwatch: Stopwatch,
    kept_off_ns: f64,
}

impl OwnTime {
    /// Starts to measure.
    pub fn start() -> OwnTime {
        OwnTime { kept_off_ns: kept_off_ns(), stopwatch: Stopwatch::start() }
    }

    /// Nanoseconds since the start.
    pub fn ns(self) -> f64 {
        let ns = self.stopwatch.ns();
        ns - self.kept_off_ns().min(ns)
    }

    /// For how many of them another thread had the core.
    pub fn kept_off_ns(self) -> f64 {
        kept_off_ns() - self.kept_off_ns
    }

    /// Nanoseconds since the start, by step.
    pub fn ns_per(self, step_count: u64) -> f64 {
        debug_assert!(0 < step_count, "a cost is that of a step");
        self.ns() / step_count as f64
    }
}

/// For how long the calling thread could have run and another did.
fn kept_off_ns() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    // Time on a core, time of waiting for one, number of turns.
    text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or_default()
}

/// A running measurement.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn ns(self) -> f64 {
        self.0.elapsed().as_nanos() as f64
    }

    /// Nanoseconds since the start, by step.
    pub fn ns_per(self, step_count: u64) -> f64 {
        debug_assert!(0 < step_count, "a cost is that of a step");
        self.ns() / step_count as f64
    }
}

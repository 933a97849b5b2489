//! Real time, for measuring: the one file of the lab that reads a clock.
//!
//! Cost: a clock read is 20 to 25 ns: never one per operation, but where an operation's own length is the
//! figure.
//!
//! It does not decide anything: what a subject does never depends on it.

#![expect(clippy::disallowed_methods, reason = "measuring is reading the clock")]

use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Now, by the monotonic clock.
pub fn instant() -> Instant {
    Instant::now()
}

/// Now, by the wall clock: the date of results.
pub fn date() -> SystemTime {
    SystemTime::now()
}

/// Waits until an instant has passed.
pub fn sleep_until(until: Instant) {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return;
        }
        thread::sleep(left);
    }
}

/// A running measurement.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Nanoseconds since the start.
    pub fn ns(self) -> f64 {
        self.0.elapsed().as_nanos() as f64
    }

    /// Nanoseconds since the start, by step.
    pub fn ns_per(self, step_count: u64) -> f64 {
        self.ns() / step_count as f64
    }
}

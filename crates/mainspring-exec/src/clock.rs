//! The one place of this program that asks what time it is.
//!
//! The loop of `serve` takes one [`Moment`] per turn and hands it down: everything else is given the time as
//! an argument. The calendar's own clock belongs to the library; this one is for the stamps of the log, for
//! durations and for grace periods.
//!
//! Cost: two readings without a system call on Linux.
//!
//! Does not wait: waiting is done by `poll`, in the loop.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};

/// The time since the machine was started, its sleep included: what a lease is counted by, which another
/// machine gives away meanwhile. Zero where the kernel has no such clock, which Linux has.
pub fn boot_time() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock: for showing.
    pub wall: Timestamp,
    /// The monotonic clock: for measuring and waiting.
    pub monotonic: Instant,
}

impl Moment {
    /// Reads both clocks.
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the program")]
    pub fn now() -> Moment {
        Moment { wall: Timestamp::now(), monotonic: Instant::now() }
    }

    /// The time from `earlier` to this moment on the monotonic clock; zero if it is not earlier.
    pub fn since(&self, earlier: Moment) -> Duration {
        self.monotonic.saturating_duration_since(earlier.monotonic)
    }
}

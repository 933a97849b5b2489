//! The one place of this program that asks what time it is.
//!
//! The loop of `serve` takes one [`Moment`] per turn and hands it down: everything else is given the time as
//! an argument. The calendar's own clock belongs to the library; this one is for the stamps of the log, for
//! durations and for grace periods.
//!
//! A loop whose store is shared follows the store's clock, so that each of its owners takes the same time for
//! now. It has each answer of the store as a [`Reading`]: when it asked, what the store's clock showed, and
//! when the answer was there. Both times are boot times, which are never set.
//!
//! ```text
//!  asked ────── shown ────── answered      the store's clock is at least what it showed, when the answer is there
//! ```
//!
//! The followed clock is the lowest that no reading contradicts, so it is never ahead of the store's: nothing
//! is early. It is behind by the shortest way of an answer.
//!
//! Cost: two readings without a system call on Linux.
//!
//! Does not wait: waiting is done by `poll`, in the loop.

use std::cell::Cell;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use crate::kernel;

/// The time since the machine was started, its sleep included: what a lease is counted by, which another
/// machine gives away meanwhile. Zero where the kernel has no such clock, which Linux and macOS have.
pub fn boot_time() -> Duration {
    kernel::boot_time()
}

/// What tells one start of the machine from the next. In a container it is that of the host. Empty where it
/// cannot be read.
pub fn boot_id() -> String {
    kernel::boot_id()
}

thread_local! {
    /// What the followed clock showed at boot time 0. Each loop has a thread of its own.
    static FOLLOWED: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// What the clock of a store showed between two boot times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it showed.
    pub shown: Timestamp,
    /// Before the store was asked.
    pub asked_at: Duration,
    /// When its answer was there.
    pub answered_at: Duration,
}

/// Has this thread follow the clock of its store, for which this was read last.
pub fn follow(reading: Reading) {
    FOLLOWED.set(Some(followed(FOLLOWED.get(), reading)));
}

/// Has this thread follow the system's clock.
pub fn follow_system() {
    FOLLOWED.set(None);
}

/// The boot time at which the followed clock shows `at`, if this thread follows one.
pub fn boot_time_of(at: Timestamp) -> Option<Duration> {
    Some(Duration::try_from(at.duration_since(FOLLOWED.get()?)).unwrap_or(Duration::ZERO))
}

/// When the machine was started by the followed clock, if this thread follows one.
pub fn machine_start() -> Option<Timestamp> {
    FOLLOWED.get()
}

/// By how much the system's clock is ahead of the followed one, if this thread follows one.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the program")]
pub fn ahead() -> Option<SignedDuration> {
    Some(Timestamp::now().duration_since(now_by(FOLLOWED.get()?)))
}

/// What a clock showed at boot time 0, after a reading of it: the lowest that it can have been, if what was
/// known before is too low or too high.
fn followed(known: Option<Timestamp>, reading: Reading) -> Timestamp {
    debug_assert!(reading.asked_at <= reading.answered_at, "an answer comes after its question");
    let lowest = before(reading.shown, reading.answered_at);
    let highest = before(reading.shown, reading.asked_at);
    known.filter(|known| lowest <= *known && *known <= highest).unwrap_or(lowest)
}

fn before(at: Timestamp, length: Duration) -> Timestamp {
    at.checked_sub(length).unwrap_or(Timestamp::MIN)
}

fn now_by(at_boot: Timestamp) -> Timestamp {
    at_boot.checked_add(boot_time()).unwrap_or(Timestamp::MAX)
}

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock: that of the system, or of the store that this thread follows.
    pub wall: Timestamp,
    /// The monotonic clock: for measuring and waiting.
    pub monotonic: Instant,
}

impl Moment {
    /// Reads both clocks.
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the program")]
    pub fn now() -> Moment {
        let wall = FOLLOWED.get().map_or_else(Timestamp::now, now_by);
        Moment { wall, monotonic: Instant::now() }
    }

    /// The moment that is so much later, if no clock is set meanwhile.
    #[must_use]
    pub fn after(self, wait: Duration) -> Moment {
        Moment {
            wall: self.wall.saturating_add(wait).unwrap_or(Timestamp::MAX),
            monotonic: self.monotonic.checked_add(wait).unwrap_or(self.monotonic),
        }
    }

    /// The time from `earlier` to this moment on the monotonic clock; zero if it is not earlier.
    pub fn since(&self, earlier: Moment) -> Duration {
        self.monotonic.saturating_duration_since(earlier.monotonic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(asked_ms: u64, shown_ms: i64, answered_ms: u64) -> Reading {
        Reading {
            shown: Timestamp::from_millisecond(shown_ms).unwrap(),
            asked_at: Duration::from_millis(asked_ms),
            answered_at: Duration::from_millis(answered_ms),
        }
    }

    #[test]
    fn a_followed_clock_is_never_ahead_and_comes_closer_with_each_faster_answer() {
        // The store's clock shows 5,000 ms more than the boot time.
        let mut known = None;
        let answers = [(100, 5_190, 200, 4_990), (300, 5_301, 500, 4_990), (600, 5_604, 606, 4_998)];
        for (asked_at, shown, answered_at, expected) in answers {
            let at_boot = followed(known, reading(asked_at, shown, answered_at));
            assert_eq!(at_boot.as_millisecond(), expected);
            assert!(at_boot.as_millisecond() <= 5_000, "it is never ahead");
            known = Some(at_boot);
        }
    }

    #[test]
    fn a_followed_clock_that_was_set_is_followed_in_both_directions() {
        let known = Some(Timestamp::from_millisecond(5_000).unwrap());
        for shown in [9_000, 2_000] {
            let at_boot = followed(known, reading(1_000, shown, 1_010));
            assert_eq!(at_boot.as_millisecond(), shown - 1_010);
        }
    }

    #[test]
    fn a_thread_that_follows_a_clock_shows_its_time_and_no_other_thread_does() {
        let shown = Timestamp::from_second(1_000_000_000).unwrap();
        let asked_at = boot_time();
        follow(Reading { shown, asked_at, answered_at: boot_time() });
        let now = Moment::now().wall;
        assert!(shown <= now && now.duration_since(shown) < SignedDuration::from_hours(1), "{now}");
        assert!(SignedDuration::from_hours(1) < ahead().unwrap());
        let at = boot_time_of(shown).unwrap();
        assert!(asked_at <= at && at <= boot_time());
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(ahead(), None));
        });
        follow_system();
        assert_eq!(ahead(), None);
    }
}

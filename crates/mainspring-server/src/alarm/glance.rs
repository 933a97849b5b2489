//! An alarm without a timer: the loop waits for a second at most, and looks at the clock.
//!
//! A wait counts no sleep of the machine and follows no clock that is set, so it must be short.
//!
//! Cost: a turn of the loop each second while something is due some time.

use std::io;
use std::time::Duration;

use jiff::Timestamp;

use mainspring_exec::clock::Moment;
use mainspring_host::net::BorrowedFd;

/// The longest wait for a time of the wall clock.
const GLANCE_INTERVAL: Duration = Duration::from_secs(1);
const _: () = assert!(!GLANCE_INTERVAL.is_zero(), "the loop waits");

/// A time to look for.
#[derive(Debug)]
pub struct Alarm {
    at: Option<Timestamp>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn new() -> io::Result<Alarm> {
        Ok(Alarm { at: None })
    }

    /// Lets it ring at a time; at once if that has passed, and never for `None`.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
        self.at = at;
        Ok(())
    }

    /// Stops it from ringing. Afterwards it is to be set again.
    pub fn clear(&mut self) {
        self.at = None;
    }

    /// No descriptor becomes readable when it rings.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// How long the loop may wait before it looks at the clock again.
    pub fn wait(&self, now: Moment) -> Option<Duration> {
        let left = self.at?.duration_since(now.wall);
        Some(Duration::try_from(left).unwrap_or(Duration::ZERO).min(GLANCE_INTERVAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_no_longer_than_a_second_and_not_beyond_its_time() {
        let (mut alarm, now) = (Alarm::new().unwrap(), Moment::now());
        assert_eq!(alarm.wait(now), None);
        for (at, wait) in [(-5_000, 0), (0, 0), (20, 20), (1_000, 1_000), (60_000, 1_000)] {
            alarm.set(Some(now.wall + jiff::SignedDuration::from_millis(at))).unwrap();
            assert_eq!(alarm.wait(now), Some(Duration::from_millis(wait)), "{at}");
        }
        alarm.clear();
        assert_eq!(alarm.wait(now), None);
    }
}

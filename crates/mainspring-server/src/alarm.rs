//! A timer on the wall clock that a loop can poll.
//!
//! ```text
//! set(08:00) ──▶ polls as readable at 08:00 by the wall clock, after a suspend too, and whenever the clock is set
//! ```
//!
//! A timeout of poll(2) cannot be used: its clock stands still in a suspend, and does not follow a clock that
//! is set.
//!
//! Cost: a system call to set it, one to quiet it.
//!
//! Does not say why it fired: the loop looks at the clock.
//!
//! Source: TFD_TIMER_CANCEL_ON_SET in timerfd_create(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// The timer.
#[derive(Debug)]
pub struct Alarm {
    timer: TimerFd,
    /// What it is set to, so that the same again costs nothing.
    set_to: Option<Timestamp>,
}

/// Until when a timer can be set: beyond any due time that will be asked for, and far from the kernel's own
/// limit.
const FAR_SECONDS: i64 = 1 << 33;

impl Alarm {
    /// A timer that is not set. It hears of changes of the clock only while it is.
    ///
    /// # Errors
    ///
    /// When the operating system has none to give.
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Alarm { timer: TimerFd::new(ClockId::CLOCK_REALTIME, flags)?, set_to: None })
    }

    /// Lets it ring at a time; at once if that has passed, and for `None` only when the clock is set.
    ///
    /// # Errors
    ///
    /// None is known for a timer that exists.
    pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
        let far = Timestamp::from_second(FAR_SECONDS).expect("the constant lies within the calendar");
        let at = at.unwrap_or(far).clamp(Timestamp::UNIX_EPOCH + Duration::from_nanos(1), far);
        if self.set_to == Some(at) {
            return Ok(());
        }
        let nanoseconds = i64::from(at.subsec_nanosecond());
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET;
        self.timer.set(Expiration::OneShot(TimeSpec::new(at.as_second(), nanoseconds)), flags)?;
        self.set_to = Some(at);
        Ok(())
    }

    /// Stops it from ringing. Afterwards it is to be set again.
    pub fn quiet(&mut self) {
        // It fails if it has not rung, and if the clock was set, which is what rang then.
        if self.timer.wait().map_err(|error| error == nix::errno::Errno::EAGAIN) != Err(true) {
            self.set_to = None;
        }
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::wait_for;
    use mainspring_exec::clock::Moment;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    fn rings(alarm: &Alarm) -> bool {
        poll(&mut [PollFd::new(alarm.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn it_rings_at_its_time_and_never_before() {
        let mut alarm = Alarm::new().unwrap();
        alarm.set(None).unwrap();
        assert!(!rings(&alarm));
        let at = Moment::now().wall + Duration::from_millis(20);
        alarm.set(Some(at)).unwrap();
        wait_for(&[alarm.as_fd()], &[], None).unwrap();
        assert!(at <= Moment::now().wall && rings(&alarm));
        alarm.quiet();
        assert!(!rings(&alarm));
    }

    #[test]
    fn a_time_that_has_passed_rings_at_once() {
        for past in [Timestamp::MIN, Timestamp::UNIX_EPOCH] {
            let mut alarm = Alarm::new().unwrap();
            alarm.set(Some(past)).unwrap();
            wait_for(&[alarm.as_fd()], &[], None).unwrap();
            assert!(rings(&alarm));
        }
    }
}

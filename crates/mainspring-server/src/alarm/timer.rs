//! A timer on the wall clock that a loop can poll.
//!
//! ```text
//! set(08:00) ──▶ polls as readable at 08:00 by the wall clock, after a suspend too, and whenever the clock is set
//! ```
//!
//! In a thread that follows the clock of its store the timer is on the boot time, and stays right however the
//! system's clock is set. When a reading has moved the followed clock, it is to be set again.
//!
//! A timeout of poll(2) cannot be used: its clock stands still in a suspend, and does not follow a clock that
//! is set.
//!
//! Cost: a system call to set it, one to clear it.
//!
//! Does not say why it fired: the loop looks at the clock.
//!
//! Source: TFD_TIMER_CANCEL_ON_SET in timerfd_create(2).

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use mainspring_exec::clock::{Moment, boot_time, boot_time_of};
use mainspring_host::net::{AsFd, BorrowedFd};

/// The timer.
#[derive(Debug)]
pub struct Alarm {
    timer: TimerFd,
    clock: ClockId,
    /// What it is set to, so that the same again costs nothing.
    set_to: Option<TimeSpec>,
}

/// Until when a timer can be set: beyond any due time that will be asked for, and far from the kernel's own
/// limit. Where a second has 32 bits that is in 2038.
const FAR_SECONDS: i64 = if size_of::<nix::libc::time_t>() < 8 { i32::MAX as i64 } else { 1 << 33 };

/// The first time that a timer can be set to: at zero it is not set.
const SOON: Duration = Duration::from_nanos(1);

impl Alarm {
    /// A timer that is not set. It hears of changes of the clock only while it is.
    ///
    /// # Errors
    ///
    /// When the operating system has none to give.
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let follows = boot_time_of(Timestamp::UNIX_EPOCH).is_some();
        let clock = if follows { ClockId::CLOCK_BOOTTIME } else { ClockId::CLOCK_REALTIME };
        Ok(Alarm { timer: TimerFd::new(clock, flags)?, clock, set_to: None })
    }

    /// Lets it ring at a time; at once if that has passed, and for `None` only when the clock is set.
    ///
    /// # Errors
    ///
    /// None is known for a timer that exists.
    pub fn set(&mut self, at: Option<Timestamp>) -> io::Result<()> {
        let at = match self.clock {
            ClockId::CLOCK_BOOTTIME => {
                let far = Duration::from_secs(FAR_SECONDS.unsigned_abs());
                TimeSpec::from(at.and_then(boot_time_of).unwrap_or(far).clamp(SOON, far))
            }
            _ => {
                let far = Timestamp::from_second(FAR_SECONDS).expect("the constant lies within the calendar");
                let at = at.unwrap_or(far).clamp(Timestamp::UNIX_EPOCH + SOON, far);
                TimeSpec::from(at.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs())
            }
        };
        if self.set_to == Some(at) {
            return Ok(());
        }
        let (expires, flags) = match self.clock {
            // The time that is left, because libfaketime takes absolute times of each clock for wall times.
            ClockId::CLOCK_BOOTTIME => {
                let left = Duration::from(at).saturating_sub(boot_time()).max(SOON);
                (TimeSpec::from(left), TimerSetTimeFlags::empty())
            }
            _ => (at, TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET),
        };
        self.timer.set(Expiration::OneShot(expires), flags)?;
        self.set_to = Some(at);
        Ok(())
    }

    /// Becomes readable when it rings.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.timer.as_fd())
    }

    /// The loop may wait as long as it likes.
    pub fn wait(&self, _: Moment) -> Option<Duration> {
        None
    }

    /// Stops it from ringing. Afterwards it is to be set again.
    pub fn clear(&mut self) {
        // It fails if it has not rung, and if the clock was set, which is what rang then.
        if self.timer.wait().map_err(|error| error == nix::errno::Errno::EAGAIN) != Err(true) {
            self.set_to = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::wait_for;
    use mainspring_exec::clock::{Reading, follow, follow_system};
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    fn rings(alarm: &Alarm) -> bool {
        poll(&mut [PollFd::new(alarm.timer.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).unwrap() == 1
    }

    /// Not before its time by the clock of this thread, and once.
    fn rings_when_it_is_to() {
        let mut alarm = Alarm::new().unwrap();
        alarm.set(None).unwrap();
        assert!(!rings(&alarm));
        let at = Moment::now().wall + Duration::from_millis(20);
        alarm.set(Some(at)).unwrap();
        wait_for(&[alarm.timer.as_fd()], &[], None).unwrap();
        assert!(at <= Moment::now().wall && rings(&alarm));
        alarm.clear();
        assert!(!rings(&alarm));
    }

    #[test]
    fn it_rings_at_its_time_and_never_before() {
        rings_when_it_is_to();
    }

    #[test]
    fn it_rings_by_the_clock_that_the_thread_follows() {
        // An hour behind the system's clock, which has passed that time long ago.
        let shown = Moment::now().wall - Duration::from_hours(1);
        follow(Reading { shown, asked_at: boot_time(), answered_at: boot_time() });
        rings_when_it_is_to();
        follow_system();
    }

    #[test]
    fn a_time_that_has_passed_rings_at_once() {
        for past in [Timestamp::MIN, Timestamp::UNIX_EPOCH] {
            let mut alarm = Alarm::new().unwrap();
            alarm.set(Some(past)).unwrap();
            wait_for(&[alarm.timer.as_fd()], &[], None).unwrap();
            assert!(rings(&alarm));
        }
    }
}

//! Clocks that tell the time of day, which people set and which jump.
//!
//! A [`WallClock`] tells a [`Timestamp`]. Nothing waits with it: waiting is the affair of a
//! [`Clock`], and [`epoch`](crate::epoch) is where the two meet. What a wall clock needs beside
//! now is a word when somebody sets it: [`Watch`] gives it, on Linux, without polling.
//!
//! Cost: a clock read. `Watch` is a thread that sleeps until the clock is set.
//!
//! Source: `TFD_TIMER_CANCEL_ON_SET` in timerfd_create(2).

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use mainspring_queue::Tick;

use super::{Clock, Manual};

#[cfg(target_os = "linux")]
pub use linux::{BootTime, Watch};

/// A source of the time of day. Shared by all threads.
///
/// ```
/// use mainspring::clock::wall::WallClock;
/// use mainspring::jiff::Timestamp;
///
/// /// Always shows the beginning of 1970.
/// struct Stopped;
///
/// impl WallClock for Stopped {
///     fn now(&self) -> Timestamp {
///         Timestamp::UNIX_EPOCH
///     }
/// }
///
/// let engine = mainspring::Engine::new()?;
/// let calendar = mainspring::Calendar::with_wall(engine.handle().clone(), Stopped);
/// # drop(calendar);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait WallClock: Send + Sync + 'static {
    /// Returns the time of day. It may jump in either direction between two calls.
    fn now(&self) -> Timestamp;
}

/// A clock that several share is a clock.
impl<W: WallClock + ?Sized> WallClock for Arc<W> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The operating system's wall clock.
///
/// ```
/// use mainspring::clock::wall::{System, WallClock};
///
/// println!("it is {}", System.now());
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it is its name, and will be no more")]
pub struct System;

impl WallClock for System {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that others must ask")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A wall clock that goes along with a manual clock and can be set.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::clock::wall::{ManualWall, WallClock};
///
/// let clock = Manual::stepped();
/// let wall = ManualWall::new(clock.clone(), "2026-03-01T12:00:00Z".parse()?);
/// clock.advance(Duration::from_secs(90));
/// assert_eq!(wall.now().to_string(), "2026-03-01T12:01:30Z");
/// wall.set("2026-03-01T11:00:00Z".parse()?); // as a person or a time server does
/// assert_eq!(wall.now().to_string(), "2026-03-01T11:00:00Z");
/// # Ok::<(), mainspring::jiff::Error>(())
/// ```
#[derive(Debug)]
pub struct ManualWall {
    clock: Manual,
    /// What the time of day was at which tick.
    anchor: Mutex<(Tick, Timestamp)>,
}

impl ManualWall {
    /// Makes a wall clock that shows `start` now and then moves as `clock` does.
    pub fn new(clock: Manual, start: Timestamp) -> ManualWall {
        let anchor = Mutex::new((clock.now(), start));
        ManualWall { clock, anchor }
    }

    /// Sets the time of day, as a person or a time server does: a jump, in either direction.
    pub fn set(&self, timestamp: Timestamp) {
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = (self.clock.now(), timestamp);
    }
}

impl WallClock for ManualWall {
    fn now(&self) -> Timestamp {
        let (tick, timestamp) = *self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = self.clock.duration(self.clock.now().since(tick));
        timestamp.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use jiff::Timestamp;
    use nix::sys::time::{TimeSpec, TimeValLike};
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

    use super::WallClock;
    use crate::clock::sys::clock_ns;

    /// The time since the machine was booted, suspensions included, as a time of day after 1970-01-01: for
    /// [`Following`](crate::clock::Following).
    ///
    /// ```
    /// use mainspring::clock::wall::{BootTime, WallClock};
    /// use mainspring::jiff::Timestamp;
    ///
    /// let uptime = BootTime.now().duration_since(Timestamp::UNIX_EPOCH);
    /// assert!(uptime.is_positive());
    /// ```
    #[derive(Clone, Copy, Debug, Default)]
    #[expect(clippy::exhaustive_structs, reason = "it is its name, and will be no more")]
    pub struct BootTime;

    impl WallClock for BootTime {
        fn now(&self) -> Timestamp {
            let uptime = Duration::from_nanos(clock_ns(libc::CLOCK_BOOTTIME));
            Timestamp::UNIX_EPOCH.checked_add(uptime).expect("no machine runs for ten thousand years")
        }
    }

    /// When the watch's timer would expire if the clock were not set: the year 2255, far and within what the
    /// kernel can represent.
    const NEVER_SECONDS: i64 = 9_000_000_000;

    /// A thread that calls back when the wall clock is set, or the machine resumes from suspension. Ends when
    /// dropped.
    ///
    /// ```
    /// use mainspring::clock::wall::Watch;
    ///
    /// let watch = Watch::start(|| println!("the wall clock was set"))?;
    /// drop(watch); // ends its thread
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[derive(Debug)]
    pub struct Watch {
        timer: Arc<TimerFd>,
        is_ending: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
    }

    impl Watch {
        /// Starts the thread. Small corrections that only change the clock's speed are not reported.
        ///
        /// # Errors
        /// The kernel gives no timer, or no thread can be started.
        pub fn start(mut on_set: impl FnMut() + Send + 'static) -> io::Result<Watch> {
            let timer = Arc::new(TimerFd::new(ClockId::CLOCK_REALTIME, TimerFlags::TFD_CLOEXEC)?);
            arm(&timer, NEVER_SECONDS)?;
            let is_ending = Arc::new(AtomicBool::new(false));
            let thread = thread::Builder::new().name("mainspring-wall".to_owned()).spawn({
                let (timer, is_ending) = (Arc::clone(&timer), Arc::clone(&is_ending));
                move || {
                    // The read ends when the clock was set, or when the drop below made the timer expire.
                    while timer.wait().is_ok() && !is_ending.load(Ordering::Acquire) {
                        on_set();
                    }
                }
            })?;
            Ok(Watch { timer, is_ending, thread: Some(thread) })
        }
    }

    fn arm(timer: &TimerFd, seconds: i64) -> nix::Result<()> {
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME | TimerSetTimeFlags::TFD_TIMER_CANCEL_ON_SET;
        timer.set(Expiration::OneShot(TimeSpec::seconds(seconds)), flags)
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            // Pairs with the load after the wait: who wakes for this expiry sees the flag.
            self.is_ending.store(true, Ordering::Release);
            // A second after the epoch has passed: the timer expires at once.
            let is_woken = arm(&self.timer, 1).is_ok();
            let Some(thread) = self.thread.take() else { return };
            if is_woken && thread.thread().id() != thread::current().id() {
                // A panic of the callback was printed when it happened.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_manual_wall_clock_goes_along_and_can_be_set_either_way() {
        let clock = Manual::stepped();
        let start: Timestamp = "2026-03-01T00:00:00Z".parse().expect("the text is a timestamp");
        let wall = ManualWall::new(clock.clone(), start);
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(wall.now().to_string(), "2026-03-01T00:00:01.5Z");
        wall.set(start);
        clock.advance(Duration::from_secs(60));
        assert_eq!(wall.now().to_string(), "2026-03-01T00:01:00Z");
    }

    #[test]
    fn the_end_of_the_ticks_is_the_end_of_the_calendar() {
        let clock = Manual::stepped_by(Duration::from_secs(3_600));
        let wall = ManualWall::new(clock.clone(), Timestamp::UNIX_EPOCH);
        clock.advance_to(Tick::MAX);
        assert_eq!(wall.now(), Timestamp::MAX);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_watch_ends_when_it_is_dropped_and_reports_nothing_by_itself() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU32, Ordering};

        let count = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&count);
        let watch = Watch::start(move || counter.store(1, Ordering::Relaxed)).expect("a watch starts");
        drop(watch);
        assert_eq!(Arc::strong_count(&count), 1, "the thread has ended and dropped its callback");
    }
}

//! A clock whose ticks follow the wall clock: skynet's time.
//!
//! ```text
//!   wall    12:00:00 .. 12:00:05 | set to 12:10:00 ..    | set to 12:05:00 .. 12:05:01
//!   ticks   0        .. 500      | 60,000 ..             | 60,000          .. 60,100
//!                                  caught up in one go     counted as a setback; ticks go on
//! ```
//!
//! When the wall clock is set forward, the ticks between are passed at once, so every timer in between fires,
//! in order, and none twice. When it is set back, ticks stand where they are and go on from there: nothing
//! fires again, and [`setbacks`](Following::setbacks) tells how often and by how much that happened, where
//! skynet writes an error to its log.
//!
//! [`Following::wall`] and [`Following::boot_time`] are the clocks for engines whose delays are to pass as
//! people see them: the first by the time of day, the second with the time that a machine is suspended.
//!
//! It waits with another clock. Someone who sets the wall clock must be told of: call
//! [`look`](Following::look) from a [`wall::Watch`](super::wall), or time that was set forward is only
//! noticed at the next wake-up.
//!
//! Cost: a reading of the wall clock and a lock.
//!
//! Source: skynet, `skynet_updatetime`.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_queue::Tick;

#[cfg(target_os = "linux")]
use super::wall::{BootTime, Watch};
use super::wall::{System, WallClock};
use super::{Clock, Monotonic, Notifier};

/// A clock that follows the wall clock forward and never goes back.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::{Clock, Following};
///
/// // Continues while the machine is suspended.
/// let clock = Following::boot_time(Duration::from_secs(1))?;
/// let engine = mainspring::Engine::with_clock(clock)?;
/// assert_eq!(engine.handle().clock().resolution(), Duration::from_secs(1));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Following {
    wall: Arc<dyn WallClock>,
    /// What waits.
    base: Arc<dyn Clock>,
    resolution: Duration,
    start: Timestamp,
    state: Mutex<State>,
    /// Ends with the clock.
    #[cfg(target_os = "linux")]
    watch: Mutex<Option<Watch>>,
}

struct State {
    now: Tick,
    /// When that tick began, by the wall clock as it is set now.
    began: Timestamp,
    setbacks: Setbacks,
    notifiers: Vec<Notifier>,
}

/// How often, and by how much in all, the wall clock was found set back.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::clock::wall::ManualWall;
/// use mainspring::clock::{Clock, Following, Manual};
///
/// let base = Manual::stepped();
/// let wall = Arc::new(ManualWall::new(base.clone(), "2026-03-01T12:00:00Z".parse()?));
/// let clock = Following::new(Arc::clone(&wall), base, Duration::from_millis(10));
/// wall.set("2026-03-01T11:59:00Z".parse()?);
/// assert_eq!((clock.setbacks().count, clock.setbacks().total.as_secs()), (1, 60));
/// # Ok::<(), mainspring::jiff::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setbacks {
    /// How often.
    pub count: u64,
    /// By how much in all.
    pub total: SignedDuration,
}

impl Following {
    /// Makes a clock at tick 0 that follows `wall` with ticks of `resolution`, and waits with `base`.
    ///
    /// # Panics
    /// If the resolution is zero.
    pub fn new(wall: impl WallClock, base: impl Clock, resolution: Duration) -> Following {
        assert!(!resolution.is_zero(), "a tick lasts");
        let start = wall.now();
        let state =
            State { now: Tick::ZERO, began: start, setbacks: Setbacks::default(), notifiers: Vec::new() };
        Following {
            wall: Arc::new(wall),
            base: base.into_shared(),
            resolution,
            start,
            state: Mutex::new(state),
            #[cfg(target_os = "linux")]
            watch: Mutex::new(None),
        }
    }

    /// Makes a clock that follows the system's wall clock. On Linux a thread watches for its being set.
    ///
    /// # Errors
    /// The thread cannot be started.
    ///
    /// # Panics
    /// If the resolution is zero.
    pub fn wall(resolution: Duration) -> io::Result<Arc<Following>> {
        Following::watched(System, resolution)
    }

    /// Makes a clock that continues while the machine is suspended: Linux's boot time. Timers that came due
    /// meanwhile fire when it resumes.
    ///
    /// # Errors
    /// The thread cannot be started.
    ///
    /// # Panics
    /// If the resolution is zero.
    #[cfg(target_os = "linux")]
    pub fn boot_time(resolution: Duration) -> io::Result<Arc<Following>> {
        Following::watched(BootTime, resolution)
    }

    fn watched(wall: impl WallClock, resolution: Duration) -> io::Result<Arc<Following>> {
        let clock = Arc::new(Following::new(wall, Monotonic::new(), resolution));
        #[cfg(target_os = "linux")]
        {
            let following = Arc::downgrade(&clock);
            let watch = Watch::start(move || {
                if let Some(clock) = following.upgrade() {
                    clock.look();
                }
            })?;
            *clock.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch);
        }
        Ok(clock)
    }

    /// Returns the time of day at which the clock was made: skynet's `starttime`.
    pub fn start_time(&self) -> Timestamp {
        self.start
    }

    /// Returns how often the wall clock was found set back.
    pub fn setbacks(&self) -> Setbacks {
        self.read().0.setbacks
    }

    /// Makes those that wait look at the wall clock again. For a caller that knows that it has been set.
    pub fn look(&self) {
        let (state, _) = self.read();
        let notifiers = state.notifiers.clone();
        drop(state);
        notifiers.iter().for_each(Notifier::notify);
    }

    /// Follows the wall clock; also returns how much of the current tick has passed.
    fn read(&self) -> (MutexGuard<'_, State>, Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wall = self.wall.now();
        let Ok(passed) = Duration::try_from(wall.duration_since(state.began)) else {
            state.setbacks.count += 1;
            let distance = state.began.duration_since(wall);
            state.setbacks.total = state.setbacks.total.saturating_add(distance);
            state.began = wall;
            return (state, Duration::ZERO);
        };
        let tick_count = passed.as_nanos() / self.resolution.as_nanos();
        let rest = passed.saturating_sub(self.duration(u64::try_from(tick_count).unwrap_or(u64::MAX)));
        state.now = state.now.after(u64::try_from(tick_count).unwrap_or(u64::MAX));
        state.began = wall - rest;
        (state, rest)
    }
}

impl Clock for Following {
    fn resolution(&self) -> Duration {
        self.resolution
    }

    fn now(&self) -> Tick {
        self.read().0.now
    }

    fn now_in_parts(&self) -> (Tick, u128) {
        let (state, passed) = self.read();
        (state.now, passed.as_nanos())
    }

    fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
        let Some(until) = until else { return self.base.wait(notifier, None) };
        let (mut state, passed) = self.read();
        let ticks = u128::from(until.since(state.now));
        let left = ticks.saturating_mul(self.resolution.as_nanos()).saturating_sub(passed.as_nanos());
        let left = Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX));
        state.notifiers.push(notifier.clone());
        drop(state);
        self.base.wait(notifier, Some(self.base.after(left)));
        let mut state = self.read().0;
        if let Some(place) = state.notifiers.iter().position(|other| other.is_same(notifier)) {
            state.notifiers.swap_remove(place);
        }
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Following").field("now", &self.now()).finish_non_exhaustive()
    }
}

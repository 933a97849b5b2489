//! Converts between the two clocks: ticks, which never jump, and timestamps, which do.
//!
//! ```text
//!   wall   ----+----------+=====>+---------      set forward by an hour: Change::Forward(1 h)
//!              |          |      |
//!   ticks  ----+----------+------+---------
//!            anchor    observe()
//! ```
//!
//! An [`Epoch`] remembers a pair of readings, the *anchor*. A timestamp becomes a deadline by the distance
//! from now, never early. [`observe`](Epoch::observe) compares how far both clocks have come since the
//! anchor, names the difference, and takes a new anchor. A machine that was suspended looks like one whose
//! clock was set forward.
//!
//! | change | means |
//! |---|---|
//! | `Steady` | both clocks went on alike |
//! | `Forward` | the wall clock was set forward, or the machine was suspended |
//! | `Backward` | the wall clock was set back |
//!
//! What a change does to schedules stands at the [calendar](crate::front::calendar).
//!
//! Cost: one reading of each clock. It does not notice a change by itself: see
//! [`wall::Watch`](crate::clock::wall).

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_queue::Tick;

use crate::clock::Clock;
use crate::clock::wall::WallClock;

/// Differences up to this are none: both clocks are read one after the other, and a thread may be stopped in
/// between.
pub const JUMP_MIN: SignedDuration = SignedDuration::from_millis(500);

/// How much slower or faster the clocks may go without having jumped, as one part in so many: a little more
/// than the 500 parts in a million by which a kernel slews.
const SLEW_SHARE: i32 = 1_000;

/// A clock and a wall clock, and how they stood to each other.
///
/// ```
/// use std::sync::Arc;
/// use mainspring::clock::Manual;
/// use mainspring::clock::wall::ManualWall;
/// use mainspring::epoch::{Change, Epoch};
///
/// let clock = Manual::stepped();
/// let wall = Arc::new(ManualWall::new(clock.clone(), "2026-03-01T12:00:00Z".parse()?));
/// let epoch = Epoch::new(clock, Arc::clone(&wall));
/// wall.set("2026-03-01T12:10:00Z".parse()?);
/// assert_eq!(epoch.observe(), Change::Forward(mainspring::jiff::SignedDuration::from_mins(10)));
/// assert_eq!(epoch.observe(), Change::Steady);
/// # Ok::<(), mainspring::jiff::Error>(())
/// ```
pub struct Epoch {
    clock: Arc<dyn Clock>,
    wall: Arc<dyn WallClock>,
    anchor: Mutex<Anchor>,
}

#[derive(Clone, Copy)]
struct Anchor {
    tick: Tick,
    timestamp: Timestamp,
}

/// What the wall clock did beside going on. Durations are positive.
///
/// ```
/// use std::sync::Arc;
/// use mainspring::clock::Manual;
/// use mainspring::clock::wall::ManualWall;
/// use mainspring::epoch::{Change, Epoch};
///
/// let clock = Manual::stepped();
/// let wall = Arc::new(ManualWall::new(clock.clone(), "2026-03-01T12:00:00Z".parse()?));
/// let epoch = Epoch::new(clock, Arc::clone(&wall));
/// wall.set("2026-03-01T12:10:00Z".parse()?);
/// assert_eq!(epoch.observe(), Change::Forward(mainspring::jiff::SignedDuration::from_mins(10)));
/// assert_eq!(epoch.observe(), Change::Steady);
/// # Ok::<(), mainspring::jiff::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It was not set.
    Steady,
    /// It was set forward by this much, or the machine was suspended for that long.
    Forward(SignedDuration),
    /// It was set back by this much.
    Backward(SignedDuration),
}

impl Epoch {
    /// Takes the first anchor.
    pub fn new(clock: impl Clock, wall: impl WallClock) -> Epoch {
        let (clock, wall) = (clock.into_shared(), Arc::new(wall));
        let anchor = Anchor { tick: clock.now(), timestamp: wall.now() };
        Epoch { clock, wall, anchor: Mutex::new(anchor) }
    }

    /// Returns the time of day.
    pub fn now(&self) -> Timestamp {
        self.wall.now()
    }

    /// Returns the first tick at which the wall clock, if it continues steadily, shows `timestamp` or later;
    /// the next tick if it does already.
    pub fn tick_at(&self, timestamp: Timestamp) -> Tick {
        // The wall clock is read first: what passes until the other is read makes the tick later, never
        // earlier.
        let distance = timestamp.duration_since(self.wall.now());
        self.clock.after(Duration::try_from(distance).unwrap_or(Duration::ZERO))
    }

    /// Names what the wall clock did since the last call, and takes a new anchor.
    pub fn observe(&self) -> Change {
        let mut anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        let new = Anchor { tick: self.clock.now(), timestamp: self.wall.now() };
        let passed = SignedDuration::try_from(self.clock.duration(new.tick.since(anchor.tick)));
        let passed = passed.unwrap_or(SignedDuration::MAX);
        let jump = new.timestamp.duration_since(anchor.timestamp).saturating_sub(passed);
        *anchor = new;
        let distance = jump.abs();
        if distance <= JUMP_MIN.saturating_add(passed / SLEW_SHARE) {
            Change::Steady
        } else if jump.is_positive() {
            Change::Forward(distance)
        } else {
            Change::Backward(distance)
        }
    }
}

/// Its anchor is replaced whole, after both clocks have been read.
impl UnwindSafe for Epoch {}
impl RefUnwindSafe for Epoch {}

impl fmt::Debug for Epoch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Epoch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Manual;
    use crate::clock::wall::ManualWall;

    fn clocks() -> (Manual, Arc<ManualWall>, Epoch) {
        let clock = Manual::stepped();
        let start = "2026-03-01T12:00:00Z".parse().expect("the text is a timestamp");
        let wall = Arc::new(ManualWall::new(clock.clone(), start));
        let epoch = Epoch::new(Arc::new(clock.clone()), wall.clone());
        (clock, wall, epoch)
    }

    #[test]
    fn a_timestamp_becomes_the_first_tick_that_is_not_early() {
        let (clock, _, epoch) = clocks();
        clock.advance_to(Tick::new(1_000));
        let now = epoch.now();
        assert_eq!(epoch.tick_at(now + SignedDuration::from_millis(5)), Tick::new(1_005));
        assert_eq!(epoch.tick_at(now + SignedDuration::from_micros(4_001)), Tick::new(1_005));
        assert_eq!(epoch.tick_at(now - SignedDuration::from_hours(1)), Tick::new(1_000));
    }

    #[test]
    fn a_clock_that_goes_on_is_steady_however_long() {
        let (clock, _, epoch) = clocks();
        for hours in [0, 1, 24, 24 * 365] {
            clock.advance(Duration::from_secs(hours * 3_600));
            assert_eq!(epoch.observe(), Change::Steady);
        }
    }

    #[test]
    fn each_jump_is_named_once() {
        let (clock, wall, epoch) = clocks();
        let hours = SignedDuration::from_hours;
        for (jump, change) in [
            (hours(1), Change::Forward(hours(1))),
            (hours(-1), Change::Backward(hours(1))),
            (hours(3), Change::Forward(hours(3))),
            (hours(40_000), Change::Forward(hours(40_000))),
            (hours(-30), Change::Backward(hours(30))),
            (SignedDuration::from_millis(400), Change::Steady),
            (SignedDuration::from_millis(-600), Change::Backward(SignedDuration::from_millis(600))),
        ] {
            clock.advance(Duration::from_secs(1));
            epoch.observe();
            wall.set(wall.now() + jump);
            assert_eq!(epoch.observe(), change);
            assert_eq!(epoch.observe(), Change::Steady);
        }
    }
}

//! A point in time, as callers have it: a tick of the engine's clock, or an instant of the operating
//! system's.
//!
//! | from | is |
//! |---|---|
//! | [`Tick`] | that tick |
//! | [`Instant`] | the first tick that begins no earlier than so far from now; at once if it has passed |
//!
//! An instant is turned into a delay from now, so that a timer is never early, whatever the engine's clock
//! is. By a manual clock the delay is what it is at the call, and passes when that clock is moved.
//!
//! Cost: one clock read more for an instant.

use std::time::{Duration, Instant};

use mainspring_queue::Tick;

use super::Clock;

/// When something is to happen. See the [module](self).
///
/// ```
/// use std::time::{Duration, Instant};
/// use mainspring::Tick;
/// use mainspring::clock::{Clock, Deadline, Monotonic};
///
/// let clock = Monotonic::new();
/// assert_eq!(Deadline::from(Tick::new(7)).tick(&clock), Tick::new(7));
/// let deadline = Deadline::from(Instant::now() + Duration::from_secs(60));
/// assert!(clock.now() < deadline.tick(&clock));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deadline {
    /// When a tick of the engine's clock begins.
    Tick(Tick),
    /// At an instant of the operating system's clock.
    Instant(Instant),
}

impl Deadline {
    /// Returns the tick of `clock` that it is.
    pub fn tick(self, clock: &dyn Clock) -> Tick {
        match self {
            Deadline::Tick(tick) => tick,
            Deadline::Instant(_) => clock.after(self.delay()),
        }
    }

    /// How far away an instant is; zero if it has passed, and for a tick.
    pub(crate) fn delay(self) -> Duration {
        match self {
            Deadline::Tick(_) => Duration::ZERO,
            Deadline::Instant(instant) => delay_until(instant),
        }
    }
}

impl From<Tick> for Deadline {
    fn from(tick: Tick) -> Deadline {
        Deadline::Tick(tick)
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Deadline {
        Deadline::Instant(instant)
    }
}

/// How far away an instant of the operating system's clock is; zero if it has passed.
#[expect(clippy::disallowed_methods, reason = "callers speak of instants, which only this clock has")]
fn delay_until(instant: Instant) -> Duration {
    instant.saturating_duration_since(Instant::now())
}

//! How long it is between two runs, and when the next one is due.
//!
//! ```text
//!   due   10   20   30   40   50        period 10; the run that was due at 20 came at 44: the next is due at 50
//! ```
//!
//! A period is a whole number of ticks, at least one. The next deadline is the first multiple of the period,
//! counted from the last deadline, that lies ahead: periods that are over are dropped, and nothing drifts.
//! That is Go's rule for tickers: `when += period * (1 + late / period)`.
//!
//! Source: Go, `runtime/time.go`.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use mainspring_queue::Tick;

use super::task::Task;
use crate::driver::{Refusal, Refused, TimerId};
use crate::handle::Local;

/// How a front adds a timer: one that the program asks for by `Local::schedule`, one that repeats by
/// `Local::schedule_assured`.
pub(super) type Add = fn(&Local<Task>, Tick, Task) -> Result<TimerId, Refused<Task>>;

/// A repeat interval in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period(u64);

impl Period {
    /// Rounds a duration up to whole ticks.
    pub(super) fn new(duration: Duration, resolution: Duration) -> Result<Period, PeriodError> {
        if duration.is_zero() {
            return Err(PeriodError::Zero);
        }
        let ticks = duration.as_nanos().div_ceil(resolution.as_nanos());
        Ok(Period(u64::try_from(ticks).unwrap_or(u64::MAX)))
    }

    pub(super) fn ticks(self) -> u64 {
        self.0
    }

    /// The deadline after one that was due at `deadline` and came at `now`; `None` at the end of time, where
    /// none lies ahead.
    pub(super) fn next(self, deadline: Tick, now: Tick) -> Option<Tick> {
        let passed_count = now.since(deadline) / self.0;
        let next = deadline.after(self.0.saturating_mul(passed_count.saturating_add(1)));
        (now < next).then_some(next)
    }
}

/// Why something periodic was not taken.
///
/// ```
/// use mainspring::front::PeriodError;
///
/// let never = mainspring::every(std::time::Duration::ZERO, || ());
/// assert_eq!(never.err(), Some(PeriodError::Zero));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeriodError {
    /// The period is zero.
    Zero,
    /// The driver would not take the timer.
    Refused(Refusal),
}

impl fmt::Display for PeriodError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeriodError::Zero => formatter.write_str("a period must be longer than zero"),
            PeriodError::Refused(refusal) => refusal.fmt(formatter),
        }
    }
}

/// Its message says all: it has no source.
impl Error for PeriodError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_deadline_is_the_first_multiple_ahead() {
        let period =
            Period::new(Duration::from_millis(10), Duration::from_millis(1)).expect("it is not zero");
        let next = |deadline, now| period.next(Tick::new(deadline), Tick::new(now)).map(Tick::get);
        assert_eq!([next(20, 20), next(20, 29), next(20, 30), next(20, 44)], [30, 30, 40, 50].map(Some));
        assert_eq!(next(u64::MAX - 5, u64::MAX - 5), Some(u64::MAX));
        assert_eq!(next(u64::MAX, u64::MAX), None, "nothing lies beyond the end of time");
        assert_eq!(next(20, u64::MAX), None);
    }

    #[test]
    fn a_period_is_at_least_a_tick_and_never_zero() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(Period::new(Duration::from_nanos(1), millisecond), Ok(Period(1)));
        assert_eq!(Period::new(Duration::MAX, Duration::from_nanos(1)), Ok(Period(u64::MAX)));
        assert_eq!(Period::new(Duration::ZERO, millisecond), Err(PeriodError::Zero));
    }
}

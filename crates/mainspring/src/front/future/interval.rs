//! A stream of ticks.
//!
//! ```text
//!   due        10   20   30   40   50   60        period 10; the program was busy from 20 to 44
//!   Burst      10   20   44   44   50   60        makes up for each: as many ticks as periods
//!   Delay      10   20   44   54   64   74        a full period between ticks
//!   Skip       10   20   44   50   60   70        the missed are gone; ticks stay on multiples of the period
//! ```
//!
//! A tick that is polled for less than [`LATE_MIN`] late has not been missed: the next one follows a period
//! after it was due, whatever the choice, so that an interval with `Delay` does not drift. That is tokio's
//! rule.
//!
//! The default is [`MissedTicks::Skip`], as Go's tickers and this library's periodic callbacks do it: a burst
//! after a suspended laptop wakes up surprises many, and a delay drifts.
//!
//! Cost: that of [`Sleep`]; one timer, registered again for each tick.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use mainspring_queue::Tick;

use super::Sleep;
use crate::front::period::{Period, PeriodError};

/// How late a poll must be for ticks to count as missed. Wake-ups under load are later than a tick; people do
/// not notice this.
pub const LATE_MIN: Duration = Duration::from_millis(5);

/// What an interval does with ticks that passed before it was polled again.
///
/// ```
/// use std::time::Duration;
/// use mainspring::front::MissedTicks;
///
/// assert_eq!(MissedTicks::default(), MissedTicks::Skip);
/// let burst = mainspring::interval(Duration::from_secs(1))?.with_missed_ticks(MissedTicks::Burst);
/// # drop(burst);
/// # Ok::<(), mainspring::front::PeriodError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissedTicks {
    /// Each is made up for, at once.
    Burst,
    /// The next tick is a period after the late one.
    Delay,
    /// They are dropped: the next tick is the first multiple of the period, from the start, that lies ahead.
    #[default]
    Skip,
}

/// A stream that yields once a period: see [`Futures::interval_at`](super::Futures::interval_at). It ends
/// when the driver has been shut down; [`tick`](Self::tick) is ready at once then.
///
/// ```
/// use std::time::Duration;
/// use mainspring::front::MissedTicks;
///
/// # smol::block_on(async {
/// let mut interval = mainspring::interval(Duration::from_millis(1))?.with_missed_ticks(MissedTicks::Delay);
/// let (first, second) = (interval.tick().await, interval.tick().await);
/// assert!(first < second);
/// # Ok::<(), mainspring::front::PeriodError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "it ticks when it is polled"]
pub struct Interval {
    sleep: Sleep,
    period: Period,
    duration: Duration,
    missed: MissedTicks,
}

impl Interval {
    pub(super) fn new(sleep: Sleep, period: Duration) -> Result<Interval, PeriodError> {
        let duration = period;
        let period = Period::new(duration, sleep.part.clock().resolution())?;
        Ok(Interval { sleep, period, duration, missed: MissedTicks::default() })
    }

    /// Chooses what becomes of missed ticks.
    pub fn with_missed_ticks(mut self, missed: MissedTicks) -> Interval {
        self.missed = missed;
        self
    }

    /// Waits for the next tick and returns when it was due. Dropping the future loses no tick.
    pub async fn tick(&mut self) -> Tick {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// Polls for the next tick; ready with the tick at which it was due.
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Tick> {
        ready!(self.sleep.poll_elapsed(context));
        let due = self.sleep.deadline();
        if self.sleep.refusal().is_some() {
            // The next tick is the same: nothing has passed.
            return Poll::Ready(due);
        }
        let clock = self.sleep.part.clock();
        let now = clock.now();
        let late_ticks_min = LATE_MIN.as_nanos() / clock.resolution().as_nanos();
        let is_missed = late_ticks_min <= u128::from(now.since(due)) && due < now;
        let next = match self.missed {
            // Rounded up: part of the tick that has begun is over.
            MissedTicks::Delay if is_missed => clock.after(self.duration),
            MissedTicks::Burst | MissedTicks::Delay => due.after(self.period.ticks()),
            MissedTicks::Skip => self.period.next(due, now).unwrap_or(Tick::MAX),
        };
        self.sleep.reset_at(next);
        Poll::Ready(due)
    }

    /// Returns how long it is from tick to tick.
    pub fn period(&self) -> Duration {
        self.duration
    }

    /// Begins anew: the next tick is a period from now.
    pub fn reset(&mut self) {
        self.reset_after(self.duration);
    }

    /// Begins anew: the next tick is due now.
    pub fn reset_immediately(&mut self) {
        self.reset_after(Duration::ZERO);
    }

    /// Begins anew: the next tick is `delay` from now.
    pub fn reset_after(&mut self, delay: Duration) {
        self.sleep.reset(delay);
    }

    /// Begins anew: the next tick is at a tick of the driver's clock.
    pub fn reset_at(&mut self, deadline: Tick) {
        self.sleep.reset_at(deadline);
    }
}

impl Stream for Interval {
    type Item = Tick;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Tick>> {
        let due = ready!(self.poll_tick(context));
        Poll::Ready(self.sleep.refusal().is_none().then_some(due))
    }
}

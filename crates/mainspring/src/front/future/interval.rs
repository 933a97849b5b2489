//! A stream of ticks.
//!
//! ```text
//!   due        10   20   30   40   50   60        period 10; the program was busy from 20 to 44
//!   Burst      10   20   44   44   50   60        makes up for each: as many ticks as periods
//!   Delay      10   20   44   54   64   74        a full period between ticks
//!   Skip       10   20   44   50   60   70        the missed are gone; ticks stay on multiples of the period
//! ```
//!
//! Ticks are due at whole ticks of the engine's clock, each rounded up by itself: the n-th is due at the
//! first that begins no earlier than n periods after the start. So a period that is no whole number of ticks
//! keeps its rate. One shorter than a tick yields several with the same due tick.
//!
//! A tick that is polled for less than [`LATE_MIN`] late, or than a slot of the queue more, has not been
//! missed: the next one follows a period after it was due, whatever the choice, so that an interval with
//! `Delay` does not drift and one with `Skip` loses none. That is tokio's rule. With `Skip` a tick that is
//! due just when the interval is polled is not missed.
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

use super::{Sleep, Unset};
use crate::clock::Deadline;
use crate::driver::Refusal;
use crate::front::period::Series;

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
/// # Ok::<(), mainspring::driver::Refusal>(())
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

/// A stream that yields once a period: see [`Futures::interval`](super::Futures::interval). It ends when the
/// driver has been shut down. No [`tick`](Self::tick) comes then: it is pending for ever, so that a loop of
/// ticks takes no processor.
///
/// ```
/// use std::time::Duration;
/// use mainspring::front::MissedTicks;
///
/// # smol::block_on(async {
/// let mut interval = mainspring::interval(Duration::from_millis(1))?.with_missed_ticks(MissedTicks::Delay);
/// let (first, second) = (interval.tick().await, interval.tick().await);
/// assert!(first < second);
/// # Ok::<(), mainspring::driver::Refusal>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "it ticks when it is polled"]
pub struct Interval {
    sleep: Sleep,
    series: Series,
    missed: MissedTicks,
}

impl Interval {
    /// The first tick is a period from now; `sleep` is one that was not polled.
    #[inline]
    pub(super) fn new(mut sleep: Sleep, period: Duration) -> Result<Interval, Refusal> {
        let series = Series::new(period, &*sleep.part)?;
        sleep.move_to(series.due(), Unset::Ahead);
        Ok(Interval { sleep, series, missed: MissedTicks::default() })
    }

    /// Chooses what becomes of missed ticks.
    #[inline]
    pub fn with_missed_ticks(mut self, missed: MissedTicks) -> Interval {
        self.missed = missed;
        self
    }

    /// Waits for the next tick and returns when it was due. Dropping the future loses no tick. After the
    /// driver's end, or without a thread for its timer, it is pending for ever, as a stopped ticker of Go's
    /// is; a program that wants to hear of the end takes the stream's `next`. (tokio's panics.)
    pub async fn tick(&mut self) -> Tick {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// Polls for the next tick; ready with the tick at which it was due.
    #[inline]
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Tick> {
        ready!(self.poll_unless_ended(context)).map_or(Poll::Pending, Poll::Ready)
    }

    /// The same; `None` once the driver has been shut down.
    #[inline]
    fn poll_unless_ended(&mut self, context: &mut Context<'_>) -> Poll<Option<Tick>> {
        ready!(self.sleep.poll_elapsed(context));
        let due = self.sleep.deadline();
        if self.sleep.refusal().is_some() {
            return Poll::Ready(None);
        }
        let clock = self.sleep.part.clock();
        let now = clock.now();
        let is_missed = self.series.lateness_ticks(LATE_MIN) <= now.since(due);
        match self.missed {
            MissedTicks::Delay if is_missed => self.series.begin_after(&**clock, self.series.period()),
            MissedTicks::Skip if is_missed => _ = self.series.skip(now),
            MissedTicks::Burst | MissedTicks::Delay | MissedTicks::Skip => self.series.step(),
        }
        self.sleep.reset_at(self.series.due());
        Poll::Ready(Some(due))
    }

    /// Returns how long it is from tick to tick.
    #[inline]
    pub fn period(&self) -> Duration {
        self.series.period()
    }

    /// Begins again: the next tick is a period from now.
    #[inline]
    pub fn reset(&mut self) {
        self.reset_after(self.period());
    }

    /// Begins again: the next tick is due now.
    #[inline]
    pub fn reset_immediately(&mut self) {
        self.reset_after(Duration::ZERO);
    }

    /// Begins again: the next tick is `delay` from now.
    #[inline]
    pub fn reset_after(&mut self, delay: Duration) {
        self.series.begin_after(&**self.sleep.part.clock(), delay);
        self.sleep.reset(delay);
    }

    /// Begins again: the next tick is at a tick of the driver's clock, or at an instant; at once if that has
    /// passed.
    #[inline]
    pub fn reset_at(&mut self, deadline: impl Into<Deadline>) {
        let due = self.series.begin(&**self.sleep.part.clock(), deadline.into());
        self.sleep.reset_at(due);
    }
}

impl Stream for Interval {
    type Item = Tick;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Tick>> {
        self.poll_unless_ended(context)
    }
}

//! Computes the due times of a repeated timer, and those that are dropped.
//!
//! ```text
//!   start + n * period     4.0   7.3  10.6  13.9        nanoseconds, added exactly
//!   due, a whole tick        4     8    11    14        each rounded up by itself
//! ```
//!
//! A `Series` is counted in nanoseconds from where it began, so a period that is no whole number of ticks
//! keeps its rate: the n-th time is due at the first tick that begins no earlier than `start + n * period`,
//! never early, and never a tick later.
//!
//! A time is *over* when a tick has passed since it was due, or what a slot of the queue lasts, where that
//! is longer. Times that are over when the next one is asked for are dropped. One that is due just now, or
//! that only the queue's slots have made late, is not: so of a period that is shorter than a tick, or than a
//! slot, several come in one. Go's rule for tickers drops those that are over as well, and knows no ticks.
//!
//! Cost: a division in 128 bits per step. It does not schedule anything, and does not look at a clock but at
//! the start.
//!
//! Source: Go, `runtime/time.go`, for the times that are dropped.

use std::time::Duration;

use mainspring_queue::Tick;

use super::task::Task;
use crate::clock::{Clock, Deadline};
use crate::driver::{Part, Refusal, RefusedTimer, TimerId};
use crate::handle::Local;

/// How a front adds a timer: one that the program asks for by `Local::schedule`, one that repeats by
/// `Local::schedule_assured`.
pub(super) type Add = fn(&Local<Task>, Tick, Task) -> Result<TimerId, RefusedTimer<Task>>;

/// The times at which something is due, a period apart: the next one, and all after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// Longer than zero.
    period: Duration,
    resolution: Duration,
    /// How many ticks after its time a timer may be fired by its queue's design; at least one.
    granularity: u64,
    /// From tick 0 to the next time.
    next_ns: u128,
}

impl Series {
    /// Makes the series whose first time is a period from now.
    pub(super) fn new(period: Duration, part: &dyn Part<Task>) -> Result<Series, Refusal> {
        if period.is_zero() {
            return Err(Refusal::ZeroPeriod);
        }
        let (clock, granularity) = (part.clock(), part.granularity());
        let mut series = Series { period, resolution: clock.resolution(), granularity, next_ns: 0 };
        series.begin_after(&**clock, period);
        Ok(series)
    }

    pub(super) fn period(&self) -> Duration {
        self.period
    }

    /// Begins again: the next time is `delay` from now.
    pub(super) fn begin_after(&mut self, clock: &dyn Clock, delay: Duration) {
        let (now, passed_ns) = clock.now_in_parts();
        self.next_ns = self.begins_ns(now).saturating_add(passed_ns + delay.as_nanos());
    }

    /// Begins again: the next time is when a tick begins.
    pub(super) fn begin_at(&mut self, tick: Tick) {
        self.next_ns = self.begins_ns(tick);
    }

    /// Begins again at a tick or an instant; returns the tick at which that is due, now if it has passed.
    pub(super) fn begin(&mut self, clock: &dyn Clock, start: Deadline) -> Tick {
        match start {
            Deadline::Tick(tick) => {
                self.begin_at(tick);
                tick
            }
            Deadline::Instant(_) => {
                let delay = start.delay();
                self.begin_after(clock, delay);
                if delay.is_zero() { clock.now() } else { self.due() }
            }
        }
    }

    /// The tick of the next time; [`Tick::MAX`], which is never reached in practice, where that lies beyond
    /// the end of time.
    pub(super) fn due(&self) -> Tick {
        let ticks = self.next_ns.div_ceil(self.resolution.as_nanos());
        Tick::new(u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// Continues to the next time, be it over or not.
    pub(super) fn step(&mut self) {
        self.next_ns = self.next_ns.saturating_add(self.period.as_nanos());
    }

    /// Continues to the next time that is not over at `now`, and returns its tick; `None` at the end of time.
    pub(super) fn skip(&mut self, now: Tick) -> Option<Tick> {
        if now == Tick::MAX {
            return None;
        }
        // What is due in this tick or later is later than the beginning of this tick.
        let over = Tick::new(now.get().saturating_sub(self.granularity));
        let over_ns = self.begins_ns(over);
        let over_count = over_ns.saturating_sub(self.next_ns) / self.period.as_nanos();
        let passed_ns = self.period.as_nanos().saturating_mul(over_count.saturating_add(1));
        self.next_ns = self.next_ns.saturating_add(passed_ns);
        Some(self.due())
    }

    /// How many ticks late a timer may be that is `lateness` late, and that its queue's slots make later.
    pub(super) fn lateness_ticks(&self, lateness: Duration) -> u64 {
        let ticks = lateness.as_nanos() / self.resolution.as_nanos();
        u64::try_from(ticks).unwrap_or(u64::MAX).max(1).saturating_add(self.granularity - 1)
    }

    fn begins_ns(&self, tick: Tick) -> u128 {
        u128::from(tick.get()).saturating_mul(self.resolution.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(period: Duration, granularity: u64, next_ns: u128) -> Series {
        Series { period, resolution: Duration::from_millis(1), granularity, next_ns }
    }

    fn at(tick: u64) -> u128 {
        u128::from(tick) * 1_000_000
    }

    #[test]
    fn the_next_time_is_the_first_multiple_that_is_not_over() {
        let next = |due: u64, now: u64| {
            let mut series = series(Duration::from_millis(10), 1, at(due));
            series.skip(Tick::new(now)).map(Tick::get)
        };
        assert_eq!([next(20, 20), next(20, 29), next(20, 31), next(20, 44)], [30, 30, 40, 50].map(Some));
        assert_eq!(next(20, 30), Some(30), "what is due just now is not over");
    }

    #[test]
    fn a_time_is_over_when_the_queues_slot_is() {
        let mut series = series(Duration::from_micros(3_300), 100, 3_300_000);
        let mut due = Vec::new();
        while series.due() <= Tick::new(100) {
            due.push(series.due().get());
            series.skip(Tick::new(100));
        }
        assert_eq!(due.len(), 30, "all that are due by the end of the slot: {due:?}");
        assert_eq!(series.skip(Tick::new(1_000)), Some(Tick::new(901)), "at 900.9 ms");
    }

    #[test]
    fn each_time_is_rounded_up_by_itself() {
        let mut series = series(Duration::from_nanos(16_666_667), 1, 0);
        for count in 0..1_000_000_u128 {
            assert_eq!(u128::from(series.due().get()), (count * 16_666_667).div_ceil(1_000_000));
            let due = series.due();
            series.skip(due);
        }
    }

    #[test]
    fn nothing_lies_beyond_the_end_of_time() {
        let mut last = series(Duration::from_millis(10), 1, at(u64::MAX - 5));
        assert_eq!(last.skip(Tick::new(u64::MAX - 5)), Some(Tick::MAX));
        assert_eq!(last.skip(Tick::MAX), None);
        let mut late = series(Duration::from_nanos(1), u64::MAX, 0);
        assert_eq!(late.skip(Tick::MAX), None);
        let mut eternal = series(Duration::MAX, 1, u128::MAX);
        eternal.step();
        assert_eq!((eternal.due(), eternal.skip(Tick::MAX)), (Tick::MAX, None));
    }
}

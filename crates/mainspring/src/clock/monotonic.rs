//! The operating system's monotonic clock.
//!
//! Ticks are counted from the clock's creation. It is `CLOCK_MONOTONIC` on Linux: it never jumps, is slewed
//! by time synchronisation, and stands still while the machine is suspended.
//!
//! How precise it is, the caller chooses, three times over:
//!
//! | choice | buys | costs |
//! |---|---|---|
//! | [resolution](Monotonic::with_resolution), down to a nanosecond | deadlines that differ by less than a millisecond | a wake-up for each |
//! | [slack](Monotonic::with_slack), down to a nanosecond | sleeps that end 50 us sooner | wake-ups that the kernel would have joined |
//! | [spin](Monotonic::with_spin) | sleeps that end on time | a core for the last part of each sleep |
//!
//! The other way, thrift, is bought per timer: see
//! [`Handle::schedule_within`](crate::Handle::schedule_within).
//!
//! Cost: `now` and `after` read the clock once (22 ns on the reference machine). `wait` is one sleep on a
//! condition variable until an absolute time: it ends late by the thread's timer slack (50 us by Linux'
//! default) and one scheduling delay, never early.
//!
//! It does not know the time of day.

use std::time::Duration;

use mainspring_queue::Tick;

use super::divisor::Divisor;
use super::origin::Origin;
use super::{Clock, Notifier, slack, ticks_rounded_up};

/// The monotonic clock of the operating system, counted in ticks of a chosen resolution.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::{Clock, Monotonic};
///
/// // Ticks of ten microseconds, and sleeps that end on time.
/// let clock = Monotonic::with_resolution(Duration::from_micros(10)).with_slack(Duration::from_nanos(1));
/// let deadline = clock.after(Duration::from_millis(1));
/// assert!(clock.now() < deadline || deadline.get() >= 100);
/// ```
#[derive(Clone, Debug)]
pub struct Monotonic {
    origin: Origin,
    resolution: Duration,
    /// The same, for quick division; `u64::MAX` stands for all that lasts longer: no program sees its second
    /// tick.
    resolution_ns: Divisor,
    slack: Option<Duration>,
    spin: Duration,
}

impl Monotonic {
    /// The resolution of [`Monotonic::new`]: finer than most uses need, coarser than a wake-up takes.
    pub const DEFAULT_RESOLUTION: Duration = Duration::from_millis(1);

    /// Makes a clock with a resolution of one millisecond that stands at tick 0 now.
    pub fn new() -> Monotonic {
        Monotonic::with_resolution(Monotonic::DEFAULT_RESOLUTION)
    }

    /// Makes a clock that stands at tick 0 now. A resolution of a nanosecond lasts 584 years.
    ///
    /// # Panics
    /// If the resolution is zero.
    pub fn with_resolution(resolution: Duration) -> Monotonic {
        assert!(!resolution.is_zero(), "a tick lasts");
        let resolution_ns = Divisor::new(u64::try_from(resolution.as_nanos()).unwrap_or(u64::MAX));
        Monotonic { origin: Origin::now(), resolution, resolution_ns, slack: None, spin: Duration::ZERO }
    }

    /// Tells the kernel by how much it may prolong the sleeps of the thread that waits with this clock, to
    /// join its wake-up with others': its *timer slack*. Linux grants itself 50 us unless it is told
    /// otherwise; 1 ns is the least. On other systems this has no effect.
    #[must_use]
    pub fn with_slack(self, slack: Duration) -> Monotonic {
        Monotonic { slack: Some(slack), ..self }
    }

    /// Makes a wait sleep until so long before its end, and spin for the rest: a scheduling delay then costs
    /// a core's time instead of lateness. A wait that is no longer than this does not sleep at all.
    #[must_use]
    pub fn with_spin(self, spin: Duration) -> Monotonic {
        Monotonic { spin, ..self }
    }

    /// Spins until so many nanoseconds after the origin, or until the notifier is notified.
    fn spin_until(&self, notifier: &Notifier, until_ns: u128) {
        while !notifier.take_notification() && u128::from(self.origin.elapsed_ns()) < until_ns {
            std::hint::spin_loop();
        }
    }
}

impl Default for Monotonic {
    fn default() -> Monotonic {
        Monotonic::new()
    }
}

impl Clock for Monotonic {
    fn resolution(&self) -> Duration {
        self.resolution
    }

    fn now(&self) -> Tick {
        Tick::new(self.resolution_ns.floor(self.origin.elapsed_ns()))
    }

    fn now_in_parts(&self) -> (Tick, u128) {
        let (ticks, passed_ns) = self.resolution_ns.divide(self.origin.elapsed_ns());
        (Tick::new(ticks), passed_ns.into())
    }

    /// By the kernel's coarse clock, which stands still for up to 10 ms.
    fn has_long_begun(&self, tick: Tick) -> bool {
        let begins_ns = tick.get().checked_mul(self.resolution_ns.get());
        begins_ns.is_some_and(|begins_ns| begins_ns <= self.origin.elapsed_ns_min())
    }

    fn after(&self, delay: Duration) -> Tick {
        if delay.is_zero() {
            return self.now();
        }
        // 584 years fit. What does not, takes the long way.
        let elapsed_ns = self.origin.elapsed_ns();
        let delay_ns = delay.as_nanos();
        match u64::try_from(delay_ns).ok().and_then(|delay_ns| delay_ns.checked_add(elapsed_ns)) {
            Some(end_ns) => Tick::new(self.resolution_ns.ceil(end_ns)),
            None => ticks_rounded_up(u128::from(elapsed_ns) + delay_ns, self.resolution),
        }
    }

    fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
        let Some(until) = until else { return notifier.wait(None) };
        // Where the product does not fit, the tick lies centuries ahead: a notification comes before.
        let until = u128::from(until.get()).saturating_mul(self.resolution.as_nanos());
        let left = until.saturating_sub(u128::from(self.origin.elapsed_ns()));
        let Ok(left) = u64::try_from(left) else { return notifier.wait(None) };
        let left = Duration::from_nanos(left);
        if let Some(slack) = self.slack {
            slack::set(slack);
        }
        if self.spin.is_zero() {
            return notifier.wait(Some(left));
        }
        match left.checked_sub(self.spin) {
            Some(sleep) if !sleep.is_zero() => notifier.wait(Some(sleep)),
            _ => self.spin_until(notifier, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_after_a_delay_has_not_begun_before_the_delay_is_over() {
        let clock = Monotonic::with_resolution(Duration::from_secs(3_600));
        assert_eq!(clock.now(), Tick::ZERO);
        assert_eq!(clock.after(Duration::from_nanos(1)), Tick::new(1));
        assert_eq!(clock.after(Duration::from_secs(3_600)), Tick::new(2));
    }

    #[test]
    fn a_delay_beyond_the_end_of_time_is_never() {
        let clock = Monotonic::with_resolution(Duration::from_nanos(1));
        assert_eq!(clock.after(Duration::MAX), Tick::MAX);
    }

    #[test]
    fn waiting_ends_at_the_tick_and_not_before() {
        let clock = Monotonic::new();
        let until = clock.after(Duration::from_millis(5));
        while clock.now() < until {
            clock.wait(&Notifier::new(), Some(until));
        }
        assert!(Duration::from_nanos(clock.origin.elapsed_ns()) >= Duration::from_millis(5));
    }

    #[test]
    fn a_wait_that_spins_ends_at_the_tick_and_not_before_or_with_a_notification() {
        let clock = Monotonic::with_resolution(Duration::from_micros(1))
            .with_slack(Duration::from_nanos(1))
            .with_spin(Duration::from_millis(2));
        let until = clock.after(Duration::from_millis(5));
        while clock.now() < until {
            clock.wait(&Notifier::new(), Some(until));
        }
        assert!(Duration::from_nanos(clock.origin.elapsed_ns()) >= Duration::from_millis(5));
        let notifier = Notifier::new();
        notifier.notify();
        clock.wait(&notifier, Some(clock.after(Duration::from_micros(1_500))));
        assert!(!notifier.take_notification(), "the notification was taken");
    }

    #[test]
    fn a_tick_that_has_long_begun_has_begun_and_is_noticed_in_the_end() {
        let clock = Monotonic::new();
        let tick = clock.after(Duration::from_millis(1));
        while !clock.has_long_begun(tick) {
            std::hint::spin_loop();
        }
        assert!(tick <= clock.now());
        assert!(!clock.has_long_begun(Tick::MAX));
    }

    #[test]
    fn a_tick_may_last_for_centuries() {
        let clock = Monotonic::with_resolution(Duration::MAX);
        assert_eq!(clock.now(), Tick::ZERO);
        assert_eq!(clock.after(Duration::MAX), Tick::new(2));
    }

    #[test]
    fn a_notification_before_the_wait_is_not_lost() {
        let clock = Monotonic::new();
        let notifier = Notifier::new();
        notifier.notify();
        clock.wait(&notifier, Some(Tick::MAX));
        notifier.notify();
        clock.wait(&notifier, None);
    }
}

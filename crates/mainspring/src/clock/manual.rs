//! A clock that moves when it is told to.
//!
//! ```text
//!   stepped   advance(d), advance_to(t) from any thread move time; a thread that waits for a tick it reaches continues
//!   leaping   waiting for a tick moves time there: a driver runs through its timers as fast as it can
//! ```
//!
//! With a *stepped* clock a test decides when time passes, and nothing moves by itself. With a *leaping* one
//! a driver that runs on the test's own thread is a simulation: each wait takes it to the next deadline.
//! Other threads should not schedule by a leaping clock: it may have gone past the time that they have just
//! read. Clones are the same clock.
//!
//! Cost: a lock for each call; `advance` also wakes every thread that waits.
//!
//! It does not move by itself, and it does not go back.

use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::Tick;

use super::{Clock, Notifier};
use crate::sync::{Mutex, lock};

/// A clock that moves when it is told to. Clones are the same clock.
///
/// For a test, [`Simulation`](crate::Simulation) is shorter: it fires what is due before it returns.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::{Clock, Manual};
///
/// let clock = Manual::stepped();
/// let same = clock.clone();
/// clock.advance(Duration::from_secs(90));
/// assert_eq!(same.now().get(), 90_000);
/// assert_eq!(same.duration(same.now().get()), Duration::from_secs(90));
/// ```
#[derive(Clone, Debug)]
pub struct Manual {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    resolution: Duration,
    waiting: Waiting,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Sleeps,
    MovesTime,
}

#[derive(Debug, Default)]
struct State {
    now: Tick,
    /// How much of the tick has passed: less than a tick, in nanoseconds.
    passed_ns: u128,
    /// The notifiers at which threads wait, and for which ticks.
    waiters: Vec<(Notifier, Tick)>,
    wait_count: u64,
}

impl Manual {
    /// Makes a clock at tick 0 that only `advance` and `advance_to` move. Its resolution is a millisecond.
    #[inline]
    pub fn stepped() -> Manual {
        Manual::with(Duration::from_millis(1), Waiting::Sleeps)
    }

    /// Makes a clock at tick 0 that waiting moves too. Its resolution is a millisecond.
    #[inline]
    pub fn leaping() -> Manual {
        Manual::with(Duration::from_millis(1), Waiting::MovesTime)
    }

    /// Makes a clock as [`stepped`](Self::stepped) does, with another resolution.
    ///
    /// # Panics
    /// If the resolution is zero.
    #[inline]
    pub fn stepped_by(resolution: Duration) -> Manual {
        Manual::with(resolution, Waiting::Sleeps)
    }

    /// Makes a clock as [`leaping`](Self::leaping) does, with another resolution.
    ///
    /// # Panics
    /// If the resolution is zero.
    #[inline]
    pub fn leaping_by(resolution: Duration) -> Manual {
        Manual::with(resolution, Waiting::MovesTime)
    }

    #[inline]
    fn with(resolution: Duration, waiting: Waiting) -> Manual {
        assert!(!resolution.is_zero(), "a tick lasts");
        Manual { shared: Arc::new(Shared { resolution, waiting, state: Mutex::new(State::default()) }) }
    }

    /// Moves time forward by a duration and wakes the threads that waited for that. What is left of a tick
    /// counts with the next call.
    #[inline]
    pub fn advance(&self, duration: Duration) {
        let resolution_ns = self.shared.resolution.as_nanos();
        self.change(|state| {
            let passed_ns = state.passed_ns + duration.as_nanos();
            let ticks = u64::try_from(passed_ns / resolution_ns).unwrap_or(u64::MAX);
            state.now = state.now.after(ticks);
            state.passed_ns = passed_ns % resolution_ns;
        });
    }

    /// Moves time forward to the beginning of a tick; an earlier one than now is ignored.
    #[inline]
    pub fn advance_to(&self, tick: Tick) {
        self.change(|state| {
            if state.now < tick {
                (state.now, state.passed_ns) = (tick, 0);
            }
        });
    }

    /// Moves time to the earliest tick that a thread waits for, and returns it; `None` if none waits for
    /// one.
    ///
    /// A driver that has not gone to sleep yet does not wait: see [`wait_count`](Self::wait_count).
    #[inline]
    pub fn advance_to_next(&self) -> Option<Tick> {
        let next = lock(&self.shared.state).waiters.iter().map(|&(_, until)| until).min()?;
        self.advance_to(next);
        Some(next)
    }

    /// Returns how many waits have been begun on this clock, which tells a test how often a driver went to
    /// sleep.
    #[inline]
    pub fn wait_count(&self) -> u64 {
        lock(&self.shared.state).wait_count
    }

    #[inline]
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.shared.state);
        change(&mut state);
        let waiters = state.waiters.clone();
        // A waiter looks at the time while it holds its notifier's lock: the lock here must not be held then.
        drop(state);
        waiters.iter().for_each(|(notifier, _)| notifier.nudge());
    }
}

impl Clock for Manual {
    #[inline]
    fn resolution(&self) -> Duration {
        self.shared.resolution
    }

    #[inline]
    fn now(&self) -> Tick {
        lock(&self.shared.state).now
    }

    #[inline]
    fn now_in_parts(&self) -> (Tick, u128) {
        let state = lock(&self.shared.state);
        (state.now, state.passed_ns)
    }

    #[inline]
    fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
        lock(&self.shared.state).wait_count += 1;
        let Some(until) = until else { return notifier.wait(None) };
        if self.shared.waiting == Waiting::MovesTime {
            // The thread that notified has scheduled something earlier: the waiter must look before time
            // moves past it.
            if !notifier.take_notification() {
                self.advance_to(until);
            }
            return;
        }
        lock(&self.shared.state).waiters.push((notifier.clone(), until));
        notifier.wait_unless(|| self.now() >= until);
        let mut state = lock(&self.shared.state);
        if let Some(place) = state.waiters.iter().position(|(other, _)| other.is_same(notifier)) {
            state.waiters.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn time_moves_only_when_told() {
        let clock = Manual::stepped();
        assert_eq!(clock.now(), Tick::ZERO);
        clock.advance(Duration::from_micros(1_999));
        assert_eq!(clock.now(), Tick::new(1));
        assert_eq!(clock.after(Duration::ZERO), Tick::new(1), "no delay is over at once");
        assert_eq!(clock.after(Duration::from_micros(2)), Tick::new(3), "a tick has almost passed");
        clock.advance_to(Tick::new(100));
        clock.advance_to(Tick::new(50));
        assert_eq!(clock.now(), Tick::new(100));
        assert_eq!(clock.after(Duration::from_micros(1)), Tick::new(101));
        assert_eq!(clock.after(Duration::MAX), Tick::MAX);
    }

    #[test]
    fn parts_of_a_tick_add_up() {
        let clock = Manual::stepped();
        (0..4).for_each(|_| clock.advance(Duration::from_micros(500)));
        assert_eq!(clock.now(), Tick::new(2));
        clock.advance(Duration::from_micros(999));
        clock.advance_to(Tick::new(3));
        clock.advance(Duration::from_micros(999));
        assert_eq!(clock.now(), Tick::new(3), "a tick begins where it is moved to");
    }

    #[test]
    fn a_waiter_goes_on_when_its_tick_is_reached() {
        let clock = Manual::stepped();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                clock.wait(&Notifier::new(), Some(Tick::new(10)));
                clock.now()
            });
            for tick in 1..=9 {
                clock.advance_to(Tick::new(tick));
            }
            while clock.advance_to_next().is_none() {
                thread::yield_now();
            }
            assert_eq!(waiter.join().expect("the waiter does not panic"), Tick::new(10));
        });
    }

    #[test]
    fn waiting_moves_a_leaping_clock() {
        let clock = Manual::leaping();
        clock.wait(&Notifier::new(), Some(Tick::new(2_592_000_000)));
        assert_eq!(clock.now(), Tick::new(2_592_000_000));
        assert_eq!(clock.wait_count(), 1);
    }
}

//! A clock on which the workload's thread and an engine's one thread take turns.
//!
//! ```text
//!   workload   schedules, cancels ..  advance_to(t): time is t, the engine is woken ......  continues
//!   engine     asleep                                looks, fires, looks .. asleep until u
//! ```
//!
//! When [`advance_to`](Turns::advance_to) returns, the engine has looked at its queue at that time, and again
//! until nothing was due: what the workload sees then is a state and no race. What the engine's thread did in
//! between is timed here, from its waking to its next sleep, so that the hand-over, which only the lab needs,
//! can be told from the work.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `now` | atomic, written before the engine is notified | the engine reads it once a turn, under no lock |
//! | the rest | `state` | a thread that waits is woken through `changed` |
//!
//! Cost: two switches between threads, some microseconds, and only where something may be due.
//!
//! It does not serve an engine with two threads: presets with more have one here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainspring::clock::{Clock, Notifier};
use mainspring_queue::Tick;

use crate::stopwatch::Stopwatch;

/// The clock. It belongs to one engine.
#[derive(Debug)]
pub struct Turns {
    resolution: Duration,
    now: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How often time was moved.
    round: u64,
    /// In which round the engine's thread last began to look at its queue.
    looked_in: u64,
    /// Until when it sleeps, while it does.
    asleep_until: Option<Tick>,
    notifier: Option<Notifier>,
    /// Since when it has been awake.
    awake: Option<Stopwatch>,
    work_ns: f64,
}

/// What one turn of the engine took, and until when it sleeps now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// From its waking to its sleeping.
    pub work_ns: f64,
    /// Its next wakeup; the last tick there is if nothing is pending.
    pub asleep_until: Tick,
}

impl Turns {
    /// Makes one at tick 0.
    pub fn new(resolution: Duration) -> Arc<Turns> {
        let (now, state, changed) = (AtomicU64::new(0), Mutex::default(), Condvar::new());
        Arc::new(Turns { resolution, now, state, changed })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves time where nothing is due, and no thread need look.
    pub fn pass_to(&self, now: Tick) {
        self.now.store(now.get(), Ordering::Release);
    }

    /// Moves time, and waits until the engine has done what is due and sleeps again. Not before something was
    /// scheduled: some engines have no thread until then.
    pub fn advance_to(&self, now: Tick) -> Turn {
        self.pass_to(now);
        let mut state = self.state();
        let work_ns_before = state.work_ns;
        state.round += 1;
        if let Some(notifier) = &state.notifier {
            notifier.notify();
        }
        loop {
            match state.asleep_until {
                Some(asleep_until) if state.looked_in == state.round => {
                    return Turn { work_ns: state.work_ns - work_ns_before, asleep_until };
                }
                _ => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl State {
    fn wake(&mut self) {
        self.looked_in = self.round;
        self.asleep_until = None;
        self.awake = Some(Stopwatch::start());
    }
}

impl Clock for Turns {
    fn resolution(&self) -> Duration {
        self.resolution
    }

    fn now(&self) -> Tick {
        Tick::new(self.now.load(Ordering::Acquire))
    }

    fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
        let until = until.unwrap_or(Tick::MAX);
        let mut state = self.state();
        state.work_ns += state.awake.take().map_or(0.0, Stopwatch::ns);
        // Time was moved while it looked: it has to look again.
        if state.looked_in < state.round || until <= self.now() {
            return state.wake();
        }
        if state.notifier.is_none() {
            state.notifier = Some(notifier.clone());
        }
        state.asleep_until = Some(until);
        self.changed.notify_one();
        drop(state);
        notifier.wait(None);
        self.state().wake();
    }
}

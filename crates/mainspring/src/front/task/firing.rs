//! A firing as its task is told of it: when it was due, and when it comes.
//!
//! Cost: two ticks. It does not say which timer fires.

use mainspring_queue::Tick;

use crate::driver::FiredTimer;

/// What a task is told about its own firing.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// engine.callbacks().after(Duration::from_secs(1), |firing| {
///     println!("due at {}, {} ticks late", firing.deadline, firing.lateness_ticks());
/// })?;
/// simulation.run_until_idle();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Firing {
    /// The tick at which it was to run.
    pub deadline: Tick,
    /// The tick at which it runs.
    pub now: Tick,
}

impl Firing {
    /// Makes what a task is told that was due at one tick and runs at another.
    pub fn new(deadline: Tick, now: Tick) -> Firing {
        Firing { deadline, now }
    }

    /// What a run is told that is due at `due`, where its timer has fired as this tells; `None` if the run is
    /// not due, and is to be scheduled again: the queue's horizon lay before it, or it was put off when its
    /// timer had left the queue. Each front asks this of what it has by `Local::schedule_assured`.
    pub(in crate::front) fn of_run(self, due: Tick) -> Option<Firing> {
        (due <= self.now).then_some(Firing { deadline: due, now: self.now })
    }

    /// Returns how late it runs, in ticks of the engine's clock:
    /// [`Clock::duration`](crate::clock::Clock::duration) makes a duration of them.
    pub fn lateness_ticks(&self) -> u64 {
        self.now.since(self.deadline)
    }
}

/// What a front's task is told, by a receiver of fired timers of the program's own.
impl<T> From<&FiredTimer<T>> for Firing {
    fn from(fired: &FiredTimer<T>) -> Firing {
        Firing { deadline: fired.deadline, now: fired.now }
    }
}

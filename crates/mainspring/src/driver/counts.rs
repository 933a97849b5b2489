//! Statistics of a driver so far: sums.
//!
//! Cost: a copy of eight numbers. It does not reset anything.

/// What a driver has done so far. `scheduled` is
/// `fired + cancelled + pending` at any time, and `fired + cancelled` plus what shutdown handed back in the
/// end.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// engine.callbacks().after(Duration::from_secs(1), |_| ())?;
/// assert!(engine.callbacks().after(Duration::from_secs(2), |_| ())?.cancel());
/// simulation.run_until_idle();
/// let counts = engine.counts();
/// assert_eq!((counts.scheduled, counts.fired, counts.cancelled), (2, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Timers taken.
    pub scheduled: u64,
    /// Timers cancelled while they were pending.
    pub cancelled: u64,
    /// Timers moved to another deadline.
    pub reset: u64,
    /// Timers handed to [`Fire`](super::Fire), those that panicked included.
    pub fired: u64,
    /// Firings that panicked.
    pub panicked: u64,
    /// How often the driver's thread went on after a wait.
    pub wakeups: u64,
    /// Firings by another worker than the one that the timer belonged to.
    pub stolen: u64,
    /// The largest lateness of a firing, in ticks.
    pub lateness_ticks_max: u64,
    /// How often a thread that scheduled or reset a timer was made to pause because firing had fallen behind.
    pub held_back: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        let Counts {
            scheduled,
            cancelled,
            reset,
            fired,
            panicked,
            wakeups,
            stolen,
            lateness_ticks_max,
            held_back,
        } = *other;
        self.scheduled += scheduled;
        self.cancelled += cancelled;
        self.reset += reset;
        self.fired += fired;
        self.panicked += panicked;
        self.wakeups += wakeups;
        self.stolen += stolen;
        self.lateness_ticks_max = self.lateness_ticks_max.max(lateness_ticks_max);
        self.held_back += held_back;
    }
}

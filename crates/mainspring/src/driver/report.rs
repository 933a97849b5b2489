//! Statistics of a driver so far with the distribution of latenesses: the feature `report`.
//!
//! Cost: some kilobytes. It does not reset anything.

mod open_metrics;

use hdrhistogram::Histogram;

use super::Counts;

/// Latenesses above this many ticks (18 minutes at a millisecond) are recorded as this.
const LATENESS_TICKS_MAX: u64 = 1 << 20;

/// Two digits are exact: figures are read as "about 15 ticks", and a histogram stays below 20 KiB.
const LATENESS_DIGITS: u8 = 2;

/// What a driver has done so far, with the distribution of latenesses.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// engine.callbacks().after(Duration::from_secs(1), |_| ())?;
/// simulation.run_until_idle();
/// let report = engine.report();
/// assert_eq!(report.lateness_ticks.value_at_quantile(0.99), 0, "no timer of a simulation is late");
/// assert_eq!(report.counts.fired, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The sums.
    pub counts: Counts,
    /// How late timers fired, in ticks, to two digits: `lateness_ticks.value_at_quantile(0.99)`. A callback
    /// that takes long shows here as the lateness of those behind it.
    pub lateness_ticks: Histogram<u64>,
}

impl Default for Report {
    fn default() -> Report {
        Report { counts: Counts::default(), lateness_ticks: empty_lateness() }
    }
}

/// A histogram of latenesses in ticks, with nothing in it.
pub(super) fn empty_lateness() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENESS_TICKS_MAX, LATENESS_DIGITS)
        .expect("the bounds are those of a histogram")
}

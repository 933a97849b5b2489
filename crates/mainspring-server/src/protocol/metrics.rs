//! Counts and measurements of a server since it began, for its listener, and what waits in the store.
//!
//! Cost: some hundred bytes for each job that is told.
//!
//! Does not say how the jobs are now: the status and the list of jobs do.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How many jobs are told of by name unless somebody says how many: each costs a monitoring system memory for
/// weeks.
pub const METERED_JOBS: usize = 200;

/// How many may be asked for: with more than that a scrape is some ten megabytes.
pub const MAX_METERED_JOBS: usize = 10_000;

const _: () = assert!(METERED_JOBS <= MAX_METERED_JOBS);

/// The upper bounds of the buckets of a histogram, in seconds; one more has all that is longer. From a
/// tenth of a millisecond, which a turn of the loop takes, to a day, which a long run takes.
pub const BOUNDS_S: [f64; 19] = [
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0,
    14_400.0, 43_200.0, 86_400.0,
];

/// The upper bounds of the buckets of how many operations a batch has; none has more than the last.
pub const BOUNDS_OPERATIONS: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0];

/// Whether each bound is greater than the one before, by which a value finds its bucket.
const fn are_ascending(bounds: &[f64]) -> bool {
    let mut index = 1;
    while index < bounds.len() {
        if bounds[index] <= bounds[index - 1] {
            return false;
        }
        index += 1;
    }
    true
}

const _: () = assert!(are_ascending(&BOUNDS_S));
const _: () = assert!(are_ascending(&BOUNDS_OPERATIONS));
const _: () =
    assert!(BOUNDS_OPERATIONS[BOUNDS_OPERATIONS.len() - 1] as usize == mainspring_job::MAX_BATCH_OPERATIONS);

/// How often something took how long, or was how much.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramWire {
    /// How many fell into each bucket of the bounds, and at last how many were more.
    pub counts: Vec<u64>,
    /// All of them together.
    pub sum: f64,
}

impl HistogramWire {
    /// One more length of time, by [`BOUNDS_S`].
    pub fn add(&mut self, took: Duration) {
        self.add_to(&BOUNDS_S, took.as_secs_f64());
    }

    /// One more, always by the same bounds.
    pub fn add_to(&mut self, bounds: &[f64], value: f64) {
        debug_assert!([0, bounds.len() + 1].contains(&self.counts.len()), "a histogram keeps its bounds");
        self.counts.resize(bounds.len() + 1, 0);
        let index = bounds.partition_point(|bound| *bound < value);
        self.counts[index] += 1;
        self.sum += value;
    }

    /// Adds another.
    pub fn merge(&mut self, other: &HistogramWire) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum += other.sum;
    }
}

/// What was counted of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobMetricsWire {
    /// Runs that were started, by cause.
    pub started: BTreeMap<String, u64>,
    /// Runs that are over, by state.
    pub ended: BTreeMap<String, u64>,
    /// Occurrences that did not run because nothing ran at their time, by the code of the reason.
    pub missed: BTreeMap<String, u64>,
    /// Occurrences that did not run because of another run or a pause, by the code of the reason.
    pub skipped: BTreeMap<String, u64>,
    /// Occurrences for which one late run stood: they are among the missed.
    pub coalesced: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// How long attempts took.
    pub duration: HistogramWire,
    /// When a run last succeeded, also before the start of the server.
    pub last_success: Option<Timestamp>,
}

impl JobMetricsWire {
    /// Adds what was counted of another job.
    pub fn merge(&mut self, other: &JobMetricsWire) {
        let pairs = [
            (&mut self.started, &other.started),
            (&mut self.ended, &other.ended),
            (&mut self.missed, &other.missed),
            (&mut self.skipped, &other.skipped),
        ];
        for (ours, theirs) in pairs {
            theirs.iter().for_each(|(name, count)| *ours.entry(name.clone()).or_default() += count);
        }
        self.retries += other.retries;
        self.coalesced += other.coalesced;
        self.duration.merge(&other.duration);
    }
}

/// What waits for somebody, or for its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitingWire {
    /// Dead letters by the names of their jobs, without those of one-shot jobs.
    pub dead: BTreeMap<String, u64>,
    /// Those of one-shot jobs.
    pub dead_once: u64,
    /// Those that were not looked at, because there are so many.
    pub dead_uncounted: u64,
    /// When the first one-shot job is due that waits, in milliseconds since 1970.
    pub first_due_ms: Option<i64>,
}

/// All that was counted and measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricsWire {
    /// The first jobs, in the order of their names.
    pub jobs: BTreeMap<String, JobMetricsWire>,
    /// All other jobs together.
    pub others: JobMetricsWire,
    /// One-shot jobs together.
    pub once: JobMetricsWire,
    /// How long after they were due runs started for the first time.
    pub lateness: HistogramWire,
    /// How long the turns of the loop took.
    pub turn: HistogramWire,
    /// How long batches took to be on disk.
    pub commit: HistogramWire,
    /// How many operations the batches had, by [`BOUNDS_OPERATIONS`].
    pub operations: HistogramWire,
    /// How long questions of the store took, by the name of the request.
    pub queries: BTreeMap<String, HistogramWire>,
    /// How attempts to tell hooks ended, by state.
    pub notifications: BTreeMap<String, u64>,
    /// How often the system's clock was set forward by a second and more, or the machine slept.
    pub jumps_forward: u64,
    /// How often it was set back by a second and more.
    pub jumps_back: u64,
    /// How many bytes of output could not be kept.
    pub output_lost_bytes: u64,
    /// What waits.
    pub waiting: WaitingWire,
    /// The server has no loop that could count: another has the jobs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stands_by: bool,
}

impl MetricsWire {
    /// What a server tells that has no loop.
    pub fn of_standby() -> MetricsWire {
        MetricsWire { stands_by: true, ..MetricsWire::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_long_as_a_bound_is_within_it_and_histograms_add_up() {
        let mut histogram = HistogramWire::default();
        for ms in [1, 2, 1_000, 100_000_000] {
            histogram.add(Duration::from_millis(ms));
        }
        let at = |bound: f64| BOUNDS_S.iter().position(|one| *one == bound).unwrap();
        assert_eq!(
            (histogram.counts[at(0.001)], histogram.counts[at(0.003)], histogram.counts[at(1.0)]),
            (1, 1, 1)
        );
        assert_eq!(histogram.counts[BOUNDS_S.len()], 1, "longer than a day");
        let mut both = HistogramWire::default();
        both.merge(&histogram);
        both.merge(&histogram);
        assert_eq!(both.counts.iter().sum::<u64>(), 8);
        assert!((both.sum - 2.0 * histogram.sum).abs() < 1e-6);
    }
}

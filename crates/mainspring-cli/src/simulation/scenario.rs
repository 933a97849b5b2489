//! The input of a simulation: jobs, a span of time, and the events that the server meets in it.
//!
//! Values only.

use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Group, Job};

/// The most events of one simulation: nearly two years of a job that is due each minute, and some ten seconds
/// of work.
pub const MAX_EVENTS: u64 = 1_000_000;

/// A job as far as a simulation cares.
#[derive(Clone, Debug)]
pub struct SimulatedJob {
    /// What `serve` would be given.
    pub job: Job,
    /// Where it stands: the file and the line, counted from 1.
    pub place: (String, usize),
    /// How long each run takes, if that is known.
    pub duration: Option<Duration>,
}

/// A stretch in which no server runs. What ran at its start is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When the server dies, by its clock.
    pub from: Timestamp,
    /// When the next one starts, by the same clock.
    pub to: Timestamp,
}

/// A moment at which the clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSet {
    /// What the clock shows before.
    pub at: Timestamp,
    /// What it shows after.
    pub to: Timestamp,
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The jobs, in the order of the report. Their names are unique.
    pub jobs: Vec<SimulatedJob>,
    /// The groups that they share.
    pub groups: Vec<Group>,
    /// The first moment. The server starts then, and an occurrence at it counts.
    pub from: Timestamp,
    /// The first moment that is no longer simulated.
    pub to: Timestamp,
    /// When no server runs.
    pub outages: Vec<Outage>,
    /// When the clock is set.
    pub clock_sets: Vec<ClockSet>,
    /// At most so many events are listed one by one.
    pub listed_count: usize,
    /// Usually [`MAX_EVENTS`].
    pub events_max: u64,
}

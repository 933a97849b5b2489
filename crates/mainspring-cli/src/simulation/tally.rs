//! Counters of a simulation: events, totals of each job, busy minutes, concurrent runs.
//!
//! Cost: constant per event, but for the few busiest minutes.
//!
//! Does not decide anything, and does not show anything.

use jiff::{SignedDuration, Timestamp};

use super::Scenario;

/// How many of the busiest minutes are kept.
pub const BUSIEST_COUNT: usize = 5;

/// What happened to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// An attempt of a run started.
    Started {
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// An occurrence did not run, because an earlier run was in the way.
    Skipped,
    /// Occurrences passed while no server could run them, and are not caught up.
    Missed {
        /// How many; beyond [`MAX_COUNTED`](mainspring_job::MAX_COUNTED) at least so many.
        count: u64,
    },
    /// A run was cut off by the end of its server.
    Abandoned,
    /// A run was ended by its timeout.
    TimedOut,
    /// A run was killed, because a newer one took its place.
    Killed,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, by the clock of the machine.
    pub time: Timestamp,
    /// The index of the job.
    pub job_index: usize,
    /// The nominal time of the run; of several missed occurrences the first.
    pub nominal: Timestamp,
    /// What happened to the run then.
    pub what: JobEvent,
}

/// What one job did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How often an attempt of it started.
    pub start_count: u64,
    /// The first start, if any.
    pub first: Option<Timestamp>,
    /// The last start, if any.
    pub last: Option<Timestamp>,
    /// How many occurrences were skipped because a run was in the way.
    pub skipped_count: u64,
    /// When that first happened.
    pub first_skipped: Option<Timestamp>,
    /// How many occurrences were missed.
    pub missed_count: u64,
    /// How many runs were cut off: by a timeout, a newer run, or the end of the server.
    pub cut_count: u64,
    /// The longest time from a nominal time to the first start of its run.
    pub latest_by: SignedDuration,
}

/// The number of something, and when it was first reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The first moment, or the start of the minute.
    pub time: Timestamp,
    /// How many.
    pub count: u64,
}

/// What happened in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Up to which moment, not included, everything was simulated.
    pub end: Timestamp,
    /// Whether the limit of events ended it before the time that was asked for.
    pub is_cut_short: bool,
    /// The first events.
    pub listed: Vec<Event>,
    /// How many events there were.
    pub event_count: u64,
    /// How many of them were starts.
    pub start_count: u64,
    /// One for each job, in the same order.
    pub totals: Vec<Total>,
    /// The minutes with the most starts, the busiest first, of equals the earlier; at most [`BUSIEST_COUNT`].
    pub busiest: Vec<Peak>,
    /// The most runs at once, of jobs with a duration; `None` if there was no such run.
    pub most_at_once: Option<Peak>,
}

/// An [`Outcome`] in the making.
pub(super) struct Tally {
    outcome: Outcome,
    listed_max: usize,
    /// The minute of the last start.
    minute: Option<Peak>,
}

impl Tally {
    pub(super) fn new(scenario: &Scenario) -> Tally {
        let totals = vec![Total::default(); scenario.jobs.len()];
        let outcome = Outcome { totals, ..Outcome::default() };
        Tally { outcome, listed_max: scenario.listed_count, minute: None }
    }

    pub(super) fn event_count(&self) -> u64 {
        self.outcome.event_count
    }

    pub(super) fn add(&mut self, event: Event) {
        self.outcome.event_count += 1;
        if self.outcome.listed.len() < self.listed_max {
            self.outcome.listed.push(event);
        }
        let total = &mut self.outcome.totals[event.job_index];
        match event.what {
            JobEvent::Started { attempt } => {
                total.start_count += 1;
                total.first.get_or_insert(event.time);
                total.last = Some(event.time);
                if attempt == 1 {
                    total.latest_by = total.latest_by.max(event.time.duration_since(event.nominal));
                }
                self.outcome.start_count += 1;
                self.count_minute(event.time);
            }
            JobEvent::Skipped => {
                total.skipped_count += 1;
                total.first_skipped.get_or_insert(event.time);
            }
            JobEvent::Missed { count } => total.missed_count += count,
            JobEvent::Abandoned | JobEvent::TimedOut | JobEvent::Killed => total.cut_count += 1,
        }
    }

    /// Remembers how many runs with a duration run at once.
    pub(super) fn running(&mut self, time: Timestamp, count: usize) {
        let count = count as u64;
        if self.outcome.most_at_once.is_none_or(|most| most.count < count) {
            self.outcome.most_at_once = Some(Peak { time, count });
        }
    }

    fn count_minute(&mut self, time: Timestamp) {
        let second = time.as_second();
        let start = Timestamp::from_second(second - second.rem_euclid(60)).unwrap_or(Timestamp::MIN);
        match &mut self.minute {
            Some(minute) if minute.time == start => minute.count += 1,
            _ => {
                self.close_minute();
                self.minute = Some(Peak { time: start, count: 1 });
            }
        }
    }

    /// Puts the minute that is over among the busiest, behind its equals, which are earlier.
    fn close_minute(&mut self) {
        let Some(minute) = self.minute.take() else { return };
        let busiest = &mut self.outcome.busiest;
        let place = busiest.partition_point(|other| minute.count <= other.count);
        busiest.insert(place, minute);
        busiest.truncate(BUSIEST_COUNT);
    }

    /// Everything before `end` is counted.
    pub(super) fn finish(mut self, end: Timestamp) -> Outcome {
        self.close_minute();
        let counted: u64 = self.outcome.totals.iter().map(|total| total.start_count).sum();
        assert_eq!(counted, self.outcome.start_count, "every start is one of a job");
        assert!(self.outcome.start_count <= self.outcome.event_count);
        assert!(self.outcome.busiest.is_sorted_by(|one, next| next.count <= one.count));
        assert!(self.outcome.busiest.first().is_none_or(|most| most.count <= counted));
        assert!(self.outcome.most_at_once.is_none_or(|most| most.count <= counted), "what runs has started");
        Outcome { end, ..self.outcome }
    }
}

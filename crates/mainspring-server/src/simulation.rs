//! Jobs on a virtual clock: what fires between two moments, and what would run at once.
//!
//! ```text
//! heap of (next time, job)   pop the earliest ─▶ count it ─▶ ask the schedule for the next ─▶ push it back
//!                                                   │
//! running: (end, job) ◀── if the job has a duration ┘        ends at or before now leave first
//! ```
//!
//! Time jumps from firing to firing, so a year of a daily job is 365 steps. A run with a duration occupies
//! `[start, start + duration)`: one that ends as the next starts does not overlap it. Jobs that fire at one moment fire
//! in the order in which they were given.
//!
//! Cost: one search and two heap operations per firing. Memory: one place per job, the listed firings, and the runs that
//! are running at once; all three have limits.
//!
//! Does not model what a real machine adds: late starts, a limit on running commands, a clock that is set, time off.
//!
//! Source: own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_cron::Schedule;

pub mod document;
pub mod report;

/// The most firings of one simulation: a year of nineteen jobs that fire every minute.
pub const MAX_FIRINGS: u64 = 10_000_000;

/// The most runs that run at once in a simulation: more than any machine would survive.
pub const MAX_AT_ONCE: usize = 100_000;

/// How many of the busiest minutes are kept.
pub const BUSIEST_COUNT: usize = 5;

/// A job as far as a simulation cares.
#[derive(Clone, Debug)]
pub struct SimulatedJob {
    /// Unique among the jobs of a simulation, for the report.
    pub name: String,
    /// Where it stands: the file and the line, counted from 1.
    pub place: (String, usize),
    /// When it fires.
    pub schedule: Schedule,
    /// How long each run takes, if that is known.
    pub duration: Option<Duration>,
}

/// Which part of time is simulated, and where the simulation gives up.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The first moment.
    pub from: Timestamp,
    /// The first moment that is no longer simulated.
    pub to: Timestamp,
    /// At most so many firings are listed one by one.
    pub listed_count: usize,
    /// Usually [`MAX_FIRINGS`].
    pub firings_max: u64,
    /// Usually [`MAX_AT_ONCE`].
    pub at_once_max: usize,
}

/// One firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// When.
    pub time: Timestamp,
    /// The index of the job.
    pub job_index: usize,
}

/// Why a simulation ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// There were more firings than the limit.
    Firings,
    /// More runs than the limit would have been running at once.
    AtOnce,
}

/// What one job did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How often it fired.
    pub firing_count: u64,
    /// The first time, if any.
    pub first: Option<Timestamp>,
    /// The last time, if any.
    pub last: Option<Timestamp>,
    /// How often it fired while an earlier run of its own was running.
    pub self_overlap_count: u64,
    /// When that first happened.
    pub first_self_overlap: Option<Timestamp>,
}

/// The number of something, and when it was first reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The first moment, or the start of the minute.
    pub time: Timestamp,
    /// How many.
    pub count: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Up to which moment, not included, everything was simulated.
    pub end: Timestamp,
    /// Why that is not the end that was asked for.
    pub stopped: Option<Stopped>,
    /// The first firings.
    pub listed: Vec<Firing>,
    /// How many there were in all.
    pub firing_count: u64,
    /// One for each job, in the same order.
    pub totals: Vec<Total>,
    /// The minutes with the most firings, the busiest first, of equals the earlier; at most [`BUSIEST_COUNT`].
    pub busiest: Vec<Peak>,
    /// The most runs at once, of jobs with a duration; `None` if there was no such run.
    pub most_at_once: Option<Peak>,
}

/// Runs the jobs through the time between the bounds.
///
/// # Example
///
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{Expression, Schedule};
/// use mainspring_server::simulation::{Bounds, MAX_AT_ONCE, MAX_FIRINGS, SimulatedJob, simulate};
///
/// let schedule = Schedule::new(Expression::parse("*/15 * * * *")?, TimeZone::UTC);
/// let job = SimulatedJob { name: "a".into(), place: ("f".into(), 1), schedule, duration: None };
/// let bounds = Bounds {
///     from: "2026-01-01T00:00:00Z".parse()?,
///     to: "2026-01-02T00:00:00Z".parse()?,
///     listed_count: 1,
///     firings_max: MAX_FIRINGS,
///     at_once_max: MAX_AT_ONCE,
/// };
/// let outcome = simulate(&[job], &bounds);
/// assert_eq!(outcome.firing_count, 96);
/// assert_eq!(outcome.listed[0].time, bounds.from);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate(jobs: &[SimulatedJob], bounds: &Bounds) -> Outcome {
    let mut state = State::new(jobs.len(), bounds);
    let mut waiting: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::with_capacity(jobs.len());
    // A schedule answers for strictly later moments, and the first moment counts.
    let just_before = bounds.from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(bounds.from);
    for (job_index, job) in jobs.iter().enumerate() {
        let first = if job.schedule.is_reboot() { Some(bounds.from) } else { next(job, just_before) };
        waiting.extend(first.map(|time| Reverse((time, job_index))));
    }
    while let Some(Reverse((time, job_index))) = waiting.pop() {
        if bounds.to <= time {
            break;
        }
        if let Some(stopped) = state.fire(Firing { time, job_index }, jobs[job_index].duration) {
            state.outcome.end = time;
            state.outcome.stopped = Some(stopped);
            break;
        }
        let following = next(&jobs[job_index], time);
        debug_assert!(following.is_none_or(|following| time < following), "time goes forward");
        waiting.extend(following.map(|time| Reverse((time, job_index))));
    }
    state.finish()
}

fn next(job: &SimulatedJob, after: Timestamp) -> Option<Timestamp> {
    job.schedule.next_after(after).map(|time| time.timestamp())
}

/// The simulation so far.
struct State<'b> {
    bounds: &'b Bounds,
    outcome: Outcome,
    /// The runs of jobs with a duration, by their end.
    running: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// How many of `running` are of each job.
    running_counts: Vec<usize>,
    /// The minute of the last firing.
    minute: Option<Peak>,
}

impl State<'_> {
    fn new(job_count: usize, bounds: &Bounds) -> State<'_> {
        let outcome = Outcome {
            end: bounds.to,
            stopped: None,
            listed: Vec::new(),
            firing_count: 0,
            totals: vec![Total::default(); job_count],
            busiest: Vec::new(),
            most_at_once: None,
        };
        State {
            bounds,
            outcome,
            running: BinaryHeap::new(),
            running_counts: vec![0; job_count],
            minute: None,
        }
    }

    /// Counts a firing, unless that is beyond a limit.
    fn fire(&mut self, firing: Firing, duration: Option<Duration>) -> Option<Stopped> {
        if self.outcome.firing_count == self.bounds.firings_max {
            return Some(Stopped::Firings);
        }
        self.end_runs(firing.time);
        if duration.is_some() && self.running.len() == self.bounds.at_once_max {
            return Some(Stopped::AtOnce);
        }
        self.outcome.firing_count += 1;
        if self.outcome.listed.len() < self.bounds.listed_count {
            self.outcome.listed.push(firing);
        }
        let total = &mut self.outcome.totals[firing.job_index];
        total.firing_count += 1;
        total.first.get_or_insert(firing.time);
        total.last = Some(firing.time);
        self.count_minute(firing.time);
        if let Some(duration) = duration {
            self.start_run(firing, duration);
        }
        None
    }

    fn end_runs(&mut self, now: Timestamp) {
        while let Some(Reverse((end, job_index))) = self.running.peek().copied() {
            if now < end {
                break;
            }
            self.running.pop();
            self.running_counts[job_index] -= 1;
        }
    }

    fn start_run(&mut self, firing: Firing, duration: Duration) {
        let Firing { time, job_index } = firing;
        if 0 < self.running_counts[job_index] {
            let total = &mut self.outcome.totals[job_index];
            total.self_overlap_count += 1;
            total.first_self_overlap.get_or_insert(time);
        }
        self.running_counts[job_index] += 1;
        self.running.push(Reverse((time.checked_add(duration).unwrap_or(Timestamp::MAX), job_index)));
        let count = self.running.len() as u64;
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

    fn finish(mut self) -> Outcome {
        self.close_minute();
        let counted: u64 = self.outcome.totals.iter().map(|total| total.firing_count).sum();
        assert_eq!(counted, self.outcome.firing_count, "every firing is one of a job");
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;
    use mainspring_cron::Expression;

    fn job(text: &str, duration_s: Option<u64>) -> SimulatedJob {
        let schedule = Schedule::new(Expression::parse(text).unwrap(), TimeZone::UTC);
        let duration = duration_s.map(Duration::from_secs);
        SimulatedJob { name: text.to_owned(), place: ("f".to_owned(), 1), schedule, duration }
    }

    fn day() -> Bounds {
        Bounds {
            from: "2026-01-01T00:00:00Z".parse().unwrap(),
            to: "2026-01-02T00:00:00Z".parse().unwrap(),
            listed_count: 3,
            firings_max: MAX_FIRINGS,
            at_once_max: MAX_AT_ONCE,
        }
    }

    #[test]
    fn the_first_moment_counts_and_the_last_does_not() {
        let outcome = simulate(&[job("0 0 * * *", None)], &day());
        assert_eq!(outcome.listed, [Firing { time: day().from, job_index: 0 }]);
        assert_eq!((outcome.firing_count, outcome.end), (1, day().to));
    }

    #[test]
    fn a_reboot_job_fires_once_at_the_start() {
        let outcome = simulate(&[job("@reboot", None), job("0 12 * * *", None)], &day());
        assert_eq!(outcome.totals.iter().map(|total| total.firing_count).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(outcome.totals[0].first, Some(day().from));
    }

    #[test]
    fn firings_at_one_moment_are_in_the_order_of_the_jobs() {
        let outcome = simulate(&[job("0 1 * * *", None), job("0 1 * * *", None)], &day());
        assert_eq!(outcome.listed.iter().map(|firing| firing.job_index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(outcome.busiest[0].count, 2);
    }

    #[test]
    fn a_run_that_ends_as_the_next_one_starts_does_not_overlap_it() {
        let exact = simulate(&[job("0 * * * *", Some(3600))], &day());
        assert_eq!(exact.totals[0].self_overlap_count, 0);
        assert_eq!(exact.most_at_once.map(|most| most.count), Some(1));
        let longer = simulate(&[job("0 * * * *", Some(3601))], &day());
        assert_eq!(longer.totals[0].self_overlap_count, 23);
        assert_eq!(longer.most_at_once.map(|most| most.count), Some(2));
        assert_eq!(longer.totals[0].first_self_overlap, Some("2026-01-01T01:00:00Z".parse().unwrap()));
    }

    #[test]
    fn a_run_of_no_length_never_overlaps() {
        let outcome = simulate(&[job("* * * * *", Some(0)), job("* * * * *", Some(0))], &day());
        assert_eq!(outcome.totals[0].self_overlap_count, 0);
        assert_eq!(outcome.most_at_once.map(|most| most.count), Some(1));
    }

    #[test]
    fn the_busiest_minutes_are_few_and_the_earlier_come_first() {
        let outcome = simulate(&[job("* * * * *", None), job("30 5,9 * * *", None)], &day());
        let starts: Vec<String> = outcome.busiest.iter().map(|minute| minute.time.to_string()).collect();
        let expected =
            ["05:30", "09:30", "00:00", "00:01", "00:02"].map(|time| format!("2026-01-01T{time}:00Z"));
        assert_eq!(starts, expected);
    }

    #[test]
    fn the_limits_end_a_simulation_and_say_where() {
        let outcome = simulate(&[job("0 * * * *", None)], &Bounds { firings_max: 5, ..day() });
        assert_eq!((outcome.stopped, outcome.firing_count), (Some(Stopped::Firings), 5));
        assert_eq!(outcome.end, "2026-01-01T05:00:00Z".parse().unwrap());
        let outcome = simulate(&[job("0 * * * *", Some(99_999))], &Bounds { at_once_max: 2, ..day() });
        assert_eq!((outcome.stopped, outcome.firing_count), (Some(Stopped::AtOnce), 2));
        let exact = simulate(&[job("0 * * * *", None)], &Bounds { firings_max: 24, ..day() });
        assert_eq!(exact.stopped, None);
    }

    #[test]
    fn counts_agree_with_a_walk_through_the_minutes() {
        let jobs =
            [job("*/7 3-20 * * *", Some(500)), job("5 */2 1,15 * *", None), job("@every 11m", Some(700))];
        let bounds = Bounds { to: "2026-03-01T00:00:00Z".parse().unwrap(), ..day() };
        let outcome = simulate(&jobs, &bounds);
        for (job, total) in jobs.iter().zip(&outcome.totals) {
            let before = bounds.from.checked_sub(SignedDuration::from_nanos(1)).unwrap();
            let times = job.schedule.upcoming(before).map(|time| time.timestamp());
            let times: Vec<Timestamp> = times.take_while(|&time| time < bounds.to).collect();
            assert_eq!(total.firing_count, times.len() as u64, "{}", job.name);
            let duration = job.duration.unwrap_or_default();
            let overlapping = |pair: &&[Timestamp]| pair[1] < pair[0].checked_add(duration).unwrap();
            let overlaps = times.windows(2).filter(overlapping).count() as u64;
            assert_eq!(total.self_overlap_count, overlaps, "{}", job.name);
        }
    }
}

//! The outcome of a simulation as a JSON document.
//!
//! | field | is |
//! |---|---|
//! | `zone`, `from`, `to` | as asked for |
//! | `end`, `stopped_by` | up to where it was simulated; `firings` or `at_once` if that is a limit, or null |
//! | `firing_count`, `firings` | of all, and the first ones: `time`, `job` |
//! | `jobs` | for each: `name`, `file`, `line`, `schedule`, `firing_count`, `first`, `last`, `duration_s`, `self_overlaps` |
//! | `busiest_minutes` | the busiest first: `minute`, `firing_count` |
//! | `most_at_once` | `time`, `run_count`; null without durations |
//! | `timed_job_count` | how many jobs have a duration |
//!
//! Cost: one string per time.
//!
//! Does not hold more firings than were listed.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc8259>.

use jiff::tz::TimeZone;
use serde::Serialize;

use super::report::show;
use super::{Bounds, Outcome, SimulatedJob, Stopped, Total};

/// See the head of this file.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the head of the file says what each field is")]
pub struct Document {
    pub zone: String,
    pub from: String,
    pub to: String,
    pub end: String,
    pub stopped_by: Option<&'static str>,
    pub firing_count: u64,
    pub firings: Vec<FiringWire>,
    pub jobs: Vec<JobWire>,
    pub busiest_minutes: Vec<MinuteWire>,
    pub most_at_once: Option<AtOnceWire>,
    pub timed_job_count: usize,
}

/// One firing.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the head of the file says what each field is")]
pub struct FiringWire {
    pub time: String,
    pub job: String,
}

/// One job and its totals.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the head of the file says what each field is")]
pub struct JobWire {
    pub name: String,
    pub file: String,
    pub line: usize,
    pub schedule: String,
    pub firing_count: u64,
    pub first: Option<String>,
    pub last: Option<String>,
    pub duration_s: Option<f64>,
    pub self_overlaps: Option<OverlapsWire>,
}

/// How often a job fired while a run of its own was running; null for a job without a duration.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct OverlapsWire {
    pub count: u64,
    pub first: Option<String>,
}

/// A busy minute.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the head of the file says what each field is")]
pub struct MinuteWire {
    pub minute: String,
    pub firing_count: u64,
}

/// The most runs at once.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the head of the file says what each field is")]
pub struct AtOnceWire {
    pub time: String,
    pub run_count: u64,
}

impl Document {
    /// Makes the document. All times are shown in `zone`.
    pub fn new(jobs: &[SimulatedJob], bounds: &Bounds, outcome: &Outcome, zone: &TimeZone) -> Document {
        let show = |time| show(time, zone);
        let firing = |firing: &super::Firing| FiringWire {
            time: show(firing.time),
            job: jobs[firing.job_index].name.clone(),
        };
        let minute = |peak: &super::Peak| MinuteWire { minute: show(peak.time), firing_count: peak.count };
        Document {
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            from: show(bounds.from),
            to: show(bounds.to),
            end: show(outcome.end),
            stopped_by: outcome.stopped.map(|stopped| match stopped {
                Stopped::Firings => "firings",
                Stopped::AtOnce => "at_once",
            }),
            firing_count: outcome.firing_count,
            firings: outcome.listed.iter().map(firing).collect(),
            jobs: jobs
                .iter()
                .zip(&outcome.totals)
                .map(|(job, total)| JobWire::new(job, total, zone))
                .collect(),
            busiest_minutes: outcome.busiest.iter().map(minute).collect(),
            most_at_once: outcome
                .most_at_once
                .map(|most| AtOnceWire { time: show(most.time), run_count: most.count }),
            timed_job_count: jobs.iter().filter(|job| job.duration.is_some()).count(),
        }
    }
}

impl JobWire {
    fn new(job: &SimulatedJob, total: &Total, zone: &TimeZone) -> JobWire {
        let show = |time| show(time, zone);
        let (file, line) = job.place.clone();
        let overlaps =
            OverlapsWire { count: total.self_overlap_count, first: total.first_self_overlap.map(show) };
        JobWire {
            name: job.name.clone(),
            file,
            line,
            schedule: job.schedule.expression().to_string(),
            firing_count: total.firing_count,
            first: total.first.map(show),
            last: total.last.map(show),
            duration_s: job.duration.map(|duration| duration.as_secs_f64()),
            self_overlaps: job.duration.map(|_| overlaps),
        }
    }
}

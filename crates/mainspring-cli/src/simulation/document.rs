//! The outcome of a simulation as a JSON document.
//!
//! | field | is |
//! |---|---|
//! | `zone`, `from`, `to` | as asked for |
//! | `end`, `is_cut_short` | up to where it was simulated; whether the limit of events ended it there |
//! | `event_count`, `start_count` | of all |
//! | `events` | the first ones: `time`, `job`, `what`, `nominal`, `attempt` of a start, `count` of what was missed |
//! | `jobs` | for each: `name`, `file`, `line`, `start_count`, `first`, `last`, `skipped_count`, `first_skipped`, `missed_count`, `cut_count`, `late_s_max`, `duration_s` |
//! | `busiest_minutes` | the busiest first: `minute`, `start_count` |
//! | `most_at_once` | `time`, `run_count`; null without durations |
//! | `timed_job_count` | how many jobs have a duration |
//!
//! `what` is one of `started`, `skipped`, `missed`, `abandoned`, `timed_out`, `killed`.
//!
//! Cost: some strings per listed event.
//!
//! Does not hold more events than were listed.
//!
//! Source: <https://www.rfc-editor.org/rfc/rfc8259>.

use jiff::tz::TimeZone;
use mainspring_server::protocol::zone_name;
use serde::Serialize;

use super::report::show;
use super::{Event, JobEvent, Outcome, Peak, Scenario, SimulatedJob, Total};

/// See the head of this file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Document {
    pub(crate) zone: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) end: String,
    pub(crate) is_cut_short: bool,
    pub(crate) event_count: u64,
    pub(crate) start_count: u64,
    pub(crate) events: Vec<EventWire>,
    pub(crate) jobs: Vec<JobWire>,
    pub(crate) busiest_minutes: Vec<MinuteWire>,
    pub(crate) most_at_once: Option<AtOnceWire>,
    pub(crate) timed_job_count: usize,
}

/// One event.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EventWire {
    pub(crate) time: String,
    pub(crate) job: String,
    pub(crate) what: &'static str,
    pub(crate) nominal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
}

/// One job and its totals.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JobWire {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) start_count: u64,
    pub(crate) first: Option<String>,
    pub(crate) last: Option<String>,
    pub(crate) skipped_count: u64,
    pub(crate) first_skipped: Option<String>,
    pub(crate) missed_count: u64,
    pub(crate) cut_count: u64,
    pub(crate) late_s_max: f64,
    pub(crate) duration_s: Option<f64>,
}

/// A busy minute.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MinuteWire {
    pub(crate) minute: String,
    pub(crate) start_count: u64,
}

/// The most runs at once.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AtOnceWire {
    pub(crate) time: String,
    pub(crate) run_count: u64,
}

impl Document {
    /// Makes the document. All times are shown in `zone`.
    pub(crate) fn new(scenario: &Scenario, outcome: &Outcome, zone: &TimeZone) -> Document {
        let show = |time| show(time, zone);
        let minute = |peak: &Peak| MinuteWire { minute: show(peak.time), start_count: peak.count };
        assert_eq!(scenario.jobs.len(), outcome.totals.len(), "each job has its total");
        let jobs = scenario.jobs.iter().zip(&outcome.totals);
        let most = outcome.most_at_once;
        Document {
            zone: zone_name(zone).to_owned(),
            from: show(scenario.from),
            to: show(scenario.to),
            end: show(outcome.end),
            is_cut_short: outcome.is_cut_short,
            event_count: outcome.event_count,
            start_count: outcome.start_count,
            events: outcome.listed.iter().map(|event| EventWire::new(event, scenario, zone)).collect(),
            jobs: jobs.map(|(job, total)| JobWire::new(job, total, zone)).collect(),
            busiest_minutes: outcome.busiest.iter().map(minute).collect(),
            most_at_once: most.map(|most| AtOnceWire { time: show(most.time), run_count: most.count }),
            timed_job_count: scenario.jobs.iter().filter(|job| job.duration.is_some()).count(),
        }
    }
}

impl EventWire {
    fn new(event: &Event, scenario: &Scenario, zone: &TimeZone) -> EventWire {
        let (what, attempt, count) = match event.what {
            JobEvent::Started { attempt } => ("started", Some(attempt), None),
            JobEvent::Skipped => ("skipped", None, None),
            JobEvent::Missed { count } => ("missed", None, Some(count)),
            JobEvent::Abandoned => ("abandoned", None, None),
            JobEvent::TimedOut => ("timed_out", None, None),
            JobEvent::Killed => ("killed", None, None),
        };
        EventWire {
            time: show(event.time, zone),
            job: scenario.jobs[event.job_index].job.name.to_string(),
            what,
            nominal: show(event.nominal, zone),
            attempt,
            count,
        }
    }
}

impl JobWire {
    fn new(simulated: &SimulatedJob, total: &Total, zone: &TimeZone) -> JobWire {
        let show = |time| show(time, zone);
        let (file, line) = simulated.place.clone();
        JobWire {
            name: simulated.job.name.to_string(),
            file,
            line,
            start_count: total.start_count,
            first: total.first.map(show),
            last: total.last.map(show),
            skipped_count: total.skipped_count,
            first_skipped: total.first_skipped.map(show),
            missed_count: total.missed_count,
            cut_count: total.cut_count,
            late_s_max: total.latest_by.as_secs_f64(),
            duration_s: simulated.duration.map(|duration| duration.as_secs_f64()),
        }
    }
}

//! The keys of a trigger of APScheduler.
//!
//! Cost: one look at each key.
//!
//! Does not read the job: see [`apscheduler`](super).

use std::collections::BTreeMap;
use std::time::Duration;

use mainspring_cron::{Every, Expression};

use super::field::{CronFields, Refusal};
use crate::draft::Draft;
use crate::facts::When;
use crate::key::{Key, is, lost, near};
use crate::yaml::Node;

/// A job on its way.
pub(super) type Job = Draft<JobWords>;

/// What a job says that is judged when all of it is known.
#[derive(Debug, Default)]
pub(super) struct JobWords {
    /// `cron`, `interval` or `date`.
    pub(super) kind: String,
    pub(super) function: Option<String>,
    pub(super) arguments: Vec<String>,
    fields: BTreeMap<&'static str, String>,
    period: Duration,
    /// How old a time may be that is caught up.
    pub(super) window: Option<Duration>,
    /// Whether each time that was missed is caught up, and not the latest alone.
    pub(super) runs_each: bool,
    run_date: Option<String>,
}

/// Keys of a trigger.
pub(super) const TRIGGER_KEYS: &[Key<JobWords, Node>] = &[
    is("type", "cron, every, at", kind, "`cron`, `interval` or `date`"),
    is("year", "cron", |job, node| field(job, "year", node), ""),
    is("month", "cron", |job, node| field(job, "month", node), ""),
    is(
        "day",
        "cron",
        |job, node| field(job, "day", node),
        "`last` is `L`, `3rd fri` is `5#3`, `last fri` is `5L`; beside others of a list by day_rule = \"or\"",
    ),
    is(
        "week",
        "a comment",
        |job, node| field(job, "week", node),
        "the week of the year has no equal: the job is written as a comment",
    ),
    is(
        "day_of_week",
        "cron",
        |job, node| field(job, "day_of_week", node),
        "0 is Monday there: days are written as names; beside `day` both must be, by day_rule = \"and\"",
    ),
    is("hour", "cron", |job, node| field(job, "hour", node), ""),
    is("minute", "cron", |job, node| field(job, "minute", node), ""),
    is("second", "cron", |job, node| field(job, "second", node), ""),
    is(
        "start_date",
        "start",
        |job, node| job.job.start = job.text(node).map(iso),
        "a period counts from 1970 here, and not from it",
    ),
    is(
        "end_date",
        "end",
        |job, node| job.job.last = job.text(node).map(iso),
        "it may be due at it, so here `end` is a microsecond later",
    ),
    is("timezone", "zone", Draft::read_zone, ""),
    near("jitter", "jitter", jitter, "a run starts up to this much later, and never earlier"),
    is("weeks", "every", |job, node| period(job, node, 604_800), "the parts of an interval are added"),
    is("days", "every", |job, node| period(job, node, 86_400), "24 hours"),
    is("hours", "every", |job, node| period(job, node, 3_600), ""),
    is("minutes", "every", |job, node| period(job, node, 60), ""),
    is("seconds", "every", |job, node| period(job, node, 1), "without a length it is 1, as there"),
    is("run_date", "at", |job, node| job.values.run_date = job.text(node).map(iso), ""),
    lost("expression calendar", "it is no key of the triggers of APScheduler 3", "write it as fields"),
];

fn kind(job: &mut Job, node: &Node) {
    job.values.kind = job.text(node).unwrap_or_default().to_owned();
}

fn field(job: &mut Job, name: &'static str, node: &Node) {
    if let Some(text) = job.text(node) {
        job.values.fields.insert(name, text.to_owned());
    }
}

fn seconds(job: &mut Job, node: &Node) -> Option<Duration> {
    let found = node.text().and_then(|text| text.parse::<f64>().ok());
    let found = found.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    if found.is_none() {
        job.findings.problem(&node.place, "expected a number from 0");
    }
    found
}

fn jitter(job: &mut Job, node: &Node) {
    if let Some(duration) = seconds(job, node) {
        job.job.policies.jitter = duration.min(mainspring_job::MAX_JITTER);
    }
}

fn period(job: &mut Job, node: &Node, unit: u32) {
    if let Some(count) = seconds(job, node) {
        let part = count.checked_mul(unit).unwrap_or(Duration::MAX);
        job.values.period = job.values.period.saturating_add(part);
    }
}

/// A time of Python's as RFC 3339 has it: with a T, and with seconds.
fn iso(text: &str) -> String {
    let text = text.trim().replacen(' ', "T", 1);
    if text.matches(':').count() == 1 && text.len() == "2026-01-01T00:00".len() { text + ":00" } else { text }
}

/// Makes a trigger of what was said.
pub(super) fn finish(job: &mut Job, node: &Node) {
    if job.findings.has_problem() {
        return;
    }
    let kind = std::mem::take(&mut job.values.kind);
    match kind.as_str() {
        "interval" => interval(job, node),
        "date" => match job.values.run_date.take() {
            Some(date) => job.job.due(When::At(date)),
            None => job.findings.problem(&node.place, "the trigger has no run_date"),
        },
        "cron" => cron(job, node),
        // A table without a trigger is one of cron if it has its fields.
        "" if !job.values.fields.is_empty() => cron(job, node),
        "" => job.findings.problem(&node.place, "the job has no trigger"),
        other => {
            let message = format!("the trigger `{other}` is not known here");
            job.findings.warn(&node.place, message, "say when in the job file");
            job.job.switch_off_without_time(format!("its trigger is not known here: {other}"));
        }
    }
}

fn interval(job: &mut Job, node: &Node) {
    // An interval without a length is a second there.
    let period = if job.values.period.is_zero() { Duration::from_secs(1) } else { job.values.period };
    match Every::new(period) {
        Some(every) => {
            let message = "a period counts from 1970 here, and not from the start of the scheduler";
            job.findings.remark(&node.place, message);
            job.job.due(When::every(&every));
        }
        None => {
            let message = "a period is from 1 ms to 36525 days: the job is written as a comment";
            job.findings.warn(&node.place, message, "say when in the job file");
            job.job.switch_off_without_time("its period has no equal here");
        }
    }
}

fn cron(job: &mut Job, node: &Node) {
    let fields = std::mem::take(&mut job.values.fields);
    match CronFields::of(&fields) {
        Ok(made) => match Expression::parse(&made.text) {
            Ok(_) => {
                job.job.day_rule = made.day_rule;
                job.job.due(When::Cron(made.text));
            }
            Err(error) => job.findings.problem(&node.place, format!("`{}`: {error}", made.text)),
        },
        Err(Refusal::Faulty(message)) => job.findings.problem(&node.place, message),
        Err(Refusal::NoEqual(message)) => {
            job.findings.warn(&node.place, message.clone(), "write the times as several expressions of cron");
            job.job.switch_off_without_time(message);
        }
    }
}

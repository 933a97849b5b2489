//! Tables of APScheduler, in YAML, JSON or as Python writes a list: each job is one.
//!
//! ```text
//! - id: report                     a list of jobs, also under `JOBS` or `jobs`, as Flask-APScheduler has it;
//!   func: "app.jobs:report"        or a table of them by id
//!   trigger: cron                  or a table with `type: cron`; `interval` and `date` too
//!   day_of_week: mon-fri
//!   hour: 9
//! ```
//!
//! What runs is a function of a program in Python. How that program is called, the table does not say, so the
//! job is a comment unless `--run` says it: `--run 'cd /srv/app && python3 -c {call}'`.
//!
//! Cost: one pass over the tree.
//!
//! Does not read a program: what it adds with `add_job` is in no table.
//!
//! Source: [the cron trigger](https://apscheduler.readthedocs.io/en/3.x/modules/triggers/cron.html),
//! [the interval trigger](https://apscheduler.readthedocs.io/en/3.x/modules/triggers/interval.html).

mod field;
mod python;
mod trigger;

use std::time::Duration;

use mainspring_file::source::Source;
use mainspring_job::{CatchUp, MAX_CATCH_UP_RUNS, Overlap};

use crate::draft::Draft;
use crate::facts::{ANY_AGE, Call, JobFacts};
use crate::finding::{Findings, text_of};
use crate::key::{Key, is, lost, read_key, read_table, unneeded};
use crate::yaml::{Language, Node, Value, documents};
use trigger::{Job, JobWords, TRIGGER_KEYS};

/// Keys of a job; those of its trigger may stand beside them.
const APSCHEDULER_KEYS: &[Key<JobWords, Node>] = &[
    unneeded("id", "it is the name of the job"),
    is("name", "a comment", name, ""),
    is(
        "func",
        "shell",
        |reader, node| reader.values.function = reader.text(node).map(str::to_owned),
        "`{call}` of --run is `from MODULE import NAME; NAME(..)`: 'cd /srv/app && python3 -c {call}'",
    ),
    is("args kwargs", "shell", arguments, "arguments of the call; a tuple is a list"),
    is("trigger", "cron, every, at", trigger_of, "`cron`, `interval` or `date`, or a table with `type`"),
    is(
        "misfire_grace_time",
        "misfire",
        grace,
        "its `window`; without it missed times are left out, as there",
    ),
    is("coalesce", "misfire", coalesce, "`false` is `all`, with a misfire_grace_time"),
    is(
        "max_instances",
        "overlap",
        max_instances,
        "1 is `skip`, more is `allow`, of which a group can limit the count",
    ),
    is(
        "next_run_time",
        "a comment",
        next_run_time,
        "`null` is a job that is paused: it is written as a comment",
    ),
    lost("executor", "a run is a process in any case", "group and [groups.NAME] limit how many run at once"),
    unneeded("jobstore replace_existing", "there is one store"),
];

/// Keys that mean something when they are None; others are not given then.
const NULL_KEYS: [&str; 2] = ["misfire_grace_time", "next_run_time"];

/// What a file says of all of its jobs.
type Scheduler = Draft<()>;

/// Keys beside the list of jobs.
const SCHEDULER_KEYS: &[Key<(), Node>] = &[
    is("SCHEDULER_TIMEZONE", "zone", scheduler_zone, "of jobs that say none"),
    lost(
        "SCHEDULER_EXECUTORS",
        "a run is a process in any case",
        "group and [groups.NAME] limit how many run at once",
    ),
    lost("SCHEDULER_JOB_DEFAULTS", "the defaults are not read", "write them into [defaults]"),
    unneeded("SCHEDULER_*", "they are for Flask"),
];

fn scheduler_zone(scheduler: &mut Scheduler, node: &Node) {
    scheduler.job.zone = node.text().map(str::to_owned);
}

/// The jobs of a file.
pub(crate) fn read(source: &Source, file: usize, findings: &mut Findings) -> Vec<JobFacts> {
    let Some(text) = text_of(source, file, findings) else { return Vec::new() };
    let mut jobs = Vec::new();
    let text = python::as_yaml(text, file, findings);
    for mut document in documents(&text, file, findings) {
        python::without_none(&mut document);
        let mut scheduler = Scheduler::default();
        let mut of_document = Vec::new();
        table(&document, &mut scheduler, &mut of_document, findings);
        for job in &mut of_document {
            job.zone = job.zone.take().or_else(|| scheduler.job.zone.clone());
        }
        findings.append(scheduler.findings);
        jobs.extend(of_document);
    }
    jobs
}

fn table(node: &Node, scheduler: &mut Scheduler, jobs: &mut Vec<JobFacts>, findings: &mut Findings) {
    for item in node.list() {
        let name = item.get("id").or_else(|| item.get("name")).and_then(Node::text).unwrap_or_default();
        jobs.push(job(name, item, findings));
    }
    for (name, place, value) in node.pairs() {
        let is_jobs = matches!(name, "JOBS" | "jobs" | "SCHEDULER_JOBS" | "scheduler");
        if is_jobs && (value.is_table() || !value.list().is_empty()) {
            table(value, scheduler, jobs, findings);
        } else if ["func", "trigger"].iter().any(|key| value.get(key).is_some()) {
            jobs.push(job(name, value, findings));
        } else if SCHEDULER_KEYS.iter().any(|row| row.holds(name)) {
            read_key(SCHEDULER_KEYS, name, place, scheduler, value);
        } else {
            findings.remark(place, format!("`{name}` is no job, and is left out"));
        }
    }
}

fn job(name: &str, node: &Node, findings: &mut Findings) -> JobFacts {
    let mut reader = Job::new(name, node.place.clone());
    if !node.is_table() {
        findings.problem(&node.place, "expected a job: keys and values");
        return reader.job;
    }
    // The kind of the trigger says what keys such as `hours` mean, whatever stands first.
    for (key, place, value) in node.pairs() {
        let is_given = !matches!(value.value, Value::Null) || NULL_KEYS.contains(&key);
        match TRIGGER_KEYS.iter().any(|row| row.holds(key)) {
            _ if !is_given => {}
            true => read_key(TRIGGER_KEYS, key, place, &mut reader, value),
            false => read_key(APSCHEDULER_KEYS, key, place, &mut reader, value),
        }
    }
    trigger::finish(&mut reader, node);
    let misfire = &mut reader.job.policies.misfire;
    misfire.catch_up = match (reader.values.window, reader.values.runs_each) {
        // A run that is more than a second late is left out there.
        (None, _) => CatchUp::None,
        (Some(_), true) => CatchUp::All { cap: MAX_CATCH_UP_RUNS },
        (Some(_), false) => CatchUp::Latest,
    };
    misfire.window = reader.values.window.unwrap_or(misfire.window);
    match reader.values.function.take() {
        Some(function) => {
            let arguments = reader.values.arguments.join(", ");
            let call = match function.split_once(':') {
                Some((module, name)) => {
                    // A method is imported with its class.
                    let (object, _) = name.split_once('.').unwrap_or((name, ""));
                    format!("from {module} import {object}; {name}({arguments})")
                }
                None => format!("{function}({arguments})"),
            };
            reader.job.comment(format!("calls {call}"));
            reader.job.call = Some(Call::Text(call));
        }
        None => reader.findings.problem(&node.place, "the job has no func"),
    }
    findings.append(reader.findings);
    reader.job
}

fn name(reader: &mut Job, node: &Node) {
    let text = reader.text(node).filter(|text| *text != reader.job.name);
    reader.job.comments.extend(text.map(str::to_owned));
}

fn arguments(reader: &mut Job, node: &Node) {
    match &node.value {
        Value::List(list) => {
            // They stand before those with a name.
            reader.values.arguments.splice(0..0, list.iter().map(|node| node.literal(Language::Python)));
        }
        Value::Table(_) => {
            let pairs = node.pairs();
            let named =
                pairs.iter().map(|(name, _, value)| format!("{name}={}", value.literal(Language::Python)));
            reader.values.arguments.extend(named);
        }
        // Examples have `args: ""`.
        _ => {}
    }
}

fn trigger_of(reader: &mut Job, node: &Node) {
    match &node.value {
        Value::Table(_) => read_table(TRIGGER_KEYS, reader, node),
        _ => reader.values.kind = reader.text(node).unwrap_or_default().to_owned(),
    }
}

fn grace(reader: &mut Job, node: &Node) {
    match node.text().map(str::parse::<u64>) {
        // `None` is any age.
        None => reader.values.window = Some(ANY_AGE),
        Some(Ok(seconds)) => reader.values.window = Some(Duration::from_secs(seconds).min(ANY_AGE)),
        Some(Err(_)) => reader.findings.problem(&node.place, "expected seconds"),
    }
}

fn coalesce(reader: &mut Job, node: &Node) {
    reader.values.runs_each = node.truth() == Some(false);
}

fn max_instances(reader: &mut Job, node: &Node) {
    match node.text().map(str::parse::<u32>) {
        Some(Ok(1)) => {}
        Some(Ok(_)) => reader.job.policies.overlap = Overlap::Allow,
        _ => reader.findings.problem(&node.place, "expected a whole number"),
    }
}

fn next_run_time(reader: &mut Job, node: &Node) {
    if matches!(node.value, Value::Null) {
        let message = "the job is paused, so it is written as a comment";
        reader.findings.warn(&node.place, message, "take the # away, and pause it: mainspring pause JOB");
        reader.job.switch_off("it is paused");
    }
}

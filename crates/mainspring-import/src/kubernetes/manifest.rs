//! The keys of a CronJob, of its job and of its pod's template.
//!
//! Cost: one look at each key.
//!
//! Does not read containers: see [`pod`](super::pod).

use std::time::Duration;

use mainspring_cron::Expression;
use mainspring_job::{CatchUp, MAX_KILL_GRACE, MAX_RETRIES, Overlap, Policies};

use super::pod::{POD_KEYS, active_deadline};
use super::reader::{Manifest, ManifestWords};
use crate::facts::{ANY_AGE, When};
use crate::key::{Key, is, lost, near, read_table, unneeded};
use crate::schedule;
use crate::yaml::Node;

/// The retries of a job that says nothing.
const DEFAULT_BACKOFF_LIMIT: u32 = 6;

const _: () = assert!(DEFAULT_BACKOFF_LIMIT <= MAX_RETRIES);

/// The first wait before a retry, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(360));

const _: () = assert!(BACKOFF.0.as_secs() < BACKOFF.1.as_secs());

/// The time until SIGKILL of a pod that says nothing.
const DEFAULT_GRACE: Duration = Duration::from_secs(30);

const _: () = assert!(DEFAULT_GRACE.as_secs() <= MAX_KILL_GRACE.as_secs());

/// Keys of the object.
pub(super) const TOP_KEYS: &[Key<ManifestWords, Node>] = &[
    unneeded("apiVersion kind status", "there is one kind of job"),
    is("metadata", "jobs.NAME", |reader, node| read_table(METADATA_KEYS, reader, node), "see below"),
    is("spec", "the table of the job", |reader, node| read_table(SPEC_KEYS, reader, node), "see below"),
];

/// Keys of `metadata`.
const METADATA_KEYS: &[Key<ManifestWords, Node>] = &[
    is("name generateName", "jobs.NAME", name, ""),
    is("namespace", "a comment", namespace, ""),
    unneeded(
        "labels annotations uid resourceVersion generation creationTimestamp managedFields ownerReferences finalizers selfLink",
        "they are for the cluster",
    ),
];

/// Keys of `spec`.
const SPEC_KEYS: &[Key<ManifestWords, Node>] = &[
    is(
        "schedule",
        "cron, every",
        schedule_of,
        "two restricted day fields are read by day_rule = \"or\" where that differs",
    ),
    is(
        "timeZone",
        "zone",
        Manifest::read_zone,
        "without it UTC, the zone of most clusters; with it dst = \"skip\", as there",
    ),
    is(
        "concurrencyPolicy",
        "overlap",
        concurrency,
        "Allow is `allow` and the default there, Forbid `skip`, Replace `kill-old`",
    ),
    is(
        "startingDeadlineSeconds",
        "misfire",
        deadline,
        "its `window`; without it a time of any age is caught up, once",
    ),
    is("suspend", "a comment", suspend, "the job is written as a comment"),
    lost(
        "successfulJobsHistoryLimit failedJobsHistoryLimit",
        "the history does not count successes and failures apart",
        "retention = { keep = 100, days = 90 }, which is the default",
    ),
    is(
        "jobTemplate",
        "the table of the job",
        |reader, node| read_table(TEMPLATE_KEYS, reader, node),
        "see below",
    ),
];

/// Keys of `jobTemplate`.
const TEMPLATE_KEYS: &[Key<ManifestWords, Node>] = &[
    unneeded("metadata", "a run has a name of its own"),
    is("spec", "the table of the job", |reader, node| read_table(JOB_KEYS, reader, node), "see below"),
];

/// Keys of `jobTemplate.spec`.
const JOB_KEYS: &[Key<ManifestWords, Node>] = &[
    is(
        "backoffLimit",
        "retry",
        backoff_limit,
        "its `max`; 6 without it, as there, with waits of 10 s to 6 min",
    ),
    near(
        "activeDeadlineSeconds",
        "timeout",
        active_deadline,
        "the time is that of each attempt here, and not of all together",
    ),
    lost(
        "ttlSecondsAfterFinished",
        "a run stays in the history by other rules",
        "retention = { keep = 100, days = 90 }, which is the default",
    ),
    lost(
        "completions parallelism completionMode backoffLimitPerIndex maxFailedIndexes successPolicy",
        "a run is one process",
        "start the others in the command, or write a job for each",
    ),
    lost(
        "podFailurePolicy podReplacementPolicy",
        "every exit code but 0 is a failure, and is tried again",
        "retry = { on = [..] }, or handle the code in the command",
    ),
    lost(
        "suspend manualSelector selector managedBy",
        "a run does not wait for this",
        "nothing has to be done",
    ),
    is(
        "template",
        "the table of the job",
        |reader, node| read_table(POD_TEMPLATE_KEYS, reader, node),
        "see below",
    ),
];

/// Keys of `jobTemplate.spec.template`.
const POD_TEMPLATE_KEYS: &[Key<ManifestWords, Node>] = &[
    unneeded("metadata", "a run has a name of its own"),
    is("spec", "the table of the job", |reader, node| read_table(POD_KEYS, reader, node), "see below"),
];

fn name(reader: &mut Manifest, node: &Node) {
    if let Some(text) = reader.text(node) {
        reader.job.name = text.to_owned();
        reader.job.place = node.place.clone();
    }
}

fn namespace(reader: &mut Manifest, node: &Node) {
    if let Some(text) = reader.text(node) {
        reader.job.comment(format!("namespace: {text}"));
    }
}

fn schedule_of(reader: &mut Manifest, node: &Node) {
    let Some(text) = reader.text(node) else { return };
    // What the controller read before timeZone was there.
    let prefixed = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
    let (zone, fields) = match prefixed.and_then(|rest| rest.split_once(' ')) {
        Some((zone, fields)) => (Some(zone), fields.trim()),
        None => (None, text.trim()),
    };
    match Expression::parse(fields) {
        Ok(Expression::Every(every)) => {
            reader.job.due(When::every(&every));
        }
        Ok(Expression::Calendar(_)) => {
            reader.job.due(When::Cron(fields.to_owned()));
            reader.job.day_rule = schedule::is_or_beside_star(fields).then_some("or");
        }
        Ok(_) => reader.findings.problem(&node.place, format!("`{fields}` is no schedule of Kubernetes")),
        Err(error) => reader.findings.problem(&node.place, format!("`{fields}`: {error}")),
    }
    if let Some(zone) = zone {
        reader.job.zone = Some(zone.to_owned());
    }
}

fn concurrency(reader: &mut Manifest, node: &Node) {
    reader.job.policies.overlap = match reader.text(node) {
        Some("Forbid") => Overlap::Skip,
        Some("Replace") => Overlap::KillOld,
        Some("Allow") | None => Overlap::Allow,
        Some(other) => {
            let message = format!("expected Allow, Forbid or Replace, found `{other}`");
            return reader.findings.problem(&node.place, message);
        }
    };
}

fn backoff_limit(reader: &mut Manifest, node: &Node) {
    if let Some(max) = reader.count(node) {
        reader.job.policies.retry.max = u32::try_from(max).map_or(MAX_RETRIES, |max| max.min(MAX_RETRIES));
    }
}

fn deadline(reader: &mut Manifest, node: &Node) {
    if let Some(duration) = reader.seconds(node) {
        reader.job.policies.misfire.window = duration;
        reader.job.policies.misfire.grace = duration.min(reader.job.policies.misfire.grace);
    }
}

fn suspend(reader: &mut Manifest, node: &Node) {
    reader.values.is_suspended = node.truth() == Some(true);
}

/// What holds there of keys that are not given.
pub(super) fn defaults() -> Policies {
    let mut policies = Policies::default();
    policies.overlap = Overlap::Allow;
    policies.misfire.window = ANY_AGE;
    policies.retry.max = DEFAULT_BACKOFF_LIMIT;
    (policies.retry.backoff, policies.retry.cap) = BACKOFF;
    policies.timeout.kill.grace = DEFAULT_GRACE;
    policies
}

/// Judges what stands in several keys, or is not said.
pub(super) fn finish(reader: &mut Manifest, node: &Node) {
    if reader.job.when.is_empty() && !reader.findings.has_problem() {
        reader.findings.problem(&node.place, "the CronJob has no schedule");
    }
    let zone = reader.job.zone.get_or_insert_with(|| "UTC".to_owned());
    // A time that the clock leaves out does not come there.
    reader.job.dst = (zone != "UTC" && zone != "Etc/UTC").then_some("skip");
    let policies = &reader.job.policies;
    debug_assert_eq!(policies.misfire.catch_up, CatchUp::Latest, "the latest is caught up, as there");
    if reader.values.is_suspended {
        let place = reader.job.place.clone();
        let message = "the CronJob is suspended, so the job is written as a comment";
        reader.findings.warn(&place, message, "take the # away, and pause it: mainspring pause JOB");
        reader.job.switch_off("it is suspended");
    }
    super::pod::finish(reader);
}

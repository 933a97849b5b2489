//! A job as the API has it, in a list and alone.
//!
//! Cost: a read of the end of an output, for the last run.
//!
//! Does not judge whether a job is in trouble: the protocol does, for all that show jobs.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use mainspring_job::{RunKey, RunState};
use mainspring_server::protocol::{
    AuditWire, HoldWire, JobState, JobWire, PauseTermsWire, ProgressWire, RunWire, SourceCode, Word,
    zone_name,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Civils, Run, civils, zone_of};
use crate::app::App;
use crate::catalogue::{CachedJob, RECENT_RUNS, Recent};

/// How many of the last runs a list shows of each job.
const SQUARES: usize = 20;

const _: () = assert!(SQUARES <= RECENT_RUNS, "they are among the runs that are known");

/// A job, as `list` has it and with what a page needs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Job<'k> {
    name: &'k str,
    /// The words of `list`.
    state: &'k str,
    state_code: JobState,
    /// When it is due next, as its timetable says.
    next: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Zoned>")]
    next_civil: Option<&'k str>,
    /// Whether everything is paused: the server looks at no time then, and `armed` is null.
    is_paused_with_all: bool,
    /// When the server will look at it next: at `next`, or before it where that is far away. Later than
    /// `next`, or null beside it, is a fault, and stands in `troubles`.
    armed: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Zoned>")]
    armed_civil: Option<&'k str>,
    /// Since when no run has succeeded, if that is longer than `silent_after` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_terms: Option<&'k PauseTermsWire>,
    triggers: &'k [String],
    /// Beside each trigger: what it means.
    sentences: &'k [String],
    /// The zone of the first trigger.
    zone: &'k str,
    action: &'k str,
    policies: &'k str,
    group: Option<&'k str>,
    labels: &'k BTreeMap<String, String>,
    priority: i8,
    source: &'k str,
    source_code: SourceCode,
    /// The line of the file.
    source_line: Option<usize>,
    runs: u64,
    /// How many failures in a row.
    failures: u32,
    running: usize,
    /// How far its last run is, while it runs and tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ProgressWire>,
    queued: usize,
    last: Option<Run>,
    /// Of the runs that succeeded among the last 100; null without one.
    median_ms: Option<u64>,
    /// Of the same runs.
    p95_ms: Option<u64>,
    /// The last 20 runs, the oldest first.
    recent: Vec<Square<'k>>,
    pub(crate) pause: Option<Pause>,
    troubles: Vec<Trouble>,
    civil: Civils,
}

impl<'k> Job<'k> {
    /// A job with how its last runs went.
    pub fn new(app: &'k App, known: &'k CachedJob, recent: &'k Recent, now: Timestamp) -> Job<'k> {
        let wire = &known.wire;
        let zone = zone_of(app, Some(known));
        let last = wire.last.clone().map(|last| Run::new(app, last, zone, recent.duration.median_ms));
        Job {
            name: &wire.name,
            state: &wire.state,
            state_code: wire.state_code,
            next: wire.next,
            next_civil: wire.next_civil.as_deref(),
            is_paused_with_all: wire.is_paused_with_all,
            armed: wire.armed,
            armed_civil: wire.armed_civil.as_deref(),
            silent_since: wire.silent_since,
            pause_terms: wire.pause_terms.as_ref(),
            triggers: &wire.triggers,
            sentences: known.plan.as_ref().map_or(&[][..], |plan| plan.sentences(now)),
            zone: zone_name(zone),
            action: &wire.action,
            policies: &wire.policies,
            group: wire.group.as_deref(),
            labels: &wire.labels,
            priority: wire.priority,
            source: &wire.source,
            source_code: wire.source_code,
            source_line: wire.source_line,
            runs: wire.runs,
            failures: wire.failures,
            running: wire.running,
            progress: wire.progress,
            queued: wire.queued,
            last,
            median_ms: recent.duration.median_ms,
            p95_ms: recent.duration.p95_ms,
            recent: recent.runs.iter().take(SQUARES).rev().map(Square::new).collect(),
            pause: Pause::of(wire, zone),
            troubles: troubles(wire),
            civil: civils(zone, [("next", wire.next), ("armed", wire.armed)]),
        }
    }
}

/// A job with its definition.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobDetail<'k> {
    /// As a list has it.
    #[serde(flatten)]
    pub(crate) job: Job<'k>,
    /// A table of a job file. Secrets are not in it.
    pub(crate) definition: &'k str,
    /// Each reason why it does not run now, and what ends it; left out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) holds: Vec<HoldWire>,
    /// The first runs that wait for their time, as `show --json` has them; left out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<RunWire>,
    /// How many wait for their time; left out if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting_count: Option<NonZeroUsize>,
    /// Each policy that is not the default, in words.
    pub(crate) policy_words: Vec<PolicyWord<'k>>,
}

/// A policy in words, as a note of a crontab has it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PolicyWord<'k> {
    code: &'k str,
    text: &'k str,
}

impl PolicyWord<'_> {
    /// A word of the text of a job's policies.
    pub fn new(text: &str) -> PolicyWord<'_> {
        PolicyWord { code: text.split('=').next().unwrap_or_default(), text }
    }
}

/// One of the last runs of a job.
#[derive(Debug, Serialize, JsonSchema)]
struct Square<'k> {
    #[schemars(with = "String")]
    run: &'k RunKey,
    state: &'k Word<RunState>,
    /// Its nominal time.
    at: Timestamp,
    duration_ms: Option<u64>,
}

impl Square<'_> {
    fn new(run: &RunWire) -> Square<'_> {
        Square { run: &run.run, state: &run.state, at: run.nominal, duration_ms: run.took_ms() }
    }
}

/// Why a person should look at a job, and what that person can do.
#[derive(Debug, Serialize, JsonSchema)]
struct Trouble {
    code: TroubleCode,
    text: String,
    hint: &'static str,
    since: Option<Timestamp>,
    /// The run to look at.
    #[schemars(with = "Option<String>")]
    run: Option<RunKey>,
}

/// The same, for programs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum TroubleCode {
    Failing,
    Silent,
    Mismatched,
    PausedFailures,
    PausedCrashes,
}

/// Why a person should look at a job.
fn troubles(wire: &JobWire) -> Vec<Trouble> {
    let last = wire.last.as_ref();
    let of_last = |code, text, hint| Trouble {
        code,
        text,
        hint,
        since: last.and_then(|run| run.ended),
        run: last.map(|run| run.run.clone()),
    };
    let mut found = match wire.state_code {
        JobState::PausedAfterFailures => {
            let text = format!("It failed {} times in a row, and is paused.", wire.failures);
            vec![of_last(TroubleCode::PausedFailures, text, "Look at the log, mend it, and resume it.")]
        }
        JobState::PausedAfterCrashes => {
            let text = "The server died while it ran, and it is paused.".to_owned();
            vec![of_last(TroubleCode::PausedCrashes, text, "Mend it, and resume it.")]
        }
        _ if 0 < wire.failures => {
            let text = match wire.failures {
                1 => "Its last run failed.".to_owned(),
                count => format!("Its last {count} runs failed."),
            };
            vec![of_last(TroubleCode::Failing, text, "Look at the log.")]
        }
        _ => Vec::new(),
    };
    let other = |code, text, hint, since| Trouble { code, text, hint, since, run: None };
    if let Some(since) = wire.silent_since {
        let hint = "Look whether it runs: its timetable, its pause, the ends of its last runs.";
        let text = "No run has succeeded for longer than its silent_after says.".to_owned();
        found.push(other(TroubleCode::Silent, text, hint, Some(since)));
    }
    if wire.is_mismatched() {
        let text = match &wire.armed {
            None => "Its timetable names a next time, and the server will not look at it.".to_owned(),
            Some(armed) => {
                format!("Its timetable names a next time, and the server looks at it only at {armed}.")
            }
        };
        let hint = "This is a fault of the server: restart it, and report it.";
        found.push(other(TroubleCode::Mismatched, text, hint, None));
    }
    found
}

/// A pause of a job, or of everything.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pause {
    reason_code: PauseReason,
    reason: &'static str,
    note: Option<String>,
    /// Null in lists, and where the audit does not have it.
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// Who paused it; null in lists, if the server did, and where the audit does not have it.
    by: Option<String>,
    civil: Civils,
}

/// Why there is a pause, for programs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum PauseReason {
    Asked,
    Failures,
    Crashes,
}

impl Pause {
    fn of(wire: &JobWire, zone: &TimeZone) -> Option<Pause> {
        let (code, reason) = match wire.state_code {
            JobState::Paused => (PauseReason::Asked, "by request"),
            JobState::PausedAfterFailures => (PauseReason::Failures, "it failed too often in a row"),
            JobState::PausedAfterCrashes => (PauseReason::Crashes, "the server died in it"),
            _ => return None,
        };
        Some(Pause::new(code, reason, wire.pause_terms.as_ref(), zone))
    }

    /// A pause. When it began and who asked for it stands in the audit: see
    /// [`add_actor`](Self::add_actor).
    pub(crate) fn new(
        reason_code: PauseReason,
        reason: &'static str,
        terms: Option<&PauseTermsWire>,
        zone: &TimeZone,
    ) -> Pause {
        let note = terms.map(|terms| terms.note.clone()).filter(|note| !note.is_empty());
        let until = terms.and_then(|terms| terms.until);
        let civil = civils(zone, [("until", until)]);
        Pause { reason_code, reason, note, since: None, until, by: None, civil }
    }

    /// Adds who asked for it, and when.
    pub fn add_actor(&mut self, audit: AuditWire, zone: &TimeZone) {
        self.civil.add("since", audit.at, zone);
        (self.since, self.by) = (Some(audit.at), Some(audit.actor));
    }
}

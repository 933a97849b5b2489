//! The knowledge of the planner and the store, as the documents of the protocol.
//!
//! Cost: some strings; for a job one search of its calendar, and a decoded body.
//!
//! Does not ask the store: the caller hands it the rows.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_exec::end::signal_name;
use mainspring_job::{
    Action, ApplyReport, Attempt, Audit, AuditRow, Cause, Failure, Hold, Job, JobName, Load, Mark, Next,
    Once, Outcome, Pause, PauseTerms, Refusal, RefusalKind, Reply, Run, RunKey, WorkerId,
};

use super::served_file::ServedFile;
use crate::protocol::{
    AppliedWire, AttemptWire, AuditWire, Done, ErrorKind, ErrorWire, FileStateWire, FoundWire, HoldWire,
    JobState, JobWire, OnceWire, PauseTermsWire, Response, RunWire, SourceCode, Word,
};
use mainspring_action::body::Body;
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::written::once_table;

/// When a job is due next, as far as its timetable says.
pub(super) fn next(job: &Job, mark: &Mark, now: Timestamp) -> Option<Timestamp> {
    if mark.pause.is_some() || job.max_runs.is_some_and(|max| max <= mark.runs) {
        return None;
    }
    match job.timetable.next_after(mark.watermark.max(now)) {
        Next::At(next) => Some(next),
        Next::NotBefore(_) | Next::Never => None,
    }
}

/// Whether it may be due at something else than a time.
fn may_be_due(job: &Job, mark: &Mark) -> bool {
    let is_done = job.max_runs.is_some_and(|max| max <= mark.runs);
    job.timetable.is_at_boot()
        || job.timetable.is_at_server_start()
        || job.timetable.follows().next().is_some() && !is_done
}

/// A job with all that is known of it without the store.
#[derive(Clone, Debug)]
pub(super) struct JobDetail {
    pub(super) job: Arc<Job>,
    pub(super) mark: Mark,
    /// When the planner looks at it next.
    pub(super) armed: Option<Timestamp>,
    /// Its open runs.
    pub(super) load: Load,
    /// Since when no run has succeeded, if that is too long.
    pub(super) silent_since: Option<Timestamp>,
    /// On which line of its file it begins.
    pub(super) source_line: Option<usize>,
    /// Whether everything is paused.
    pub(super) is_all_paused: bool,
}

/// What an action does, in short.
fn summary(action: &Action) -> String {
    Body::decode(action).map_or_else(|error| error.to_string(), |body| body.summary())
}

/// A job but for its last run, as `list` tells it.
pub(super) fn job(known: &JobDetail, now: Timestamp) -> JobWire {
    let JobDetail { job, mark, armed, load, .. } = known;
    let next = next(job, mark, now);
    let held: Vec<JobState> = Hold::of_mark(mark, now).filter_map(|hold| state_of(&hold)).collect();
    let state = match held.first() {
        Some(state) => *state,
        None if next.is_none() && !may_be_due(job, mark) => JobState::Done,
        None => JobState::Active,
    };
    // One does not hide another.
    let words = held.iter().skip(1).fold(state.to_string(), |words, state| format!("{words}, {state}"));
    let (work, zone, job_source) = (&job.work, &job.zone, JobSource::of(&job.source));
    let next_civil = next.map(|next| civil(next, zone));
    // A list writes this for each job, and they are the same time for most.
    let armed_civil = match *armed {
        armed if armed == next => next_civil.clone(),
        armed => armed.map(|armed| civil(armed, zone)),
    };
    let mut wire = JobWire {
        name: job.name.as_str().to_owned(),
        state: words,
        state_code: state,
        next,
        armed: *armed,
        armed_civil,
        next_civil,
        pause_terms: mark
            .pause
            .filter(|_| mark.pause_terms != PauseTerms::default())
            .map(|_| pause_terms(&mark.pause_terms, zone)),
        labels: job.labels.clone(),
        triggers: job.timetable.triggers().iter().map(ToString::to_string).collect(),
        action: summary(&work.action),
        policies: work.policies.to_string(),
        group: work.group.as_ref().map(|group| group.as_str().to_owned()),
        priority: work.priority,
        source: job_source.to_string(),
        source_code: match job_source {
            JobSource::Command => SourceCode::Command,
            JobSource::Program => SourceCode::Program,
            JobSource::Applied(_) | JobSource::Served(_) => SourceCode::File,
        },
        source_line: known.source_line,
        silent_since: known.silent_since,
        runs: mark.runs,
        failures: mark.failures,
        running: load.running,
        queued: load.queued,
        ..JobWire::default()
    };
    if known.is_all_paused {
        pause_with_all(&mut wire);
    }
    wire
}

/// The state of a job that has this reason not to run; `None` if it is none of its own.
fn state_of(hold: &Hold) -> Option<JobState> {
    Some(match hold {
        Hold::Paused { why: Pause::Failures, .. } => JobState::PausedAfterFailures,
        Hold::Paused { why: Pause::Crashes, .. } => JobState::PausedAfterCrashes,
        Hold::Paused { .. } => JobState::Paused,
        Hold::Quarantined { .. } => JobState::Quarantined,
        _ => return None,
    })
}

/// Why a job, or a run of it, does not run now, and what ends that.
pub(super) fn holds(holds: impl IntoIterator<Item = Hold>, job: &JobName) -> Vec<HoldWire> {
    let wire =
        |hold: Hold| HoldWire { code: hold.code().to_owned(), why: hold.to_string(), ends: hold.ends(job) };
    holds.into_iter().map(wire).collect()
}

/// A time as people say it, with its zone: RFC 9557.
fn civil(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).to_string()
}

/// How long a pause lasts, and why there is one.
pub(super) fn pause_terms(terms: &PauseTerms, zone: &TimeZone) -> PauseTermsWire {
    PauseTermsWire {
        until: terms.until,
        until_civil: terms.until.map(|until| civil(until, zone)),
        note: terms.note.clone(),
    }
}

pub(super) fn audited(AuditRow { number, audit, .. }: AuditRow) -> AuditWire {
    let Audit { at, actor, action, target, note, .. } = audit;
    AuditWire { number, at, actor, action, target, note }
}

/// The server looks at nothing while everything is paused. A person sees what the timetable says.
fn pause_with_all(wire: &mut JobWire) {
    (wire.armed, wire.armed_civil, wire.is_paused_with_all) = (None, None, true);
    match wire.state_code {
        JobState::Done => {}
        JobState::Active => wire.state = "paused with everything".to_owned(),
        _ => wire.state.push_str(", paused with everything"),
    }
}

pub(super) fn once(once: &Once) -> OnceWire {
    OnceWire {
        name: once.name.to_string(),
        due: once.id.due,
        key: once.key.clone(),
        submitted: once.submitted,
        action: summary(&once.work.action),
        policies: once.work.policies.to_string(),
        definition: once_table(once),
        holds: Vec::new(),
    }
}

impl From<&Run> for RunWire {
    fn from(run: &Run) -> RunWire {
        let RunKey { job, nominal, .. } = &run.key;
        RunWire {
            run: run.key.clone(),
            job: job.clone(),
            nominal: *nominal,
            cause: Word::Known(run.cause),
            state: Word::Known(run.state),
            attempt: run.attempt,
            due: run.due,
            started: run.started,
            ended: run.ended,
            progress: None,
            host: None,
            server: None,
            outcome: run.outcome.as_ref().map(outcome_text),
            outcome_code: run.outcome.as_ref().map(|outcome| outcome.code().to_owned()),
            outcome_number: run.outcome.as_ref().and_then(Outcome::number),
            reason: run.why(),
            reason_code: run.reason.as_ref().map_or_else(String::new, |reason| reason.code().to_owned()),
            action: run.work.as_ref().filter(|_| run.cause == Cause::Once).map(|work| summary(&work.action)),
            count: run.span.map_or(1, |span| span.count),
            last: run.span.map(|span| span.last),
        }
    }
}

/// The machine of a worker, and its number.
pub(super) type Place = (Option<String>, Option<u64>);

pub(super) fn found(
    run: RunWire,
    planned: Timestamp,
    attempts: Vec<Attempt>,
    holds: Vec<HoldWire>,
    place_of: impl Fn(Option<WorkerId>) -> Place,
) -> FoundWire {
    let attempt = |Attempt { number, started, ended, state, outcome, worker, .. }: Attempt| {
        let ((host, server), state) = (place_of(worker), state.map(Word::Known));
        let outcome = outcome.as_ref().map(outcome_text);
        AttemptWire { number, started, ended, state, outcome, host, server }
    };
    FoundWire { run, planned, holds, attempts: attempts.into_iter().map(attempt).collect() }
}

pub(super) fn file(file: &ServedFile, now: Timestamp) -> FileStateWire {
    let notice = file.notice.as_ref().filter(|(_, until)| now < *until).map(|(text, _)| text.clone());
    FileStateWire {
        name: file.path.clone(),
        read: file.read,
        jobs: file.job_count,
        problems: file.shown_problems(),
        notice: notice.unwrap_or_default(),
    }
}

pub(super) fn applied(applied: &ApplyReport) -> AppliedWire {
    let texts = |names: &[JobName]| names.iter().map(ToString::to_string).collect();
    AppliedWire {
        added: texts(&applied.added),
        changed: texts(&applied.changed),
        removed: texts(&applied.removed),
        refused: texts(&applied.refused),
        unchanged: applied.unchanged_count,
        problems: String::new(),
    }
}

pub(super) fn refused(refusal: &Refusal) -> ErrorWire {
    let kind = match refusal.kind() {
        RefusalKind::NotFound => ErrorKind::NotFound,
        RefusalKind::Invalid => ErrorKind::Usage,
        RefusalKind::Conflict => ErrorKind::Conflict,
        RefusalKind::Temporary => ErrorKind::Temporary,
    };
    ErrorWire::new(kind, refusal.to_string())
}

pub(super) fn reply(reply: &Reply) -> Response {
    match reply {
        Reply::Done => Response::Done(Done {}),
        Reply::Submitted { id, name } => Response::Submitted { name: name.to_string(), due: id.due },
        Reply::Duplicate(holder) => Response::Duplicate {
            // A run of a job is told by its key.
            name: Some(match holder.work {
                None => RunKey::new(holder.name.clone(), holder.due).to_string(),
                Some(_) => holder.name.to_string(),
            }),
            due: Some(holder.due),
            state: Some(holder.state.map_or("pending", |state| state.name()).to_owned()),
            why: Some(holder.why.clone()).filter(|why| !why.is_empty()),
        },
        Reply::Planned { key } => Response::Planned { run: key.clone() },
        Reply::Backfilled { count, series } => Response::Backfilled { count: *count, series: *series },
        Reply::Rewound { from } => Response::Rewound { from: *from },
        Reply::Applied(found) => Response::Applied(applied(found)),
        Reply::Refused(refusal) => Response::Error(refused(refusal)),
        // The answer to a command that nothing here sends.
        other => Response::Error(ErrorWire::new(ErrorKind::Failed, format!("{other:?}"))),
    }
}

/// An outcome for people: a signal also by its name, which the store does not have.
fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(Failure::Signal(number)) => {
            signal_name(*number).map_or_else(|| outcome.to_string(), |name| format!("{outcome} ({name})"))
        }
        outcome => outcome.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::RunState;

    #[test]
    fn a_run_that_ended_otherwise_than_its_attempt_does_not_say_that_the_attempt_took_so_long() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let took_ms = |state, outcome: Option<Outcome>, due| {
            let key = RunKey::new("j".parse().unwrap(), at(0));
            let mut run = Run::new(key, Cause::Trigger, state, at(due), at(0));
            (run.started, run.ended, run.outcome) = (Some(at(10)), Some(at(3_610)), outcome);
            RunWire::from(&run).took_ms()
        };
        let failed = || Some(Outcome::Failed(Failure::Exit(1)));
        assert_eq!(took_ms(RunState::Failed, failed(), 10), Some(3_600_000));
        assert_eq!(took_ms(RunState::Cancelled, Some(Outcome::Killed), 10), Some(3_600_000));
        assert_eq!(took_ms(RunState::Scheduled, failed(), 4_000), Some(3_600_000), "it waits for a retry");
        assert_eq!(took_ms(RunState::Cancelled, failed(), 4_000), None, "it waited for a retry");
        assert_eq!(took_ms(RunState::Cancelled, failed(), 3_610), None, "a dead letter was dropped");
        assert_eq!(took_ms(RunState::Abandoned, None, 10), None, "the server died in it");
    }
}

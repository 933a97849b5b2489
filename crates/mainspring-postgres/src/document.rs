//! An operation as the document that `apply` of `sql/0003_commit.sql` reads.
//!
//! ```text
//!  Operation::Begin { key, attempt, at } ─▶ {"op": "begin", "job": "backup", "nominal": 17.., "series": 0, ..}
//! ```
//!
//! Rows are documents whose keys are the columns. What a state may become is looked up here, so that the rule
//! is written once.
//!
//! Cost: a copy of each text.
//!
//! Does not look at what is stored.

use jiff::Timestamp;
use mainspring_job::{
    Absence, Audit, JobName, MAX_AUDIT_ROWS, MAX_PRUNED, Mark, Once, OnceId, Operation, Pause, Reason, Run,
    RunKey, RunState, Work,
};
use serde_json::{Map, Value, json};

use super::escape::kept;
use mainspring_rows::{nanoseconds, number};

/// The document of an operation.
pub(super) fn operation(operation: &Operation) -> Value {
    match operation {
        Operation::Submit(submitted) => json!({ "op": "submit", "once": once(submitted) }),
        Operation::Fire { id, run: fired } => with_id("fire", *id, &run(fired)),
        Operation::Withdraw { id, at } => with_id("withdraw", *id, &withdrawn(*at)),
        Operation::Plan(planned) => json!({ "op": "plan", "run": run(planned) }),
        Operation::Begin { key, attempt, at, .. } => {
            let may_begin = |state: &RunState| state.may_become(RunState::Running);
            let from: Vec<&str> = RunState::ALL.into_iter().filter(may_begin).map(RunState::name).collect();
            of_run("begin", key, json!({ "attempt": attempt, "at": nanoseconds(*at), "from": from }))
        }
        Operation::End { key, attempt, state, at, outcome, crashes, reason } => of_run(
            "end",
            key,
            json!({
                "attempt": attempt,
                "state": state.name(),
                "is_allowed": RunState::Running.may_become(*state),
                "at": nanoseconds(*at),
                "outcome": outcome.as_ref().map(|outcome| kept(&outcome.to_string()).into_owned()),
                "deaths": crashes,
                "reason": code(reason.as_ref()),
            }),
        ),
        Operation::Clear { key, attempt } => of_run("clear", key, json!({ "attempt": attempt })),
        Operation::Move { key, from, to, due, at, reason } => of_run(
            "move",
            key,
            json!({
                "from": from.name(),
                "to": to.name(),
                "is_allowed": from.may_become(*to) && *to != RunState::Running,
                "is_forgiven": from.is_forgiven_as(*to),
                "due": nanoseconds(*due),
                "at": nanoseconds(*at),
                "reason": code(reason.as_ref()),
            }),
        ),
        Operation::Define { mark: kept_mark, source, text } => {
            let mut job = mark(kept_mark);
            job.insert("source".to_owned(), json!(kept(source)));
            job.insert("text".to_owned(), json!(kept(text)));
            json!({ "op": "define", "job": job })
        }
        Operation::Mark(kept_mark) => json!({ "op": "mark", "job": mark(kept_mark) }),
        Operation::Rewind(kept_mark) => json!({ "op": "rewind", "job": mark(kept_mark) }),
        Operation::Forget { job, absence } => {
            let text = absence.as_ref().map(Absence::stored).unwrap_or_default();
            json!({ "op": "forget", "job": job.as_str(), "text": kept(&text) })
        }
        Operation::Prune { job, keep, before } => json!({
            "op": "prune",
            "job": job.as_ref().map(JobName::as_str),
            "keep": keep,
            "before": nanoseconds(*before),
            "limit": MAX_PRUNED,
        }),
        Operation::PauseAll(terms) => json!({
            "op": "pause_all",
            "is_paused": terms.is_some(),
            "pause_until": terms.as_ref().and_then(|terms| terms.until).map(nanoseconds),
            "pause_note": kept(terms.as_ref().map_or("", |terms| terms.note.as_str())),
        }),
        Operation::Audit(asked) => audit(asked),
    }
}

fn audit(audit: &Audit) -> Value {
    json!({
        "op": "audit",
        "at": nanoseconds(audit.at),
        "actor": kept(&audit.actor),
        "action": kept(&audit.action),
        "target": kept(&audit.target),
        "note": kept(&audit.note),
        "most": MAX_AUDIT_ROWS,
    })
}

/// The column `reason`: a code, and empty if there is none.
pub(super) fn code(reason: Option<&Reason>) -> String {
    kept(&reason.map(Reason::stored).unwrap_or_default()).into_owned()
}

fn with_id(name: &str, id: OnceId, run: &Map<String, Value>) -> Value {
    json!({ "op": name, "due": nanoseconds(id.due), "number": number(id.number), "run": run })
}

fn of_run(name: &str, key: &RunKey, mut rest: Value) -> Value {
    rest["op"] = json!(name);
    rest["job"] = json!(key.job.as_str());
    rest["nominal"] = json!(nanoseconds(key.nominal));
    rest["series"] = json!(key.series);
    rest
}

/// The columns that both pending jobs and runs have.
fn work(work: &Work) -> [(&'static str, Value); 5] {
    [
        ("kind", json!(kept(work.action.kind()))),
        ("body", json!(kept(work.action.body()))),
        ("policies", json!(work.policies.to_string())),
        ("work_group", json!(work.group.as_ref().map(JobName::as_str))),
        ("priority", json!(work.priority)),
    ]
}

/// A row of `pending`, without its shard.
fn once(once: &Once) -> Map<String, Value> {
    let is_named = once.name.as_str().parse::<OnceId>().is_err();
    let columns = [
        ("due", json!(nanoseconds(once.id.due))),
        ("number", json!(number(once.id.number))),
        ("name", json!(once.name.as_str())),
        ("is_named", json!(is_named)),
        ("key", json!(once.key.as_deref().map(kept))),
        ("submitted", json!(nanoseconds(once.submitted))),
    ];
    row(columns.into_iter().chain(work(&once.work)))
}

/// A row of `run`, without its shard.
fn run(run: &Run) -> Map<String, Value> {
    let span = run.span;
    let columns = [
        ("job", json!(run.key.job.as_str())),
        ("nominal", json!(nanoseconds(run.key.nominal))),
        ("series", json!(run.key.series)),
        ("cause", json!(run.cause.name())),
        ("state", json!(run.state.name())),
        ("attempt", json!(run.attempt)),
        ("due", json!(nanoseconds(run.due))),
        ("planned", json!(nanoseconds(run.planned))),
        ("started", json!(run.started.map(nanoseconds))),
        ("ended", json!(run.ended.map(nanoseconds))),
        ("outcome", json!(run.outcome.as_ref().map(|outcome| kept(&outcome.to_string()).into_owned()))),
        ("reason", json!(code(run.reason.as_ref()))),
        ("span_last", json!(span.map(|span| nanoseconds(span.last)))),
        ("span_count", json!(span.map(|span| number(span.count)))),
        ("span_is_exact", json!(span.map(|span| span.is_exact))),
        ("deaths", json!(run.crashes)),
        ("forgiven", json!(run.forgiven)),
    ];
    row(columns.into_iter().chain(run.work.as_deref().map(work).into_iter().flatten()))
}

/// What is known of the run of a one-shot job that was withdrawn, before its row is read.
fn withdrawn(at: Timestamp) -> Map<String, Value> {
    row([
        ("series", json!(0)),
        ("cause", json!(mainspring_job::Cause::Once.name())),
        ("state", json!(RunState::Cancelled.name())),
        ("attempt", json!(0)),
        ("planned", json!(nanoseconds(at))),
        ("ended", json!(nanoseconds(at))),
        ("reason", json!(code(Some(&Reason::Withdrawn)))),
        ("deaths", json!(0)),
        ("forgiven", json!(0)),
    ])
}

/// The columns of `job` that a mark has.
fn mark(mark: &Mark) -> Map<String, Value> {
    row([
        ("name", json!(mark.job.as_str())),
        ("watermark", json!(nanoseconds(mark.watermark))),
        ("runs", json!(number(mark.runs))),
        ("failures", json!(mark.failures)),
        ("backfills", json!(mark.backfills)),
        ("pause", json!(mark.pause.map(Pause::name))),
        ("timetable", json!(kept(&mark.timetable))),
        ("deaths", json!(mark.crashes)),
        ("pause_until", json!(mark.pause_terms.until.map(nanoseconds))),
        ("pause_note", json!(kept(&mark.pause_terms.note))),
    ])
}

fn row(columns: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    columns.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

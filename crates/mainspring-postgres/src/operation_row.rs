//! An operation as a row of the type `mainspring.operation`, in the form of the wire.
//!
//! ```text
//!  Operation::Begin { key, attempt, at, .. } ─▶ (place, job, nominal, series, NULL, .., attempt, .., at, NULL, NULL)
//! ```
//!
//! The type has a column for all that operations have in common or that a busy planner writes, and a document
//! for what is seldom. What a state may become is looked up here, so that the rule is written once: where it
//! may not, the column `state` is NULL.
//!
//! Cost: a copy of each text, and eight bytes for each column. As documents the rows of a batch took the
//! database 10 to 20 us each to read, ten times as long.
//!
//! Does not look at what is stored.
//!
//! Source: PostgreSQL 15, `record_recv` in src/backend/utils/adt/rowtypes.c, for the form of a row.

use std::borrow::Cow;

use mainspring_job::{
    Assignment, Audit, JobName, MAX_AUDIT_ROWS, MAX_PRUNED, Mark, Once, OnceId, Operation, Outcome, Pause,
    Reason, Run, RunKey, RunState, Work,
};
use mainspring_rows::{nanoseconds, number};
use serde_json::{Value, json};
use tokio_postgres::types::Type;

use super::escape::escape;

/// How many columns the type has.
const COLUMN_COUNT: i32 = 32;

/// The columns of the type, but for its place. All that an operation has not is NULL.
#[derive(Default)]
struct OperationRow<'o> {
    job: Option<&'o str>,
    nominal: Option<i64>,
    series: Option<i64>,
    cause: Option<&'static str>,
    state: Option<&'static str>,
    attempt: Option<i64>,
    due: Option<i64>,
    planned: Option<i64>,
    started: Option<i64>,
    ended: Option<i64>,
    outcome: Option<Cow<'o, str>>,
    reason: Option<String>,
    span: Option<(i64, i64, bool)>,
    crashes: Option<i64>,
    forgiven: Option<i64>,
    worker: Option<i64>,
    document: Option<&'o str>,
    once: Option<OnceId>,
    key: Option<&'o str>,
    is_named: Option<bool>,
    work: Option<&'o Work>,
    at: Option<i64>,
    from_state: Option<&'static str>,
    details: Option<Value>,
}

/// Appends an operation, with what a worker is to know of the attempt that it begins.
pub(super) fn write(rows: &mut Vec<u8>, index: usize, operation: &Operation, assigned: Option<&Assignment>) {
    let row =
        OperationRow { document: assigned.map(|assigned| assigned.document.as_str()), ..row_of(operation) };
    let place = i64::try_from(index + 1).unwrap_or(i64::MAX);
    // As an element of an array it has its length before it.
    let start = rows.len();
    rows.extend_from_slice(&[0; 4]);
    row.write(rows, place);
    let length = u32::try_from(rows.len() - start - 4).unwrap_or(u32::MAX);
    rows[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn row_of(operation: &Operation) -> OperationRow<'_> {
    match operation {
        Operation::Submit(once) => submitted(once),
        Operation::Fire { id, run } => OperationRow { once: Some(*id), ..planned(run) },
        Operation::Plan(run) => planned(run),
        Operation::Withdraw { id, at } => OperationRow {
            once: Some(*id),
            cause: Some(mainspring_job::Cause::Once.name()),
            state: Some(RunState::Cancelled.name()),
            reason: Some(code(Some(&Reason::Withdrawn))),
            at: Some(nanoseconds(*at)),
            ..OperationRow::default()
        },
        Operation::Begin { key, attempt, at, worker } => OperationRow {
            attempt: Some(i64::from(*attempt)),
            at: Some(nanoseconds(*at)),
            worker: worker.map(|worker| number(worker.0)),
            ..of_run(key)
        },
        Operation::End { key, attempt, state, at, outcome, crashes, reason } => OperationRow {
            attempt: Some(i64::from(*attempt)),
            state: state.is_end_of_attempt().then_some(state.name()),
            at: Some(nanoseconds(*at)),
            outcome: outcome.as_ref().map(outcome_text),
            crashes: Some(i64::from(*crashes)),
            reason: Some(code(reason.as_ref())),
            is_named: Some(is_named(&key.job)),
            ..of_run(key)
        },
        Operation::Clear { key, attempt } => {
            OperationRow { attempt: Some(i64::from(*attempt)), ..of_run(key) }
        }
        Operation::Move { key, from, to, due, at, reason } => OperationRow {
            from_state: Some(from.name()),
            state: (from.may_become(*to) && *to != RunState::Running).then_some(to.name()),
            forgiven: Some(from.forgives(*to).code()),
            due: Some(nanoseconds(*due)),
            at: Some(nanoseconds(*at)),
            reason: Some(code(reason.as_ref())),
            ..of_run(key)
        },
        _ => seldom(operation),
    }
}

/// What a document says.
fn seldom(operation: &Operation) -> OperationRow<'_> {
    let (job, details) = match operation {
        Operation::Define { mark, source, text } => {
            let mut details = mark_document(mark);
            details["source"] = json!(escape(source));
            details["text"] = json!(escape(text));
            (Some(&mark.job), details)
        }
        Operation::Mark(mark) | Operation::Rewind(mark) => (Some(&mark.job), mark_document(mark)),
        Operation::Forget { job, absence, retention } => {
            let text = mainspring_rows::left(absence.as_ref(), *retention);
            (Some(job), json!({ "text": escape(&text) }))
        }
        Operation::Prune { job, keep, before } => {
            let details = json!({ "keep": keep, "before": nanoseconds(*before), "most": MAX_PRUNED });
            (job.as_ref(), details)
        }
        Operation::PauseAll(terms) => {
            let note = escape(terms.as_ref().map_or("", |terms| terms.note.as_str()));
            let until = terms.as_ref().and_then(|terms| terms.until).map(nanoseconds);
            (None, json!({ "is_paused": terms.is_some(), "pause_until": until, "pause_note": note }))
        }
        Operation::Audit(audit) => return audited(audit),
        _ => unreachable!("an operation that is not seldom has columns"),
    };
    OperationRow { job: job.map(JobName::as_str), details: Some(details), ..OperationRow::default() }
}

fn audited(audit: &Audit) -> OperationRow<'_> {
    let details = json!({
        "actor": escape(&audit.actor),
        "action": escape(&audit.action),
        "target": escape(&audit.target),
        "note": escape(&audit.note),
        "most": MAX_AUDIT_ROWS,
    });
    OperationRow { at: Some(nanoseconds(audit.at)), details: Some(details), ..OperationRow::default() }
}

fn of_run(key: &RunKey) -> OperationRow<'_> {
    OperationRow {
        job: Some(key.job.as_str()),
        nominal: Some(nanoseconds(key.nominal)),
        series: Some(i64::from(key.series)),
        ..OperationRow::default()
    }
}

fn submitted(once: &Once) -> OperationRow<'_> {
    OperationRow {
        once: Some(once.id),
        job: Some(once.name.as_str()),
        is_named: Some(is_named(&once.name)),
        key: once.key.as_deref(),
        at: Some(nanoseconds(once.submitted)),
        work: Some(&once.work),
        ..OperationRow::default()
    }
}

fn planned(run: &Run) -> OperationRow<'_> {
    OperationRow {
        cause: Some(run.cause.name()),
        state: Some(run.state.name()),
        attempt: Some(i64::from(run.attempt)),
        due: Some(nanoseconds(run.due)),
        planned: Some(nanoseconds(run.planned)),
        started: run.started.map(nanoseconds),
        ended: run.ended.map(nanoseconds),
        outcome: run.outcome.as_ref().map(outcome_text),
        reason: Some(code(run.reason.as_ref())),
        span: run.span.map(|span| (nanoseconds(span.last), number(span.count), span.is_exact)),
        crashes: Some(i64::from(run.crashes)),
        forgiven: Some(i64::from(run.forgiven)),
        worker: run.worker.map(|worker| number(worker.0)),
        work: run.work.as_deref(),
        ..of_run(&run.key)
    }
}

/// The columns of `job` that a mark has.
fn mark_document(mark: &Mark) -> Value {
    json!({
        "watermark": nanoseconds(mark.watermark),
        "since": nanoseconds(mark.since),
        "runs": number(mark.runs),
        "failures": mark.failures,
        "max_series": mark.max_series,
        "pause": mark.pause.map(Pause::name),
        "timetable": escape(&mark.timetable),
        "deaths": mark.crashes,
        "pause_until": mark.pause_terms.until.map(nanoseconds),
        "pause_note": escape(&mark.pause_terms.note),
    })
}

/// Whether a person gave the name: it is not that of an id.
fn is_named(name: &JobName) -> bool {
    name.as_str().parse::<OnceId>().is_err()
}

fn outcome_text(outcome: &Outcome) -> Cow<'static, str> {
    match outcome {
        Outcome::Succeeded => Cow::Borrowed("succeeded"),
        other => Cow::Owned(other.to_string()),
    }
}

/// The column `reason`: a code, and empty if there is none.
fn code(reason: Option<&Reason>) -> String {
    reason.map(Reason::stored).unwrap_or_default()
}

impl OperationRow<'_> {
    /// In the order of the type.
    fn write(&self, rows: &mut Vec<u8>, place: i64) {
        rows.extend_from_slice(&COLUMN_COUNT.to_be_bytes());
        let mut row = RowWriter { rows, count: 0 };
        row.number(Some(place));
        row.text(self.job);
        row.number(self.nominal);
        row.number(self.series);
        row.text(self.cause);
        row.text(self.state);
        row.number(self.attempt);
        row.number(self.due);
        row.number(self.planned);
        row.number(self.started);
        row.number(self.ended);
        row.text(self.outcome.as_deref());
        row.text(self.reason.as_deref());
        row.number(self.span.map(|(last, ..)| last));
        row.number(self.span.map(|(_, count, _)| count));
        row.flag(self.span.map(|(.., is_exact)| is_exact));
        row.number(self.crashes);
        row.number(self.forgiven);
        row.number(self.worker);
        row.text(self.document);
        row.number(self.once.map(|id| nanoseconds(id.due)));
        row.number(self.once.map(|id| number(id.number)));
        row.text(self.key);
        row.flag(self.is_named);
        row.text(self.work.map(|work| work.action.kind()));
        row.text(self.work.map(|work| work.action.body()));
        row.text(self.work.map(|work| work.policies.to_string()).as_deref());
        row.text(self.work.and_then(|work| work.group.as_ref()).map(JobName::as_str));
        row.number(self.work.map(|work| i64::from(work.priority)));
        row.number(self.at);
        row.text(self.from_state);
        row.document(self.details.as_ref());
        debug_assert_eq!(row.count, COLUMN_COUNT, "the database counts them by what stands before them");
    }
}

/// Appends columns.
struct RowWriter<'r> {
    rows: &'r mut Vec<u8>,
    /// How many there are.
    count: i32,
}

impl RowWriter<'_> {
    fn column(&mut self, of: &Type, value: Option<&[u8]>) {
        self.count += 1;
        self.rows.extend_from_slice(&of.oid().to_be_bytes());
        // With a longer one the message is too large, which is refused when it is sent.
        let length = value.map_or(-1, |value| i32::try_from(value.len()).unwrap_or(i32::MAX));
        self.rows.extend_from_slice(&length.to_be_bytes());
        self.rows.extend_from_slice(value.unwrap_or_default());
    }

    fn number(&mut self, number: Option<i64>) {
        self.column(&Type::INT8, number.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice));
    }

    fn flag(&mut self, flag: Option<bool>) {
        self.column(&Type::BOOL, flag.map(|flag| [u8::from(flag)]).as_ref().map(<[u8; 1]>::as_slice));
    }

    /// A text, as it is kept.
    fn text(&mut self, text: Option<&str>) {
        self.column(&Type::TEXT, text.map(escape).as_ref().map(|text| text.as_bytes()));
    }

    /// The byte before it is the version of its form.
    fn document(&mut self, document: Option<&Value>) {
        self.column(
            &Type::JSONB,
            document.map(|value| format!("\u{1}{value}")).as_ref().map(String::as_bytes),
        );
    }
}

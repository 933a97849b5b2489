//! Values to columns, and columns to values.
//!
//! What is read back is checked: a word that no version of the program writes is damage, and is said to be.

use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{
    Action, Answer, Attempt, Audit, Audited, Cause, JobName, JobRecord, LastRun, Mark, Once, OnceId, Outcome,
    Pause, PauseTerms, Reason, Run, RunKey, RunState, Span, StoreError, Work,
};

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::escape::read;
use super::fault::unreadable;

/// Columns of `run`, in the order in which [`run`] reads them.
pub(super) const RUN: &str = "job, nominal, series, cause, state, attempt, due, planned, started, ended, outcome, reason, \
    span_last, span_count, span_is_exact, kind, body, policies, work_group, priority, deaths, forgiven";

/// Columns of `pending`, in the order in which [`once`] reads them.
pub(super) const PENDING: &str =
    "due, number, name, key, submitted, kind, body, policies, work_group, priority";

/// Columns of `job`, in the order in which [`job`] reads them.
pub(super) const JOB: &str = "name, watermark, runs, failures, backfills, pause, timetable, source, text, deaths, pause_until, pause_note, \
    last_nominal, last_series, last_state, last_ended, last_success";

/// Nanoseconds since 1970; times beyond what 64 bits hold, in 1677 and 2262, stand for the ends of time.
pub(super) fn nanoseconds(time: Timestamp) -> i64 {
    let time_ns = time.as_nanosecond();
    i64::try_from(time_ns).unwrap_or(if time_ns < 0 { i64::MIN } else { i64::MAX })
}

pub(super) fn time(time_ns: i64) -> Timestamp {
    match time_ns {
        i64::MIN => Timestamp::MIN,
        i64::MAX => Timestamp::MAX,
        _ => Timestamp::from_nanosecond(i128::from(time_ns))
            .expect("64 bits of nanoseconds are within the calendar"),
    }
}

/// A number of a one-shot job; the largest stands for all beyond.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

type Read<T> = Result<T, StoreError>;

fn column<'r, T: FromSql<'r>>(row: &'r Row, index: usize) -> Read<T> {
    row.try_get(index).map_err(|_| unreadable("column", &index.to_string()))
}

fn text_at(row: &Row, index: usize) -> Read<String> {
    column::<String>(row, index).map(read)
}

fn maybe_text_at(row: &Row, index: usize) -> Read<Option<String>> {
    Ok(column::<Option<String>>(row, index)?.map(read))
}

/// A number that fits into 32 bits when it is written.
fn small_at(row: &Row, index: usize) -> Read<u32> {
    let number: i64 = column(row, index)?;
    u32::try_from(number).map_err(|_| unreadable("small number", &number.to_string()))
}

fn time_at(row: &Row, index: usize) -> Read<Timestamp> {
    column(row, index).map(time)
}

fn maybe_time_at(row: &Row, index: usize) -> Read<Option<Timestamp>> {
    Ok(column::<Option<i64>>(row, index)?.map(time))
}

fn name_at(row: &Row, index: usize) -> Read<JobName> {
    name(&text_at(row, index)?)
}

fn name(text: &str) -> Read<JobName> {
    JobName::new(text).map_err(|_| unreadable("name", text))
}

fn state(text: &str) -> Read<RunState> {
    RunState::from_name(text).ok_or_else(|| unreadable("state of a run", text))
}

/// The five columns of some work, from `index`.
fn work(row: &Row, index: usize) -> Read<Work> {
    let kind = text_at(row, index)?;
    let action = Action::new(kind, text_at(row, index + 1)?);
    let action = action.map_err(|error| unreadable("action", &error.to_string()))?;
    let policies = text_at(row, index + 2)?;
    let group = maybe_text_at(row, index + 3)?;
    let policies = policies.parse().map_err(|_| unreadable("set of policies", &policies))?;
    let mut work = Work::new(action).with_policies(policies);
    work.group = group.map(|group| name(&group)).transpose()?;
    let priority: i64 = column(row, index + 4)?;
    work.priority = i8::try_from(priority).map_err(|_| unreadable("priority", &priority.to_string()))?;
    Ok(work)
}

/// A row of [`PENDING`].
pub(super) fn once(row: &Row) -> Read<Once> {
    let mut once = Once::new(once_id(row)?, time_at(row, 4)?, work(row, 5)?);
    (once.name, once.key) = (name_at(row, 2)?, maybe_text_at(row, 3)?);
    Ok(once)
}

/// The first two columns of [`PENDING`].
pub(super) fn once_id(row: &Row) -> Read<OnceId> {
    Ok(OnceId { due: time_at(row, 0)?, number: unsigned(column(row, 1)?) })
}

/// A row of [`RUN`].
pub(super) fn run(row: &Row) -> Read<Run> {
    let cause = text_at(row, 3)?;
    let last = maybe_time_at(row, 12)?;
    let span = match last {
        Some(last) => Some(Span { last, count: unsigned(column(row, 13)?), is_exact: column(row, 14)? }),
        None => None,
    };
    let has_work = maybe_text_at(row, 15)?.is_some();
    let key = RunKey { job: name_at(row, 0)?, nominal: time_at(row, 1)?, series: small_at(row, 2)? };
    let cause = Cause::from_name(&cause).ok_or_else(|| unreadable("cause of a run", &cause))?;
    let state = state(&text_at(row, 4)?)?;
    let mut run = Run::new(key, cause, state, time_at(row, 6)?, time_at(row, 7)?);
    run.attempt = small_at(row, 5)?;
    run.forgiven = small_at(row, 21)?;
    run.crashes = small_at(row, 20)?;
    run.started = maybe_time_at(row, 8)?;
    run.ended = maybe_time_at(row, 9)?;
    run.outcome = outcome_at(row, 10)?;
    run.reason = Reason::read(&text_at(row, 11)?);
    run.span = span;
    run.work = if has_work { Some(Arc::new(work(row, 15)?)) } else { None };
    Ok(run)
}

fn outcome_at(row: &Row, index: usize) -> Read<Option<Outcome>> {
    Ok(maybe_text_at(row, index)?.map(|text| Outcome::from(text.as_str())))
}

/// A row of `number, started, ended, state, outcome`.
pub(super) fn attempt(row: &Row) -> Read<Attempt> {
    let name = maybe_text_at(row, 3)?;
    let mut attempt = Attempt::new(small_at(row, 0)?, time_at(row, 1)?);
    attempt.ended = maybe_time_at(row, 2)?;
    attempt.state = name.map(|name| state(&name)).transpose()?;
    attempt.outcome = outcome_at(row, 4)?;
    Ok(attempt)
}

/// A row of [`JOB`].
pub(super) fn job(row: &Row) -> Read<JobRecord> {
    let pause = maybe_text_at(row, 5)?;
    let read_pause = |text: String| Pause::from_name(&text).ok_or_else(|| unreadable("pause", &text));
    let mut mark = Mark::new(name_at(row, 0)?, time_at(row, 1)?, text_at(row, 6)?);
    mark.runs = unsigned(column(row, 2)?);
    mark.failures = small_at(row, 3)?;
    mark.crashes = small_at(row, 9)?;
    mark.backfills = small_at(row, 4)?;
    mark.pause = pause.map(read_pause).transpose()?;
    mark.pause_terms = pause_terms(row, 10)?;
    let mut record = JobRecord::new(mark, maybe_text_at(row, 7)?);
    record.text = text_at(row, 8)?;
    if let (Some(nominal), Some(name), Some(ended)) =
        (maybe_time_at(row, 12)?, maybe_text_at(row, 14)?, maybe_time_at(row, 15)?)
    {
        record.last = Some(LastRun::new(nominal, small_at(row, 13)?, state(&name)?, ended));
    }
    record.last_success = maybe_time_at(row, 16)?;
    Ok(record)
}

/// Out of two columns: the end, and the note.
pub(super) fn pause_terms(row: &Row, index: usize) -> Read<PauseTerms> {
    let terms = PauseTerms::new(text_at(row, index + 1)?);
    Ok(match maybe_time_at(row, index)? {
        Some(until) => terms.until(until),
        None => terms,
    })
}

/// Columns of `audit`, in the order in which [`audited`] reads them.
pub(super) const AUDIT: &str = "number, at, actor, action, target, note";

pub(super) fn audited(row: &Row) -> Read<Audited> {
    let (actor, action, target): (String, String, String) =
        (text_at(row, 2)?, text_at(row, 3)?, text_at(row, 4)?);
    let audit = Audit::new(time_at(row, 1)?, actor, action, target).with_note(text_at(row, 5)?);
    Ok(Audited::new(unsigned(column(row, 0)?), audit))
}

/// The words of `sql/0003_commit.sql`.
pub(super) fn answers(text: &str) -> Read<Vec<Answer>> {
    text.split_whitespace().map(|word| answer(word).ok_or_else(|| unreadable("answer", word))).collect()
}

fn answer(word: &str) -> Option<Answer> {
    Some(match word {
        "N" => Answer::New,
        "G" => Answer::Gone,
        "M" => Answer::Missing,
        "D" => Answer::Duplicate(None),
        _ => {
            let (due, number) = word.strip_prefix('D')?.split_once(':')?;
            let id = OnceId { due: time(due.parse().ok()?), number: unsigned(number.parse().ok()?) };
            Answer::Duplicate(Some(id))
        }
    })
}

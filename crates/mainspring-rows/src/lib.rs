//! Rows of mainspring's tables, as values: what a store in SQLite and one in PostgreSQL share.
//!
//! ```text
//!  a row of SQLite ─────┐
//!                       ├─ Columns: text, integer, boolean at an index ─▶ run, once, job, attempt, audited
//!  a row of PostgreSQL ─┘
//! ```
//!
//! Both databases have the same columns in the same order. A value that is read back is checked. A word that
//! no version of the program writes is reported as damage.
//!
//! Cost: a copy of each text that the value keeps.
//!
//! Does not know how values get into columns.

#![forbid(unsafe_code)]

pub mod copy;
pub mod questions;

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mainspring_job::{
    Absence, Action, Answer, Attempt, Audit, AuditRow, Cause, Counts, JobName, JobRecord, LastRun, Mark,
    Once, OnceId, Outcome, Pause, PauseTerms, Reason, Retention, Run, RunKey, RunState, Span, StoreError,
    Work, WorkerId,
};

/// What a column holds, or why it cannot be read.
pub type ReadResult<T> = Result<T, StoreError>;

/// A row of a database.
pub trait Columns {
    /// The text at an index; `None` for NULL.
    ///
    /// # Errors
    /// When there is no such column, or it holds something else.
    fn maybe_text(&self, index: usize) -> ReadResult<Option<Cow<'_, str>>>;

    /// The whole number at an index; `None` for NULL.
    ///
    /// # Errors
    /// When there is no such column, or it holds something else.
    fn maybe_integer(&self, index: usize) -> ReadResult<Option<i64>>;

    /// The truth value at an index; `None` for NULL.
    ///
    /// # Errors
    /// When there is no such column, or it holds something else.
    fn maybe_boolean(&self, index: usize) -> ReadResult<Option<bool>>;
}

/// A value that no version of the program writes.
pub fn unreadable(what: &str, value: &str) -> StoreError {
    StoreError::Corrupt(format!("`{value}` is no {what}"))
}

fn missing(index: usize) -> StoreError {
    StoreError::Corrupt(format!("column {index} of a row holds nothing"))
}

/// The text at an index.
///
/// # Errors
/// When the column is missing, or holds no text.
pub fn text(row: &dyn Columns, index: usize) -> ReadResult<Cow<'_, str>> {
    row.maybe_text(index)?.ok_or_else(|| missing(index))
}

/// The whole number at an index.
///
/// # Errors
/// When the column is missing, or holds no number.
pub fn integer(row: &dyn Columns, index: usize) -> ReadResult<i64> {
    row.maybe_integer(index)?.ok_or_else(|| missing(index))
}

/// A number that fits into fewer bits when it is written.
fn small<T: TryFrom<i64>>(row: &dyn Columns, index: usize) -> ReadResult<T> {
    let number = integer(row, index)?;
    T::try_from(number).map_err(|_| unreadable("small number", &number.to_string()))
}

/// Columns of `run`, in the order in which [`run`] reads them.
pub const RUN: &str = "job, nominal, series, cause, state, attempt, due, planned, started, ended, outcome, reason, \
    span_last, span_count, span_is_exact, kind, body, policies, work_group, priority, deaths, forgiven, worker";

/// Columns of `pending`, in the order in which [`once`] reads them.
pub const PENDING: &str = "due, number, name, key, submitted, kind, body, policies, work_group, priority";

/// Columns of `once_key`, in the order in which [`keyed`] reads them.
pub const ONCE_KEY: &str = "due, number, name";

/// Columns of `job`, in the order in which [`job`] reads them.
pub const JOB: &str = "name, watermark, runs, failures, max_series, pause, timetable, source, text, deaths, pause_until, pause_note, \
    last_nominal, last_series, last_state, last_ended, last_success, since";

/// Columns of `audit`, in the order in which [`audited`] reads them.
pub const AUDIT: &str = "number, at, actor, action, target, note";

/// How many columns such a list names.
pub const fn column_count(list: &str) -> usize {
    let (mut count, mut index) = (1, 0);
    while index < list.len() {
        count += (list.as_bytes()[index] == b',') as usize;
        index += 1;
    }
    count
}

/// Nanoseconds since 1970; times beyond what 64 bits hold, in 1677 and 2262, stand for the ends of time.
pub fn nanoseconds(time: Timestamp) -> i64 {
    let time_ns = time.as_nanosecond();
    i64::try_from(time_ns).unwrap_or(if time_ns < 0 { i64::MIN } else { i64::MAX })
}

/// What [`nanoseconds`] made of a time.
///
/// # Panics
/// Never: 64 bits of nanoseconds are within the calendar.
pub fn time(time_ns: i64) -> Timestamp {
    match time_ns {
        i64::MIN => Timestamp::MIN,
        i64::MAX => Timestamp::MAX,
        _ => Timestamp::from_nanosecond(i128::from(time_ns))
            .expect("64 bits of nanoseconds are within the calendar"),
    }
}

/// A number of a one-shot job; the largest stands for all beyond.
pub fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What [`number`] made of a number.
pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The time at an index, as [`nanoseconds`] wrote it.
///
/// # Errors
/// When the column is missing, or holds no number.
pub fn time_at(row: &dyn Columns, index: usize) -> ReadResult<Timestamp> {
    integer(row, index).map(time)
}

fn maybe_time_at(row: &dyn Columns, index: usize) -> ReadResult<Option<Timestamp>> {
    Ok(row.maybe_integer(index)?.map(time))
}

fn name_at(row: &dyn Columns, index: usize) -> ReadResult<JobName> {
    name(&text(row, index)?)
}

fn name(text: &str) -> ReadResult<JobName> {
    JobName::new(text).map_err(|_| unreadable("name", text))
}

fn state(text: &str) -> ReadResult<RunState> {
    RunState::from_name(text).ok_or_else(|| unreadable("state of a run", text))
}

/// The five columns of some work, from `index`.
fn work(row: &dyn Columns, index: usize) -> ReadResult<Work> {
    let action = Action::new(text(row, index)?, text(row, index + 1)?);
    let action = action.map_err(|error| unreadable("action", &error.to_string()))?;
    let policies = text(row, index + 2)?;
    let group = row.maybe_text(index + 3)?;
    let policies = policies.parse().map_err(|_| unreadable("set of policies", &policies))?;
    let mut work = Work::new(action).with_policies(policies);
    work.group = group.map(|group| name(&group)).transpose()?;
    work.priority = small(row, index + 4)?;
    Ok(work)
}

/// A row of [`PENDING`].
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn once(row: &dyn Columns) -> ReadResult<Once> {
    let mut once = Once::new(once_id(row)?, time_at(row, 4)?, work(row, 5)?);
    (once.name, once.key) = (name_at(row, 2)?, row.maybe_text(3)?.map(Cow::into_owned));
    Ok(once)
}

/// The first two columns of [`PENDING`].
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn once_id(row: &dyn Columns) -> ReadResult<OnceId> {
    Ok(OnceId { due: time_at(row, 0)?, number: unsigned(integer(row, 1)?) })
}

/// A row of [`ONCE_KEY`].
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn keyed(row: &dyn Columns) -> ReadResult<(OnceId, JobName)> {
    Ok((once_id(row)?, name_at(row, 2)?))
}

/// The key of a run: its first three columns.
///
/// # Errors
/// When they cannot be read.
pub fn run_key(row: &dyn Columns) -> ReadResult<RunKey> {
    Ok(RunKey { job: name_at(row, 0)?, nominal: time_at(row, 1)?, series: small(row, 2)? })
}

/// A row of [`RUN`].
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn run(row: &dyn Columns) -> ReadResult<Run> {
    let cause = text(row, 3)?;
    let last = maybe_time_at(row, 12)?;
    let span = match last {
        Some(last) => {
            let is_exact = row.maybe_boolean(14)?.ok_or_else(|| missing(14))?;
            Some(Span { last, count: unsigned(integer(row, 13)?), is_exact })
        }
        None => None,
    };
    let has_work = row.maybe_text(15)?.is_some();
    let key = run_key(row)?;
    let cause = Cause::from_name(&cause).ok_or_else(|| unreadable("cause of a run", &cause))?;
    let state = state(&text(row, 4)?)?;
    let mut run = Run::new(key, cause, state, time_at(row, 6)?, time_at(row, 7)?);
    run.attempt = small(row, 5)?;
    run.forgiven = small(row, 21)?;
    run.crashes = small(row, 20)?;
    run.worker = worker_at(row, 22)?;
    run.started = maybe_time_at(row, 8)?;
    run.ended = maybe_time_at(row, 9)?;
    run.outcome = outcome_at(row, 10)?;
    run.reason = Reason::read(&text(row, 11)?);
    run.span = span;
    run.work = if has_work { Some(Arc::new(work(row, 15)?)) } else { None };
    Ok(run)
}

fn worker_at(row: &dyn Columns, index: usize) -> ReadResult<Option<WorkerId>> {
    Ok(row.maybe_integer(index)?.map(|number| WorkerId(unsigned(number))))
}

fn outcome_at(row: &dyn Columns, index: usize) -> ReadResult<Option<Outcome>> {
    Ok(row.maybe_text(index)?.map(|text| Outcome::from(&*text)))
}

/// A row of `number, started, ended, state, outcome, worker`.
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn attempt(row: &dyn Columns) -> ReadResult<Attempt> {
    let name = row.maybe_text(3)?;
    let mut attempt = Attempt::new(small(row, 0)?, time_at(row, 1)?);
    attempt.ended = maybe_time_at(row, 2)?;
    attempt.state = name.map(|name| state(&name)).transpose()?;
    attempt.outcome = outcome_at(row, 4)?;
    attempt.worker = worker_at(row, 5)?;
    Ok(attempt)
}

/// A row of [`JOB`].
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn job(row: &dyn Columns) -> ReadResult<JobRecord> {
    let pause = row.maybe_text(5)?;
    let read_pause = |text: Cow<'_, str>| Pause::from_name(&text).ok_or_else(|| unreadable("pause", &text));
    let mut mark = Mark::new(name_at(row, 0)?, time_at(row, 1)?, text(row, 6)?.into_owned());
    mark.since = time_at(row, 17)?;
    mark.runs = unsigned(integer(row, 2)?);
    mark.failures = small(row, 3)?;
    mark.crashes = small(row, 9)?;
    mark.max_series = small(row, 4)?;
    mark.pause = pause.map(read_pause).transpose()?;
    mark.pause_terms = pause_terms(row, 10)?;
    let mut record = JobRecord::new(mark, row.maybe_text(7)?.map(Cow::into_owned));
    let stored = text(row, 8)?;
    match record.source {
        Some(_) => record.text = stored.into_owned(),
        None => {
            record.absence = Absence::from_stored(&stored);
            // The version before kept nothing of a removed job there.
            record.retention = stored.parse().unwrap_or_default();
        }
    }
    if let (Some(nominal), Some(name), Some(ended)) =
        (maybe_time_at(row, 12)?, row.maybe_text(14)?, maybe_time_at(row, 15)?)
    {
        record.last = Some(LastRun::new(nominal, small(row, 13)?, state(&name)?, ended));
    }
    record.last_success = maybe_time_at(row, 16)?;
    Ok(record)
}

/// The column `text` of a job without a source.
pub fn left(absence: Option<&Absence>, retention: Retention) -> String {
    absence.map_or_else(|| retention.to_string(), Absence::stored)
}

/// Out of two columns: the end, and the note.
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn pause_terms(row: &dyn Columns, index: usize) -> ReadResult<PauseTerms> {
    let terms = PauseTerms::new(text(row, index + 1)?.into_owned());
    Ok(match maybe_time_at(row, index)? {
        Some(until) => terms.until(until),
        None => terms,
    })
}

/// A row of [`AUDIT`].
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn audited(row: &dyn Columns) -> ReadResult<AuditRow> {
    let audit = Audit::new(time_at(row, 1)?, text(row, 2)?, text(row, 3)?, text(row, 4)?);
    let audit = audit.with_note(text(row, 5)?);
    Ok(AuditRow::new(unsigned(integer(row, 0)?), audit))
}

/// A row of `jobs, pending, open, runs, dead`.
///
/// # Errors
/// When a column is missing, or holds what no version of the program writes.
pub fn counts(row: &dyn Columns) -> ReadResult<Counts> {
    let count = |index| integer(row, index).map(unsigned);
    let mut counts = Counts::default();
    (counts.jobs, counts.pending, counts.open) = (count(0)?, count(1)?, count(2)?);
    (counts.runs, counts.dead) = (count(3)?, count(4)?);
    Ok(counts)
}

/// What became of the operations of a batch, with spaces between: `N`, `G`, `M`, `D`, or `D` with due time
/// and number.
pub fn answers_text(answers: &[Answer]) -> String {
    let words: Vec<String> = answers
        .iter()
        .map(|answer| match answer {
            Answer::New => "N".to_owned(),
            Answer::Gone => "G".to_owned(),
            Answer::Missing => "M".to_owned(),
            Answer::Duplicate(None) => "D".to_owned(),
            Answer::Duplicate(Some(id)) => format!("D{}:{}", nanoseconds(id.due), number(id.number)),
        })
        .collect();
    let text = words.join(" ");
    debug_assert!(self::answers(&text).is_ok_and(|read| read.len() == answers.len()), "each is a word");
    text
}

/// What [`answers_text`] wrote.
///
/// # Errors
/// When a word is none of those.
pub fn answers(text: &str) -> ReadResult<Vec<Answer>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_written() {
        let due = Timestamp::from_second(7).expect("a time");
        let written = [
            Answer::New,
            Answer::Gone,
            Answer::Missing,
            Answer::Duplicate(None),
            Answer::Duplicate(Some(OnceId { due, number: 9 })),
            Answer::Duplicate(Some(OnceId { due: Timestamp::MAX, number: 0 })),
        ];
        let text = answers_text(&written);
        assert!(text.starts_with("N G M D D7000000000:9 D"), "{text}");
        assert_eq!(answers(&text).expect("they were written"), written);
        for damaged in ["X", "D7", "D7:", "D:9", "N G Dx:1"] {
            assert!(matches!(answers(damaged), Err(StoreError::Corrupt(_))), "{damaged}");
        }
    }

    #[test]
    fn the_ends_of_time_come_back() {
        for moment in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            assert_eq!(time(nanoseconds(moment)), moment);
        }
        assert_eq!(unsigned(number(u64::MAX)), i64::MAX.unsigned_abs(), "the largest stands for all beyond");
        assert_eq!(unsigned(-1), 0);
    }
}

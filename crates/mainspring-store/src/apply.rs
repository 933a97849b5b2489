//! The operations of a batch, each within its transaction. Each is guarded as the table of
//! `mainspring_job::Operation` says.

use std::sync::LazyLock;

use jiff::Timestamp;
use mainspring_job::{
    Absence, Answer, Audit, Forgiveness, JobName, MAX_AUDIT_ROWS, MAX_PRUNED, Mark, Once, OnceId, Operation,
    Outcome, Pause, Reason, Run, RunKey, RunState, StoreError, Work, WorkerId,
};
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::fault::mapped;
use super::last_run;
use super::read;
use super::row_counts::RowCounts;
use mainspring_rows::{PENDING, RUN, column_count, nanoseconds, number};

const DELETE_PENDING: &str = "DELETE FROM pending WHERE due = ?1 AND number = ?2";

const _: () = assert!(column_count(PENDING) + 1 == 11, "each column has a place");

/// Written once, because a batch has hundreds of them.
static INSERT_PENDING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO pending (is_named, {PENDING}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            ON CONFLICT DO NOTHING"
    )
});

/// The same of a run.
static INSERT_RUN: LazyLock<String> = LazyLock::new(|| {
    const { assert!(column_count(RUN) == 23, "`insert` has a value for each") };
    let places: Vec<String> = (1..=23).map(|place| format!("?{place}")).collect();
    format!("INSERT INTO run ({RUN}) VALUES ({}) ON CONFLICT DO NOTHING", places.join(", "))
});

type ApplyResult = Result<Answer, StoreError>;

pub(super) fn apply(connection: &Connection, operation: &Operation, counts: &mut RowCounts) -> ApplyResult {
    match operation {
        Operation::Submit(once) => submit(connection, once, counts),
        Operation::Fire { id, run } => match take_pending(connection, *id, counts)? {
            Some(_) => insert(connection, run, counts),
            None => Ok(Answer::Gone),
        },
        Operation::Withdraw { id, at } => match take_pending(connection, *id, counts)? {
            Some(once) => insert(connection, &withdrawn(&once, *at), counts),
            None => Ok(Answer::Gone),
        },
        Operation::Plan(run) => insert(connection, run, counts),
        Operation::Begin { key, attempt, at, worker } => {
            begin(connection, key, *attempt, (*at, *worker), counts)
        }
        Operation::End { key, attempt, state, at, outcome, crashes, reason } => {
            let (attempt, state, at, crashes) = (*attempt, *state, *at, *crashes);
            let end = End { attempt, state, at, outcome: outcome.as_ref(), crashes, reason: reason.as_ref() };
            end_attempt(connection, key, &end, counts)
        }
        Operation::Clear { key, attempt } => clear(connection, key, *attempt),
        Operation::Move { key, from, to, due, at, reason } => {
            let change = Change { from: *from, to: *to, due: *due, at: *at, reason: reason.as_ref() };
            change_state(connection, key, &change, counts)
        }
        Operation::Define { mark, source, text } => define(connection, mark, source, text, counts),
        Operation::Mark(mark) => keep_mark(connection, mark),
        Operation::Rewind(mark) => rewind(connection, mark),
        Operation::Forget { job, absence } => {
            counts.jobs -= i64::from(is_defined(connection, job)?);
            let sql = "UPDATE job SET source = NULL, text = ?2 WHERE name = ?1";
            let text = absence.as_ref().map(Absence::stored).unwrap_or_default();
            Ok(new_or_missing(execute(connection, sql, params![job.as_str(), text])?))
        }
        Operation::Prune { job, keep, before } => prune(connection, job.as_ref(), *keep, *before, counts),
        Operation::PauseAll(terms) => {
            let sql = "UPDATE head SET is_paused = ?1, pause_until = ?2, pause_note = ?3";
            let (until, note) = terms.as_ref().map_or((None, ""), |terms| (terms.until, terms.note.as_str()));
            execute(connection, sql, params![terms.is_some(), until.map(nanoseconds), note])?;
            Ok(Answer::New)
        }
        Operation::Audit(audit) => keep_audit(connection, audit),
    }
}

/// Adds a row, and drops what is older than the newest [`MAX_AUDIT_ROWS`].
fn keep_audit(connection: &Connection, audit: &Audit) -> ApplyResult {
    let sql = "INSERT INTO audit (at, actor, action, target, note) VALUES (?1, ?2, ?3, ?4, ?5)";
    let Audit { at, actor, action, target, note, .. } = audit;
    execute(connection, sql, params![nanoseconds(*at), actor, action, target, note])?;
    let sql = "DELETE FROM audit WHERE number <= ?1";
    execute(connection, sql, params![connection.last_insert_rowid() - number(MAX_AUDIT_ROWS)])?;
    Ok(Answer::New)
}

fn execute(connection: &Connection, sql: &str, values: impl Params) -> Result<usize, StoreError> {
    connection.prepare_cached(sql).map_err(mapped)?.execute(values).map_err(mapped)
}

/// The column `reason`: a code, and empty if there is none.
fn stored(reason: Option<&Reason>) -> String {
    reason.map(Reason::stored).unwrap_or_default()
}

fn new_or_missing(changed_count: usize) -> Answer {
    if changed_count == 0 { Answer::Missing } else { Answer::New }
}

fn parts(key: &RunKey) -> (&str, i64, u32) {
    (key.job.as_str(), nanoseconds(key.nominal), key.series)
}

/// A one-shot job's id out of a row of `due, number`.
fn holder(connection: &Connection, sql: &str, values: impl Params) -> Result<Option<Answer>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    let found = statement.query_row(values, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let Some((due, number)) = found.optional().map_err(mapped)? else { return Ok(None) };
    let due = Timestamp::from_nanosecond(i128::from(due)).unwrap_or(Timestamp::MAX);
    Ok(Some(Answer::Duplicate(Some(OnceId { due, number: u64::try_from(number).unwrap_or(0) }))))
}

fn submit(connection: &Connection, once: &Once, counts: &mut RowCounts) -> ApplyResult {
    let (due, id_number) = (nanoseconds(once.id.due), number(once.id.number));
    let is_named = once.name.as_str().parse::<OnceId>().is_err();
    if let Some(key) = &once.key {
        let sql = "SELECT due, number FROM once_key WHERE key = ?1";
        if let Some(answer) = holder(connection, sql, params![key])? {
            return Ok(answer);
        }
    }
    // Most are new, so it is added before anything else is asked.
    let Work { action, policies, group, priority, .. } = &*once.work;
    let values = params![
        is_named,
        due,
        id_number,
        once.name.as_str(),
        once.key,
        nanoseconds(once.submitted),
        action.kind(),
        action.body(),
        policies.to_string(),
        group.as_ref().map(JobName::as_str),
        priority
    ];
    if execute(connection, &INSERT_PENDING, values)? == 0 {
        if is_named {
            let sql = "SELECT due, number FROM pending WHERE name = ?1 AND is_named = 1";
            if let Some(answer) = holder(connection, sql, params![once.name.as_str()])? {
                return Ok(answer);
            }
        }
        return Ok(Answer::Duplicate(Some(once.id)));
    }
    if progress(connection, &RunKey::new(once.name.clone(), once.id.due))?.is_some() {
        execute(connection, DELETE_PENDING, params![due, id_number])?;
        return Ok(Answer::Duplicate(None));
    }
    if let Some(key) = &once.key {
        let sql = "INSERT INTO once_key (key, due, number, name) VALUES (?1, ?2, ?3, ?4)";
        execute(connection, sql, params![key, due, id_number, once.name.as_str()])?;
    }
    counts.pending += 1;
    Ok(Answer::New)
}

fn take_pending(
    connection: &Connection,
    id: OnceId,
    counts: &mut RowCounts,
) -> Result<Option<Once>, StoreError> {
    let found = read::pending(connection, id)?;
    if found.is_some() {
        counts.pending -= 1;
        execute(connection, DELETE_PENDING, params![nanoseconds(id.due), number(id.number)])?;
    }
    Ok(found)
}

/// The run of a one-shot job that was withdrawn.
fn withdrawn(once: &Once, at: Timestamp) -> Run {
    let mut run = once.run(RunState::Cancelled, once.id.due, at);
    run.ended = Some(at);
    run.reason = Some(Reason::Withdrawn);
    run
}

fn insert(connection: &Connection, run: &Run, counts: &mut RowCounts) -> ApplyResult {
    let (job, nominal, series) = parts(&run.key);
    let work = run.work.as_deref();
    let values = params![
        job,
        nominal,
        series,
        run.cause.name(),
        run.state.name(),
        run.attempt,
        nanoseconds(run.due),
        nanoseconds(run.planned),
        run.started.map(nanoseconds),
        run.ended.map(nanoseconds),
        run.outcome.as_ref().map(ToString::to_string),
        stored(run.reason.as_ref()),
        run.span.map(|span| nanoseconds(span.last)),
        run.span.map(|span| number(span.count)),
        run.span.map(|span| span.is_exact),
        work.map(|work| work.action.kind()),
        work.map(|work| work.action.body()),
        work.map(|work| work.policies.to_string()),
        work.and_then(|work| work.group.as_ref()).map(JobName::as_str),
        work.map(|work| work.priority),
        run.crashes,
        run.forgiven,
        run.worker.map(|worker| number(worker.0))
    ];
    if execute(connection, &INSERT_RUN, values)? == 0 {
        return Ok(Answer::Duplicate(None));
    }
    counts.add_run(run.state);
    if !run.state.is_open() {
        last_run::record(connection, &run.key, run.state, run.ended.unwrap_or(run.planned))?;
    }
    if run.state == RunState::Running {
        add_attempt(connection, &run.key, run.attempt, run.started.unwrap_or(run.planned), run.worker)?;
    }
    Ok(Answer::New)
}

fn add_attempt(
    connection: &Connection,
    key: &RunKey,
    attempt: u32,
    started: Timestamp,
    worker: Option<WorkerId>,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO attempt (job, nominal, series, number, started, worker) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (job, nominal, series) = parts(key);
    let worker = worker.map(|worker| number(worker.0));
    execute(connection, sql, params![job, nominal, series, attempt, nanoseconds(started), worker]).map(|_| ())
}

/// How far a run is.
struct RunProgress {
    state: RunState,
    attempt: u32,
}

fn progress(connection: &Connection, key: &RunKey) -> Result<Option<RunProgress>, StoreError> {
    let sql = "SELECT state, attempt FROM run WHERE job = ?1 AND nominal = ?2 AND series = ?3";
    let (job, nominal, series) = parts(key);
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    let found =
        statement.query_row(params![job, nominal, series], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
    let Some((state, attempt)) = found.optional().map_err(mapped)? else { return Ok(None) };
    let unreadable = || mainspring_rows::unreadable("state of a run", &state);
    Ok(Some(RunProgress { state: RunState::from_name(&state).ok_or_else(unreadable)?, attempt }))
}

fn begin(
    connection: &Connection,
    key: &RunKey,
    attempt: u32,
    (at, worker): (Timestamp, Option<WorkerId>),
    counts: &mut RowCounts,
) -> ApplyResult {
    let Some(run) = progress(connection, key)? else { return Ok(Answer::Missing) };
    if attempt <= run.attempt {
        return Ok(Answer::Duplicate(None));
    }
    if attempt != run.attempt + 1 || !run.state.may_become(RunState::Running) {
        return Ok(Answer::Gone);
    }
    let sql = "UPDATE run SET state = 'running', attempt = ?4, started = ?5, ended = NULL, outcome = NULL, reason = '',
        worker = ?6
        WHERE job = ?1 AND nominal = ?2 AND series = ?3";
    let (job, nominal, series) = parts(key);
    let id = worker.map(|worker| number(worker.0));
    execute(connection, sql, params![job, nominal, series, attempt, nanoseconds(at), id])?;
    add_attempt(connection, key, attempt, at, worker)?;
    counts.move_run(run.state, RunState::Running);
    Ok(Answer::New)
}

struct End<'o> {
    attempt: u32,
    state: RunState,
    at: Timestamp,
    outcome: Option<&'o Outcome>,
    crashes: u32,
    reason: Option<&'o Reason>,
}

fn end_attempt(connection: &Connection, key: &RunKey, end: &End<'_>, counts: &mut RowCounts) -> ApplyResult {
    let Some(run) = progress(connection, key)? else { return Ok(Answer::Missing) };
    let is_running = run.attempt == end.attempt && run.state == RunState::Running;
    if !is_running || !end.state.is_end_of_attempt() {
        return Ok(Answer::Gone);
    }
    let (job, nominal, series) = parts(key);
    let (at, outcome) = (nanoseconds(end.at), end.outcome.map(ToString::to_string));
    let sql = "UPDATE run SET state = ?4, ended = ?5, outcome = ?6, reason = ?7, deaths = ?8
        WHERE job = ?1 AND nominal = ?2 AND series = ?3";
    let (state, reason) = (end.state.name(), stored(end.reason));
    execute(connection, sql, params![job, nominal, series, state, at, outcome, reason, end.crashes])?;
    end_record(connection, key, end.attempt, end.at, end.state, end.outcome)?;
    counts.move_run(run.state, end.state);
    if !end.state.is_open() {
        last_run::record(connection, key, end.state, end.at)?;
    }
    Ok(Answer::New)
}

/// The record of an attempt says how that ended.
fn end_record(
    connection: &Connection,
    key: &RunKey,
    attempt: u32,
    at: Timestamp,
    state: RunState,
    outcome: Option<&Outcome>,
) -> Result<(), StoreError> {
    let sql = "UPDATE attempt SET ended = ?5, state = ?6, outcome = ?7
        WHERE job = ?1 AND nominal = ?2 AND series = ?3 AND number = ?4";
    let (job, nominal, series) = parts(key);
    let outcome = outcome.map(ToString::to_string);
    let values = params![job, nominal, series, attempt, nanoseconds(at), state.name(), outcome];
    execute(connection, sql, values).map(drop)
}

/// What a `Move` is.
struct Change<'o> {
    from: RunState,
    to: RunState,
    due: Timestamp,
    at: Timestamp,
    reason: Option<&'o Reason>,
}

fn change_state(
    connection: &Connection,
    key: &RunKey,
    change: &Change<'_>,
    counts: &mut RowCounts,
) -> ApplyResult {
    let Change { from, to, due, at, reason } = change;
    let Some(run) = progress(connection, key)? else { return Ok(Answer::Missing) };
    if run.state != *from || !from.may_become(*to) || *to == RunState::Running {
        return Ok(Answer::Gone);
    }
    let sql = "UPDATE run SET state = ?4, due = ?5, reason = ?6, ended = coalesce(?7, ended),
        forgiven = CASE ?8 WHEN 2 THEN attempt WHEN 1 THEN forgiven + 1 ELSE forgiven END
        WHERE job = ?1 AND nominal = ?2 AND series = ?3";
    let ended = if to.is_open() { None } else { Some(nanoseconds(*at)) };
    let (job, nominal, series) = parts(key);
    let (due, forgiveness) = (nanoseconds(*due), from.forgives(*to));
    let values = params![job, nominal, series, to.name(), due, stored(*reason), ended, forgiveness.code()];
    execute(connection, sql, values)?;
    if forgiveness == Forgiveness::Last {
        end_record(connection, key, run.attempt, *at, *to, Some(&Outcome::Returned))?;
    }
    counts.move_run(*from, *to);
    match (from.is_open(), to.is_open()) {
        (_, false) => last_run::record(connection, key, *to, *at)?,
        (false, true) => last_run::replace(connection, key)?,
        (true, true) => {}
    }
    Ok(Answer::New)
}

fn clear(connection: &Connection, key: &RunKey, attempt: u32) -> ApplyResult {
    let Some(run) = progress(connection, key)? else { return Ok(Answer::Missing) };
    if run.attempt != attempt || run.state != RunState::Running {
        return Ok(Answer::Gone);
    }
    let (job, nominal, series) = parts(key);
    let sql = "UPDATE run SET deaths = 0 WHERE job = ?1 AND nominal = ?2 AND series = ?3";
    execute(connection, sql, params![job, nominal, series])?;
    Ok(Answer::New)
}

fn is_defined(connection: &Connection, name: &JobName) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM job WHERE name = ?1 AND source IS NOT NULL";
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    statement.exists(params![name.as_str()]).map_err(mapped)
}

fn define(
    connection: &Connection,
    mark: &Mark,
    source: &str,
    text: &str,
    counts: &mut RowCounts,
) -> ApplyResult {
    counts.jobs += i64::from(!is_defined(connection, &mark.job)?);
    let sql =
        "INSERT INTO job (name, watermark, runs, failures, max_series, pause, timetable, source, text, deaths,
        pause_until, pause_note, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        ON CONFLICT (name) DO NOTHING";
    let values = params![
        mark.job.as_str(),
        nanoseconds(mark.watermark),
        number(mark.runs),
        mark.failures,
        mark.max_series,
        mark.pause.map(Pause::name),
        mark.timetable,
        source,
        text,
        mark.crashes,
        mark.pause_terms.until.map(nanoseconds),
        mark.pause_terms.note,
        nanoseconds(mark.since)
    ];
    if execute(connection, sql, values)? == 0 {
        let sql = "UPDATE job SET source = ?2, text = ?3 WHERE name = ?1";
        execute(connection, sql, params![mark.job.as_str(), source, text])?;
    } else {
        last_run::look(connection, &mark.job)?;
    }
    Ok(Answer::New)
}

fn keep_mark(connection: &Connection, mark: &Mark) -> ApplyResult {
    let sql =
        "UPDATE job SET watermark = CASE timetable WHEN ?7 THEN max(watermark, ?2) ELSE ?2 END, runs = ?3, failures = ?4, max_series = ?5, pause = ?6,
        timetable = ?7, deaths = ?8, pause_until = ?9, pause_note = ?10, since = ?11 WHERE name = ?1";
    let values = params![
        mark.job.as_str(),
        nanoseconds(mark.watermark),
        number(mark.runs),
        mark.failures,
        mark.max_series,
        mark.pause.map(Pause::name),
        mark.timetable,
        mark.crashes,
        mark.pause_terms.until.map(nanoseconds),
        mark.pause_terms.note,
        nanoseconds(mark.since)
    ];
    Ok(new_or_missing(execute(connection, sql, values)?))
}

/// A mark whose watermark may lie before the one that is kept.
fn rewind(connection: &Connection, mark: &Mark) -> ApplyResult {
    let sql = "UPDATE job SET watermark = ?2 WHERE name = ?1";
    execute(connection, sql, params![mark.job.as_str(), nanoseconds(mark.watermark)])?;
    keep_mark(connection, mark)
}

/// What ended first goes first, at most [`MAX_PRUNED`].
fn prune(
    connection: &Connection,
    job: Option<&JobName>,
    keep: u32,
    before: Timestamp,
    counts: &mut RowCounts,
) -> ApplyResult {
    let over = "state NOT IN ('scheduled', 'queued', 'running', 'dead')";
    let (theirs, name) = match job {
        Some(name) => ("job = ?1 AND cause <> 'once'", name.as_str()),
        None => ("?1 = '' AND cause = 'once'", ""),
    };
    // The first that is within the number to keep; what comes before it is surplus. Materialized, lest it be
    // sought again for each row: with 4,000 runs kept that took 4.5 s instead of 3 ms.
    let sql = format!(
        "WITH kept AS MATERIALIZED (SELECT ended, job, nominal, series FROM run WHERE {theirs} AND {over}
            ORDER BY ended DESC, job DESC, nominal DESC, series DESC LIMIT 1 OFFSET ?2)
        SELECT {RUN} FROM run WHERE {theirs} AND {over} AND (ended < ?3 OR EXISTS (SELECT 1 FROM kept
            WHERE (run.ended, run.job, run.nominal, run.series) <= (kept.ended, kept.job, kept.nominal, kept.series)))
        ORDER BY ended, job, nominal, series LIMIT ?4"
    );
    let limit = i64::try_from(MAX_PRUNED).expect("it is small");
    for run in read::runs(connection, &sql, params![name, keep, nanoseconds(before), limit])? {
        drop_run(connection, &run)?;
        counts.drop_run(run.state);
    }
    Ok(Answer::New)
}

fn drop_run(connection: &Connection, run: &Run) -> Result<(), StoreError> {
    let (job, nominal, series) = parts(&run.key);
    for table in ["run", "attempt"] {
        let sql = format!("DELETE FROM {table} WHERE job = ?1 AND nominal = ?2 AND series = ?3");
        execute(connection, &sql, params![job, nominal, series])?;
    }
    if series == 0 {
        execute(connection, "DELETE FROM once_key WHERE name = ?1 AND due = ?2", params![job, nominal])?;
    }
    last_run::replace(connection, &run.key)
}

//! The questions to the store. Each is a range of a primary key or of an index; the counts are one row.

use jiff::Timestamp;
use mainspring_job::{
    Attempt, AuditQuery, AuditRow, Cause, Counts, Cursor, JobName, JobRecord, MAX_PAGE, Once, OnceId, Order,
    PauseTerms, Query, Run, RunKey, RunState, StoreError,
};
use mainspring_rows::{self as columns, AUDIT, Columns, JOB, PENDING, RUN, ReadResult, nanoseconds, number};
use rusqlite::types::Value;
use rusqlite::{Connection, Params, params, params_from_iter};

use super::fault::mapped;
use super::row::CurrentRow;

/// All rows of an answer.
fn rows<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: fn(&dyn Columns) -> ReadResult<T>,
) -> ReadResult<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    let mut rows = statement.query(values).map_err(mapped)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(mapped)? {
        found.push(read(&CurrentRow(row))?);
    }
    Ok(found)
}

fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(MAX_PAGE)).expect("a page is small")
}

/// The question behind `load`, for the test that looks at its plan too.
pub(super) fn load_sql() -> String {
    format!(
        "SELECT {PENDING} FROM pending WHERE (due, number) > (?1, ?2) AND due <= ?3 ORDER BY due, number LIMIT ?4"
    )
}

pub(super) fn load(
    connection: &Connection,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> Result<Vec<Once>, StoreError> {
    let values = params![nanoseconds(after.due), number(after.number), nanoseconds(up_to), page(limit)];
    let found = rows(connection, &load_sql(), values, columns::once)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted_by_key(|once| once.id), "the planner continues behind the last");
    Ok(found)
}

/// The question behind `load_ids`, which the order of the table answers without a job.
pub(super) fn load_ids_sql() -> &'static str {
    "SELECT due, number FROM pending WHERE (due, number) > (?1, ?2) AND due <= ?3 ORDER BY due, number LIMIT ?4"
}

pub(super) fn load_ids(
    connection: &Connection,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> Result<Vec<OnceId>, StoreError> {
    let values = params![nanoseconds(after.due), number(after.number), nanoseconds(up_to), page(limit)];
    let found = rows(connection, load_ids_sql(), values, columns::once_id)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted(), "the planner continues behind the last");
    Ok(found)
}

/// The question behind `has_pending_of`, in the words of an index.
pub(super) fn has_pending_of_sql() -> &'static str {
    "SELECT EXISTS (SELECT 1 FROM pending WHERE 0 < instr(' ' || policies, ' batch=')
        AND substr(' ' || policies, instr(' ' || policies, ' batch=') + 7) = ?1)"
}

pub(super) fn has_pending_of(connection: &Connection, batch: &JobName) -> Result<bool, StoreError> {
    let found = rows(connection, has_pending_of_sql(), [batch.as_str()], |row| row.maybe_integer(0))?;
    Ok(found == [Some(1)])
}

pub(super) fn jobs(connection: &Connection) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
    let jobs = rows(connection, &format!("SELECT {JOB} FROM job ORDER BY name"), [], columns::job)?;
    let sql = "SELECT pause_until, pause_note FROM head WHERE is_paused";
    let paused = rows(connection, sql, params![], |row| columns::pause_terms(row, 0))?.pop();
    Ok((jobs, paused))
}

/// The question behind `open_runs`, for the same test.
pub(super) fn open_runs_sql() -> String {
    let open = "state IN ('scheduled', 'queued', 'running')";
    let after = "(job, nominal, series) > (?1, ?2, ?3)";
    format!("SELECT {RUN} FROM run WHERE {open} AND {after} ORDER BY job, nominal, series LIMIT ?4")
}

pub(super) fn open_runs(
    connection: &Connection,
    after: Option<&RunKey>,
    limit: usize,
) -> Result<Vec<Run>, StoreError> {
    let (job, nominal, series) =
        after.map_or(("", i64::MIN, 0), |key| (key.job.as_str(), nanoseconds(key.nominal), key.series));
    let found = rows(connection, &open_runs_sql(), params![job, nominal, series, page(limit)], columns::run)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted_by_key(|run| &run.key), "the next page begins behind the last");
    debug_assert!(found.iter().all(|run| run.state.is_open()));
    Ok(found)
}

pub(super) fn find(connection: &Connection, query: &Query) -> Result<Vec<Run>, StoreError> {
    let sizes = Sizes { group: group_size(connection, query)?, narrow: narrow_size(connection, query)? };
    let (sql, values) = find_sql(query, sizes);
    let found = rows(connection, &sql, params_from_iter(values), columns::run)?;
    debug_assert!(found.len() <= query.limit);
    debug_assert!(query.states.is_empty() || found.iter().all(|run| query.states.contains(&run.state)));
    Ok(found)
}

/// How many runs are found by what they have in common and then sorted or looked through: a few milliseconds'
/// work. Of more runs than this enough are soon met in the order of the answer.
const FEW: u32 = 20_000;

/// How many runs have something in common, as far as it decides by which index they are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Few,
    Many,
}

/// How many runs have in common what a question asks for.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) group: Size,
    /// Those in its [`Narrow`] index: only counted where a job is asked for.
    pub(super) narrow: Size,
}

fn group_size(connection: &Connection, query: &Query) -> Result<Size, StoreError> {
    let Some(group) = &query.group else { return Ok(Size::Many) };
    let sql = format!("FROM run WHERE {}", of_group(Size::Few));
    size(connection, &sql, params![names_of_members(query), group.as_str()])
}

/// Few runs of all jobs are looked through for those of one; else the runs of the job are.
fn narrow_size(connection: &Connection, query: &Query) -> Result<Size, StoreError> {
    let Some(Narrow { index, condition, .. }) = narrow(query).filter(|_| query.job.is_some()) else {
        return Ok(Size::Many);
    };
    size(connection, &format!("FROM run INDEXED BY {index} WHERE {condition}"), [])
}

fn size(connection: &Connection, from: &str, values: impl Params) -> Result<Size, StoreError> {
    let sql = format!("SELECT count(*) FROM (SELECT 1 {from} LIMIT {FEW})");
    let count: u32 = connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.query_row(values, |row| row.get(0)))
        .map_err(mapped)?;
    Ok(if count < FEW { Size::Few } else { Size::Many })
}

/// The condition of a group's runs: those of its jobs, and one-shot runs with this group. A plus sign keeps
/// the indexes of a column out of the plan.
fn of_group(size: Size) -> &'static str {
    match size {
        Size::Few => "(job IN (SELECT value FROM json_each(?)) OR work_group = ?)",
        Size::Many => "(+job IN (SELECT value FROM json_each(?)) OR +work_group = ?)",
    }
}

fn names_of_members(query: &Query) -> String {
    // A name has no character that JSON would escape.
    let names: Vec<String> = query.members.iter().map(|job| format!("\"{job}\"")).collect();
    format!("[{}]", names.join(","))
}

/// An index of the runs of a cause or of states that few runs have. It is found by its own condition.
struct Narrow {
    index: &'static str,
    condition: String,
    /// It has to be named, because an index of all runs looks as good to the planner.
    is_named: bool,
}

fn narrow(query: &Query) -> Option<Narrow> {
    let by_end = query.order == Order::Ended;
    let is_other = |state: &RunState| !state.is_open() && *state != RunState::Succeeded;
    if let Some(cause) = query.cause.filter(|cause| !matches!(cause, Cause::Trigger | Cause::Once)) {
        let index = if by_end { "run_rare_ended" } else { "run_rare" };
        // The name is the program's own, so it may stand in the text.
        let condition = format!("cause NOT IN ('trigger', 'once') AND cause = '{}'", cause.name());
        Some(Narrow { index, condition, is_named: true })
    } else if !query.states.is_empty() && query.states.iter().all(is_other) {
        let index = if by_end { "run_other_ended" } else { "run_other" };
        let condition = "state NOT IN ('scheduled', 'queued', 'running', 'succeeded')".to_owned();
        Some(Narrow { index, condition, is_named: false })
    } else {
        None
    }
}

/// The question behind `find`, for the test that looks at its plan too.
pub(super) fn find_sql(query: &Query, sizes: Sizes) -> (String, Vec<Value>) {
    let mut conditions = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut add = |condition: &str, value: Value| {
        conditions.push(condition.to_owned());
        values.push(value);
    };
    // What is never null is written so that its index is found.
    let (time, rank, order) = match query.order {
        Order::Ended => {
            ("ended", "ended, job, nominal, series", "ended DESC, job DESC, nominal DESC, series DESC")
        }
        _ => ("nominal", "nominal, job, series", "nominal DESC, job DESC, series DESC"),
    };
    if let Some(job) = &query.job {
        add("job = ?", Value::from(job.to_string()));
    }
    if let Some(cause) = query.cause {
        add("cause = ?", Value::from(cause.name().to_owned()));
    }
    if let Some(since) = query.since {
        add(&format!("? <= {time}"), Value::from(nanoseconds(since)));
    }
    if let Some(until) = query.until {
        add(&format!("{time} < ?"), Value::from(nanoseconds(until)));
    }
    if let Some(group) = &query.without_group {
        add("+work_group IS NOT ?", Value::from(group.to_string()));
    }
    if let Some(group) = &query.group {
        add(of_group(sizes.group), Value::from(names_of_members(query)));
        values.push(Value::from(group.to_string()));
    }
    let mut index = None;
    let is_fit = |_: &Narrow| query.job.is_none() || sizes.narrow == Size::Few;
    if let Some(narrow) = narrow(query).filter(is_fit) {
        conditions.push(narrow.condition);
        index = (query.job.is_some() || narrow.is_named).then_some(narrow.index);
    }
    if !query.states.is_empty() {
        // The names are the program's own, so they may stand in the text.
        let names: Vec<String> = query.states.iter().map(|state| format!("'{state}'")).collect();
        conditions.push(format!("state IN ({})", names.join(", ")));
        if query.states.iter().all(|state| state.is_open()) {
            conditions.push("state IN ('scheduled', 'queued', 'running')".to_owned());
            index = Some("run_open");
        }
    }
    if query.order == Order::Ended {
        conditions.push("ended IS NOT NULL".to_owned());
    }
    if let Some(Cursor { key, ended, .. }) = &query.cursor {
        let (job, nominal) = (Value::from(key.job.to_string()), Value::from(nanoseconds(key.nominal)));
        let place = match query.order {
            Order::Ended => vec![ended.map(nanoseconds).map_or(Value::Null, Value::from), job, nominal],
            _ => vec![nominal, job],
        };
        let marks = vec!["?"; place.len() + 1].join(", ");
        conditions.push(format!("({rank}) < ({marks})"));
        values.extend(place);
        values.push(Value::from(i64::from(key.series)));
    }
    values.push(Value::from(page(query.limit)));
    let conditions = conditions.join(" AND ");
    let index = index.map_or(String::new(), |index| format!(" INDEXED BY {index}"));
    let sql = format!("SELECT {RUN} FROM run{index} WHERE {conditions} ORDER BY {order} LIMIT ?");
    (sql, values)
}

/// The question behind `audit`: at most as many rows as are kept.
pub(super) fn audit(connection: &Connection, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
    let sql = format!(
        "SELECT {AUDIT} FROM audit WHERE (?1 IS NULL OR actor = ?1) AND (?2 IS NULL OR target = ?2)
            AND (?3 IS NULL OR ?3 <= at) AND number < ?4 ORDER BY number DESC LIMIT ?5"
    );
    let AuditQuery { actor, target, since, before, limit, .. } = query;
    let before = before.map_or(i64::MAX, number);
    rows(
        connection,
        &sql,
        params![actor, target, since.map(nanoseconds), before, page(*limit)],
        columns::audited,
    )
}

/// The question behind `last_ended`, for the test that looks at its plan too: all jobs in one, because a
/// statement for each would cost ten times as much. The row of a job has its last run; for what has no row
/// its runs are looked at.
pub(super) fn last_ended_sql() -> String {
    let last = |column: &str| {
        format!(
            "CASE WHEN job.name IS NOT NULL THEN job.last_{column} ELSE
                (SELECT ended.{column} FROM run AS ended WHERE ended.job = wanted.value
                AND ended.state NOT IN ('scheduled', 'queued', 'running') ORDER BY ended.nominal DESC, ended.series DESC LIMIT 1) END"
        )
    };
    // Most of these names are those of columns of `job` as well.
    let columns: Vec<String> = RUN.split(',').map(|column| format!("run.{}", column.trim())).collect();
    format!(
        "SELECT {} FROM json_each(?1) AS wanted LEFT JOIN job ON job.name = wanted.value
            CROSS JOIN run ON run.job = wanted.value AND run.nominal = {} AND run.series = {}",
        columns.join(", "),
        last("nominal"),
        last("series")
    )
}

pub(super) fn last_ended(connection: &Connection, jobs: &[JobName]) -> Result<Vec<Run>, StoreError> {
    // A name has no character that JSON would escape.
    let names: Vec<String> = jobs.iter().map(|job| format!("\"{job}\"")).collect();
    rows(connection, &last_ended_sql(), params![format!("[{}]", names.join(","))], columns::run)
}

pub(super) fn run(connection: &Connection, key: &RunKey) -> Result<Option<Run>, StoreError> {
    let sql = format!("SELECT {RUN} FROM run WHERE job = ?1 AND nominal = ?2 AND series = ?3");
    let values = params![key.job.as_str(), nanoseconds(key.nominal), key.series];
    Ok(rows(connection, &sql, values, columns::run)?.pop())
}

/// Runs by a question whose columns are those of a run.
pub(super) fn runs(connection: &Connection, sql: &str, values: impl Params) -> Result<Vec<Run>, StoreError> {
    rows(connection, sql, values, columns::run)
}

/// The pending one-shot job of that id.
pub(super) fn pending(connection: &Connection, id: OnceId) -> Result<Option<Once>, StoreError> {
    let sql = format!("SELECT {PENDING} FROM pending WHERE due = ?1 AND number = ?2");
    Ok(rows(connection, &sql, params![nanoseconds(id.due), number(id.number)], columns::once)?.pop())
}

pub(super) fn attempts(connection: &Connection, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
    let sql = "SELECT number, started, ended, state, outcome, worker FROM attempt
        WHERE job = ?1 AND nominal = ?2 AND series = ?3 ORDER BY number";
    rows(connection, sql, params![key.job.as_str(), nanoseconds(key.nominal), key.series], columns::attempt)
}

pub(super) fn pending_named(connection: &Connection, name: &JobName) -> Result<Option<Once>, StoreError> {
    let found = match name.as_str().parse::<OnceId>() {
        Ok(id) => pending(connection, id)?,
        Err(_) => {
            let sql = format!("SELECT {PENDING} FROM pending WHERE name = ?1 AND is_named = 1");
            rows(connection, &sql, params![name.as_str()], columns::once)?.pop()
        }
    };
    Ok(found.filter(|once| once.name == *name))
}

pub(super) fn keyed(connection: &Connection, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
    let sql = "SELECT due, number, name FROM once_key WHERE key = ?1";
    Ok(rows(connection, sql, params![key], columns::keyed)?.pop())
}

/// What the batches have added up. A store that had no owner yet holds nothing.
const HEAD_COUNTS: &str = "SELECT coalesce(sum(jobs), 0), coalesce(sum(pending), 0), coalesce(sum(open), 0),
    coalesce(sum(runs), 0), coalesce(sum(dead), 0) FROM head";

pub(super) fn counts(connection: &Connection) -> Result<Counts, StoreError> {
    Ok(counts_by(connection, HEAD_COUNTS)?.pop().unwrap_or_default())
}

/// What is kept of the numbers of rows and is not so. Counts row by row: seconds for millions of them. One
/// statement, so that no batch comes in between.
pub(super) fn miscounts(connection: &Connection) -> Result<Option<Vec<String>>, StoreError> {
    let sql = format!(
        "{HEAD_COUNTS} UNION ALL
        SELECT (SELECT count(*) FROM job WHERE source IS NOT NULL), (SELECT count(*) FROM pending),
        (SELECT count(*) FROM run WHERE state IN ('scheduled', 'queued', 'running')), (SELECT count(*) FROM run),
        (SELECT count(*) FROM run WHERE state = 'dead')"
    );
    let mut both = counts_by(connection, &sql)?.into_iter();
    let (head, counted) = (both.next().unwrap_or_default(), both.next().unwrap_or_default());
    let pairs = [
        ("jobs", head.jobs, counted.jobs),
        ("pending jobs", head.pending, counted.pending),
        ("open runs", head.open, counted.open),
        ("runs", head.runs, counted.runs),
        ("dead letters", head.dead, counted.dead),
    ];
    let wrong = pairs.into_iter().filter(|(_, head, counted)| head != counted);
    let text = |(what, head, counted)| format!("it keeps that it has {head} {what}, and it has {counted}");
    Ok(Some(wrong.map(text).collect()))
}

fn counts_by(connection: &Connection, sql: &str) -> ReadResult<Vec<Counts>> {
    rows(connection, sql, [], columns::counts)
}

//! What the store is asked: each question is a range of a primary key or of an index, and the counts are one
//! row.

use jiff::Timestamp;
use mainspring_job::{
    Attempt, Counts, JobName, JobRecord, MAX_PAGE, Once, OnceId, Query, Run, RunKey, Shard, StoreError,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, Row, params, params_from_iter};

use super::fault::mapped;
use super::row::{self, JOB, PENDING, RUN, nanoseconds, number};

/// All rows of an answer.
fn rows<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    let mut rows = statement.query(values).map_err(mapped)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(mapped)? {
        found.push(read(row)?);
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
    rows(connection, &load_sql(), values, row::once)
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
    rows(connection, load_ids_sql(), values, row::once_id)
}

pub(super) fn jobs(connection: &Connection, shard: Shard) -> Result<(Vec<JobRecord>, bool), StoreError> {
    let jobs = rows(connection, &format!("SELECT {JOB} FROM job ORDER BY name"), [], row::job)?;
    let sql = "SELECT is_paused FROM shard WHERE shard = ?1";
    let is_paused =
        connection.query_row(sql, params![shard.0], |row| row.get(0)).optional().map_err(mapped)?;
    Ok((jobs, is_paused.unwrap_or(false)))
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
    rows(connection, &open_runs_sql(), params![job, nominal, series, page(limit)], row::run)
}

pub(super) fn find(connection: &Connection, query: &Query) -> Result<Vec<Run>, StoreError> {
    let mut conditions = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    if let Some(job) = &query.job {
        conditions.push("job = ?".to_owned());
        values.push(Value::from(job.to_string()));
    }
    if !query.states.is_empty() {
        // The names are the program's own, so they may stand in the text; then partial indices are found.
        let names: Vec<String> = query.states.iter().map(|state| format!("'{state}'")).collect();
        conditions.push(format!("state IN ({})", names.join(", ")));
    }
    if let Some(cursor) = &query.cursor {
        conditions.push("(nominal, job, series) < (?, ?, ?)".to_owned());
        values.push(Value::from(nanoseconds(cursor.nominal)));
        values.push(Value::from(cursor.job.to_string()));
        values.push(Value::from(i64::from(cursor.series)));
    }
    values.push(Value::from(page(query.limit)));
    let sql = format!(
        "SELECT {RUN} FROM run WHERE {} ORDER BY nominal DESC, job DESC, series DESC LIMIT ?",
        conditions.join(" AND ")
    );
    rows(connection, &sql, params_from_iter(values), row::run)
}

/// The question behind `last_ended`, for the test that looks at its plan too: all jobs in one, because a
/// statement for each would cost ten times as much.
pub(super) fn last_ended_sql() -> String {
    // Told to use the index, because SQLite would walk over the open runs of a job, of which there may be
    // thousands.
    let last = |column: &str| {
        format!(
            "(SELECT {column} FROM run AS ended INDEXED BY run_over WHERE ended.job = wanted.value
                AND ended.state NOT IN ('scheduled', 'queued', 'running') ORDER BY nominal DESC, series DESC LIMIT 1)"
        )
    };
    format!(
        "SELECT {RUN} FROM run WHERE (job, nominal, series) IN
            (SELECT wanted.value, {}, {} FROM json_each(?1) AS wanted)",
        last("nominal"),
        last("series")
    )
}

pub(super) fn last_ended(connection: &Connection, jobs: &[JobName]) -> Result<Vec<Run>, StoreError> {
    // A name has no character that JSON would escape.
    let names: Vec<String> = jobs.iter().map(|job| format!("\"{job}\"")).collect();
    rows(connection, &last_ended_sql(), params![format!("[{}]", names.join(","))], row::run)
}

pub(super) fn run(connection: &Connection, key: &RunKey) -> Result<Option<Run>, StoreError> {
    let sql = format!("SELECT {RUN} FROM run WHERE job = ?1 AND nominal = ?2 AND series = ?3");
    let values = params![key.job.as_str(), nanoseconds(key.nominal), key.series];
    Ok(rows(connection, &sql, values, row::run)?.pop())
}

/// Runs by a question whose columns are those of a run.
pub(super) fn runs(connection: &Connection, sql: &str, values: impl Params) -> Result<Vec<Run>, StoreError> {
    rows(connection, sql, values, row::run)
}

/// The pending one-shot job of that id.
pub(super) fn pending(connection: &Connection, id: OnceId) -> Result<Option<Once>, StoreError> {
    let sql = format!("SELECT {PENDING} FROM pending WHERE due = ?1 AND number = ?2");
    Ok(rows(connection, &sql, params![nanoseconds(id.due), number(id.number)], row::once)?.pop())
}

pub(super) fn attempts(connection: &Connection, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
    let sql = "SELECT number, started, ended, state, outcome FROM attempt
        WHERE job = ?1 AND nominal = ?2 AND series = ?3 ORDER BY number";
    rows(connection, sql, params![key.job.as_str(), nanoseconds(key.nominal), key.series], row::attempt)
}

pub(super) fn pending_named(connection: &Connection, name: &JobName) -> Result<Option<Once>, StoreError> {
    let found = match name.as_str().parse::<OnceId>() {
        Ok(id) => pending(connection, id)?,
        Err(_) => {
            let sql = format!("SELECT {PENDING} FROM pending WHERE name = ?1 AND is_named = 1");
            rows(connection, &sql, params![name.as_str()], row::once)?.pop()
        }
    };
    Ok(found.filter(|once| once.name == *name))
}

/// What the batches have added up. A store that had no owner yet holds nothing.
pub(super) fn counts(connection: &Connection) -> Result<Counts, StoreError> {
    let sql = "SELECT coalesce(sum(jobs), 0), coalesce(sum(pending), 0), coalesce(sum(open), 0),
        coalesce(sum(runs), 0), coalesce(sum(dead), 0) FROM shard";
    counts_by(connection, sql)
}

/// What is kept of the numbers of rows and is not so. Counts row by row: seconds for millions of them.
pub(super) fn miscounted(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT (SELECT count(*) FROM job WHERE source IS NOT NULL), (SELECT count(*) FROM pending),
        (SELECT count(*) FROM run WHERE state IN ('scheduled', 'queued', 'running')), (SELECT count(*) FROM run),
        (SELECT count(*) FROM run WHERE state = 'dead')";
    let (kept, counted) = (counts(connection)?, counts_by(connection, sql)?);
    let pairs = [
        ("jobs", kept.jobs, counted.jobs),
        ("pending jobs", kept.pending, counted.pending),
        ("open runs", kept.open, counted.open),
        ("runs", kept.runs, counted.runs),
        ("dead letters", kept.dead, counted.dead),
    ];
    let wrong = pairs.into_iter().filter(|(_, kept, counted)| kept != counted);
    Ok(wrong
        .map(|(what, kept, counted)| format!("it keeps that it has {kept} {what}, and it has {counted}"))
        .collect())
}

fn counts_by(connection: &Connection, sql: &str) -> Result<Counts, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    let counts = statement.query_row([], |row| {
        let count = |index| row.get::<_, i64>(index).map(|count| u64::try_from(count).unwrap_or(0));
        let mut counts = Counts::default();
        counts.jobs = count(0)?;
        counts.pending = count(1)?;
        counts.open = count(2)?;
        counts.runs = count(3)?;
        counts.dead = count(4)?;
        Ok(counts)
    });
    counts.map_err(mapped)
}

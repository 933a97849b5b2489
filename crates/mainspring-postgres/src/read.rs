//! Queries of the database: each is a range of a primary key or of an index, and the counts are one row.
//!
//! Cost: a round trip for each.
//!
//! Does not ask a replica: a standby may show what was never acknowledged, or not yet what was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use jiff::Timestamp;
use mainspring_job::{
    Attempt, AuditQuery, AuditRow, Cause, Counts, Cursor, JobName, JobRecord, MAX_PAGE, Once, OnceId, Order,
    PauseTerms, Query, Run, RunKey, RunState, StoreError, WorkerId,
};
use mainspring_rows::{self as columns, AUDIT, Columns, JOB, PENDING, RUN, ReadResult, nanoseconds, number};

use super::connection::Connection;
use super::fault::LOST;
pub(super) use super::outputs::output;
use super::row::CurrentRow;
use super::value::Value;

/// All rows of an answer.
pub(super) fn rows_of<T>(
    connection: &mut Connection,
    what: &str,
    sql: &str,
    values: &[Value],
    read: fn(&dyn Columns) -> ReadResult<T>,
) -> ReadResult<Vec<T>> {
    let found = match connection.call(what, sql, values) {
        // The session had ended since the last question, as after a restart of the database.
        Err(StoreError::Unknown) if connection.was_stale() => connection.call(what, sql, values),
        other => other,
    };
    // A question whose answer was lost was not answered, and nothing else.
    let found = found.map_err(|error| match error {
        StoreError::Unknown => StoreError::Busy(LOST.to_owned()),
        other => other,
    });
    found?.iter().map(|row| read(&CurrentRow(row))).collect()
}

/// The names are the program's own, so they may stand in the text; then partial indices are found.
fn in_states(query: &Query) -> Option<String> {
    let names: Vec<String> = query.states.iter().map(|state| format!("'{state}'")).collect();
    (!names.is_empty()).then(|| format!("state IN ({})", names.join(", ")))
}

fn page(limit: usize) -> Value {
    Value::Int(i64::try_from(limit.min(MAX_PAGE)).expect("a page is small"))
}

fn key_values(key: &RunKey) -> [Value; 3] {
    let (nominal, series) = (nanoseconds(key.nominal), i64::from(key.series));
    [Value::text(key.job.as_str()), Value::Int(nominal), Value::Int(series)]
}

fn range(after: OnceId, up_to: Timestamp, limit: usize) -> [Value; 4] {
    let (due, id_number) = (nanoseconds(after.due), number(after.number));
    [Value::Int(due), Value::Int(id_number), Value::Int(nanoseconds(up_to)), page(limit)]
}

const IN_RANGE: &str = "FROM mainspring.pending WHERE (due, number) > ($1, $2) AND due <= $3
    ORDER BY due, number LIMIT $4";

pub(super) fn load(
    connection: &mut Connection,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> ReadResult<Vec<Once>> {
    let sql = format!("SELECT {PENDING} {IN_RANGE}");
    let found = rows_of(connection, "load", &sql, &range(after, up_to, limit), columns::once)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted_by_key(|once| once.id), "the planner continues behind the last");
    Ok(found)
}

pub(super) fn load_ids(
    connection: &mut Connection,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> ReadResult<Vec<OnceId>> {
    let sql = format!("SELECT due, number {IN_RANGE}");
    let found = rows_of(connection, "load ids", &sql, &range(after, up_to, limit), columns::once_id)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted(), "the planner continues behind the last");
    Ok(found)
}

/// In the words of an index.
pub(super) fn has_pending_of(connection: &mut Connection, batch: &JobName) -> ReadResult<bool> {
    let sql = "SELECT FROM mainspring.pending WHERE policies LIKE '%batch=%'
        AND split_part(' ' || policies, ' batch=', 2) = $1 LIMIT 1";
    Ok(!rows_of(connection, "look for a batch", sql, &[Value::text(batch.as_str())], |_| Ok(()))?.is_empty())
}

pub(super) fn jobs(connection: &mut Connection) -> ReadResult<(Vec<JobRecord>, Option<PauseTerms>)> {
    let sql = format!("SELECT {JOB} FROM mainspring.job_list ORDER BY name");
    let jobs = rows_of(connection, "jobs", &sql, &[], columns::job)?;
    Ok((jobs, pause(connection)?))
}

pub(super) fn pause(connection: &mut Connection) -> ReadResult<Option<PauseTerms>> {
    let sql = "SELECT pause_until, pause_note FROM mainspring.planner WHERE is_paused";
    Ok(rows_of(connection, "pause", sql, &[], |found| columns::pause_terms(found, 0))?.pop())
}

pub(super) fn defined_from(
    connection: &mut Connection,
    first: Bound<&JobName>,
    limit: usize,
) -> ReadResult<Vec<JobRecord>> {
    // A name is not empty.
    let (place, name) = match first {
        Bound::Included(name) => ("$1 <= name", name.as_str()),
        Bound::Excluded(name) => ("$1 < name", name.as_str()),
        Bound::Unbounded => ("$1 < name", ""),
    };
    let sql = format!(
        "SELECT {JOB} FROM mainspring.job_list WHERE {place} AND source IS NOT NULL ORDER BY name LIMIT $2"
    );
    let values = [Value::text(name), page(limit)];
    let found = rows_of(connection, "a page of jobs", &sql, &values, columns::job)?;
    debug_assert!(found.is_sorted_by_key(|record| &record.mark.job), "names are ordered by their bytes");
    debug_assert!(found.len() <= limit);
    Ok(found)
}

/// The document of a start says the group; a definition is not read for it.
pub(super) fn running_of(connection: &mut Connection, group: &JobName) -> ReadResult<Vec<RunKey>> {
    let sql = "SELECT job, nominal, series FROM mainspring.open_run WHERE state = 'running' AND document IS NOT NULL
        AND document::jsonb ->> 'group' = $1 ORDER BY job, nominal, series LIMIT $2";
    let values = [Value::text(group.as_str()), page(MAX_PAGE)];
    rows_of(connection, "runs of a group", sql, &values, columns::run_key)
}

pub(super) fn planner_status(connection: &mut Connection) -> ReadResult<Option<String>> {
    planner_text(connection, "SELECT status FROM mainspring.planner")
}

pub(super) fn planner_lines(connection: &mut Connection) -> ReadResult<Option<String>> {
    planner_text(connection, "SELECT lines FROM mainspring.planner")
}

fn planner_text(connection: &mut Connection, sql: &str) -> ReadResult<Option<String>> {
    let text = |found: &dyn Columns| Ok(columns::text(found, 0)?.into_owned());
    Ok(rows_of(connection, "the planner", sql, &[], text)?.pop())
}

/// The servers and the database, as a document.
pub(super) fn cluster(connection: &mut Connection) -> ReadResult<Option<String>> {
    let sql = include_str!("cluster.sql");
    let values = [Value::Bool(connection.is_pooled())];
    let found =
        rows_of(connection, "cluster", sql, &values, |found| Ok(columns::text(found, 0)?.into_owned()))?;
    Ok(found.into_iter().next())
}

/// The machines of workers; those of lives that are long over are not known any more.
pub(super) fn hosts(
    connection: &mut Connection,
    workers: &BTreeSet<WorkerId>,
) -> ReadResult<Option<BTreeMap<WorkerId, String>>> {
    if workers.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let ids = Value::Ints(workers.iter().map(|worker| number(worker.0)).collect());
    let sql = "SELECT id, host FROM mainspring.worker_life WHERE id = ANY ($1)";
    let host = |found: &dyn Columns| {
        let id = found.maybe_integer(0)?.map(columns::unsigned).unwrap_or_default();
        Ok((WorkerId(id), columns::text(found, 1)?.into_owned()))
    };
    Ok(Some(rows_of(connection, "hosts", sql, &[ids], host)?.into_iter().collect()))
}

/// How far what runs at workers is, as each has told it.
pub(super) fn progress(connection: &mut Connection) -> ReadResult<Vec<String>> {
    let sql = "SELECT progress FROM mainspring.worker WHERE progress <> ''";
    let text = |found: &dyn Columns| Ok(columns::text(found, 0)?.into_owned());
    rows_of(connection, "progress", sql, &[], text)
}

/// All sources from which definitions ever came.
pub(super) fn shared_sources(connection: &mut Connection) -> ReadResult<Option<BTreeSet<String>>> {
    let sql = "SELECT unnest(sources) FROM mainspring.planner";
    let text = |found: &dyn Columns| Ok(columns::text(found, 0)?.into_owned());
    Ok(Some(rows_of(connection, "sources", sql, &[], text)?.into_iter().collect()))
}

pub(super) fn open_runs(
    connection: &mut Connection,
    after: Option<&RunKey>,
    limit: usize,
) -> ReadResult<Vec<Run>> {
    let first = || [Value::Text(String::new()), Value::Int(i64::MIN), Value::Int(0)];
    let [job, nominal, series] = after.map_or_else(first, key_values);
    let sql = format!(
        "SELECT {RUN} FROM mainspring.open_run WHERE (job, nominal, series) > ($1, $2, $3)
            ORDER BY job, nominal, series LIMIT $4"
    );
    let values = [job, nominal, series, page(limit)];
    let found = rows_of(connection, "open runs", &sql, &values, columns::run)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted_by_key(|run| &run.key), "the next page begins behind the last");
    debug_assert!(found.iter().all(|run| run.state.is_open()));
    Ok(found)
}

pub(super) fn find(connection: &mut Connection, query: &Query) -> ReadResult<Vec<Run>> {
    let (sql, values) = find_sql(query);
    let found = rows_of(connection, "find", &sql, &values, columns::run)?;
    debug_assert!(found.len() <= query.limit);
    debug_assert!(query.states.is_empty() || found.iter().all(|run| query.states.contains(&run.state)));
    Ok(found)
}

fn find_sql(query: &Query) -> (String, Vec<Value>) {
    let mut conditions = vec!["true".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut place = |value: Value| {
        values.push(value);
        format!("${}", values.len())
    };
    let (time, rank, order) = match query.order {
        Order::Ended => {
            ("ended", "ended, job, nominal, series", "ended DESC, job DESC, nominal DESC, series DESC")
        }
        _ => ("nominal", "nominal, job, series", "nominal DESC, job DESC, series DESC"),
    };
    if let Some(job) = &query.job {
        conditions.push(format!("job = {}", place(Value::text(job.as_str()))));
    }
    if let Some(cause) = query.cause {
        conditions.push(format!("cause = {}", place(Value::text(cause.name()))));
    }
    if let Some(since) = query.since {
        conditions.push(format!("{} <= {time}", place(Value::Int(nanoseconds(since)))));
    }
    if let Some(until) = query.until {
        conditions.push(format!("{time} < {}", place(Value::Int(nanoseconds(until)))));
    }
    if let Some(group) = &query.group {
        let members = place(Value::Texts(query.members.iter().map(ToString::to_string).collect()));
        let named = place(Value::text(group.as_str()));
        conditions.push(format!("(job = ANY ({members}) OR work_group = {named})"));
    }
    if let Some(group) = &query.without_group {
        conditions.push(format!("work_group IS DISTINCT FROM {}", place(Value::text(group.as_str()))));
    }
    conditions.extend(in_states(query));
    if query.order == Order::Ended {
        conditions.push("ended IS NOT NULL".to_owned());
    }
    if let Some(Cursor { key, ended, .. }) = &query.cursor {
        let mut places = Vec::new();
        if query.order == Order::Ended {
            places.push(place(Value::MaybeInt(ended.map(nanoseconds))));
            places.push(place(Value::text(key.job.as_str())));
            places.push(place(Value::Int(nanoseconds(key.nominal))));
        } else {
            places.push(place(Value::Int(nanoseconds(key.nominal))));
            places.push(place(Value::text(key.job.as_str())));
        }
        places.push(place(Value::Int(i64::from(key.series))));
        conditions.push(format!("({rank}) < ({})", places.join(", ")));
    }
    let limit = place(page(query.limit));
    let conditions = conditions.join(" AND ");
    // A page of each part, out of which the page is taken: of the view the database would sort every row.
    let page_of = |(table, part): &(&str, &str)| {
        format!(
            "(SELECT {RUN} FROM mainspring.{table} WHERE {part} AND {conditions} ORDER BY {order} LIMIT {limit})"
        )
    };
    let found = parts(query).iter().map(page_of).collect::<Vec<String>>().join(" UNION ALL ");
    (format!("SELECT {RUN} FROM ({found}) AS found ORDER BY {order} LIMIT {limit}"), values)
}

/// Where the runs are that a question may mean, so that each part has an index for the order.
fn parts(query: &Query) -> Vec<(&'static str, &'static str)> {
    let has = |is_open: bool| {
        query.states.is_empty() || query.states.iter().any(|state| state.is_open() == is_open)
    };
    let mut parts = Vec::new();
    if has(true) {
        parts.push(("open_run", "true"));
    }
    let is_other = |state: &RunState| *state != RunState::Succeeded;
    let is_rare = |cause: Cause| !matches!(cause, Cause::Trigger | Cause::Once);
    if has(false) {
        match query.order {
            // A partial index is found by its own condition. Without it all runs would be read for a state
            // that few of them are in, or for a cause that few of them have.
            _ if !query.states.is_empty() && query.states.iter().all(is_other) => {
                parts.push(("history", "state <> 'succeeded'"));
            }
            _ if query.cause.is_some_and(is_rare) => {
                parts.push(("history", "cause NOT IN ('trigger', 'once')"));
            }
            _ => parts.extend([("history", "cause = 'once'"), ("history", "cause <> 'once'")]),
        }
    }
    parts
}

pub(super) fn last_ended(connection: &mut Connection, jobs: &[JobName]) -> ReadResult<Vec<Run>> {
    let sql = format!(
        "SELECT {RUN} FROM unnest($1) AS wanted (name) CROSS JOIN LATERAL (
            SELECT * FROM mainspring.history AS r WHERE r.job = wanted.name
            ORDER BY r.job DESC, r.nominal DESC, r.series DESC LIMIT 1) AS r"
    );
    let names = jobs.iter().map(ToString::to_string).collect();
    rows_of(connection, "last runs", &sql, &[Value::Texts(names)], columns::run)
}

pub(super) fn run(connection: &mut Connection, key: &RunKey) -> ReadResult<Option<Run>> {
    let sql = format!("SELECT {RUN} FROM mainspring.run WHERE job = $1 AND nominal = $2 AND series = $3");
    Ok(rows_of(connection, "run", &sql, &key_values(key), columns::run)?.pop())
}

pub(super) fn attempts(connection: &mut Connection, key: &RunKey) -> ReadResult<Vec<Attempt>> {
    let sql = "SELECT number, started, ended, state, outcome, worker FROM mainspring.attempt
        WHERE job = $1 AND nominal = $2 AND series = $3 ORDER BY number";
    rows_of(connection, "attempts", sql, &key_values(key), columns::attempt)
}

pub(super) fn pending_named(connection: &mut Connection, name: &JobName) -> ReadResult<Option<Once>> {
    let (condition, values) = match name.as_str().parse::<OnceId>() {
        Ok(id) => {
            let values = [Value::Int(nanoseconds(id.due)), Value::Int(number(id.number))];
            ("due = $1 AND number = $2", values.to_vec())
        }
        Err(_) => ("name = $1 AND is_named", vec![Value::text(name.as_str())]),
    };
    let sql = format!("SELECT {PENDING} FROM mainspring.pending WHERE {condition}");
    let found = rows_of(connection, "pending job", &sql, &values, columns::once)?.pop();
    Ok(found.filter(|once| once.name == *name))
}

pub(super) fn keyed(connection: &mut Connection, key: &str) -> ReadResult<Option<(OnceId, JobName)>> {
    let sql = "SELECT due, number, name FROM mainspring.once_key WHERE key = $1";
    Ok(rows_of(connection, "key", sql, &[Value::text(key)], columns::keyed)?.pop())
}

/// What the batches have added up.
pub(super) fn counts(connection: &mut Connection) -> ReadResult<Counts> {
    let sql = "SELECT jobs, pending, open, runs, dead FROM mainspring.planner";
    Ok(rows_of(connection, "counts", sql, &[], columns::counts)?.pop().unwrap_or_default())
}

pub(super) fn audit(connection: &mut Connection, query: &AuditQuery) -> ReadResult<Vec<AuditRow>> {
    let sql = format!(
        "SELECT {AUDIT} FROM mainspring.audit WHERE ($1 IS NULL OR actor = $1) AND ($2 IS NULL OR target = $2)
            AND ($3 IS NULL OR $3 <= at) AND number < $4 ORDER BY number DESC LIMIT $5"
    );
    let AuditQuery { actor, target, since, before, limit, .. } = query;
    let values = [
        Value::maybe_text(actor.as_deref()),
        Value::maybe_text(target.as_deref()),
        Value::MaybeInt(since.map(nanoseconds)),
        Value::Int(before.map_or(i64::MAX, number)),
        page(*limit),
    ];
    rows_of(connection, "audit", &sql, &values, columns::audited)
}

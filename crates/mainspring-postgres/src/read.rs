//! Queries of the database: each is a range of a primary key or of an index, and the counts are one row.
//!
//! Cost: a round trip for each.
//!
//! Does not ask a replica: a standby may show what was never acknowledged, or not yet what was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use mainspring_job::{
    Cause, JobName, JobRecord, MAX_PAGE, Query, Run, RunKey, RunState, StoreError, WorkerId,
};
use mainspring_rows::questions::{Conditions, Database, names_group, page};
pub(super) use mainspring_rows::questions::{
    attempts, audit, counts, find, has_pending_of, jobs, keyed, load, load_ids, open_runs, pause,
    pending_named, run,
};
use mainspring_rows::{self as columns, Columns, JOB, RUN, ReadResult, number};

use super::connection::Connection;
use super::fault::LOST;
pub(super) use super::outputs::output;
use super::row::CurrentRow;
use super::value::Value;

impl Database for Connection {
    type Value = Value;
    const SCHEMA: &'static str = "mainspring.";
    const HEAD: &'static str = "mainspring.planner";
    const JOBS: &'static str = "mainspring.job_list";
    const OPEN_RUNS: &'static str = "mainspring.open_run WHERE true";
    const IS_NAMED: &'static str = "is_named";
    const OF_BATCH: &'static str = "policies LIKE '%batch=%' AND split_part(' ' || policies, ' batch=', 2)";

    fn rows<T>(
        &mut self,
        what: &str,
        sql: &str,
        values: Vec<Value>,
        read: fn(&dyn Columns) -> ReadResult<T>,
    ) -> ReadResult<Vec<T>> {
        let found = match self.call(what, sql, &values) {
            // The session had ended since the last question, as after a restart of the database.
            Err(StoreError::Unknown) if self.was_stale() => self.call(what, sql, &values),
            other => other,
        };
        // A question whose answer was lost was not answered, and nothing else.
        let found = found.map_err(|error| match error {
            StoreError::Unknown => StoreError::Busy(LOST.to_owned()),
            other => other,
        });
        found?.iter().map(|row| read(&CurrentRow(row))).collect()
    }

    fn find_sql(&mut self, query: &Query) -> ReadResult<(String, Vec<Value>)> {
        let (mut conditions, order) = Conditions::<Value>::of_runs(query);
        if let Some(group) = &query.group {
            let members = Value::Texts(query.members.iter().map(ToString::to_string).collect());
            let (members, named) = (conditions.place(members), conditions.place(group.to_string()));
            let named = names_group("work_group", &named);
            conditions.push(format!("(job = ANY ({members}) OR {named})"));
        }
        let (text, limit) = (conditions.text(), conditions.place(page(query.limit)));
        // A page of each part, out of which the page is taken: of the view the database would sort every row.
        let page_of = |(table, part): &(&str, &str)| {
            format!(
                "(SELECT {RUN} FROM mainspring.{table} WHERE {part} AND {text} ORDER BY {order} LIMIT {limit})"
            )
        };
        let found = parts(query).iter().map(page_of).collect::<Vec<String>>().join(" UNION ALL ");
        let sql = format!("SELECT {RUN} FROM ({found}) AS found ORDER BY {order} LIMIT {limit}");
        Ok((sql, conditions.values))
    }
}

/// The texts of an answer with one column.
fn texts(connection: &mut Connection, what: &str, sql: &str, values: Vec<Value>) -> ReadResult<Vec<String>> {
    connection.rows(what, sql, values, |row| Ok(columns::text(row, 0)?.into_owned()))
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
    let values = vec![Value::text(name), page(limit).into()];
    let found = connection.rows("a page of jobs", &sql, values, columns::job)?;
    debug_assert!(found.is_sorted_by_key(|record| &record.mark.job), "names are ordered by their bytes");
    debug_assert!(found.len() <= limit);
    Ok(found)
}

/// The document of a start says the group; a definition is not read for it.
pub(super) fn running_of(connection: &mut Connection, group: &JobName) -> ReadResult<Vec<RunKey>> {
    let sql = "SELECT job, nominal, series FROM mainspring.open_run WHERE state = 'running' AND document IS NOT NULL
        AND document::jsonb ->> 'group' = $1 ORDER BY job, nominal, series LIMIT $2";
    let values = vec![Value::text(group.as_str()), page(MAX_PAGE).into()];
    connection.rows("runs of a group", sql, values, columns::run_key)
}

pub(super) fn planner_status(connection: &mut Connection) -> ReadResult<Option<String>> {
    Ok(texts(connection, "the planner", "SELECT status FROM mainspring.planner", Vec::new())?.pop())
}

pub(super) fn planner_lines(connection: &mut Connection) -> ReadResult<Option<String>> {
    Ok(texts(connection, "the planner", "SELECT lines FROM mainspring.planner", Vec::new())?.pop())
}

/// The servers and the database, as a document.
pub(super) fn cluster(connection: &mut Connection) -> ReadResult<Option<String>> {
    let values = vec![Value::Bool(connection.is_pooled())];
    Ok(texts(connection, "cluster", include_str!("cluster.sql"), values)?.pop())
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
    Ok(Some(connection.rows("hosts", sql, vec![ids], host)?.into_iter().collect()))
}

/// How far what runs at workers is, as each has told it.
pub(super) fn progress(connection: &mut Connection) -> ReadResult<Vec<String>> {
    let sql = "SELECT progress FROM mainspring.worker WHERE progress <> ''";
    texts(connection, "progress", sql, Vec::new())
}

/// All sources from which definitions ever came.
pub(super) fn shared_sources(connection: &mut Connection) -> ReadResult<Option<BTreeSet<String>>> {
    let sql = "SELECT unnest(sources) FROM mainspring.planner";
    Ok(Some(texts(connection, "sources", sql, Vec::new())?.into_iter().collect()))
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
    // A partial index is found by its own condition. Without it all runs would be read for a state that few
    // of them are in, or for a cause that few of them have.
    if !has(false) {
        // None of them is over.
    } else if !query.states.is_empty() && query.states.iter().all(is_other) {
        parts.push(("history", "state <> 'succeeded'"));
    } else if query.cause.is_some_and(is_rare) {
        parts.push(("history", "cause NOT IN ('trigger', 'once')"));
    } else {
        parts.extend([("history", "cause = 'once'"), ("history", "cause <> 'once'")]);
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
    connection.rows("last runs", &sql, vec![Value::Texts(names)], columns::run)
}

//! The questions to the store. Each is a range of a primary key or of an index; the counts are one row.

use mainspring_job::{Cause, JobName, Order, Query, Run, RunState, StoreError};
use mainspring_rows::questions::{Conditions, Database, names_group, page};
pub(super) use mainspring_rows::questions::{
    attempts, audit, counts, find, has_pending_of, jobs, keyed, load, load_ids, open_runs, pending,
    pending_named, run,
};
use mainspring_rows::{self as columns, Columns, RUN, ReadResult};
use rusqlite::types::Value;
use rusqlite::{Connection, Params, params, params_from_iter};

use super::connection::first;
use super::fault::mapped;
use super::row::CurrentRow;

/// A connection that is asked something.
pub(super) struct AskedConnection<'c>(pub(super) &'c Connection);

impl Database for AskedConnection<'_> {
    type Value = Value;
    const SCHEMA: &'static str = "";
    const HEAD: &'static str = "head";
    const JOBS: &'static str = "job";
    const OPEN_RUNS: &'static str = "run WHERE state IN ('scheduled', 'queued', 'running')";
    const IS_NAMED: &'static str = "is_named = 1";
    const OF_BATCH: &'static str = "0 < instr(' ' || policies, ' batch=')
        AND substr(' ' || policies, instr(' ' || policies, ' batch=') + 7)";

    fn rows<T>(
        &mut self,
        _what: &str,
        sql: &str,
        values: Vec<Value>,
        read: fn(&dyn Columns) -> ReadResult<T>,
    ) -> ReadResult<Vec<T>> {
        let mut statement = self.0.prepare_cached(sql).map_err(mapped)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(mapped)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(mapped)? {
            found.push(read(&CurrentRow(row))?);
        }
        Ok(found)
    }

    fn find_sql(&mut self, query: &Query) -> ReadResult<(String, Vec<Value>)> {
        Ok(find_sql(query, Sizes { group: group_size(self.0, query)?, narrow: narrow_size(self.0, query)? }))
    }
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
    let sql = format!("FROM run WHERE {}", of_group(Size::Few, "?1", "?2"));
    size(connection, &sql, params![names(&query.members), group.as_str()])
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
    let count: Option<u32> = first(connection, &sql, values, |row| row.get(0))?;
    Ok(if count < Some(FEW) { Size::Few } else { Size::Many })
}

/// The condition of a group's runs: those of its jobs, and one-shot runs with this group. A plus sign keeps
/// the indexes of a column out of the plan.
fn of_group(size: Size, members: &str, named: &str) -> String {
    let plus = if size == Size::Few { "" } else { "+" };
    format!(
        "({plus}job IN (SELECT value FROM json_each({members})) OR {})",
        names_group(&format!("{plus}work_group"), named)
    )
}

/// Names as a list that SQLite reads.
fn names(jobs: &[JobName]) -> String {
    // A name has no character that JSON would escape.
    let names: Vec<String> = jobs.iter().map(|job| format!("\"{job}\"")).collect();
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

/// The question for runs, for the test that looks at its plan too.
pub(super) fn find_sql(query: &Query, sizes: Sizes) -> (String, Vec<Value>) {
    let (mut conditions, order) = Conditions::<Value>::of_runs(query);
    if let Some(group) = &query.group {
        let (members, named) = (conditions.place(names(&query.members)), conditions.place(group.to_string()));
        conditions.push(of_group(sizes.group, &members, &named));
    }
    let mut index = None;
    let is_fit = |_: &Narrow| query.job.is_none() || sizes.narrow == Size::Few;
    if let Some(narrow) = narrow(query).filter(is_fit) {
        conditions.push(narrow.condition);
        index = (query.job.is_some() || narrow.is_named).then_some(narrow.index);
    }
    if !query.states.is_empty() && query.states.iter().all(|state| state.is_open()) {
        conditions.push("state IN ('scheduled', 'queued', 'running')".to_owned());
        index = Some("run_open");
    }
    let limit = conditions.place(page(query.limit));
    let index = index.map_or(String::new(), |index| format!(" INDEXED BY {index}"));
    let text = conditions.text();
    let sql = format!("SELECT {RUN} FROM run{index} WHERE {text} ORDER BY {order} LIMIT {limit}");
    (sql, conditions.values)
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

pub(super) fn last_ended(database: &mut AskedConnection<'_>, jobs: &[JobName]) -> ReadResult<Vec<Run>> {
    database.rows("last runs", &last_ended_sql(), vec![names(jobs).into()], columns::run)
}

/// What is kept of the numbers of rows and is not so. Counts row by row: seconds for millions of them. One
/// statement, so that no batch comes in between.
pub(super) fn miscounts(database: &mut AskedConnection<'_>) -> ReadResult<Option<Vec<String>>> {
    // A store that had no owner yet holds nothing.
    let sql = "SELECT coalesce(sum(jobs), 0), coalesce(sum(pending), 0), coalesce(sum(open), 0),
        coalesce(sum(runs), 0), coalesce(sum(dead), 0) FROM head UNION ALL
        SELECT (SELECT count(*) FROM job WHERE source IS NOT NULL), (SELECT count(*) FROM pending),
        (SELECT count(*) FROM run WHERE state IN ('scheduled', 'queued', 'running')), (SELECT count(*) FROM run),
        (SELECT count(*) FROM run WHERE state = 'dead')";
    let mut both = database.rows("count", sql, Vec::new(), columns::counts)?.into_iter();
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

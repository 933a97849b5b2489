//! Queries of the database: each is a range of a primary key or of an index, and the counts are one row.
//!
//! What large batches have left in the write buffer is written into the tables before a question of them, and
//! of the runs that are in archive blocks those are made rows that may belong to the answer.
//!
//! Cost: a round trip for each, one for the look at the write buffer, and one for that at the archive blocks.
//! Each run out of an archive block costs some 20 us, once.
//!
//! Does not ask a replica: a standby may show what was never acknowledged, or not yet what was.

use std::collections::BTreeSet;

use jiff::Timestamp;
use mainspring_job::{
    Attempt, AuditQuery, AuditRow, Cause, Counts, Cursor, JobName, JobRecord, MAX_PAGE, Once, OnceId, Order,
    PauseTerms, Query, Run, RunKey, RunState, StoreError,
};
use mainspring_rows::{self as columns, AUDIT, Columns, JOB, PENDING, RUN, ReadResult, nanoseconds, number};

use super::connection::Connection;
use super::row::CurrentRow;
use super::shard::Shard;
use super::value::Value;

/// All rows of an answer.
pub(super) fn rows_of<T>(
    connection: &mut Connection,
    what: &str,
    sql: &str,
    values: &[Value],
    read: fn(&dyn Columns) -> ReadResult<T>,
) -> ReadResult<Vec<T>> {
    // A question whose answer was lost was not answered, and nothing else.
    let found = connection.call(what, sql, values).map_err(|error| match error {
        StoreError::Unknown => StoreError::Busy,
        other => other,
    });
    found?.iter().map(|row| read(&CurrentRow(row))).collect()
}

/// Has what owners have put into the write buffer written into the tables, if there is anything: before each
/// question of a table that the write buffer has a part of.
pub(super) fn flush(connection: &mut Connection) -> ReadResult<()> {
    let sql = "SELECT mainspring.settle_entries()::text WHERE EXISTS (SELECT FROM mainspring.entry)";
    rows_of(connection, "settle the journal", sql, &[], |_| Ok(())).map(drop)
}

/// The same, and jobs that may be in archive blocks become rows. Only one-shot jobs without a name of their
/// own are there.
pub(super) fn flush_for<'j>(
    connection: &mut Connection,
    jobs: impl IntoIterator<Item = &'j JobName>,
) -> ReadResult<()> {
    let ids = jobs.into_iter().filter_map(|name| name.as_str().parse::<OnceId>().ok());
    let numbers: Vec<i64> = ids.map(|id| number(id.number)).collect();
    flush(connection)?;
    if numbers.is_empty() {
        return Ok(());
    }
    let sql = "SELECT mainspring.open_packs_of($1)::text WHERE EXISTS (SELECT FROM mainspring.pack)";
    rows_of(connection, "open packs", sql, &[Value::Ints(numbers)], |_| Ok(())).map(drop)
}

/// The same for a page of runs.
fn flush_page(connection: &mut Connection, shard: Shard, query: &Query) -> ReadResult<()> {
    if let Some(job) = &query.job {
        return flush_for(connection, [job]);
    }
    flush(connection)?;
    let has_success = query.states.is_empty() || query.states.contains(&RunState::Succeeded);
    if !has_success || query.cause.is_some_and(|cause| cause != Cause::Once) {
        return Ok(());
    }
    let by_end = query.order == Order::Ended;
    let cursor = query.cursor.as_ref().map(|Cursor { key, ended, .. }| match ended {
        Some(ended) if by_end => *ended,
        _ => key.nominal,
    });
    // A page ends before `until`, and where a cursor is there may be more.
    let before = query.until.map_or(i64::MAX, |until| nanoseconds(until).saturating_sub(1));
    let until = cursor.map_or(before, |cursor| nanoseconds(cursor).min(before));
    // Of which rows it is certain that they are on the page; of a group it is not.
    let mut on_page = in_states(query).unwrap_or_else(|| "true".to_owned());
    if query.cause.is_some() {
        on_page.push_str(" AND cause = 'once'");
    }
    if query.group.is_some() {
        on_page.clear();
    }
    let sql = "SELECT mainspring.open_page($1, $2 <> 0, $3, $4, $5, $6)::text
        WHERE EXISTS (SELECT FROM mainspring.pack)";
    let values = [
        Value::MaybeInt((shard != Shard::EVERY).then(|| i64::from(shard.0))),
        Value::Int(i64::from(by_end)),
        Value::Int(query.since.map_or(i64::MIN, nanoseconds)),
        Value::Int(until),
        page(query.limit),
        Value::Text(on_page),
    ];
    rows_of(connection, "open packs", sql, &values, |_| Ok(())).map(drop)
}

/// The names are the program's own, so they may stand in the text; then partial indices are found.
fn in_states(query: &Query) -> Option<String> {
    let names: Vec<String> = query.states.iter().map(|state| format!("'{state}'")).collect();
    (!names.is_empty()).then(|| format!("state IN ({})", names.join(", ")))
}

fn page(limit: usize) -> Value {
    Value::Int(i64::try_from(limit.min(MAX_PAGE)).expect("a page is small"))
}

fn of(shard: Shard) -> Value {
    Value::Int(i64::from(shard.0))
}

fn key_values(key: &RunKey) -> [Value; 3] {
    let (nominal, series) = (nanoseconds(key.nominal), i64::from(key.series));
    [Value::text(key.job.as_str()), Value::Int(nominal), Value::Int(series)]
}

fn range(shard: Shard, after: OnceId, up_to: Timestamp, limit: usize) -> [Value; 5] {
    let (due, id_number) = (nanoseconds(after.due), number(after.number));
    [of(shard), Value::Int(due), Value::Int(id_number), Value::Int(nanoseconds(up_to)), page(limit)]
}

const IN_RANGE: &str = "FROM mainspring.pending WHERE shard = $1 AND (due, number) > ($2, $3) AND due <= $4
    ORDER BY due, number LIMIT $5";

/// The same of all shards: a page of each, out of which the page is taken.
const IN_ALL: &str = "FROM (SELECT s.shard AS each FROM mainspring.shard AS s WHERE $1 = $1) AS e CROSS JOIN LATERAL (
    SELECT * FROM mainspring.pending AS p WHERE p.shard = e.each AND (p.due, p.number) > ($2, $3) AND p.due <= $4
    ORDER BY p.due, p.number LIMIT $5) AS found ORDER BY due, number LIMIT $5";

fn in_range(shard: Shard) -> &'static str {
    if shard == Shard::EVERY { IN_ALL } else { IN_RANGE }
}

pub(super) fn load(
    connection: &mut Connection,
    shard: Shard,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> ReadResult<Vec<Once>> {
    flush(connection)?;
    let sql = format!("SELECT {PENDING} {}", in_range(shard));
    rows_of(connection, "load", &sql, &range(shard, after, up_to, limit), columns::once)
}

pub(super) fn load_ids(
    connection: &mut Connection,
    shard: Shard,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> ReadResult<Vec<OnceId>> {
    flush(connection)?;
    let sql = format!("SELECT due, number {}", in_range(shard));
    rows_of(connection, "load ids", &sql, &range(shard, after, up_to, limit), columns::once_id)
}

pub(super) fn jobs(
    connection: &mut Connection,
    shard: Shard,
) -> ReadResult<(Vec<JobRecord>, Option<PauseTerms>)> {
    let sql = format!("SELECT {JOB} FROM mainspring.job WHERE shard = $1 ORDER BY name");
    let jobs = rows_of(connection, "jobs", &sql, &[of(shard)], columns::job)?;
    let sql = "SELECT pause_until, pause_note FROM mainspring.shard WHERE shard = $1 AND is_paused";
    let paused =
        rows_of(connection, "pause", sql, &[of(shard)], |found| columns::pause_terms(found, 0))?.pop();
    Ok((jobs, paused))
}

/// The servers and the database, as a document. Beside what the function of the database says it has the
/// places in which another role may create something that a session, or a pooler's, looks for names in, and
/// how much the role may not see: without `pg_read_all_stats` the database shows it NULL for others.
pub(super) fn cluster(connection: &mut Connection, shard: Shard) -> ReadResult<Option<String>> {
    let sql = "SELECT jsonb_set(c.found, '{database}', (c.found -> 'database') || jsonb_build_object(
            'role', quote_ident(current_user),
            'unseen_standbys', (SELECT count(*) FROM pg_stat_replication AS r WHERE r.sync_state IS NULL),
            'unseen_sessions', (SELECT count(*) FROM pg_stat_activity AS a
                WHERE a.datname = current_database() AND a.usesysid IS NOT NULL AND a.backend_type IS NULL),
            'others_create_in', (SELECT coalesce(jsonb_agg(p.place ORDER BY p.place), '[]') FROM (
                SELECT 'the schema ' || n.nspname, n.nspowner, coalesce(n.nspacl, acldefault('n', n.nspowner))
                    FROM pg_namespace AS n WHERE n.nspname IN ('mainspring', 'pg_catalog', 'public')
                UNION ALL SELECT 'the database ' || d.datname, d.datdba, coalesce(d.datacl, acldefault('d', d.datdba))
                    FROM pg_database AS d WHERE d.datname = current_database()) AS p (place, owner, acl)
            WHERE EXISTS (SELECT FROM aclexplode(p.acl) AS a LEFT JOIN pg_roles AS r ON r.oid = a.grantee
                WHERE a.privilege_type = 'CREATE' AND a.grantee <> p.owner
                AND NOT coalesce(r.rolsuper OR r.rolname = session_user, false)))))::text
        FROM (SELECT mainspring.cluster_1($1, $2 <> 0)::jsonb) AS c (found)";
    let values = [Value::Int(i64::from(shard.0)), Value::Int(i64::from(connection.is_pooled()))];
    let found =
        rows_of(connection, "cluster", sql, &values, |found| Ok(columns::text(found, 0)?.into_owned()))?;
    Ok(found.into_iter().next())
}

/// All sources from which definitions of a shard ever came.
pub(super) fn sources(connection: &mut Connection, shard: Shard) -> ReadResult<BTreeSet<String>> {
    let sql = "SELECT name FROM mainspring.source_part WHERE shard = $1";
    let text = |found: &dyn Columns| Ok(columns::text(found, 0)?.into_owned());
    Ok(rows_of(connection, "sources", sql, &[of(shard)], text)?.into_iter().collect())
}

pub(super) fn open_runs(
    connection: &mut Connection,
    shard: Shard,
    after: Option<&RunKey>,
    limit: usize,
) -> ReadResult<Vec<Run>> {
    flush(connection)?;
    let first = || [Value::Text(String::new()), Value::Int(i64::MIN), Value::Int(0)];
    let [job, nominal, series] = after.map_or_else(first, key_values);
    let sql = format!(
        "SELECT {RUN} FROM mainspring.open_run WHERE shard = $1
            AND (job, nominal, series) > ($2, $3, $4) ORDER BY job, nominal, series LIMIT $5"
    );
    rows_of(connection, "open runs", &sql, &[of(shard), job, nominal, series, page(limit)], columns::run)
}

pub(super) fn find(connection: &mut Connection, shard: Shard, query: &Query) -> ReadResult<Vec<Run>> {
    flush_page(connection, shard, query)?;
    let (sql, values) = find_sql(shard, query);
    rows_of(connection, "find", &sql, &values, columns::run)
}

fn find_sql(shard: Shard, query: &Query) -> (String, Vec<Value>) {
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
    if shard != Shard::EVERY {
        conditions.push(format!("shard = {}", place(of(shard))));
    }
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
            Order::Ended => parts.push(("history", "true")),
            _ => parts.extend([("history", "cause = 'once'"), ("history", "cause <> 'once'")]),
        }
    }
    parts
}

/// The row of a job has its last run; for what has no row its runs are looked at.
pub(super) fn last_ended(connection: &mut Connection, jobs: &[JobName]) -> ReadResult<Vec<Run>> {
    flush_for(connection, jobs)?;
    let columns: Vec<String> = RUN.split(", ").map(|column| format!("r.{}", column.trim())).collect();
    let sql = format!(
        "SELECT {} FROM unnest($1) AS wanted (name) LEFT JOIN mainspring.job AS j ON j.name = wanted.name
        CROSS JOIN LATERAL (SELECT * FROM mainspring.history AS r WHERE r.job = wanted.name
            AND (j.name IS NULL OR (r.nominal, r.series) = (j.last_nominal, j.last_series))
            ORDER BY r.nominal DESC, r.series DESC LIMIT 1) AS r",
        columns.join(", ")
    );
    let names = jobs.iter().map(ToString::to_string).collect();
    rows_of(connection, "last runs", &sql, &[Value::Texts(names)], columns::run)
}

pub(super) fn run(connection: &mut Connection, key: &RunKey) -> ReadResult<Option<Run>> {
    flush_for(connection, [&key.job])?;
    let sql = format!("SELECT {RUN} FROM mainspring.run WHERE job = $1 AND nominal = $2 AND series = $3");
    Ok(rows_of(connection, "run", &sql, &key_values(key), columns::run)?.pop())
}

pub(super) fn attempts(connection: &mut Connection, key: &RunKey) -> ReadResult<Vec<Attempt>> {
    flush_for(connection, [&key.job])?;
    let sql = "SELECT number, started, ended, state, outcome FROM mainspring.attempt
        WHERE job = $1 AND nominal = $2 AND series = $3 ORDER BY number";
    rows_of(connection, "attempts", sql, &key_values(key), columns::attempt)
}

pub(super) fn pending_named(connection: &mut Connection, name: &JobName) -> ReadResult<Option<Once>> {
    flush(connection)?;
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
    flush(connection)?;
    let sql = "SELECT due, number, name FROM mainspring.once_key WHERE key = $1";
    Ok(rows_of(connection, "key", sql, &[Value::text(key)], columns::keyed)?.pop())
}

/// What the batches have added up.
pub(super) fn counts(connection: &mut Connection, shard: Shard) -> ReadResult<Counts> {
    flush(connection)?;
    let sql = if shard == Shard::EVERY {
        "SELECT sum(jobs)::int8, sum(pending)::int8, sum(open)::int8, sum(runs)::int8, sum(dead)::int8
            FROM mainspring.shard WHERE shard <> $1"
    } else {
        "SELECT jobs, pending, open, runs, dead FROM mainspring.shard WHERE shard = $1"
    };
    Ok(rows_of(connection, "counts", sql, &[of(shard)], columns::counts)?.pop().unwrap_or_default())
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

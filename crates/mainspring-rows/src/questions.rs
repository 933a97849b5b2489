//! The questions that both stores answer, in words that both databases understand.
//!
//! ```text
//!  question ─▶ SQL, values ─▶ Database::rows ─▶ run, once, job, attempt, audited
//! ```
//!
//! A value stands in the text as `$1`, `$2`, .., each for the first time after the one before: SQLite numbers
//! such names in that order, as PostgreSQL numbers its places.
//!
//! Cost: one statement for each question, which is a range of a primary key or of an index.
//!
//! Does not know by which index runs are found: see [`Database::find_sql`].

use jiff::Timestamp;
use mainspring_job::{
    Attempt, AuditQuery, AuditRow, Counts, Cursor, JobName, JobRecord, MAX_PAGE, Once, OnceId, Order,
    PauseTerms, Query, Run, RunKey,
};

use crate as columns;
use crate::{AUDIT, Columns, JOB, ONCE_KEY, PENDING, RUN, ReadResult, nanoseconds, number};

/// A database of either kind.
pub trait Database {
    /// What stands in the place of a value.
    type Value: From<String> + From<i64> + From<Option<i64>>;

    /// What stands before the name of a table that both have.
    const SCHEMA: &'static str;

    /// The table of the owner.
    const HEAD: &'static str;

    /// The table of jobs, with their last runs.
    const JOBS: &'static str;

    /// The table of open runs, and what is true of them there.
    const OPEN_RUNS: &'static str;

    /// That a person named a pending job, in the words of an index.
    const IS_NAMED: &'static str;

    /// The batch of a pending job that has one, in the words of an index.
    const OF_BATCH: &'static str;

    /// All rows of an answer. `what` is the name of the question.
    ///
    /// # Errors
    /// When they cannot be read.
    fn rows<T>(
        &mut self,
        what: &str,
        sql: &str,
        values: Vec<Self::Value>,
        read: fn(&dyn Columns) -> ReadResult<T>,
    ) -> ReadResult<Vec<T>>;

    /// The question for a page of runs, and its values.
    ///
    /// # Errors
    /// When it depends on what is stored, and that cannot be read.
    fn find_sql(&mut self, query: &Query) -> ReadResult<(String, Vec<Self::Value>)>;
}

/// How many rows a page has.
///
/// # Panics
/// Never: a page is small.
pub fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(MAX_PAGE)).expect("a page is small")
}

/// The values of a key.
pub fn key_values<V: From<String> + From<i64>>(key: &RunKey) -> Vec<V> {
    vec![key.job.to_string().into(), nanoseconds(key.nominal).into(), i64::from(key.series).into()]
}

/// Pending one-shot jobs after an id, due up to a time.
fn in_range<D: Database, T>(
    database: &mut D,
    list: &str,
    (after, up_to, limit): (OnceId, Timestamp, usize),
    read: fn(&dyn Columns) -> ReadResult<T>,
) -> ReadResult<Vec<T>> {
    let sql = format!(
        "SELECT {list} FROM {}pending WHERE (due, number) > ($1, $2) AND due <= $3
            ORDER BY due, number LIMIT $4",
        D::SCHEMA
    );
    let values = [nanoseconds(after.due), number(after.number), nanoseconds(up_to), page(limit)];
    let found = database.rows("load", &sql, values.map(D::Value::from).into(), read)?;
    debug_assert!(found.len() <= limit);
    Ok(found)
}

/// See [`Reader::load`](mainspring_job::Reader::load).
///
/// # Errors
/// When they cannot be read.
pub fn load<D: Database>(
    database: &mut D,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> ReadResult<Vec<Once>> {
    let found = in_range(database, PENDING, (after, up_to, limit), columns::once)?;
    debug_assert!(found.is_sorted_by_key(|once| once.id), "the planner continues behind the last");
    Ok(found)
}

/// See [`Reader::load_ids`](mainspring_job::Reader::load_ids).
///
/// # Errors
/// When they cannot be read.
pub fn load_ids<D: Database>(
    database: &mut D,
    after: OnceId,
    up_to: Timestamp,
    limit: usize,
) -> ReadResult<Vec<OnceId>> {
    let found = in_range(database, "due, number", (after, up_to, limit), columns::once_id)?;
    debug_assert!(found.is_sorted(), "the planner continues behind the last");
    Ok(found)
}

/// The pending one-shot job of that id.
///
/// # Errors
/// When it cannot be read.
pub fn pending<D: Database>(database: &mut D, id: OnceId) -> ReadResult<Option<Once>> {
    let sql = format!("SELECT {PENDING} FROM {}pending WHERE due = $1 AND number = $2", D::SCHEMA);
    let values = [nanoseconds(id.due), number(id.number)];
    Ok(database.rows("pending job", &sql, values.map(D::Value::from).into(), columns::once)?.pop())
}

/// See [`Reader::pending_named`](mainspring_job::Reader::pending_named).
///
/// # Errors
/// When it cannot be read.
pub fn pending_named<D: Database>(database: &mut D, name: &JobName) -> ReadResult<Option<Once>> {
    let found = match name.as_str().parse::<OnceId>() {
        Ok(id) => pending(database, id)?,
        Err(_) => {
            let (schema, is_named) = (D::SCHEMA, D::IS_NAMED);
            let sql = format!("SELECT {PENDING} FROM {schema}pending WHERE name = $1 AND {is_named}");
            database.rows("pending job", &sql, vec![name.to_string().into()], columns::once)?.pop()
        }
    };
    Ok(found.filter(|once| once.name == *name))
}

/// See [`Reader::has_pending_of`](mainspring_job::Reader::has_pending_of).
///
/// # Errors
/// When they cannot be read.
pub fn has_pending_of<D: Database>(database: &mut D, batch: &JobName) -> ReadResult<bool> {
    let sql = format!("SELECT 1 FROM {}pending WHERE {} = $1 LIMIT 1", D::SCHEMA, D::OF_BATCH);
    let found = database.rows("look for a batch", &sql, vec![batch.to_string().into()], |_| Ok(()))?;
    Ok(!found.is_empty())
}

/// See [`Reader::keyed`](mainspring_job::Reader::keyed).
///
/// # Errors
/// When it cannot be read.
pub fn keyed<D: Database>(database: &mut D, key: &str) -> ReadResult<Option<(OnceId, JobName)>> {
    let sql = format!("SELECT {ONCE_KEY} FROM {}once_key WHERE key = $1", D::SCHEMA);
    Ok(database.rows("key", &sql, vec![key.to_owned().into()], columns::keyed)?.pop())
}

/// See [`Reader::jobs`](mainspring_job::Reader::jobs).
///
/// # Errors
/// When they cannot be read.
pub fn jobs<D: Database>(database: &mut D) -> ReadResult<(Vec<JobRecord>, Option<PauseTerms>)> {
    let sql = format!("SELECT {JOB} FROM {} ORDER BY name", D::JOBS);
    let jobs = database.rows("jobs", &sql, Vec::new(), columns::job)?;
    Ok((jobs, pause(database)?))
}

/// See [`Reader::pause`](mainspring_job::Reader::pause).
///
/// # Errors
/// When it cannot be read.
pub fn pause<D: Database>(database: &mut D) -> ReadResult<Option<PauseTerms>> {
    let sql = format!("SELECT pause_until, pause_note FROM {} WHERE is_paused", D::HEAD);
    Ok(database.rows("pause", &sql, Vec::new(), |row| columns::pause_terms(row, 0))?.pop())
}

/// See [`Reader::open_runs`](mainspring_job::Reader::open_runs).
///
/// # Errors
/// When they cannot be read.
pub fn open_runs<D: Database>(
    database: &mut D,
    after: Option<&RunKey>,
    limit: usize,
) -> ReadResult<Vec<Run>> {
    let sql = format!(
        "SELECT {RUN} FROM {} AND (job, nominal, series) > ($1, $2, $3) ORDER BY job, nominal, series LIMIT $4",
        D::OPEN_RUNS
    );
    let first = || vec![String::new().into(), i64::MIN.into(), 0.into()];
    let mut values = after.map_or_else(first, key_values);
    values.push(page(limit).into());
    let found = database.rows("open runs", &sql, values, columns::run)?;
    debug_assert!(found.len() <= limit);
    debug_assert!(found.is_sorted_by_key(|run| &run.key), "the next page begins behind the last");
    debug_assert!(found.iter().all(|run| run.state.is_open()));
    Ok(found)
}

/// See [`Reader::find`](mainspring_job::Reader::find).
///
/// # Errors
/// When they cannot be read.
pub fn find<D: Database>(database: &mut D, query: &Query) -> ReadResult<Vec<Run>> {
    let (sql, values) = database.find_sql(query)?;
    let found = database.rows("find", &sql, values, columns::run)?;
    debug_assert!(found.len() <= query.limit);
    debug_assert!(query.states.is_empty() || found.iter().all(|run| query.states.contains(&run.state)));
    Ok(found)
}

/// See [`Reader::run`](mainspring_job::Reader::run).
///
/// # Errors
/// When it cannot be read.
pub fn run<D: Database>(database: &mut D, key: &RunKey) -> ReadResult<Option<Run>> {
    let sql = format!("SELECT {RUN} FROM {}run WHERE job = $1 AND nominal = $2 AND series = $3", D::SCHEMA);
    Ok(database.rows("run", &sql, key_values(key), columns::run)?.pop())
}

/// See [`Reader::attempts`](mainspring_job::Reader::attempts).
///
/// # Errors
/// When they cannot be read.
pub fn attempts<D: Database>(database: &mut D, key: &RunKey) -> ReadResult<Vec<Attempt>> {
    let sql = format!(
        "SELECT number, started, ended, state, outcome, worker FROM {}attempt
            WHERE job = $1 AND nominal = $2 AND series = $3 ORDER BY number",
        D::SCHEMA
    );
    database.rows("attempts", &sql, key_values(key), columns::attempt)
}

/// See [`Reader::counts`](mainspring_job::Reader::counts): what the batches have added up. A store that had
/// no owner yet holds nothing.
///
/// # Errors
/// When they cannot be read.
pub fn counts<D: Database>(database: &mut D) -> ReadResult<Counts> {
    let sql = format!("SELECT jobs, pending, open, runs, dead FROM {}", D::HEAD);
    Ok(database.rows("counts", &sql, Vec::new(), columns::counts)?.pop().unwrap_or_default())
}

/// See [`Reader::audit`](mainspring_job::Reader::audit): at most as many rows as are kept.
///
/// # Errors
/// When they cannot be read.
pub fn audit<D: Database>(database: &mut D, query: &AuditQuery) -> ReadResult<Vec<AuditRow>> {
    let mut conditions = Conditions::<D::Value>::default();
    conditions.add("actor = ?", query.actor.clone());
    conditions.add("target = ?", query.target.clone());
    conditions.add("? <= at", query.since.map(nanoseconds));
    conditions.add("number < ?", query.before.map(number));
    let limit = conditions.place(page(query.limit));
    let (schema, text) = (D::SCHEMA, conditions.text());
    let sql = format!("SELECT {AUDIT} FROM {schema}audit WHERE {text} ORDER BY number DESC LIMIT {limit}");
    database.rows("audit", &sql, conditions.values, columns::audited)
}

/// What is true of the rows of an answer, and the values in that.
#[derive(Debug)]
pub struct Conditions<V> {
    texts: Vec<String>,
    /// The values, in the order of their places.
    pub values: Vec<V>,
}

impl<V> Default for Conditions<V> {
    fn default() -> Conditions<V> {
        Conditions { texts: vec!["true".to_owned()], values: Vec::new() }
    }
}

impl<V> Conditions<V> {
    /// The place of a value, which is in the text after those before.
    pub fn place(&mut self, value: impl Into<V>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// Adds a condition.
    pub fn push(&mut self, text: String) {
        self.texts.push(text);
    }

    /// Adds a condition if there is a value, which stands where the question mark does.
    fn add(&mut self, text: &str, value: Option<impl Into<V>>) {
        if let Some(value) = value {
            let place = self.place(value);
            self.push(text.replace('?', &place));
        }
    }

    /// All of them.
    pub fn text(&self) -> String {
        self.texts.join(" AND ")
    }
}

/// The condition that a group is the one at a place, or that of an owner, `GROUP@OWNER`. The byte of `A` is
/// the one after that of `@`.
pub fn names_group(column: &str, place: &str) -> String {
    format!("{column} = {place} OR {column} >= {place} || '@' AND {column} < {place} || 'A'")
}

impl<V: From<String> + From<i64> + From<Option<i64>>> Conditions<V> {
    /// What a question for runs asks for but for its group, and the order of the answer.
    pub fn of_runs(query: &Query) -> (Conditions<V>, &'static str) {
        let mut conditions = Conditions::default();
        let (time, rank, order) = match query.order {
            Order::Ended => {
                ("ended", "ended, job, nominal, series", "ended DESC, job DESC, nominal DESC, series DESC")
            }
            _ => ("nominal", "nominal, job, series", "nominal DESC, job DESC, series DESC"),
        };
        conditions.add("job = ?", query.job.as_ref().map(ToString::to_string));
        conditions.add("cause = ?", query.cause.map(|cause| cause.name().to_owned()));
        conditions.add(&format!("? <= {time}"), query.since.map(nanoseconds));
        conditions.add(&format!("{time} < ?"), query.until.map(nanoseconds));
        conditions.add(
            &format!("({}) IS NOT TRUE", names_group("work_group", "?")),
            query.without_group.as_ref().map(ToString::to_string),
        );
        if !query.states.is_empty() {
            // The names are the program's own, so they may stand in the text; then partial indexes are found.
            let names: Vec<String> = query.states.iter().map(|state| format!("'{state}'")).collect();
            conditions.push(format!("state IN ({})", names.join(", ")));
        }
        if query.order == Order::Ended {
            conditions.push("ended IS NOT NULL".to_owned());
        }
        if let Some(Cursor { key, ended, .. }) = &query.cursor {
            let (job, nominal) = (V::from(key.job.to_string()), V::from(nanoseconds(key.nominal)));
            let mut last = match query.order {
                Order::Ended => vec![V::from(ended.map(nanoseconds)), job, nominal],
                _ => vec![nominal, job],
            };
            last.push(i64::from(key.series).into());
            let places: Vec<String> = last.into_iter().map(|value| conditions.place(value)).collect();
            conditions.push(format!("({rank}) < ({})", places.join(", ")));
        }
        (conditions, order)
    }
}

//! The store in a database as the source or the target of a copy.
//!
//! ```text
//!  BEGIN ─ the row of the planner, locked: no server can take it ─ FETCH, or INSERT, some rows at a time ─ COMMIT
//! ```
//!
//! Cost: a round trip for each hundred rows, in one transaction.
//!
//! Does not go on in another session: what was written in the one that ended is not there.

use mainspring_job::StoreError;
use mainspring_rows::copy::{Cell, Head, MAX_ROWS, Source, Table, Take, Target};
use mainspring_rows::{ReadResult, unreadable};
use tokio_postgres::Row;

use super::connection::Connection;
use super::escape::{escape, read};
use super::fault::without_row;
use super::location::{Location, OF_OWNER};
use super::row::CurrentRow;
use super::schema;
use super::value::Value;

/// What keeps servers out while it is copied. A machine that is busy may need long for some rows of SQLite.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = 0; \
    SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '10min';";

/// A database without a server.
#[derive(Debug)]
pub struct PostgresCopy {
    connection: Connection,
}

impl PostgresCopy {
    /// Connects, and makes or migrates the tables if need be.
    ///
    /// # Errors
    /// When it does not answer, the role may not, or it is of a newer version.
    pub fn open(location: &Location) -> Result<PostgresCopy, StoreError> {
        let mut connection = Connection::opened(location, OF_OWNER)?.patient();
        schema::prepare(&mut connection)?;
        Ok(PostgresCopy { connection })
    }

    /// Does one statement of the transaction.
    fn call(&mut self, what: &str, sql: &str, values: &[Value]) -> ReadResult<Vec<Row>> {
        // Another session would do it outside of the transaction.
        if !self.connection.is_open() {
            return Err(StoreError::Io("the session ended, and what was copied is not kept".into()));
        }
        self.connection.call(what, sql, values)
    }

    fn number(&mut self, what: &str, sql: &str) -> ReadResult<i64> {
        let rows = self.call(what, sql, &[])?;
        let row = rows.first().ok_or_else(without_row)?;
        row.try_get(0).map_err(|_| unreadable("number", what))
    }

    /// Begins, and keeps servers out until the end.
    fn hold(&mut self) -> ReadResult<()> {
        self.connection.script("begin a copy", BEGIN)?;
        let sql = "SELECT owner, CASE WHEN owner <> '' AND clock_timestamp() <= until + interval '500 ms' THEN
            ceil(extract(epoch FROM until - clock_timestamp()) + 1)::int8 END FROM mainspring.planner FOR UPDATE";
        let rows = self.call("lock the planner", sql, &[])?;
        let planner = rows.first().ok_or_else(without_row)?;
        let held: Option<i64> = planner.try_get(1).map_err(|_| unreadable("time", "the lease"))?;
        if held.is_some() {
            let owner = read(planner.get(0)).into_owned();
            let text = format!("{owner} owns the jobs: stop all servers first");
            return Err(StoreError::Io(text.into()));
        }
        Ok(())
    }
}

/// The columns of `job` that are not in its row.
const LAST: [&str; 4] = ["last_nominal", "last_series", "last_state", "last_ended"];

/// Where the rows of a table go, and which of them.
fn parts(name: &'static str) -> Vec<(&'static str, &'static str)> {
    match name {
        "run" => vec![
            ("open_run", "r.state IN ('scheduled', 'queued', 'running')"),
            ("history", "r.state NOT IN ('scheduled', 'queued', 'running')"),
        ],
        "attempt" => vec![("past_attempt", "true")],
        name => vec![(name, "true")],
    }
}

impl Source for PostgresCopy {
    fn head(&mut self) -> ReadResult<Head> {
        self.hold()?;
        let waiting = "SELECT count(*) FROM mainspring.inbox WHERE refusal = '' AND NOT is_taken";
        let waiting = self.number("count the inbox", waiting)?;
        if 0 < waiting {
            let text = format!(
                "{waiting} requests wait in the inbox: start a server, and stop it when they are done"
            );
            return Err(StoreError::Io(text.into()));
        }
        let sql = format!("SELECT {} FROM mainspring.planner", Head::COLUMNS);
        let rows = self.call("read the planner", &sql, &[])?;
        Head::read(&CurrentRow(rows.first().ok_or_else(without_row)?))
    }

    fn each(&mut self, table: &Table, take: Take<'_>) -> ReadResult<()> {
        let sql = format!(
            "DECLARE copied NO SCROLL CURSOR FOR SELECT {} FROM mainspring.{}",
            table.names(),
            if table.name == "job" { "job_list" } else { table.name }
        );
        self.call("declare a cursor", &sql, &[])?;
        loop {
            let rows = self.call("fetch", &format!("FETCH {MAX_ROWS} FROM copied"), &[])?;
            if rows.is_empty() {
                break;
            }
            let cells = rows.iter().map(|row| table.cells(&CurrentRow(row)));
            take(cells.collect::<ReadResult<_>>()?)?;
        }
        self.call("close a cursor", "CLOSE copied", &[]).map(drop)
    }
}

impl Target for PostgresCopy {
    fn begin(&mut self) -> ReadResult<()> {
        self.hold()
    }

    fn add(&mut self, table: &Table, rows: Vec<Vec<Cell>>) -> ReadResult<()> {
        // How a job ran last is in its runs.
        let names = table.columns().filter(|column| !LAST.contains(column)).collect::<Vec<_>>().join(", ");
        let added = parts(table.name).into_iter().map(|(part, condition)| {
            format!(
                "{part}_rows AS (INSERT INTO mainspring.{part} ({names}) OVERRIDING SYSTEM VALUE
                    SELECT {names} FROM unnest($1) AS d, jsonb_populate_record(NULL::mainspring.{part}, d) AS r
                    WHERE {condition} RETURNING 1)"
            )
        });
        let sql = format!("WITH {} SELECT 1", added.collect::<Vec<_>>().join(", "));
        let document = |row: Vec<Cell>| {
            let cells = row.into_iter().map(|cell| match cell {
                Cell::Nothing => serde_json::Value::Null,
                Cell::Integer(number) => number.into(),
                Cell::Text(text) => escape(&text).into_owned().into(),
            });
            serde_json::Value::Object(table.columns().map(str::to_owned).zip(cells).collect())
        };
        let rows = rows.into_iter().map(document).collect();
        self.call("copy rows", &sql, &[Value::Documents(rows)]).map(drop)
    }

    fn count(&mut self, table: &Table) -> ReadResult<u64> {
        let sql = format!("SELECT count(*) FROM mainspring.{}", table.name);
        Ok(mainspring_rows::unsigned(self.number("count rows", &sql)?))
    }

    fn finish(&mut self, head: &Head) -> ReadResult<()> {
        // A file that was in force is not one that the database never had.
        let sql = "UPDATE mainspring.planner SET epoch = $1, owner = $2, machine_start = $3, is_paused = $4 <> 0,
            pause_until = $5, pause_note = $6, jobs = $7, pending = $8, open = $9, runs = $10, dead = $11,
            once = (SELECT count(*) FROM mainspring.history WHERE cause = 'once' AND state <> 'dead'),
            sources = ARRAY(SELECT DISTINCT source FROM mainspring.job WHERE source IS NOT NULL),
            token = gen_random_uuid(), address = '', server = '', machine = '', until = '-infinity', batch = 0, answers = ''";
        let mut values = vec![
            Value::Int(head.epoch),
            Value::text(&head.owner),
            Value::text(&head.machine_start),
            Value::Int(i64::from(head.is_paused)),
            Value::MaybeInt(head.pause_until),
            Value::text(&head.pause_note),
        ];
        values.extend(head.counts.map(Value::Int));
        self.call("write the planner", sql, &values)?;
        let sql = "UPDATE mainspring.job AS j SET over = mainspring.over_of(j.name)";
        self.call("count the runs of jobs", sql, &[])?;
        // The attempt that was under way is the run's own.
        self.call("leave attempts out", "DELETE FROM mainspring.past_attempt WHERE ended IS NULL", &[])?;
        // Sequences do not roll back, and a greater number does no harm.
        let sql = "SELECT setval(pg_get_serial_sequence('mainspring.audit', 'number'),
            (SELECT coalesce(max(number), 0) + 1 FROM mainspring.audit), false)";
        self.call("count on", sql, &[])?;
        if !self.connection.is_open() {
            return Err(StoreError::Io("the session ended, and what was copied is not kept".into()));
        }
        self.connection.script("commit a copy", "COMMIT")
    }
}

//! The store in one SQLite file as the source or the target of a copy.
//!
//! Cost: a scan of each table; one transaction for all that is written.
//!
//! Does not open the file: the caller has its folder.

use mainspring_rows::ReadResult;
use mainspring_rows::copy::{Cell, Head, MAX_ROWS, Source, Table, Take, Target};
use mainspring_rows::questions::Database;
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};

use super::fault::mapped;
use super::read::AskedConnection;
use super::row::CurrentRow;
use super::sqlite::SqliteStore;

impl Source for SqliteStore {
    fn head(&mut self) -> ReadResult<Head> {
        let sql = format!("SELECT {} FROM head", Head::COLUMNS);
        let found = AskedConnection(&self.connection).rows("head", &sql, Vec::new(), Head::read)?.pop();
        Ok(found.unwrap_or_default())
    }

    fn each(&mut self, table: &Table, take: Take<'_>) -> ReadResult<()> {
        let sql = format!("SELECT {} FROM {}", table.names(), table.name);
        let mut statement = self.connection.prepare(&sql).map_err(mapped)?;
        let mut rows = statement.query([]).map_err(mapped)?;
        let mut some = Vec::new();
        while let Some(row) = rows.next().map_err(mapped)? {
            some.push(table.cells(&CurrentRow(row))?);
            if some.len() == MAX_ROWS {
                take(std::mem::take(&mut some))?;
            }
        }
        if some.is_empty() { Ok(()) } else { take(some) }
    }
}

impl Target for SqliteStore {
    /// The transaction ends with the connection, if `finish` does not end it.
    fn begin(&mut self) -> ReadResult<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(mapped)
    }

    fn add(&mut self, table: &Table, rows: Vec<Vec<Cell>>) -> ReadResult<()> {
        let places = table.columns().map(|_| "?").collect::<Vec<_>>().join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", table.name, table.names());
        let mut statement = self.connection.prepare_cached(&sql).map_err(mapped)?;
        for row in rows {
            let values = row.into_iter().map(|cell| match cell {
                Cell::Nothing => Value::Null,
                Cell::Integer(number) => Value::Integer(number),
                Cell::Text(text) => Value::Text(text),
            });
            statement.execute(params_from_iter(values)).map_err(mapped)?;
        }
        Ok(())
    }

    fn count(&mut self, table: &Table) -> ReadResult<u64> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        let count: i64 = self.connection.query_row(&sql, [], |row| row.get(0)).map_err(mapped)?;
        Ok(mainspring_rows::unsigned(count))
    }

    fn finish(&mut self, head: &Head) -> ReadResult<()> {
        let sql = "INSERT OR REPLACE INTO head (one, epoch, owner, machine_start, is_paused, pause_until,
            pause_note, batch, answers, jobs, pending, open, runs, dead)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, 0, '', ?7, ?8, ?9, ?10, ?11)";
        let [jobs, pending, open, runs, dead] = head.counts;
        let Head { epoch, owner, machine_start, is_paused, pause_until, pause_note, .. } = head;
        let values = params![
            epoch,
            owner,
            machine_start,
            is_paused,
            pause_until,
            pause_note,
            jobs,
            pending,
            open,
            runs,
            dead
        ];
        self.connection.execute(sql, values).map_err(mapped)?;
        self.connection.execute_batch("COMMIT").map_err(mapped)
    }
}

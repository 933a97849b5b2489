//! The store in one SQLite file as the source or the target of a copy.
//!
//! Cost: a scan of each table; one transaction for all that is written.
//!
//! Does not open the file: the caller has its folder.

use mainspring_job::StoreError;
use mainspring_rows::copy::{Cell, Head, Kind, MAX_ROWS, Source, TABLES, Table, Take, Target};
use mainspring_rows::{ReadResult, unreadable};
use rusqlite::types::{ToSql, ValueRef};
use rusqlite::{OptionalExtension, Row, params, params_from_iter};

use super::fault::mapped;
use super::sqlite::SqliteStore;

fn cell(row: &Row<'_>, index: usize, kind: Kind) -> ReadResult<Cell> {
    Ok(match (row.get_ref(index).map_err(mapped)?, kind) {
        (ValueRef::Null, _) => Cell::Nothing,
        (ValueRef::Integer(number), Kind::Integer | Kind::Boolean) => Cell::Integer(number),
        (ValueRef::Text(text), Kind::Text) => {
            let text =
                std::str::from_utf8(text).map_err(|_| unreadable("text", "a text that is not UTF-8"))?;
            Cell::Text(text.to_owned())
        }
        (other, kind) => return Err(unreadable(&format!("{kind:?}"), &format!("{other:?}"))),
    })
}

impl Source for SqliteStore {
    fn head(&mut self) -> ReadResult<Head> {
        let sql =
            "SELECT epoch, owner, machine_start, is_paused, pause_until, pause_note, jobs, pending, open,
            runs, dead FROM head";
        let head = |row: &Row<'_>| {
            Ok(Head {
                epoch: row.get(0)?,
                owner: row.get(1)?,
                machine_start: row.get(2)?,
                is_paused: row.get(3)?,
                pause_until: row.get(4)?,
                pause_note: row.get(5)?,
                counts: [row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?, row.get(10)?],
            })
        };
        let found = self.connection.query_row(sql, [], head).optional().map_err(mapped)?;
        Ok(found.unwrap_or_default())
    }

    fn each(&mut self, table: &Table, take: Take<'_>) -> ReadResult<()> {
        let sql = format!("SELECT {} FROM {}", table.names(), table.name);
        let mut statement = self.connection.prepare(&sql).map_err(mapped)?;
        let mut rows = statement.query([]).map_err(mapped)?;
        let mut some = Vec::new();
        while let Some(row) = rows.next().map_err(mapped)? {
            let kinds = table.columns.iter().enumerate();
            some.push(kinds.map(|(index, (_, kind))| cell(row, index, *kind)).collect::<ReadResult<_>>()?);
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
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(mapped)?;
        for table in &TABLES {
            if 0 < self.count(table)? {
                let text = format!("it holds something already: the table {} is not empty", table.name);
                return Err(StoreError::Io(text.into()));
            }
        }
        Ok(())
    }

    fn add(&mut self, table: &Table, rows: Vec<Vec<Cell>>) -> ReadResult<()> {
        let places: Vec<String> = (1..=table.columns.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT INTO {} ({}) VALUES ({})", table.name, table.names(), places.join(", "));
        let mut statement = self.connection.prepare_cached(&sql).map_err(mapped)?;
        for row in rows {
            let values = row.iter().map(|cell| -> Box<dyn ToSql + '_> {
                match cell {
                    Cell::Nothing => Box::new(None::<i64>),
                    Cell::Integer(number) => Box::new(*number),
                    Cell::Text(text) => Box::new(text.as_str()),
                }
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

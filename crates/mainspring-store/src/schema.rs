//! The tables (`schema.sql` and what comes after it), and the steps by which a file of an older version
//! becomes one of this.
//!
//! ```text
//!  head      one row: epoch, owner, the start of its machine, the last batch with its answers, how many rows there are
//!  job       one row a job: definition, watermark, counts, pause, its last run
//!  pending   one-shot jobs that have not fired, clustered by (due, number)
//!  once_key  idempotency keys of pending jobs and of kept runs
//!  run       one row a run, clustered by (job, nominal, series)
//!  audit     one row a command of a person or a program, the newest of them
//!  attempt   one row a start, clustered by (job, nominal, series, number): there cannot be two
//! ```
//!
//! Times are nanoseconds since 1970 in 64 bits. `user_version` is the version of the format; a new file is
//! made by all steps one after the other, so that there is one way to the current tables. Each step is one
//! transaction.

use mainspring_job::StoreError;
use mainspring_rows::copy::TABLES;
use rusqlite::Connection;

use super::fault::mapped;

/// The version that the steps lead to.
pub const VERSION: u32 = STEPS.len() as u32;

/// How many tables there are.
const TABLE_COUNT: u32 = 7;

const _: () = assert!(TABLE_COUNT as usize == TABLES.len() + 1, "a copy has all tables and the owner's row");

/// What leads from each version to the next; the first makes the tables.
pub(super) const STEPS: [&str; 2] = [include_str!("schema.sql"), include_str!("since.sql")];

/// Makes or migrates the tables, and looks whether they are tables.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    step(connection, &STEPS)?;
    check_tables(connection)
}

/// Takes the steps that a file lacks.
pub(super) fn step(connection: &mut Connection, steps: &[&str]) -> Result<(), StoreError> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(mapped)?;
    if steps.len() < found as usize {
        return Err(StoreError::TooNew { found, known: VERSION });
    }
    for (version, step) in (1..).zip(steps).skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        let transaction = connection.transaction().map_err(mapped)?;
        transaction.execute_batch(step).map_err(mapped)?;
        transaction.pragma_update(None, "user_version", version).map_err(mapped)?;
        transaction.commit().map_err(mapped)?;
    }
    Ok(())
}

/// Whether the tables are those of this version, for who only reads them: nothing is migrated.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(mapped)?;
    if VERSION < found {
        return Err(StoreError::TooNew { found, known: VERSION });
    }
    if found < VERSION {
        let text = format!("it has the older format {found}: mainspring serve makes it format {VERSION}");
        return Err(StoreError::Io(text.into()));
    }
    check_tables(connection)
}

fn check_tables(connection: &Connection) -> Result<(), StoreError> {
    // A view or a virtual table in the place of a table would be a program of the user who wrote the file.
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE %'
        AND name IN ('head', 'job', 'pending', 'once_key', 'run', 'attempt', 'audit')";
    let count: u32 = connection.query_row(sql, [], |row| row.get(0)).map_err(mapped)?;
    if count != TABLE_COUNT {
        return Err(StoreError::Corrupt("its tables are not those that this program makes".to_owned()));
    }
    Ok(())
}

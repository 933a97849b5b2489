//! A connection to the file of a store, opened with the same care for writing, reading and looking; and what
//! is asked over it in one row.
//!
//! | the file system | the index of the log | another program meanwhile |
//! |---|---|---|
//! | writes a page where it is | is a file that is mapped, beside the log | reads the store |
//! | copies a page that changes: btrfs | is in the memory of the server | finds the store locked |
//!
//! There a write to a mapped page needs room. On a full disk, or beyond a quota, it is no error of a call but
//! SIGBUS, which ends the program.
//!
//! Does not make tables: the one that writes does.
//!
//! Source: [The unix-excl VFS](https://www.sqlite.org/vfs.html#standard_unix_vfses).

use std::path::Path;
use std::time::Duration;

use mainspring_job::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row};

use super::fault::mapped;
use mainspring_host::sys::copies_on_write;

/// How long a statement waits for another program that locks the file, before it is `Busy`.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// How many prepared statements are kept: more than there are.
const STATEMENTS: usize = 64;

/// How each file is opened.
const CARE: OpenFlags = OpenFlags::SQLITE_OPEN_NOFOLLOW.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Opens the file of a store for the server that has it, for as many connections as that has.
pub(super) fn open_owned(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    if !copies_on_write(path.parent().unwrap_or(path)) {
        return connected(path, flags);
    }
    with_care(Connection::open_with_flags_and_vfs(path, flags | CARE, "unix-excl").map_err(mapped)?)
}

/// Opens a file that is no link, and runs no code that it holds: neither a trigger, nor a view, nor a
/// function that its tables name. What the tables show is all that there is.
pub(super) fn connected(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    with_care(Connection::open_with_flags(path, flags | CARE).map_err(mapped)?)
}

fn with_care(connection: Connection) -> Result<Connection, StoreError> {
    connection.busy_timeout(BUSY_TIMEOUT).map_err(mapped)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(mapped)?;
    for code in [
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
    ] {
        connection.set_db_config(code, false).map_err(mapped)?;
    }
    // A damaged page is found where it is read, and not where it is used.
    connection.pragma_update(None, "cell_size_check", true).map_err(mapped)?;
    Ok(connection)
}

/// Does a statement, which is prepared once. Returns how many rows it has changed.
pub(super) fn execute(connection: &Connection, sql: &str, values: impl Params) -> Result<usize, StoreError> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(mapped)
}

/// The first row of an answer, to a statement that is prepared once.
pub(super) fn first<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    statement.query_row(values, read).optional().map_err(mapped)
}

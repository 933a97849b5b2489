//! The second connection to a store: for questions of people, on a thread of its own.
//!
//! ```text
//! writer ──▶ mainspring.db-wal ◀── reader     each sees what was committed; neither waits for the other
//! ```
//!
//! It is opened with the first question, and again after the writer has closed it. The writer closes it to
//! mend files that were removed, because no other connection may have them open then.
//!
//! Cost: a mutex for each question; the writer takes it only to mend.
//!
//! Does not write: SQLite refuses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainspring_job::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::connection::connected;
use super::fault::mapped;

/// The second connection, shared with the writer, which closes it.
///
/// | field | guard | who |
/// |---|---|---|
/// | the connection | the mutex, held for one question | the reader opens and asks, the writer closes |
#[derive(Clone, Debug, Default)]
pub(super) struct Beside(Arc<Mutex<Option<Connection>>>);

impl Beside {
    /// Closes the connection, after the question that is being answered. The next question opens it again.
    pub(super) fn close(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        // A question that panicked has changed nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers questions from the file of a [`SqliteStore`](super::SqliteStore).
#[derive(Debug)]
pub struct SqliteReader {
    path: PathBuf,
    beside: Beside,
}

impl SqliteReader {
    pub(super) fn new(path: &Path, beside: Beside) -> SqliteReader {
        SqliteReader { path: path.to_owned(), beside }
    }

    /// Asks the connection, which is opened if it is not.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = self.beside.lock();
        let connection = match open.take() {
            Some(connection) => connection,
            None => connect(&self.path)?,
        };
        question(open.insert(connection))
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    // It may write to the index of the log, which a connection that is opened for reading could not make.
    let connection = connected(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true).map_err(mapped)?;
    connection.pragma_update(None, "temp_store", "memory").map_err(mapped)?;
    Ok(connection)
}

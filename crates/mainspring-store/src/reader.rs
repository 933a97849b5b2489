//! The second connection to a store: for questions of people, on a thread of its own.
//!
//! ```text
//! writer ──▶ mainspring.db-wal ◀── reader     each sees what was committed; neither waits for the other
//! ```
//!
//! It is opened with the first question, and again after the writer has closed it. The writer closes it to
//! repair files that were removed, because no other connection may have them open then.
//!
//! A question that takes longer than [`QUESTION_TIME`] is given up: it keeps others waiting, and what it
//! reads cannot be folded out of the log meanwhile.
//!
//! Cost: a mutex for each question; the writer takes it only to repair. A look at the clock for each
//! [`STEPS_PER_LOOK`] steps of a question.
//!
//! Does not write: SQLite refuses it.
//!
//! Source: <https://sqlite.org/c3ref/progress_handler.html>.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mainspring_job::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::connection::{BUSY_TIMEOUT, open_owned};
use super::fault::mapped;

/// How long a question may take. A page of rows by an index takes milliseconds; a filter that few of a
/// million rows pass may take longer, and is to be narrowed.
const QUESTION_TIME: Duration = Duration::from_secs(2);

const _: () =
    assert!(BUSY_TIMEOUT.as_millis() < QUESTION_TIME.as_millis(), "a locked file is `Busy`, not too slow");

/// After so many steps of SQLite's machine the clock is looked at: some ten microseconds of them.
const STEPS_PER_LOOK: i32 = 1_000;

/// The second connection, shared with the writer, which closes it.
///
/// | field | guard | who |
/// |---|---|---|
/// | the connection | the mutex, held for one question | the reader opens and asks, the writer closes |
#[derive(Clone, Debug, Default)]
pub(super) struct SecondConnection(Arc<Mutex<Option<Connection>>>);

impl SecondConnection {
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
    second: SecondConnection,
    question_time: Duration,
}

impl SqliteReader {
    pub(super) fn new(path: &Path, second: SecondConnection) -> SqliteReader {
        SqliteReader { path: path.to_owned(), second, question_time: QUESTION_TIME }
    }

    /// Asks the connection, which is opened if it is not.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = self.second.lock();
        let connection = match open.take() {
            Some(connection) => connection,
            None => connect(&self.path)?,
        };
        let connection = open.insert(connection);
        limit(connection, self.question_time).map_err(mapped)?;
        question(connection)
    }
}

/// Ends what the connection is asked next when the time is over.
#[expect(clippy::disallowed_methods, reason = "a running statement cannot be told the time from outside")]
fn limit(connection: &mut Connection, time: Duration) -> rusqlite::Result<()> {
    let began = Instant::now();
    connection.progress_handler(STEPS_PER_LOOK, Some(move || time <= began.elapsed())).into_result()
}

/// An answer of rusqlite, which had none here before 0.41.
trait IntoResult {
    fn into_result(self) -> rusqlite::Result<()>;
}

impl IntoResult for () {
    fn into_result(self) -> rusqlite::Result<()> {
        Ok(())
    }
}

impl IntoResult for rusqlite::Result<()> {
    fn into_result(self) -> rusqlite::Result<()> {
        self
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    // It may write to the index of the log, which a connection that is opened for reading could not make.
    let connection = open_owned(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true).map_err(mapped)?;
    connection.pragma_update(None, "temp_store", "memory").map_err(mapped)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_question_without_end_is_given_up_and_the_next_is_answered() {
        let path = scratch::path("endless.db");
        drop(Connection::open(&path).unwrap());
        let mut reader = SqliteReader::new(&path, SecondConnection::default());
        reader.question_time = Duration::from_millis(10);
        let count = |to: &str| {
            let sql = format!(
                "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n {to}) SELECT count(*) FROM n"
            );
            reader
                .ask(|connection| connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map_err(mapped))
        };
        assert!(matches!(count(""), Err(StoreError::TimedOut)));
        assert_eq!(count("WHERE x < 3").unwrap(), 3);
        let _ = std::fs::remove_file(&path);
    }
}

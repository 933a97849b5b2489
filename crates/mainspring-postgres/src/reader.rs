//! The second connection of a server: for questions of people, on a thread of its own.
//!
//! Cost: a session of the database.
//!
//! Does not write.

use mainspring_job::StoreError;

use super::connection::Connection;
use super::location::{Location, OF_READER};

/// Answers questions over a session of its own, from the primary: a commit does not wait for it.
#[derive(Debug)]
pub struct PostgresReader {
    pub(super) connection: Connection,
}

impl PostgresReader {
    /// Connects with the first question.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(location: &Location) -> Result<PostgresReader, StoreError> {
        Ok(PostgresReader { connection: Connection::new(location, OF_READER)? })
    }
}

//! The second connection of a server: for questions of people, on a thread of its own.
//!
//! Cost: a session of the database.
//!
//! Does not write.

use std::time::Duration;

use mainspring_job::StoreError;

use super::connection::Connection;
use super::location::{Location, OF_READER};

/// Answers questions over a session of its own, from the primary: a commit does not wait for it.
#[derive(Debug)]
pub struct PostgresReader {
    pub(super) connection: Connection,
}

/// The lease of the jobs, as the database has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldLease {
    /// The number of the last owner.
    pub epoch: u64,
    /// Its last batch: with the epoch it says whether something was written since.
    pub batch: u64,
    /// Which says, as the batch does, whether workers have told another progress since.
    pub progress_count: u64,
}

/// That another server plans, as it was when this was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPlan {
    /// For people.
    pub by: String,
    /// How long its lease lasts without a renewal.
    pub left: Duration,
}

impl PostgresReader {
    /// The lease of the jobs.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn lease(&mut self) -> Result<HeldLease, StoreError> {
        let sql = "SELECT epoch, batch, (SELECT coalesce(sum(progress_count), 0)::int8 FROM mainspring.worker) FROM mainspring.planner";
        let rows = self.connection.call("look at the lease", sql, &[])?;
        let number = |index| rows.first().map_or(0, |row| mainspring_rows::unsigned(row.get(index)));
        let [epoch, batch, progress_count] = [0, 1, 2].map(number);
        Ok(HeldLease { epoch, batch, progress_count })
    }

    /// Connects with the first question.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(location: &Location) -> Result<PostgresReader, StoreError> {
        Ok(PostgresReader { connection: Connection::new(location, OF_READER)? })
    }
}

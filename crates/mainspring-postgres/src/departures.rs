//! The departures of workers: which of those that are gone have left in good order.
//!
//! Cost: a question, when a worker is gone.
//!
//! Does not know of those that were declared lost.

use mainspring_job::{StoreError, WorkerId};
use mainspring_rows::{number, unsigned};

use super::members::Members;
use super::value::Value;

impl Members {
    /// Those of some workers that are gone which have left.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn left(&mut self, gone: &[WorkerId]) -> Result<Vec<WorkerId>, StoreError> {
        let sql = "SELECT id FROM mainspring.worker_host WHERE has_left AND id = ANY ($1)";
        let ids = Value::Ints(gone.iter().map(|id| number(id.0)).collect());
        let rows = self.connection.call("read who left", sql, &[ids])?;
        Ok(rows.iter().map(|row| WorkerId(unsigned(row.get(0)))).collect())
    }
}

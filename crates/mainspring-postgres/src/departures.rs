//! The departures of workers: how one leaves in good order, and which of those that are gone have done so.
//!
//! Cost: a question for each that leaves, and one when any is gone.
//!
//! Does not know of those that were declared lost.

use mainspring_job::{StoreError, WorkerId};
use mainspring_rows::{number, unsigned};

use super::members::{Members, REPORT_CHANNEL, of};
use super::value::Value;

impl Members {
    /// A worker ends in good order: nothing of it runs any more. Its reports stay.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn leave(&mut self, id: WorkerId) -> Result<(), StoreError> {
        let sql = "WITH ended AS (UPDATE mainspring.worker SET gone = 'left', gone_at = clock_timestamp() WHERE id = $1 RETURNING id)
            SELECT pg_notify($2, '')::text FROM ended";
        self.connection.call("leave", sql, &[of(id), Value::text(REPORT_CHANNEL)]).map(drop)
    }

    /// Those of some workers that are gone which have left.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn left(&mut self, gone: &[WorkerId]) -> Result<Vec<WorkerId>, StoreError> {
        let sql = "SELECT id FROM mainspring.worker_life WHERE gone = 'left' AND id = ANY ($1)";
        let ids = Value::Ints(gone.iter().map(|id| number(id.0)).collect());
        let rows = self.connection.call("read who left", sql, &[ids])?;
        Ok(rows.iter().map(|row| WorkerId(unsigned(row.get(0)))).collect())
    }
}

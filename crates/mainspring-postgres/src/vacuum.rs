//! Vacuum of the tables that a run passes, for a planner whose jobs end faster than PostgreSQL looks.
//!
//! ```text
//!  autovacuum    ├───────────── a minute ─────────────┤    a million dead rows at 15,000 jobs a second
//!  this          ├┤├┤├┤├┤   after each so many ends        their room is used again by the next
//! ```
//!
//! Cost: a session, and a look at what has changed in four tables.
//!
//! Does not wait for a table that somebody else vacuums or alters, and gives nothing back to the disk. A
//! vacuum of more than ten seconds, the longest time of a statement, is left to PostgreSQL.

use mainspring_job::StoreError;

use super::connection::Connection;
use super::location::{Location, OF_OWNER};

/// Has the room of rows that are gone used again. A role that does not own the tables changes nothing.
///
/// # Errors
/// When the database does not answer within the time of a step of the schema.
pub fn vacuum(location: &Location) -> Result<(), StoreError> {
    let sql = "VACUUM (SKIP_LOCKED, TRUNCATE false)
        mainspring.pending, mainspring.open_run, mainspring.report, mainspring.history";
    Connection::new(location, OF_OWNER)?.script("vacuum", sql)
}

//! The server's store on disk: one folder, one owner, one SQLite file.
//!
//! ```text
//!  data folder ─┬─ mainspring.lock    held by the one server that may write (flock)
//!               ├─ mainspring.db      jobs, pending one-shot jobs, runs, attempts
//!               └─ mainspring.db-wal  the last commits; part of the file above
//! ```
//!
//! Cost: one transaction for each batch; see [`sqlite`].
//!
//! Does not decide: the batch says what is written, and under which conditions.
//!
//! The contract is `mainspring_job::Store`. Its suite runs on [`SqliteStore`] in the tests.

#![forbid(unsafe_code)]

pub mod sqlite;

mod apply;
mod connection;
mod copy;
mod fault;
mod file_state;
#[cfg_attr(windows, path = "held_files.rs")]
mod inode_watch;
mod last_run;
mod outbox;
mod read;
mod reader;
mod reads;
mod repair;
mod row;
mod row_counts;
mod schema;
#[cfg(test)]
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
#[cfg(test)]
mod tests;

pub use outbox::{Outbox, OutboxFile, OutboxRow};
pub use reader::SqliteReader;
pub use schema::VERSION as FORMAT_VERSION;
pub use sqlite::SqliteStore;

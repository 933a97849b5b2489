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
mod asked;
mod connection;
mod copy;
mod directory;
mod fault;
mod footing;
mod last;
mod mend;
mod read;
mod reader;
mod row;
mod schema;
#[cfg(test)]
#[path = "../../mainspring-host/src/scratch.rs"]
mod scratch;
mod tally;
#[cfg(test)]
mod tests;

pub use directory::{Directory, DirectoryError};
pub use reader::SqliteReader;
pub use schema::VERSION as FORMAT_VERSION;
pub use sqlite::SqliteStore;

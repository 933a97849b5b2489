//! A store that several servers share, in a PostgreSQL database.
//!
//! ```text
//!  server one ─┐  acquire_1, renew_1, commit_3: each one statement, one transaction, one round trip
//!  server two ─┼─▶ schema mainspring ─┬─ shard     who owns it: epoch, token, until; the last batch with its answers
//!  psql       ─┘                      ├─ job, pending, open_run, history, attempt, audit, source; run is a view
//!                                                ├─ journal   large batches, until they are in the tables
//!                                                └─ inbox, reply: what the owner is asked from elsewhere
//! ```
//!
//! What a batch does is a function in the database (`sql/0008_waves.sql`, with its parts in
//! `sql/0009_open.sql`): a statement for each operation from here would cost a round trip for each, and a
//! transaction of several statements can be left open by a client that is stopped in it. So a commit of a
//! thousand operations is one round trip, and no pooler can separate its parts. What a large batch says of
//! new one-shot jobs goes into a write buffer first: see `src/write_buffer.rs` and `sql/0012_journal.sql`.
//!
//! Cost: a round trip for each commit, renewal and question; see [`store`] for what is measured.
//!
//! Does not decide who should own a shard: a server asks, and the lease decides.
//!
//! The contract is `mainspring_job::Store`; its suite runs on [`PostgresStore`] against a real database in
//! the tests.

#![forbid(unsafe_code)]

pub mod location;
pub mod store;

mod column_batch;
mod connection;
mod copy;
mod document;
mod escape;
mod fault;
mod inbox;
mod one_shot_record;
mod outputs;
mod read;
mod reader;
mod reads;
mod releases;
mod row;
mod schema;
mod shard;
mod tls;
mod value;
mod write_buffer;

pub use connection::InboxNotifier;
pub use copy::PostgresCopy;
pub use inbox::{Entry, Inbox};
pub use location::Location;
pub use outputs::Outputs;
pub use reader::{HeldLease, PostgresReader};
pub use releases::Releases;
pub use schema::{VERSION as FORMAT_VERSION, found, migrate, preview};
pub use store::{Identity, LEASE, PostgresStore};

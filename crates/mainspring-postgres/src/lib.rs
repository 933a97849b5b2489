//! A store that several servers share, in a PostgreSQL database.
//!
//! ```text
//!  planner ── PostgresStore: acquire, renew, commit ──▶ ┌ schema mainspring ────────────────────────────────────────┐
//!  workers ── Members: join, renew, assignments, report ▶│ planner   the lease, the last batch, how many rows there are │
//!  servers ── PostgresReader: what people look at ──────▶│ pending ─▶ open_run ─▶ history, job, past_attempt, audit    │
//!  psql    ── mainspring.submit(..) ────────────────────▶│ worker, report; inbox; output                               │
//!                                                        └─────────────────────────────────────────────────────────────┘
//! ```
//!
//! All of the database is `src/schema.sql`. A batch is one call of the function `commit` there: a statement
//! for each operation from here would cost a round trip for each, and a transaction of several statements can
//! be left open by a client that is stopped in it. So a commit of a thousand operations is one round trip,
//! and no pooler can separate its parts.
//!
//! Cost: a round trip for each commit, renewal and question; see [`store`] for what is measured.
//!
//! Does not decide who should plan, nor who is lost: a server asks, and the leases decide.
//!
//! The contract is `mainspring_job::Store`; its suite runs on [`PostgresStore`] against a real database in
//! the tests.

#![forbid(unsafe_code)]

pub mod location;
pub mod store;

mod batch_groups;
mod call_runtime;
mod connection;
mod copy;
mod departures;
mod escape;
mod fault;
mod inbox;
mod members;
mod operation_row;
mod outputs;
mod read;
mod reader;
mod reads;
mod releases;
mod row;
mod schema;
mod tls;
mod vacuum;
mod value;

pub use connection::WaitNotifier;
pub use copy::PostgresCopy;
pub use inbox::{Entry, Inbox};
pub use location::Location;
pub use members::{
    LostWorker, Member, MemberState, Members, PlacedAssignment, PresentMember, Report, WorkerOrders,
};
pub use outputs::Outputs;
pub use reader::{HeldLease, HeldPlan, PostgresReader};
pub use releases::Releases;
pub use schema::{VERSION as FORMAT_VERSION, found, migrate, preview};
pub use store::{Fence, Identity, LEASE, PostgresStore};
pub use vacuum::vacuum;

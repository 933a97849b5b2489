//! A server's part in a pool: one server plans, and all of them carry out what is due.
//!
//! ```text
//!  planner's loop ── PoolExecution ── thread "planner" ─┐                        ┌─ thread "membership" ── WorkerLoop
//!   decides, commits                  workers, reports  ├── the shared database ─┤   assignments, kills    runs
//!                                                       └────────────────────────┘   reports, its lease
//! ```
//!
//! A server of a pool is a worker from its start to its end. It plans too while it holds the lease of the
//! jobs. The two know nothing of each other: the planner's own worker is one of many. So a planner that falls
//! ends no run, and one that comes plans for all that are there.
//!
//! A start reaches its worker with the commit that records it, and an end is a row until what follows from it
//! is committed. So none of them is lost with a server, and none counts twice.
//!
//! What others ask of the planner is in the inbox, whatever kind of process each of them is:
//! `planner_inbox` does it.
//!
//! Cost: a server has two sessions of the database and two threads as a worker, two of each more while it
//! plans, and one of each while it stands by.
//!
//! Does not decide anything: [`Planner`](mainspring_job::Planner) does. Does not speak SQL:
//! [`Members`](mainspring_postgres::Members) does.

#![forbid(unsafe_code)]

pub mod candidate;
pub mod execution;
pub mod forwarded_command;
pub mod request_proxy;
pub mod standby_socket;
pub mod worker;

mod document;
mod lease_cache;
mod membership;
mod own_server;
mod planner_inbox;
mod planner_link;
mod release_watch;
mod remote_changes;
mod reply_wait;
mod streaming_requests;
mod tables;
mod worker_session;

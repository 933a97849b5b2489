//! The durable loop: one thread that owns the planner and the store, and answers clients of a socket.
//!
//! ```text
//! jobs of files ──────────────┐                      ┌─▶ executor: processes, webhooks
//! requests ─▶ protocol, peers ├─▶ server ─▶ planner ─┼─▶ store: one batch a turn, on disk
//! alarm, signals, files ──────┘     ▲                └─▶ replies, log
//!                                   └─ place: the folder with the store, the socket and the output
//! ```
//!
//! [`activation`] takes sockets over from the service manager.
//! [`error`] and [`exit`] are the reasons for which a command ends, and the code that its shell gets.
//! [`message`] and [`relative`] write texts for people. [`diagnosis`] judges a server's answers, for `doctor`
//! and for the page.
//!
//! Cost: a running server sleeps until something is due or asked; see [`server`].
//!
//! Does not plan: `mainspring-job` decides which runs are due, which may start, and what is written first.
//! Does not read a command line.
//!
//! Source: cron(8) of Debian.

#![forbid(unsafe_code)]

#[cfg(feature = "commands")]
pub mod activation;
pub mod alarm;
pub mod data_directory;
pub mod diagnosis;
pub mod error;
pub mod exit;
pub mod finding;
#[cfg(feature = "sqlite")]
pub mod folder_store;
pub mod log;
mod machine_start;
pub mod message;
pub mod polling;
pub mod protocol;
pub mod relative;
#[cfg(test)]
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
pub mod server;
pub mod signals;
pub mod supervisor;
pub mod takeover;
pub mod waiting;

//! The program `mainspring`: runs jobs at their times, durably, and answers questions about schedules.
//!
//! ```text
//! file ─▶ source ─▶ jobfile, crontab ─▶ loaded ─▶ Job ─┐                      ┌─▶ executor: processes, webhooks
//!            └──▶ problem                              ├─▶ server ─▶ planner ─┼─▶ store: one batch a turn, on disk
//! command line ─▶ client ─▶ protocol, over a socket ───┘     ▲                └─▶ replies
//!                                                   alarm, signals, files
//! ```
//!
//! Without a server, `check` shows problems and [`warning`]s, `simulate` puts jobs on the virtual clock of [`simulation`],
//! and `next`, `explain` and `translate` ask `mainspring-cron` about one expression. What is printed for other programs are the
//! types of [`wire`] and [`protocol`].
//!
//! The parts are a library, so that they can be read, tested and documented one by one; the program is `main.rs`, which
//! only asks [`cli`] and [`commands`]. Reading a file is pure: it returns jobs and problems. The clock is read in
//! [`clock`], processes are touched in [`executor`], and everything else is given what it needs.
//!
//! Cost: a running server sleeps until something is due or asked; see [`server`].
//!
//! Does not plan: what is due, what may start and what is written first is decided by `mainspring-job`.
//!
//! Source: crontab(5) and cron(8) of Debian.

#![forbid(unsafe_code)]

pub mod alarm;
pub mod cli;
pub mod client;
pub mod commands;
pub mod error;
pub mod exit;
pub mod log;
pub mod message;
pub mod place;
pub mod protocol;
pub mod relative;
pub mod server;
pub mod signals;
pub mod simulation;
pub mod table;
pub mod waiting;
pub mod wire;

//! The program `mainspring`: runs the commands of crontabs at their times.
//!
//! ```text
//! file ─▶ source ─▶ crontab (entry, environment, command) ─▶ job ─▶ timetable ─▶ due ─▶ daemon ─▶ executor ─▶ log
//!            │           └──▶ problem                                              ▲                  │
//!            └ lines                                                  signals ─────┘     process groups, pipes
//! ```
//!
//! The commands that run nothing share the first half: `check` shows problems and [`warning`]s, `simulate` puts jobs on
//! the virtual clock of [`simulation`], and `next`, `explain` and `translate` ask `mainspring-cron` about one expression.
//! What they print for other programs are the types of [`wire`].
//!
//! The parts are a library, so that they can be read, tested and documented one by one; the program is `main.rs`, which
//! only asks [`cli`] and [`commands`]. Reading a file is pure: it returns entries and problems. The clock is read in
//! [`clock`], processes are touched in [`executor`], and everything else is given what it needs.
//!
//! Cost: a running `mainspring run` sleeps until something is due; see [`daemon`].
//!
//! What is durable is in [`store`], and what is decided about it in `mainspring-job`. See `mainspring-cron` for the language of
//! time fields and `mainspring` for timers.
//!
//! Source: crontab(5) and cron(8) of Debian.

#![deny(unsafe_code)]

pub mod accounts;
pub mod action;
pub mod bell;
pub mod cli;
pub mod client;
pub mod clock;
pub mod commands;
pub mod crontab;
pub mod daemon;
pub mod due;
pub mod error;
pub mod executor;
pub mod exit;
pub mod job;
pub mod jobfile;
pub mod loaded;
pub mod log;
pub mod message;
pub mod place;
pub mod problem;
pub mod protocol;
pub mod relative;
pub mod signals;
pub mod simulation;
pub mod source;
pub mod store;
pub mod spelling;
pub mod table;
pub mod timetable;
pub mod trust;
pub mod warning;
pub mod wire;

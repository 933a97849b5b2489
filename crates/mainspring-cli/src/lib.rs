//! The program `mainspring`: what is typed, what is asked for, and what is printed.
//!
//! ```text
//! arguments ─▶ cli ─▶ commands ─┬─▶ serve: files, store and loop, as mainspring-server has them
//!                               ├─▶ client ─▶ the socket of a server ─▶ table: text for people
//!                               ├─▶ check, simulate: jobs of files, on the virtual clock of simulation
//!                               └─▶ next, explain, translate: one expression, as mainspring-cron has it
//! ```
//!
//! What is printed for other programs are the types of [`wire`] and of the protocol.
//!
//! The parts are a library, so that they can be read, tested and documented one by one; the program is
//! `main.rs`, which only asks [`cli`] and [`commands`].
//!
//! Cost: a command asks one question and ends.
//!
//! Does not plan, and does not write to a store: the server does.

#![forbid(unsafe_code)]

pub mod cli;
pub mod client;
pub mod commands;
#[cfg(test)]
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
pub mod simulation;
pub mod table;
pub mod terminal;
pub mod top;
pub mod wire;

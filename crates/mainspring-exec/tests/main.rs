//! Processes and webhooks as their loop drives them.
//!
//! No test sleeps or measures: each waits for a line or for the end of a process, with a bound that only a
//! hang reaches.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod left_behind;
mod process;
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
mod webhook;

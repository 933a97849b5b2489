//! The crate from outside: what readers of others' texts take from the machine, and the committed dashboard.
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]

mod dashboard;
mod growth;

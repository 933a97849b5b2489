//! The store in a real PostgreSQL.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by it")]

mod contract;
mod database;
mod failover;
mod members;
mod names;
mod outbox;
mod pages;
mod relay;
mod retention;
mod taken;
mod tls;
mod trouble;

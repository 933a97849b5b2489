//! The store in a real PostgreSQL.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by it")]

mod archive_blocks;
mod column_batches;
mod columns;
mod contract;
mod database;
mod failover;
mod formats;
mod names;
mod pages;
mod relay;
mod taken;
mod tls;
mod trouble;
mod write_buffer;

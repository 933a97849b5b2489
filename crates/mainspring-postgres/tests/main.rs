//! The store in a real PostgreSQL.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by it")]

mod columns;
mod contract;
mod database;
mod failover;
mod formats;
mod journal;
mod moves;
mod names;
mod packs;
mod pages;
mod relay;
mod shards;
mod taken;
mod tls;
mod trouble;
mod waves;

//! Tests of the public face: the planner under simulation, its rules one by one, and the contract of stores.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(feature = "contract")]
mod contract;

mod errors;
#[path = "../src/store/contract/replay.rs"]
mod replay;
mod rules;
#[cfg(feature = "serde")]
mod serde;
mod simulation;

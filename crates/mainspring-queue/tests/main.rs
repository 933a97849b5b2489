//! The public face of the crate, tested: every structure is held to the contract and runs every scenario.

extern crate alloc;

mod broken;
mod chunked;
mod contract;
mod memory;
mod no_std;
mod outsider;
#[path = "../src/contract/replay.rs"]
mod replay;
mod scenarios;
#[cfg(feature = "serde")]
mod serde;

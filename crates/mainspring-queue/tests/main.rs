//! The public face of the crate, tested: every structure is held to the contract and runs every scenario.

mod broken;
mod chunked;
mod contract;
mod memory;
mod outsider;
mod scenarios;

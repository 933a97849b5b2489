//! The public face of the crate, tested.

mod broken;
mod contract;

//! The public face of the crate, tested from the outside: cases as data, and properties.
#![allow(clippy::unwrap_used, reason = "what a test takes for granted may fail it")]

mod cases;
mod changes;
mod daemon;
mod differential;
mod errors;
mod language;
mod naive;
mod places;
mod random;
mod replay;
mod sentences;
#[cfg(feature = "serde")]
mod serde;
mod translations;
mod types;
mod zones;

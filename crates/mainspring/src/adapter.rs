//! The future front in the clothes of other crates' timers.
//!
//! | feature | crate | gives |
//! |---|---|---|
//! | `hyper` | hyper 1 | `hyper::rt::Timer` for [`Futures`](crate::front::Futures), and `Sleep` for its sleeps |
//! | `tower-03` | tower-layer and tower-service 0.3 | a layer that times requests out |
//! | `quinn-011` | quinn 0.11 | an `AsyncTimer` for a `Runtime` |
//! | none needed | backon 1 | `let sleeper = move \|delay\| futures.sleep(delay)` is a `Sleeper` |
//!
//! The features of crates before their 1.0 have the version in their names: another version is another
//! feature.
//!
//! Times that those crates give as instants become [`Deadline`](crate::clock::Deadline)s, so they are never
//! early, on any clock of the engine.
//!
//! Cost: that of the future, and what each crate's interface asks for (hyper's a box per sleep).

#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "quinn-011")]
pub mod quinn;
#[cfg(feature = "tower-03")]
pub mod tower;

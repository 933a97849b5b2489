//! The future front in the clothes of other crates' timers.
//!
//! | feature | crate | gives |
//! |---|---|---|
//! | `hyper` | hyper 1 | `hyper::rt::Timer` for [`Futures`](crate::front::Futures), and `Sleep` for its sleeps |
//! | `tower` | tower | a layer that times requests out |
//! | `quinn` | quinn 0.11 | an `AsyncTimer` for a `Runtime` |
//! | none needed | backon 1 | `let sleeper = move \|delay\| futures.sleep(delay)` is a `Sleeper` |
//!
//! Times that those crates give as instants are turned into delays from now, so they are never early, on any
//! clock of the engine. That is why this is the one place beside the clocks that reads one.
//!
//! Cost: that of the future, and what each crate's interface asks for (hyper's a box per sleep).

#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "tower")]
pub mod tower;

#[cfg(any(feature = "hyper", feature = "quinn"))]
use std::time::{Duration, Instant};

/// How far away an instant of the operating system's clock is; zero if it has passed.
#[cfg(any(feature = "hyper", feature = "quinn"))]
#[expect(clippy::disallowed_methods, reason = "these crates speak of instants, which only this clock has")]
fn delay_until(instant: Instant) -> Duration {
    instant.saturating_duration_since(Instant::now())
}

//! A timer engine: from one timeout in a program to thousands of schedules.
//!
//! ```
//! use std::time::Duration;
//!
//! let engine = mainspring::preset::mainspring()?;
//! let callbacks = engine.callbacks();
//! let heartbeat = callbacks.every(Duration::from_millis(10), |_| println!("still here"))?;
//! let timeout = callbacks.after(Duration::from_secs(30), |_| println!("gave up waiting"))?;
//!
//! assert!(timeout.cancel(), "the answer came in time");
//! heartbeat.cancel();
//! assert_eq!(engine.shutdown().len(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A timer passes through five parts, each of which can be chosen: `schedule -> front -> handle -> driver -> queue ->
//! expire -> driver -> front -> fire`.
//!
//! - The **queue** ([`mainspring_queue`]) holds deadlines and payloads; it knows no clock.
//! - The [**clock**](clock) is the source of now, and what a driver waits with: the operating system's, or a manual one
//!   for tests and simulations.
//! - The [**driver**](driver) owns a queue, sleeps until something is due and fires it.
//! - The [**handle**](Handle) schedules, cancels and resets from any thread.
//! - The [**front**](front) is how a program meets its timers: callbacks, a calendar.
//!
//! A [**preset**](preset) is a named combination of them, and an [`Engine`] a running one.
//!
//! Feature `calendar`: cron expressions in time zones, on the wall clock. Feature `poll`: a driver that waits for sockets
//! and timers at once.

#![deny(unsafe_code)]
#![cfg_attr(not(feature = "poll"), forbid(unsafe_code))]

pub mod preset;

pub mod front;

pub mod handle;

pub mod engine;

pub mod driver;

pub mod clock;

mod sync;

#[cfg(feature = "calendar")]
pub mod epoch;

pub use driver::TimerId;
pub use engine::Engine;
pub use handle::Handle;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

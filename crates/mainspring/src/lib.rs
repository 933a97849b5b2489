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
//! - The [**front**](front) is how a program meets its timers: callbacks, channels, futures, keys, mailboxes, a
//!   calendar.
//!
//! A [**preset**](preset) is a named combination of them, and an [`Engine`] a running one.
//!
//! The [guide] chooses for you, and puts the calls of Go, Netty, Kafka, tokio, skynet and nginx beside these.
//!
//! Features: `calendar` (cron expressions in time zones, on the wall clock), `channel` (Go's timers), `poll` (a driver that
//! waits for sockets and timers at once), `hyper`, `tower` and `quinn` (their timers, on this engine), `tokio` (an engine that
//! follows a runtime's paused clock).

#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod preset;

#[doc = include_str!("guide.md")]
pub mod guide {}

pub mod front;

#[cfg(any(feature = "hyper", feature = "quinn", feature = "tower"))]
pub mod adapter;

pub mod handle;

pub mod engine;

pub mod driver;

pub mod clock;

pub mod trace;

mod sync;

#[cfg(feature = "calendar")]
pub mod epoch;

pub use driver::TimerId;
pub use engine::Engine;
pub use handle::Handle;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Timers for programs and libraries. Run something later or again and again, or set a timeout: in threads,
//! in async code under any runtime, or in a loop of your own. A timer is scheduled, cancelled or reset in
//! constant time, however many timers are pending. No timer fires early.
//!
//! ```
//! use std::time::Duration;
//!
//! # async fn fetch() -> &'static str { "the page" }
//! # smol::block_on(async {
//! // A closure, later, and again and again; then a future, under any runtime.
//! let hello = mainspring::after(Duration::from_secs(1), || println!("hello"))?;
//! let beat = mainspring::every(Duration::from_secs(5), || println!("still here"))?;
//! let page = mainspring::timeout(Duration::from_secs(2), fetch()).await?;
//! hello.reset(Duration::from_secs(3)); // or .cancel()
//! # beat.cancel();
//! # assert_eq!(page, "the page");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! | I want | take | feature |
//! |---|---|---|
//! | a closure to run later, or once a period | [`after`], [`every`], [`Callbacks`] | |
//! | to sleep, to give up, to tick in async code | [`sleep`], [`timeout`], [`interval`], [`Futures`] | |
//! | to `select!` over timers and channels | [`Channels`] | `channel` |
//! | items that come out when they are due, by key | [`DelayQueue`], [`KeyedTasks`] | |
//! | cron in a time zone | [`Calendar`] | `calendar` |
//! | sockets and timers in one loop | [`driver::Poll`] | `poll` |
//! | how late timers fire, as a histogram or for Prometheus | [`Engine::report`], [`Engine::open_metrics`] | `report` |
//! | the timers of hyper, tower and quinn | [`adapter`] | `hyper`, `tower-03`, `quinn-011` |
//! | tests without sleeping | [`Simulation`] | |
//! | another structure, clock or limit | [`preset`], [`queue`], [`Engine::start`] | |
//!
//! **Good to know.** The functions above share one engine, which the first use starts: one thread, with ticks
//! of a millisecond. A callback runs on that thread and delays the others, so hand long work to
//! [`RunTasksOn`](front::RunTasksOn). An [`Engine`] of your own ends when it is dropped. A closure's timer
//! continues when its handle is dropped; a sleep does not: see [`front`]. A function with a bare verb as its
//! name takes a duration from now. One whose name ends in `_at` or `_until` takes a [`Tick`] of the engine's
//! clock, and in async code an instant too. Deadlines are rounded up to a tick. The minimum Rust is 1.89.
//!
//! The [guide] has recipes, and compares the calls of tokio, Go, Netty, Kafka, skynet and nginx with these.
//!
//! # Parts
//!
//! A timer passes through five parts. Each of them can be chosen, or written outside of this crate: `schedule
//! -> front -> handle -> driver -> queue -> expire -> driver -> front -> fire`.
//!
//! - The [**queue**](queue) holds deadlines and payloads; it knows no clock.
//! - The [**clock**](clock) is the source of now, and what a driver waits with: the operating system's, or a
//!   manual one for tests and simulations.
//! - The [**driver**](driver) owns a queue, sleeps until something is due and fires it.
//! - The [**handle**](Handle) schedules, cancels and resets from any thread.
//! - The [**front**](front) is how a program meets its timers: callbacks, channels, futures, keys, mailboxes,
//!   a calendar.
//!
//! A [**preset**](preset) is a named combination of them, and an [`Engine`] a running one.
//!
//! # Crates in this interface
//!
//! Types of other crates are part of this interface. They are re-exported, so a program need not name those
//! crates: [`queue`] always; `jiff` and `cron` with `calendar`, `crossbeam_channel` with `channel`,
//! `hdrhistogram` with `report`. A new version of one before its 1.0 is a new minor version of this
//! crate until that is 1.0 itself.

// A function that a program of one timer does not call is `#[inline]` if it is not generic. Its code is made
// where it is called, so that no program compiles a simulation, a recorder or mailboxes that it does not
// have: a fifth of the time of a cold build.
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// What a version 1.0 would freeze is chosen, and what a page must say is said.
#![warn(missing_debug_implementations)]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, clippy::return_self_not_must_use)]

pub mod global;

pub mod simulation;

pub mod preset;

#[doc = include_str!("guide.md")]
pub mod guide {}

pub mod front;

#[cfg(any(feature = "hyper", feature = "quinn-011", feature = "tower-03"))]
pub mod adapter;

pub mod handle;

pub mod engine;

pub mod driver;

pub mod clock;

pub mod trace;

mod sync;

#[cfg(feature = "wall")]
pub mod epoch;

#[doc(inline)]
pub use driver::TimerId;
#[doc(inline)]
pub use engine::Engine;
#[cfg(feature = "calendar")]
#[doc(inline)]
pub use front::Calendar;
#[cfg(feature = "channel")]
#[doc(inline)]
pub use front::Channels;
#[doc(inline)]
pub use front::{
    Callbacks, DelayQueue, Elapsed, Firing, Futures, Interval, KeyedTasks, Mailboxes, Periodic, Sleep, Task,
    Timeout, Timer,
};
#[doc(inline)]
pub use global::{after, every, global, interval, set_global, sleep, timeout};
#[doc(inline)]
pub use handle::Handle;
#[doc(inline)]
pub use simulation::Simulation;

pub use mainspring_queue::{self as queue, Tick};

#[cfg(feature = "channel")]
pub use crossbeam_channel;
#[cfg(feature = "report")]
pub use hdrhistogram;
#[cfg(feature = "wall")]
pub use jiff;
#[cfg(feature = "calendar")]
pub use mainspring_cron as cron;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

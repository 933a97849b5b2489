//! Durable jobs with handlers in Rust, inside a program of your own.
//!
//! ```text
//!  once("remind").submit() ─▶ on disk ┐                        ┌─▶ a function, on a small pool of threads
//!  Cron, Every ─▶ due ────────────────┴─▶ start record on disk ┴─▶ a future, on the program's own runtime
//!                                                   history ◀── Ok, an error, a panic, too late
//! ```
//!
//! The scheduler is that of `mainspring serve`: the same planner, the same store, the same loop on a thread
//! of its own. What differs is that handlers are called instead of processes. So `mainspring list
//! --data DIR`, `history`, `show` and `dead` work on the folder, while the program runs and when it does not.
//!
//! # Example
//! ```
//! use mainspring_embed::{Handler, Jobs, ManualClock, Run, RunState};
//! use serde::{Deserialize, Serialize};
//! use std::time::Duration;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Reminder {
//!     text: String,
//! }
//!
//! const REMIND: Handler<Reminder> = Handler::new("remind");
//!
//! // In a program: Jobs::open("data")?. Here the clock is moved by hand, and nothing is on disk.
//! let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
//! let jobs = Jobs::simulated(&clock)
//!     .handler(REMIND, |run: &Run, to: Reminder| {
//!         println!("{}: {}", run.due(), to.text);
//!         Ok::<(), String>(())
//!     })
//!     .start()?;
//! let (day, reminder) = (Duration::from_secs(86_400), Reminder { text: "pay".into() });
//! let submitted = jobs.once(REMIND).key("user-17").after(day).payload(&reminder).submit()?;
//! clock.advance(day);
//! assert_eq!(jobs.runs_of(submitted.job(), 1)?[0].state, RunState::Succeeded);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The promise
//! - A job is acknowledged only when it is on disk.
//! - There is one start record for each (job, nominal time, attempt), and it is on disk before anything
//!   starts.
//! - Nothing acknowledged is lost, at any moment of a crash.
//! - After a crash, a run without an end is `abandoned`, and follows its job's retry policy; one that does
//!   not name `abandoned` leaves it at that, and makes no dead letter of it. So the outside effect happens at
//!   most once by default, at least once where the job asks for that ([`Options::retry_abandoned`]), and
//!   effectively once for a receiver that keeps the idempotency key it is sent ([`Run::key`]). Never "exactly
//!   once".
//! - Nothing starts early, by the store's clock. Nothing that is recorded fires again, whatever the clock
//!   does.
//! - What did not run is a record with a reason, and not silence.
//!
//! The guide is `docs/embed.md` of the repository. Policies are those of [`mainspring_job`]; their pages have
//! the exact rules.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]
// Jobs in memory have neither a loop nor threads.
#![cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code))]

mod ahead;
mod around;
mod bounds;
mod builder;
mod catalogue;
mod client;
#[cfg(feature = "postgres")]
mod connect;
mod document;
mod error;
#[cfg(feature = "postgres")]
mod forward;
mod future;
mod handler;
mod handler_error;
mod handlers;
#[cfg_attr(not(feature = "sqlite"), path = "no_job_folder.rs")]
mod job_folder;
mod jobs;
#[cfg(feature = "tower-03")]
mod layer;
#[cfg(feature = "postgres")]
mod member;
mod notice;
#[cfg(feature = "sqlite")]
mod open;
mod options;
#[cfg(feature = "sqlite")]
mod outbox;
#[cfg(feature = "sqlite")]
mod outbox_signal;
#[cfg(all(feature = "page", unix))]
mod page;
mod parts;
mod payload;
mod pool;
mod progress;
mod registry;
mod run;
#[cfg_attr(not(feature = "postgres"), path = "no_shared_database.rs")]
mod shared_database;
mod simulation;
#[cfg(feature = "tracing")]
mod span;
mod started_loop;
mod stop;
mod submission;
mod transaction;
mod trigger;
mod when;

pub use around::Next;
pub use bounds::Bounds;
pub use builder::Builder;
pub use client::Client;
pub use error::{Error, OpenError};
pub use future::BoxFuture;
pub use handler::{Accepts, AnyPayload, DefinedBy, Handler, HandlerName, HandlerOptions};
pub use handler_error::HandlerError;
pub use jobs::{Jobs, UnreadablePayload};
#[cfg(feature = "tower-03")]
pub use layer::{HandlerFailure, HandlerService, RunCall};
pub use notice::Notice;
pub use options::Options;
pub use run::Run;
pub use simulation::ManualClock;
pub use submission::{Once, SubmittedJob};
pub use trigger::{Cron, Every};
pub use when::{After, When};

pub use jiff;
pub use mainspring_job::{
    self, Attempt, CatchUp, DeadLetters, JobName, NoticeKind, Outcome, Overlap, Policies, Reason, RunKey,
    RunRequest, RunState, WorkerSelector,
};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Durable jobs, without a clock, a thread or I/O: the planner decides which runs are due, which may start,
//! and what is written first.
//!
//! ```text
//!  Input (a fact, and when) ──▶ Planner ──▶ Batch ──▶ Store (atomic, durable, fenced)
//!                                  ▲                    │
//!                                  └── Committed ◀──────┘
//!                                  └──▶ Output, only for what is on disk
//! ```
//!
//! # Example
//! One job, turn by turn: tell the planner a fact, write its batch, perform its outputs.
//!
//! ```
//! use mainspring_job::cron::Schedule;
//! use mainspring_job::{
//!     Action, AttemptEnd, Command, Definitions, Input, Job, Limits, MemoryStore, Outcome, Output, Owner, Planner,
//!     Store, Ticket, Timetable, Work, Worker, WorkerEvent, WorkerId,
//! };
//! use std::error::Error;
//!
//! let mut store = MemoryStore::new();
//! let lease = store.acquire(&Owner::new("example"))?;
//! let mut planner = Planner::new(lease.epoch, Limits::default());
//! let mut turn = |now: &str, input: Input| -> Result<Vec<Output>, Box<dyn Error>> {
//!     let (now, mut outputs) = (now.parse()?, Vec::new());
//!     planner.handle(now, input, &mut outputs);
//!     while let Some(batch) = planner.take_batch() {
//!         let answers = store.commit(lease, &batch)?.answers;
//!         planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
//!     }
//!     Ok(outputs)
//! };
//!
//! let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
//! let backup = Job::new("backup".parse()?, daily, Work::new(Action::new("shell", "pg_dump orders")?));
//! let command = Command::Apply(Definitions::new("example", vec![backup]));
//! turn("2026-11-20T12:00:00Z", Input::Command { ticket: Ticket(1), command })?;
//! let worker = Worker::new(WorkerId(lease.epoch), "this machine", 16);
//! turn("2026-11-20T12:00:00Z", Input::Worker(WorkerEvent::Present(worker)))?;
//! turn("2026-11-20T12:00:00Z", Input::Begin { takeover: lease.takeover })?;
//!
//! let outputs = turn("2026-11-21T02:30:00Z", Input::Tick)?;
//! let Some(Output::Start(start)) = outputs.first() else { panic!("{outputs:?}") };
//! assert_eq!(start.key.to_string(), "backup@2026-11-21T02:30:00Z");
//! assert_eq!(start.work.action.body(), "pg_dump orders");
//! let (key, attempt, outcome) = (start.key.clone(), start.attempt, Outcome::Succeeded);
//! turn("2026-11-21T02:31:00Z", Input::Ended(AttemptEnd::new(key, attempt, outcome)))?;
//! # Ok::<(), Box<dyn Error>>(())
//! ```
//!
//! # The promise
//! - A job is acknowledged only when it is on disk.
//! - There is one start record for each (job, nominal time, attempt), and it is on disk before anything
//!   starts.
//! - Nothing acknowledged is lost, at any moment of a crash.
//! - After a crash, a run without an end is `abandoned`, and its job's retry policy decides what follows. If
//!   the policy does not name `abandoned`, the run stays so and is no dead letter. So the outside effect
//!   happens at most once by default, and at least once if the job asks for that
//!   (`retry=3,on=failed+timed_out+abandoned`). It happens effectively once for a receiver that remembers the
//!   idempotency key of each run, and never "exactly once".
//! - A job that kills the server does so a limited number of times: see [`MAX_CRASHES`].
//! - Nothing starts early, by the store's clock. A recorded occurrence does not fire again, whatever the
//!   clock does.
//! - An occurrence that did not run is a record with a reason.
//!
//! | to read | see |
//! |---|---|
//! | what a job is | [`Job`], [`Timetable`], [`Trigger`], [`Once`] |
//! | a job that follows another | [`After`] |
//! | a trigger written by the program | [`Rule`] |
//! | the policies, each with its exact rule | [`policy`]: [`Policies`], [`Misfire`], [`Overlap`], [`Retry`], [`Timeout`], [`Retention`] |
//! | the states of a run, drawn | [`RunState`] |
//! | the facts that the planner is told, and its outputs | [`Input`], [`Output`] |
//! | the planner, and its limits | [`Planner`], [`Limits`] |
//! | the servers that carry runs out | [`Worker`], [`WorkerEvent`], [`Needs`] |
//! | what is on disk | [`Operation`], [`Store`], the contract of stores in [`store`] |
//!
//! # A shell's turn
//! ```text
//!  1  tell the planner each fact that waits: planner.handle(now, input, &mut outputs)
//!  2  take the batch to write: planner.take_batch(); one group commit for the whole turn
//!  3  store.commit(lease, &batch), then tell it: Input::Committed { number, answers }
//!  4  perform the outputs, in order
//!  5  sleep until planner.next_due(), or until something happens
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// What a version 1.0 would freeze is chosen, and what a page must say is said.
#![warn(missing_debug_implementations)]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, clippy::return_self_not_must_use)]

pub mod audit;
pub mod name;
pub mod outcome;
pub mod reason;
pub mod state;

pub mod exclusion;
pub mod policy;
pub mod rate;
pub mod timetable;
pub mod trigger;

mod absence;
mod circle;
pub mod job;
pub mod once;
pub mod record;
pub mod run;
pub mod work;
pub mod worker;

pub mod input;
pub mod operation;
pub mod output;
pub mod refusal;

mod hash;
pub mod hook;
pub mod planner;

pub mod store;

pub mod holder;
#[cfg(any(test, feature = "contract"))]
#[path = "store/contract/replay.rs"]
#[allow(dead_code, reason = "the suite and the tests use different parts")]
mod replay;
mod turn;

#[cfg(feature = "serde")]
mod serde;

pub use jiff;
pub use mainspring_cron as cron;

pub use absence::{Absence, MAX_ABSENCE};
#[doc(inline)]
pub use audit::{Audit, AuditQuery, AuditRow, MAX_AUDIT_ROWS, MAX_NOTE_BYTES};
pub use circle::circle;
#[doc(inline)]
pub use exclusion::Exclusion;
pub use hash::text_hash;
#[doc(inline)]
pub use holder::Holder;
#[doc(inline)]
pub use hook::{Call, Hook, Hooks, MAX_CALLS, MAX_WAITING_CALLS, Notice, NoticeKind};
#[doc(inline)]
pub use input::{AttemptEnd, Command, Definitions, Input, Prune, RunRequest, Scope, Ticket, WorkerEvent};
#[doc(inline)]
pub use job::{Group, Job, MAX_LABEL_BYTES, MAX_LABELS};
#[doc(inline)]
pub use name::{JobName, MAX_NAME_CHARS, NameError};
#[doc(inline)]
pub use once::{MAX_KEY_BYTES, Once, OnceId, Submission};
#[doc(inline)]
pub use operation::{Answer, Assignment, Batch, MAX_BATCH_OPERATIONS, MAX_PRUNED, Operation, Takeover};
#[doc(inline)]
pub use outcome::{Failure, MAX_MESSAGE_BYTES, Outcome};
#[doc(inline)]
pub use output::{ApplyReport, Note, Output, Reply, Start};
#[doc(inline)]
pub use planner::{
    Hold, HoldRows, Limits, Load, MAX_BACKFILL_RUNS, MAX_CRASHES, MAX_FOLLOWERS, MAX_ON_PROBATION,
    MAX_WAITING_REQUESTS, PROBATION, Planner, UNSERVED_PATIENCE, preview, rewind_preview,
};
#[doc(inline)]
pub use policy::{
    CatchUp, DeadLetters, Kill, MAX_CATCH_UP_RUNS, MAX_JITTER, MAX_KEPT_RUNS, MAX_KILL_GRACE,
    MAX_QUEUED_RUNS, MAX_RETRIES, MAX_SELECTOR_LABELS, Misfire, Overlap, Policies, PolicyError, PolicyKey,
    Retention, Retry, RetryOn, Signal, Timeout, WorkerSelector, read_duration,
};
#[doc(inline)]
pub use rate::{MAX_RATE_PERIOD, MAX_RATE_STARTS, MIN_RATE_PERIOD, Rate};
#[doc(inline)]
pub use reason::Reason;
#[doc(inline)]
pub use record::{JobRecord, LastRun, Mark, Pause, PauseTerms};
pub use refusal::{Refusal, RefusalKind};
#[doc(inline)]
pub use run::{Attempt, Cause, KeyError, Run, RunKey};
#[doc(inline)]
pub use state::{Forgiveness, RunState};
#[cfg(feature = "contract")]
#[doc(inline)]
pub use store::contract;
#[doc(inline)]
pub use store::{
    Commit, Counts, Cursor, KeptOutput, LEASE_MARGIN, Lease, LeaseAge, LeaseDeadlines, MAX_KEPT_ATTEMPTS,
    MAX_KEPT_OUTPUT_BYTES, MAX_PAGE, MemoryStore, Order, Owner, Query, Reader, Renewal, RunPhase, Store,
    StoreError,
};
#[doc(inline)]
pub use timetable::{
    MAX_COUNTED, MAX_EXCLUSIONS, MAX_STEPS, MAX_TRIGGERS, Next, Span, Timetable, TimetableError,
};
#[doc(inline)]
pub use trigger::{After, Ending, Rule, Trigger};
pub use turn::turn;
#[doc(inline)]
pub use work::{Action, JobError, MAX_BODY_BYTES, MAX_KIND_BYTES, Work};
#[doc(inline)]
pub use worker::{MAX_WORKER_LABEL_BYTES, Needs, Worker, WorkerId, WorkerLabel, WorkerLabelError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

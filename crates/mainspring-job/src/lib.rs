//! Durable jobs, without a clock, a thread or I/O: what is due, what may start, and what is written first.
//!
//! ```text
//!  Input (facts, with the time) ──▶ Planner ──▶ Batch of operations ──▶ Store (atomic, durable, fenced)
//!                                      ▲                                   │
//!                                      └──────── Committed(answers) ◀──────┘
//!                                      └──▶ Output (start, kill, reply, load, note), only for what is on disk
//! ```
//!
//! # The promise
//! - A job is acknowledged only when it is on disk.
//! - There is one start record for each (job, nominal time, attempt), and it is on disk before anything starts.
//! - Nothing acknowledged is lost, at any moment of a crash.
//! - After a crash, a run without an end is `abandoned`, and follows its job's retry policy; one that does not name `abandoned`
//!   leaves it at that, and makes no dead letter of it. So the outside effect happens at most once by default, at least once where the job asks for that (`retry=3,on=failed+timed_out+abandoned`), and effectively
//!   once for a receiver that keeps the idempotency key it is sent. Never "exactly once".
//! - A job that kills the server does not kill it for ever: see [`MAX_CRASHES`].
//! - Nothing starts early, by the store's clock. Nothing that is recorded fires again, whatever the clock does.
//! - What did not run is a record with a reason, and not silence.
//!
//! | to read | see |
//! |---|---|
//! | what a job is | [`Job`], [`Timetable`], [`Trigger`], [`Once`] |
//! | a rule of one's own that says when | [`Rule`] |
//! | the policies, each with its exact rule | [`Policies`], [`Misfire`], [`Overlap`], [`Retry`], [`Timeout`], [`Retention`] |
//! | the states of a run, drawn | [`RunState`] |
//! | what the planner is told and wants | [`Input`], [`Output`] |
//! | what decides | [`Planner`], [`Limits`] |
//! | what is on disk | [`Operation`], [`Store`] |
//!
//! # A shell's turn
//! ```text
//!  1  tell the planner what has happened: planner.handle(now, input, &mut outputs), for each fact that waits
//!  2  take what it wants written: planner.take_batch(); one group commit for the whole turn
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

mod name;
mod outcome;
mod state;

mod exclusion;
mod policy;
mod timetable;
mod trigger;

mod job;
mod once;
mod record;
mod run;

mod input;
mod operation;
mod output;

mod hash;
mod planner;

mod store;

pub use jiff;
pub use mainspring_cron as cron;

pub use exclusion::Exclusion;
pub use input::{Command, Definitions, Input, Prune, Scope, Ticket};
pub use job::{Action, Group, Job, JobError, MAX_BODY_BYTES, MAX_KIND_BYTES, Work};
pub use name::{JobName, MAX_NAME_CHARS, NameError};
pub use once::{MAX_KEY_BYTES, Once, OnceId, Submission};
pub use operation::{Answer, Batch, MAX_BATCH_OPERATIONS, MAX_PRUNED, Operation, Takeover};
pub use outcome::{Failure, MAX_MESSAGE_BYTES, Outcome};
pub use output::{Applied, Note, Output, Refusal, Reply, Start};
pub use planner::{
    Limits, MAX_BACKFILL_RUNS, MAX_CRASHES, MAX_ON_PROBATION, PROBATION, Planner, preview, rewind_preview,
};
pub use policy::{
    CatchUp, DeadLetters, Kill, MAX_CATCH_UP_RUNS, MAX_JITTER, MAX_KEPT_RUNS, MAX_KILL_GRACE,
    MAX_QUEUED_RUNS, MAX_RETRIES, Misfire, Overlap, Policies, PolicyError, Retention, Retry, RetryOn, Signal,
    Timeout,
};
pub use record::{JobRecord, Mark, Pause};
pub use run::{Attempt, Cause, Run, RunKey};
pub use state::RunState;
#[cfg(feature = "contract")]
pub use store::contract;
pub use store::{
    Committed, Counts, Hint, Lease, MAX_PAGE, MemoryStore, Owner, Query, Reader, Renewed, Shard, Store,
    StoreError,
};
pub use timetable::{
    MAX_COUNTED, MAX_EXCLUSIONS, MAX_STEPS, MAX_TRIGGERS, Next, Span, Timetable, TimetableError,
};
pub use trigger::{Rule, Trigger};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

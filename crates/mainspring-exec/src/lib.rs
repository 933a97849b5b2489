//! Executes the work: processes, each in a session of its own, and webhooks.
//!
//! ```text
//! body ─ specs ─▶ spec ─▶ executor ─▶ run ─┬─▶ process ─▶ sys: what happens between fork and exec
//!                                          └─▶ pipe ─▶ mask: no secrets ─▶ output: lines
//!             webhook ─▶ deliveries: a thread for each, which notifies the loop
//! ```
//!
//! [`cgroup`] keeps a run and all that it starts together, [`descriptors`] says how much may run at once,
//! [`secret`] and [`signature`] what is read when something starts, and [`orphans`] reaps what jobs leave
//! behind. The clocks are read in [`clock`] alone; what is waited for stands in
//! [`waits`], and what is not to begin before its time in [`delay_queue`].
//!
//! Cost: see [`executor`]; nothing while nothing runs.
//!
//! Does not know jobs, schedules or stores: what is started and ended is named by its caller's own keys.
//!
//! The only code of the program that is not safe is in `sys.rs`, and in `kernel` for it.

#![deny(unsafe_code)]

pub mod attributes;
mod automaton;
pub mod cgroup;
pub mod clock;
pub mod delay_queue;
#[cfg(feature = "webhooks")]
pub mod deliveries;
pub mod descriptors;
mod detached_runs;
mod env_file;
pub mod executor;
pub mod keeper;
mod kernel;
mod launch;
pub mod mask;
pub mod notifier;
pub mod orphans;
pub mod output;
mod outputs;
mod pam_env;
pub mod pipe;
pub mod process;
#[cfg(test)]
#[path = "../../mainspring-queue/src/contract/replay.rs"]
mod replay;
pub mod run;
#[cfg(test)]
#[path = "../../mainspring-host/src/scratch.rs"]
mod scratch;
pub mod secret;
pub mod shortage;
#[cfg(feature = "webhooks")]
pub mod signature;
pub mod span;
pub mod spec;
pub mod specs;
pub mod starter;
mod sys;
pub mod tail;
pub mod waits;
#[cfg(feature = "webhooks")]
pub mod webhook;
#[cfg(feature = "webhooks")]
pub mod webhook_specs;

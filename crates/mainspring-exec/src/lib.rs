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
//! behind. The clocks are read in [`clock`] alone; what is waited for, and what is not to begin before its
//! time, stands in a [`delay_queue`].
//!
//! Cost: see [`executor`]; nothing while nothing runs.
//!
//! Does not know jobs, schedules or stores: what is started and ended is named by its caller's own keys.
//!
//! The only code of the program that is not safe is in `sys.rs`, and in `kernel` for it.

#![deny(unsafe_code)]

#[cfg(unix)]
pub mod attributes;
#[cfg(unix)]
mod automaton;
#[cfg(unix)]
pub mod cgroup;
pub mod clock;
pub mod delay_queue;
#[cfg(feature = "webhooks")]
pub mod deliveries;
pub mod descriptors;
#[cfg(unix)]
mod detached_runs;
pub mod end;
#[cfg(unix)]
mod env_file;
#[cfg(unix)]
pub mod executor;
#[cfg(unix)]
pub mod keeper;
mod kernel;
#[cfg(unix)]
mod launch;
#[cfg(unix)]
pub mod mask;
pub mod notified_channel;
pub mod notifier;
#[cfg_attr(windows, path = "no_limit.rs")]
mod open_file_limit;
#[cfg(unix)]
pub mod orphans;
pub mod output;
#[cfg(unix)]
mod outputs;
#[cfg(unix)]
mod pam_env;
#[cfg(unix)]
pub mod pipe;
#[cfg(unix)]
pub mod process;
#[cfg(test)]
#[path = "../../mainspring-queue/src/contract/replay.rs"]
mod replay;
#[cfg(unix)]
pub mod run;
#[cfg(test)]
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
#[cfg(unix)]
pub mod secret;
pub mod shortage;
#[cfg(feature = "webhooks")]
pub mod signature;
pub mod span;
#[cfg(unix)]
pub mod spec;
#[cfg(unix)]
pub mod specs;
#[cfg(unix)]
pub mod starter;
#[cfg(unix)]
mod sys;
#[cfg(unix)]
pub mod tail;
#[cfg(feature = "webhooks")]
pub mod webhook;
#[cfg(feature = "webhooks")]
pub mod webhook_specs;

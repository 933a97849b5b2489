//! The body of a job as plain data: the readers of files write it, and the executor reads it. Neither of the
//! two knows the other.
//!
//! ```text
//! job file, crontab, command line ─▶ body ─▶ JSON in the store ─▶ body ─▶ executor
//!                                     │
//!                                     └─ names: limits and defaults; template: {job.name}; secret: what is never shown
//! ```
//!
//! Cost: one small JSON document for each definition and each start.
//!
//! Does not run anything, and does not look up what a body names.

#![forbid(unsafe_code)]

pub mod body;
pub mod check;
pub mod key;
pub mod mail;
pub mod names;
pub mod needs;
pub mod notification;
pub mod ping;
pub mod process;
pub mod receiver;
pub mod secret;
pub mod template;
pub mod url;
pub mod webhook;

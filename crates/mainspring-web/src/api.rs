//! The answers of the routes, by subject.
//!
//! Cost: see each.
//!
//! Does not check the caller: that was done before.

pub mod actions;
pub mod define;
pub mod events;
pub mod explain;
mod file_reports;
pub mod files;
mod job_order;
pub mod jobs;
pub mod log;
pub mod meta;
pub mod once;
pub mod overview;
pub mod requests;
pub mod runs;
pub mod upcoming;

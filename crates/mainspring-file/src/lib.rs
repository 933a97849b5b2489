//! The files that define jobs: crontabs and job files, read to jobs and to problems with a line and a column.
//!
//! ```text
//! path ─▶ source ─┬─▶ crontab ─┬─▶ loaded: jobs, groups, problems ─▶ claims: which file has which name
//!                 └─▶ jobfile ─┘         ▲
//!                                trust: who else could have written it
//! ```
//!
//! [`problem`] is a fault at a place in a line; it says what to write instead, if [`spelling`] finds it.
//! [`warning`] is for text that is valid and looks wrong. [`job_source`] tells the jobs of one source from
//! those of another. [`watch`] decides when a file that changes is read, and when its jobs go.
//!
//! Cost: one pass over a file of at most 4 MiB.
//!
//! Does not look at files by itself, and runs nothing. Reading text is pure: only [`source`] opens a file,
//! and only [`loaded_file`] asks as which user the program runs.
//!
//! Source: crontab(5) of Debian.

#![forbid(unsafe_code)]

pub mod budget;
pub mod claims;
pub mod classics;
pub mod cron_places;
pub mod crontab;
pub mod definition;
pub mod folder;
pub mod hook;
pub mod job_source;
pub mod jobfile;
pub mod loaded_file;
pub mod plain;
pub mod presence;
pub mod problem;
#[cfg(test)]
#[path = "../../mainspring-queue/src/contract/replay.rs"]
mod replay;
#[cfg(test)]
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
pub mod source;
pub mod spelling;
pub mod system_zone;
pub mod trust;
#[cfg_attr(not(feature = "webhooks"), path = "no_url.rs")]
mod url;
pub mod warning;
pub mod watch;
pub mod zone_files;

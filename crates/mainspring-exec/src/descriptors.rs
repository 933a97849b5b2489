//! Counts files that this process may open, and the runs for which they suffice.
//!
//! ```text
//! ulimit -n      1024, hard 524288      as it was: what every process of a job has again
//! raise          1728                   as much as MAX_RUNNING needs, and no more
//! runs_at_once   (limit - RESERVED) / PER_RUN, from 1 to MAX_RUNNING
//! ```
//!
//! The limit is the process's, and so is what it was before: it is kept here once for all.
//!
//! Cost: a system call.
//!
//! Does not count what is open.
//!
//! Source: getrlimit(2); "File Descriptor Limits", <https://0pointer.net/blog/file-descriptor-limits.html>: a
//! program that can have more raises its soft limit, and gives its children the old one, because some of them
//! use select(2).

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The most commands that run at one time, if the limit of open files allows it: see [`runs_at_once`].
pub const MAX_RUNNING: usize = 256;

/// The descriptors of one run: three pipes and the file of its output, and two of a webhook that was given up
/// and ends later.
const PER_RUN: u64 = 6;

/// All others: 64 connections with a file of output each, the store, signals, timers, watches, and a start
/// under way.
const RESERVED: u64 = 192;

/// What the most runs need.
pub const NEEDED: u64 = MAX_RUNNING as u64 * PER_RUN + RESERVED;

/// The soft limit before it was raised.
static BEFORE: OnceLock<rlim_t> = OnceLock::new();

/// Raises the limit to what the most runs need, as far as the system lets us. Where it cannot be raised,
/// fewer run at once.
pub fn raise() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let wanted = narrowed(NEEDED).unwrap_or(hard).min(hard);
    if soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok() {
        BEFORE.get_or_init(|| soft);
    }
}

/// The soft limit that a process of a job gets, where it is not this process's.
pub(crate) fn before() -> Option<rlim_t> {
    BEFORE.get().copied()
}

/// The limit as it is now.
pub fn limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| widened(soft))
}

/// How many runs there may be at one time under a limit.
pub fn runs_at_once(limit: u64) -> usize {
    let room = usize::try_from(limit.saturating_sub(RESERVED) / PER_RUN).unwrap_or(MAX_RUNNING);
    room.clamp(1, MAX_RUNNING)
}

/// A number as the kernel has it, which is of 32 bits on some systems; if it fits.
pub(crate) fn narrowed<T: TryFrom<u64>>(limit: u64) -> Option<T> {
    T::try_from(limit).ok()
}

fn widened(limit: impl Into<u64>) -> u64 {
    limit.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_descriptors_are_enough_for_fewer_runs() {
        let counts = [0, 64, 200, 1024, NEEDED - 1, NEEDED, u64::MAX].map(runs_at_once);
        assert_eq!(counts, [1, 1, 1, 138, MAX_RUNNING - 1, MAX_RUNNING, MAX_RUNNING]);
    }
}

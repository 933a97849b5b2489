//! Counts the files that runs need, and the runs for which a limit of them suffices.
//!
//! ```text
//! ulimit -n      1024, hard 524288      as it was: what every process of a job has again
//! raise          1728                   as much as MAX_RUNNING needs, and no more
//! runs_at_once   (limit - RESERVED) / PER_RUN, from 1 to MAX_RUNNING
//! ```
//!
//! Cost: none.
//!
//! Does not count what is open, nor ask for the limit: [`limit`] does.

pub use crate::open_file_limit::limit;
#[cfg(unix)]
pub use crate::open_file_limit::raise;

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

const _: () = assert!(RESERVED + PER_RUN <= 1_024, "with the usual limit something runs");

/// How many runs there may be at one time under a limit.
pub fn runs_at_once(limit: u64) -> usize {
    let room = usize::try_from(limit.saturating_sub(RESERVED) / PER_RUN).unwrap_or(MAX_RUNNING);
    room.clamp(1, MAX_RUNNING)
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

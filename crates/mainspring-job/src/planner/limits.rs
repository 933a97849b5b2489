//! Limits beyond which a planner refuses.

use std::time::Duration;

use crate::policy::Retention;

/// Limits of one planner. The default is for one machine. How many runs run at once is each worker's own
/// limit: see [`Worker::capacity`](crate::Worker::capacity).
///
/// # Example
/// ```
/// use mainspring_job::{Limits, Planner};
///
/// let mut limits = Limits::default();
/// limits.max_open = 1_000;
/// let planner = Planner::new(1, limits);
/// assert_eq!(planner.open_count(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Open runs in all, about a kilobyte each. What comes due beyond it stays in the store, or unplanned,
    /// until there is room; a backfill or a run by hand is refused.
    pub max_open: usize,
    /// Names of jobs that are known; those of removed jobs count, and make room for others. A definition
    /// beyond it is refused.
    pub max_jobs: usize,
    /// Ids of one-shot jobs in memory, 48 bytes each; all else of them is in the store only.
    pub max_lookahead: usize,
    /// How many ids of one-shot jobs are read at once.
    pub page: usize,
    /// How many jobs and runs one tick looks at; it looks at fewer if they make a batch full. So many
    /// one-shot jobs that are due are read at once.
    pub per_turn: usize,
    /// How long before its time the start of a one-shot job may be recorded, so that the disk does not make
    /// it late. The executor waits for [`Start::not_before`](crate::Start::not_before). None by default: an
    /// executor that does not wait would be early.
    pub lead: Duration,
    /// How much history of all one-shot jobs together is kept, and with it their keys: the retention of each
    /// is that of its own runs, of which there is one.
    pub once_retention: Retention,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_open: 100_000,
            max_jobs: 100_000,
            max_lookahead: 1_000_000,
            page: 10_000,
            per_turn: 512,
            lead: Duration::ZERO,
            once_retention: Retention { keep: 10_000, ..Retention::default() },
        }
    }
}

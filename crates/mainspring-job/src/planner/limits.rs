//! How much a planner takes on before it refuses.

use crate::policy::Retention;

/// Limits of one planner. The default is for one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Runs that are running at once; at least 1. A thousand processes are a busy machine.
    pub max_running: usize,
    /// Open runs in all; one-shot jobs stay in the store beyond it, and occurrences are skipped. About a kilobyte each.
    pub max_open: usize,
    /// Jobs.
    pub max_jobs: usize,
    /// One-shot jobs in memory; all others are in the store only.
    pub max_near: usize,
    /// How many one-shot jobs are read at once.
    pub page: usize,
    /// How many jobs and runs one tick looks at, so that a batch stays near the size of one group commit.
    pub per_turn: usize,
    /// How much history of all one-shot jobs together is kept.
    pub once_retention: Retention,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_running: 1_000,
            max_open: 100_000,
            max_jobs: 100_000,
            max_near: 1_000_000,
            page: 10_000,
            per_turn: 512,
            once_retention: Retention { keep: 10_000, days: 7 },
        }
    }
}

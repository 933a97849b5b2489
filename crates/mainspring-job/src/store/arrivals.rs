//! The records that come with jobs that were another shard's.
//!
//! Cost: none of its own.
//!
//! Does not say which of them are defined: their definitions come next.

use crate::record::JobRecord;
use crate::run::Run;

/// What comes with jobs of other shards.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, Owner, Shard, Store};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(Shard::WHOLE, &Owner::new("first"))?;
/// let arrivals = store.take(lease, &["backup".parse()?])?;
/// assert!(arrivals.jobs.is_empty(), "there is no other shard");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct Arrivals {
    /// What is known of the jobs, removed ones too.
    pub jobs: Vec<JobRecord>,
    /// Those of their runs that are open and do not run.
    pub runs: Vec<Run>,
}

impl Arrivals {
    /// These jobs and runs.
    pub fn new(jobs: Vec<JobRecord>, runs: Vec<Run>) -> Arrivals {
        Arrivals { jobs, runs }
    }
}

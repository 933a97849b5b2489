//! Jobs that have come from another shard, until their definitions come: the runs of each that wait.
//!
//! Cost: O(log n) for each job, and the memory of those runs.
//!
//! Does not know the jobs: see `moves`.

use std::collections::BTreeMap;

use crate::name::JobName;
use crate::run::Run;

#[derive(Debug, Default)]
pub(super) struct IncomingJobs {
    runs: BTreeMap<JobName, Vec<Run>>,
}

impl IncomingJobs {
    /// A job has come.
    pub(super) fn add(&mut self, job: JobName) {
        self.runs.entry(job).or_default();
    }

    /// Whether the definition of a job is waited for.
    pub(super) fn has(&self, job: &JobName) -> bool {
        self.runs.contains_key(job)
    }

    /// A run of a job that has come; another is let go of.
    pub(super) fn add_run(&mut self, run: Run) {
        if let Some(waiting) = self.runs.get_mut(&run.key.job) {
            waiting.push(run);
        }
    }

    /// The runs of a job that is defined now. `None` if it has not come from another shard.
    pub(super) fn take(&mut self, job: &JobName) -> Option<Vec<Run>> {
        self.runs.remove(job)
    }
}

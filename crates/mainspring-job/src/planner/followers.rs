//! The followers of each job, by the definitions in force.
//!
//! Cost: O(log n) for each trigger that names a job.
//!
//! Does not plan: see [`follow`](super::follow).

use std::collections::{BTreeMap, BTreeSet};

use crate::job::Job;
use crate::name::JobName;
use crate::operation::MAX_BATCH_OPERATIONS;

/// The most jobs that follow one job: what follows one end is one batch, with two operations each.
pub const MAX_FOLLOWERS: usize = 256;

/// Operations of an end beside those of its followers, and room to spare.
const OTHERS: usize = 64;

const _: () = assert!(2 * MAX_FOLLOWERS + OTHERS <= MAX_BATCH_OPERATIONS);

/// Who follows whom, of the definitions in force.
#[derive(Debug, Default)]
pub(super) struct Followers {
    pub(super) of: BTreeMap<JobName, BTreeSet<JobName>>,
}

impl Followers {
    pub(super) fn add(&mut self, job: &Job) {
        for after in job.timetable.follows() {
            self.of.entry(after.job.clone()).or_default().insert(job.name.clone());
        }
    }

    pub(super) fn remove(&mut self, job: &Job) {
        for after in job.timetable.follows() {
            if let Some(followers) = self.of.get_mut(&after.job) {
                followers.remove(&job.name);
                if followers.is_empty() {
                    self.of.remove(&after.job);
                }
            }
        }
    }
}

//! The histories that are to be pruned.
//!
//! Rows that end are counted, for each job and for all one-shot jobs together. When there are enough, one
//! operation has the store drop the rows that are older or more than retention says. So a history has at most
//! that many rows too many.
//!
//! Cost: O(log n) for each row that ends; one operation for [`PRUNE_EVERY`] of them.
//!
//! Does not know what is in the store.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::name::JobName;
use crate::operation::Operation;
use crate::policy::Retention;

/// How many rows end before a job's history is pruned: so many may be kept beyond what retention says.
const PRUNE_EVERY: u32 = 16;

/// One-shot jobs are pruned all together.
const PRUNE_ONCE_EVERY: u32 = 256;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A history, and how much of it has ended since it was last pruned.
#[derive(Debug)]
struct History {
    retention: Retention,
    ended_count: u32,
}

#[derive(Debug)]
pub(super) struct Pruning {
    /// Of each job that is known.
    jobs: BTreeMap<JobName, History>,
    once: History,
    /// What is to be pruned at the end of the turn; `None` is that of all one-shot jobs.
    due: BTreeSet<Option<JobName>>,
}

impl Pruning {
    pub(super) fn new(once_retention: Retention) -> Pruning {
        let once = History { retention: once_retention, ended_count: 0 };
        Pruning { jobs: BTreeMap::new(), once, due: BTreeSet::new() }
    }

    /// A job is known, and so much of its history is kept.
    pub(super) fn keep(&mut self, job: &JobName, retention: Retention) {
        match self.jobs.get_mut(job) {
            Some(history) => history.retention = retention,
            None => _ = self.jobs.insert(job.clone(), History { retention, ended_count: 0 }),
        }
    }

    /// A row of the history has ended. A name that is no job's is that of a one-shot job.
    pub(super) fn count_ended(&mut self, name: &JobName) {
        let (whose, history, every) = match self.jobs.get_mut(name) {
            Some(history) => (Some(name.clone()), history, PRUNE_EVERY),
            None => (None, &mut self.once, PRUNE_ONCE_EVERY),
        };
        history.ended_count += 1;
        if every <= history.ended_count {
            history.ended_count = 0;
            self.due.insert(whose);
        }
    }

    /// Prunes what has grown enough, each an operation of its own.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<Operation> {
        let due = std::mem::take(&mut self.due);
        let prune = |job: Option<JobName>| {
            let history = job.as_ref().and_then(|name| self.jobs.get(name)).unwrap_or(&self.once);
            let Retention { keep, days } = history.retention;
            let age = DAY.saturating_mul(i32::try_from(days).unwrap_or(i32::MAX));
            let before = now.saturating_sub(age).unwrap_or(Timestamp::MIN);
            Operation::Prune { job, keep, before }
        };
        due.into_iter().map(prune).collect()
    }
}

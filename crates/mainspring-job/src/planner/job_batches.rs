//! Batches of jobs: runs that wait until no member of a batch is left.
//!
//! ```text
//!  a member    pending, in the store ──▶ open run, counted here ──▶ over, however it ended
//!
//!  a run that waits:  none is open ──▶ the store is asked whether one is pending ──no──▶ it may start
//!                          ▲                                  │ yes
//!                          └── a member was open, or left ◀───┘
//! ```
//!
//! Members that are pending are not counted here: there may be a million, and the store has them. So what is
//! submitted before a run that waits is waited for, as its record comes before the question.
//!
//! Cost: O(log n) for each open run that is a member or waits, and a question to the store each time that a
//! batch which is waited for has no open run left.
//!
//! Does not look for circles: runs that wait for each other's batches wait until one is cancelled.
//!
//! Source: the batches of Sidekiq Pro and Oban Pro.

use std::collections::{BTreeMap, BTreeSet};

use super::live::Live;
use crate::name::JobName;
use crate::run::RunKey;
use crate::state::RunState;

#[derive(Debug, Default)]
pub(super) struct JobBatches {
    /// How many open runs each batch has that has any.
    open: BTreeMap<JobName, usize>,
    /// The batches that are waited for.
    awaited: BTreeMap<JobName, AwaitedBatch>,
}

#[derive(Debug, Default)]
struct AwaitedBatch {
    /// What waits for it.
    runs: BTreeSet<RunKey>,
    look: StoreLook,
}

/// What is known of the members that are pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StoreLook {
    /// Nothing: the store is to be asked.
    #[default]
    Due,
    /// It is asked.
    InFlight,
    /// There was one, and no change since.
    Pending,
}

impl JobBatches {
    /// A run is open.
    pub(super) fn enter(&mut self, live: &Live) {
        let policies = &live.work.policies;
        if let Some(batch) = &policies.batch {
            *self.open.entry(batch.clone()).or_default() += 1;
        }
        if let Some(batch) = policies.after_batch.as_ref().filter(|_| live.run.state == RunState::Queued) {
            self.awaited.entry(batch.clone()).or_default().runs.insert(live.run.key.clone());
        }
    }

    /// A run is not open any more.
    pub(super) fn leave(&mut self, live: &Live) {
        let policies = &live.work.policies;
        if let Some(batch) = &policies.batch {
            let count = self.open.get_mut(batch).expect("an open run of a batch is counted");
            *count -= 1;
            if *count == 0 {
                self.open.remove(batch);
                self.change(batch);
            }
        }
        if let Some(batch) = &policies.after_batch
            && let Some(awaited) = self.awaited.get_mut(batch)
        {
            awaited.runs.remove(&live.run.key);
            if awaited.runs.is_empty() {
                self.awaited.remove(batch);
            }
        }
    }

    /// Whether a run waits for its batch.
    pub(super) fn holds(&self, live: &Live) -> bool {
        let awaited = live.work.policies.after_batch.as_ref().and_then(|batch| self.awaited.get(batch));
        awaited.is_some_and(|awaited| awaited.runs.contains(&live.run.key))
    }

    /// The batches that are waited for.
    pub(super) fn awaited(&self) -> impl Iterator<Item = &JobName> {
        self.awaited.keys()
    }

    /// A member is pending no more.
    pub(super) fn change(&mut self, batch: &JobName) {
        if let Some(awaited) = self.awaited.get_mut(batch) {
            awaited.look = StoreLook::Due;
        }
    }

    /// The same of a member of any batch.
    pub(super) fn change_all(&mut self) {
        self.awaited.values_mut().for_each(|awaited| awaited.look = StoreLook::Due);
    }

    /// The batches of which the store is to be asked now.
    pub(super) fn take_questions(&mut self) -> Vec<JobName> {
        let JobBatches { open, awaited } = self;
        let is_due = |(batch, awaited): &(&JobName, &mut AwaitedBatch)| {
            awaited.look == StoreLook::Due && !open.contains_key(*batch)
        };
        let due = awaited.iter_mut().filter(is_due);
        let batches = due.map(|(batch, awaited)| {
            awaited.look = StoreLook::InFlight;
            batch.clone()
        });
        batches.collect()
    }

    /// The store was asked. Returns what waits no more. An answer that a change has overtaken counts for
    /// nothing.
    pub(super) fn answer(&mut self, batch: &JobName, is_pending: Option<bool>) -> BTreeSet<RunKey> {
        let is_open = self.open.contains_key(batch);
        let Some(awaited) = self.awaited.get_mut(batch).filter(|it| it.look == StoreLook::InFlight) else {
            return BTreeSet::new();
        };
        match (is_pending, is_open) {
            (Some(true), _) => awaited.look = StoreLook::Pending,
            // One was submitted and has fired since, or the store is busy.
            (Some(false), true) | (None, _) => awaited.look = StoreLook::Due,
            (Some(false), false) => return self.awaited.remove(batch).map(|it| it.runs).unwrap_or_default(),
        }
        BTreeSet::new()
    }

    /// Checks the counts against the runs that are open.
    pub(super) fn check<'r>(&self, runs: impl Iterator<Item = &'r Live>) {
        let (mut open, mut waiting) = (BTreeMap::new(), 0);
        for live in runs {
            if let Some(batch) = live.work.policies.batch.clone() {
                *open.entry(batch).or_insert(0) += 1;
            }
            waiting += usize::from(self.holds(live));
        }
        assert_eq!(open, self.open, "the open runs of a batch are counted");
        assert!(self.awaited.values().all(|it| !it.runs.is_empty()), "the store is asked for what waits");
        let awaiting: usize = self.awaited.values().map(|awaited| awaited.runs.len()).sum();
        assert_eq!(awaiting, waiting, "what waits for a batch is open");
    }
}

//! The agenda: when which job or run is to be looked at.
//!
//! A sorted set of (time, what). An entry says only "look": whoever is looked at compares the time with what it knows, so an
//! entry that is early, late or superfluous does no harm. O(log n) for everything.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::name::JobName;
use crate::run::RunKey;

/// What is to be looked at. Runs come before jobs at one time, so that a run that ends its wait is not in the way of the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A scheduled run.
    Run(RunKey),
    /// A job with an occurrence.
    Job(JobName),
}

#[derive(Debug, Default)]
pub(super) struct Agenda {
    items: BTreeSet<(Timestamp, Item)>,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Timestamp, item: Item) {
        self.items.insert((at, item));
    }

    pub(super) fn remove(&mut self, at: Timestamp, item: Item) {
        self.items.remove(&(at, item));
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.items.first().map(|(at, _)| *at)
    }

    /// Takes the first entry that is due.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Item)> {
        if now < self.next_due()? {
            return None;
        }
        self.items.pop_first()
    }

    pub(super) fn holds_run(&self, at: Timestamp, key: &RunKey) -> bool {
        self.items.contains(&(at, Item::Run(key.clone())))
    }

    pub(super) fn holds_job(&self, at: Timestamp, name: &JobName) -> bool {
        self.items.contains(&(at, Item::Job(name.clone())))
    }
}

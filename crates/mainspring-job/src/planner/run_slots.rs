//! Slots of runs: how many runs may run at once, in each group and in all, and which is next.
//!
//! ```text
//!  group "db", limit 2    ready: [priority 5, due 12:00] [priority 0, due 11:59] ..
//!  no group, no limit     ready: ..                                                   ──▶ max_running in all
//! ```
//!
//! The best of all groups that have a slot starts first: the highest priority, then the earliest due time,
//! then the key. A run whose action has no executor is in none of these lines: it waits for a planner that
//! has one. Cost: O(log n) to come and go, O(groups) to find the best.
//!
//! Does not know which runs are admitted: it is told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::live::Live;
use crate::input::Prune;
use crate::name::JobName;
use crate::run::RunKey;
use crate::state::RunState;
use crate::work::{Action, Work};

/// Order in a group: see above.
type Rank = (Reverse<i8>, Timestamp, RunKey);

#[derive(Debug, Default)]
struct GroupSlots {
    running_count: usize,
    ready: BTreeSet<Rank>,
}

/// Says which actions have an executor.
#[derive(Clone)]
pub(super) struct Executes(Arc<dyn Fn(&Action) -> bool + Send + Sync>);

impl fmt::Debug for Executes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Executes")
    }
}

#[derive(Debug)]
pub(super) struct RunSlots {
    max_running: usize,
    /// `None`: every action has an executor.
    executes: Option<Executes>,
    /// Admitted runs whose action has no executor.
    unserved: BTreeSet<RunKey>,
    running_count: usize,
    /// Groups with something ready or running. `None` is for runs in no group.
    groups: BTreeMap<Option<JobName>, GroupSlots>,
    /// By each source that defines the group. The smallest holds.
    limits: BTreeMap<JobName, BTreeMap<String, u32>>,
}

impl RunSlots {
    pub(super) fn new(max_running: usize) -> RunSlots {
        let (groups, limits, unserved) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        RunSlots { max_running, executes: None, unserved, running_count: 0, groups, limits }
    }

    /// Only these actions have an executor. Said before the first run is in line.
    pub(super) fn execute_only(&mut self, executes: Arc<dyn Fn(&Action) -> bool + Send + Sync>) {
        debug_assert!(self.groups.is_empty() && self.unserved.is_empty(), "no run was placed before");
        self.executes = Some(Executes(executes));
    }

    /// The admitted runs whose action has no executor.
    pub(super) fn unserved(&self) -> impl Iterator<Item = &RunKey> {
        self.unserved.iter()
    }

    pub(super) fn running_count(&self) -> usize {
        self.running_count
    }

    /// Takes over the groups of a source; those that the set does not hold go with the jobs that it does not
    /// hold.
    pub(super) fn define(
        &mut self,
        source: &str,
        groups: impl Iterator<Item = (JobName, u32)>,
        prune: Prune,
    ) {
        if prune == Prune::Remove {
            self.limits.retain(|_, limits| {
                limits.remove(source);
                !limits.is_empty()
            });
        }
        for (name, limit) in groups {
            self.limits.entry(name).or_default().insert(source.to_owned(), limit.max(1));
        }
    }

    fn has_slot(&self, group: Option<&JobName>) -> bool {
        self.full_server().is_none() && group.is_none_or(|group| self.full_group(group).is_none())
    }

    /// The limit of a group of which as many runs are running as may.
    pub(super) fn full_group(&self, group: &JobName) -> Option<u32> {
        let running = self.groups.get(&Some(group.clone())).map_or(0, |slots| slots.running_count);
        let limit = *self.limits.get(group)?.values().min()?;
        (usize::try_from(limit).unwrap_or(usize::MAX) <= running).then_some(limit)
    }

    /// The limit of all runs, if as many are running.
    pub(super) fn full_server(&self) -> Option<usize> {
        (self.max_running <= self.running_count).then_some(self.max_running)
    }

    /// Whether there is a slot for this work beside all that runs and is in line. Of a group it is not said.
    pub(super) fn has_spare(&self, work: &Work) -> bool {
        let in_line: usize = self.groups.values().map(|slots| slots.ready.len()).sum();
        let executes = self.executes.as_ref().is_none_or(|Executes(executes)| executes(&work.action));
        work.group.is_none() && executes && self.running_count + in_line < self.max_running
    }

    /// A queued run is in line for a slot.
    pub(super) fn add(&mut self, live: &Live) {
        if self.executes.as_ref().is_some_and(|Executes(executes)| !executes(&live.work.action)) {
            self.unserved.insert(live.run.key.clone());
            return;
        }
        self.groups.entry(live.work.group.clone()).or_default().ready.insert(rank(live));
    }

    /// A run takes a slot.
    pub(super) fn take(&mut self, live: &Live) {
        debug_assert!(
            self.has_slot(live.work.group.as_ref()),
            "what takes a slot was the best of those that may"
        );
        let slots = self.groups.entry(live.work.group.clone()).or_default();
        slots.ready.remove(&rank(live));
        slots.running_count += 1;
        self.running_count += 1;
    }

    /// A run leaves its slot, or the line for one.
    pub(super) fn remove(&mut self, live: &Live) {
        if self.unserved.remove(&live.run.key) {
            return;
        }
        let Some(slots) = self.groups.get_mut(&live.work.group) else { return };
        if live.run.state == RunState::Running {
            slots.running_count -= 1;
            self.running_count -= 1;
        } else {
            slots.ready.remove(&rank(live));
        }
        if slots.running_count == 0 && slots.ready.is_empty() {
            self.groups.remove(&live.work.group);
        }
    }

    /// The run that may start next, of those that are not barred.
    pub(super) fn best(&self, is_barred: impl Fn(&RunKey) -> bool) -> Option<RunKey> {
        let open = self.groups.iter().filter(|(group, _)| self.has_slot(group.as_ref()));
        let first = |slots: &'_ GroupSlots| slots.ready.iter().find(|(_, _, key)| !is_barred(key)).cloned();
        open.filter_map(|(_, slots)| first(slots)).min().map(|(_, _, key)| key)
    }

    pub(super) fn check(&self) {
        let running: usize = self.groups.values().map(|slots| slots.running_count).sum();
        assert_eq!(running, self.running_count, "the slots of all groups are all slots");
        assert!(self.running_count <= self.max_running, "no more run than may");
    }
}

fn rank(live: &Live) -> Rank {
    (Reverse(live.work.priority), live.run.due, live.run.key.clone())
}

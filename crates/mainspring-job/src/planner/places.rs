//! Places: how many runs may run at once, in each group and in all, and which is next.
//!
//! ```text
//!  group "db", limit 2    ready: [priority 5, due 12:00] [priority 0, due 11:59] ..
//!  no group, no limit     ready: ..                                                   ──▶ max_running in all
//! ```
//!
//! The best of all groups that have a place starts first: the highest priority, then the earliest due time,
//! then the key. Cost: O(log n) to come and go, O(groups) to find the best.
//!
//! Does not know which runs are past their gates: it is told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::live::Live;
use crate::input::Prune;
use crate::name::JobName;
use crate::run::RunKey;
use crate::state::RunState;

/// Order in a group: see above.
type Rank = (Reverse<i8>, Timestamp, RunKey);

#[derive(Debug, Default)]
struct Room {
    running_count: usize,
    ready: BTreeSet<Rank>,
}

#[derive(Debug)]
pub(super) struct Places {
    max_running: usize,
    running_count: usize,
    /// Groups with something ready or running. `None` is for runs in no group.
    rooms: BTreeMap<Option<JobName>, Room>,
    /// By each source that defines the group. The smallest holds.
    limits: BTreeMap<JobName, BTreeMap<String, u32>>,
}

impl Places {
    pub(super) fn new(max_running: usize) -> Places {
        Places { max_running, running_count: 0, rooms: BTreeMap::new(), limits: BTreeMap::new() }
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

    fn has_place(&self, group: Option<&JobName>) -> bool {
        let running = self.rooms.get(&group.cloned()).map_or(0, |room| room.running_count);
        let limit = group.and_then(|name| self.limits.get(name)).and_then(|limits| limits.values().min());
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(*limit).unwrap_or(usize::MAX));
        self.running_count < self.max_running && running < limit
    }

    /// A queued run is in line for a place.
    pub(super) fn add(&mut self, live: &Live) {
        self.rooms.entry(live.work.group.clone()).or_default().ready.insert(rank(live));
    }

    /// A run takes a place.
    pub(super) fn take(&mut self, live: &Live) {
        debug_assert!(
            self.has_place(live.work.group.as_ref()),
            "what takes a place was the best of those that may"
        );
        let room = self.rooms.entry(live.work.group.clone()).or_default();
        room.ready.remove(&rank(live));
        room.running_count += 1;
        self.running_count += 1;
    }

    /// A run leaves its place, or the line for one.
    pub(super) fn remove(&mut self, live: &Live) {
        let Some(room) = self.rooms.get_mut(&live.work.group) else { return };
        if live.run.state == RunState::Running {
            room.running_count -= 1;
            self.running_count -= 1;
        } else {
            room.ready.remove(&rank(live));
        }
        if room.running_count == 0 && room.ready.is_empty() {
            self.rooms.remove(&live.work.group);
        }
    }

    /// The run that may start next, of those that are not barred.
    pub(super) fn best(&self, is_barred: impl Fn(&RunKey) -> bool) -> Option<RunKey> {
        let open = self.rooms.iter().filter(|(group, _)| self.has_place(group.as_ref()));
        let first = |room: &'_ Room| room.ready.iter().find(|(_, _, key)| !is_barred(key)).cloned();
        open.filter_map(|(_, room)| first(room)).min().map(|(_, _, key)| key)
    }

    pub(super) fn check(&self) {
        let running: usize = self.rooms.values().map(|room| room.running_count).sum();
        assert_eq!(running, self.running_count, "the places of all groups are all places");
        assert!(self.running_count <= self.max_running, "no more run than may");
    }
}

fn rank(live: &Live) -> Rank {
    (Reverse(live.work.priority), live.run.due, live.run.key.clone())
}

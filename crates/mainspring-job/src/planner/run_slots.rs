//! Slots of runs: how many runs may run at once, in each group and at each worker, and which is next.
//!
//! ```text
//!  group "db", limit 2, needs nothing    ready: [priority 5, due 12:00] [priority 0, due 11:59] ..
//!  group "db", limit 2, needs gpu        ready: ..                                          ──▶ a worker that
//!  no group, no limit,  needs nothing    ready: ..                                              has a free place
//! ```
//!
//! The best of all lines whose group has a slot and whose needs a free worker has starts first: the highest
//! priority, then the earliest due time, then the key. A run whose needs no worker has waits in its line, and
//! is in the way of none in another. A run of a group with a rate starts only where a place is free: one that
//! waits at a worker begins later than its rate has counted.
//!
//! Cost: O(log n) to come and go, O(lines * workers) to find the best.
//!
//! Does not know which runs are admitted: it is told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::groups::Groups;
use super::live::Live;
use super::unserved::UnservedLines;
use super::workers::{Placement, Workers};
use crate::name::JobName;
use crate::rate::Rate;
use crate::run::RunKey;
use crate::state::RunState;
use crate::work::{Action, Work};
use crate::worker::{Needs, WorkerId};

/// Order in a line: see above.
type Rank = (Reverse<i8>, Timestamp, RunKey);

/// A group, if any, what the runs need of their worker, and where they may start if it has no rate.
pub(super) type LineKey = (Option<JobName>, Needs, Placement);

/// Nothing of a group is running.
static NONE: BTreeSet<RunKey> = BTreeSet::new();

/// Says what an action needs of the worker that carries it out.
#[derive(Clone)]
pub(super) struct Requires(Arc<dyn Fn(&Action) -> Needs + Send + Sync>);

impl fmt::Debug for Requires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Requires")
    }
}

#[derive(Debug, Default)]
pub(super) struct RunSlots {
    /// `None`: no action needs anything.
    requires: Option<Requires>,
    pub(super) workers: Workers,
    /// The runs of each group that are running, where any is.
    running: BTreeMap<JobName, BTreeSet<RunKey>>,
    /// Lines with a run in them.
    lines: BTreeMap<LineKey, BTreeSet<Rank>>,
    unserved: UnservedLines<LineKey>,
    /// The groups that runs may be in.
    pub(super) groups: Groups,
}

impl RunSlots {
    /// Actions need this of their worker. Said before the first run is in line.
    pub(super) fn require(&mut self, requires: Arc<dyn Fn(&Action) -> Needs + Send + Sync>) {
        debug_assert!(self.lines.is_empty(), "no run was placed before");
        self.requires = Some(Requires(requires));
    }

    /// What work needs of its worker, whichever that is.
    pub(super) fn needs(&self, work: &Work) -> Needs {
        let needs =
            self.requires.as_ref().map_or_else(Needs::default, |Requires(requires)| requires(&work.action));
        work.policies.on.add_to(needs)
    }

    /// The admitted runs that need what no worker has, each with that.
    pub(super) fn unserved(&self) -> impl Iterator<Item = (&RunKey, Needs)> {
        let unserved = self.lines.iter().filter(|((_, needs, _), _)| !self.workers.has_serving(needs));
        unserved.flat_map(|((_, needs, _), line)| {
            let lacking = self.workers.lacking(needs);
            line.iter().map(move |(_, _, key)| (key, lacking.clone()))
        })
    }

    /// Of each job the first run that has waited too long for what no worker has, with that. Each line is
    /// told once.
    pub(super) fn overdue(&mut self, now: Timestamp) -> Vec<(RunKey, Needs)> {
        let workers = &self.workers;
        let unserved = self.lines.keys().filter(|(_, needs, _)| !workers.has_serving(needs));
        let overdue = self.unserved.tell(now, unserved);
        let mut first = BTreeMap::new();
        for line in &overdue {
            for (_, _, key) in &self.lines[line] {
                first.entry(&key.job).or_insert_with(|| (key.clone(), workers.lacking(&line.1)));
            }
        }
        first.into_values().collect()
    }

    /// When the next run has waited too long for what no worker has.
    pub(super) fn next_overdue(&self) -> Option<Timestamp> {
        self.unserved.next()
    }

    pub(super) fn running_count(&self) -> usize {
        self.workers.iter().map(|(_, running_count)| running_count).sum()
    }

    fn is_open(&self, group: Option<&JobName>) -> bool {
        group.is_none_or(|group| self.full_group(group).is_none() && self.groups.full_rate(group).is_none())
    }

    /// The runs of a group that are running, in order of their keys.
    pub(super) fn running_of(&self, group: &JobName) -> impl ExactSizeIterator<Item = &RunKey> {
        self.running.get(group).unwrap_or(&NONE).iter()
    }

    /// The limit of a group of which as many runs are running as may.
    pub(super) fn full_group(&self, group: &JobName) -> Option<u32> {
        let running = self.running_of(group).len();
        let limit = self.groups.limit(group)?;
        (usize::try_from(limit).unwrap_or(usize::MAX) <= running).then_some(limit)
    }

    /// When the first group of which a run is in line opens, of those that are full by their rate.
    pub(super) fn next_opening(&self) -> Option<Timestamp> {
        self.full_rates().map(|(_, (_, opening))| opening).min()
    }

    /// The groups of which a run is in line and that are full by their rate.
    pub(super) fn full_rates(&self) -> impl Iterator<Item = (&JobName, (Rate, Timestamp))> {
        let groups = self.lines.keys().filter_map(|(group, _, _)| group.as_ref());
        groups.filter_map(|group| Some((group, self.groups.full_rate(group)?)))
    }

    /// Where runs of a line may start.
    fn placement_in(&self, group: Option<&JobName>, placement: Placement) -> Placement {
        if group.is_some_and(|group| self.groups.is_rated(group)) { Placement::Free } else { placement }
    }

    /// Where a run of this work may start.
    pub(super) fn placement(&self, work: &Work) -> Placement {
        self.placement_in(work.group.as_ref(), placement(work))
    }

    /// Whether there is a slot for this work beside all that is in line and is served. Of a group it is not
    /// said.
    pub(super) fn has_spare(&self, work: &Work) -> bool {
        let served = self.lines.iter().filter(|((_, needs, _), _)| self.workers.has_serving(needs));
        let in_line: usize = served.map(|(_, line)| line.len()).sum();
        work.group.is_none() && in_line < self.workers.free_count(&self.needs(work), placement(work))
    }

    /// A queued run is in line for a slot.
    pub(super) fn add(&mut self, live: &mut Live) {
        debug_assert_eq!(live.run.state, RunState::Queued, "what is in line has not started");
        debug_assert!(live.needs.is_none(), "a run stands in one line");
        let needs = self.needs(&live.work).at(live.target);
        let key = (live.work.group.clone(), needs.clone(), placement(&live.work));
        self.lines.entry(key).or_default().insert(rank(live));
        live.needs = Some(needs);
    }

    /// A run in line takes a slot, and starts at a time. Tells at which worker.
    pub(super) fn take(&mut self, live: &mut Live, at: Timestamp) -> WorkerId {
        debug_assert!(
            self.is_open(live.work.group.as_ref()),
            "what takes a slot was the best of those that may"
        );
        let needs = live.needs.as_ref().expect("what takes a slot was in line");
        let worker = self
            .workers
            .choose(needs, self.placement(&live.work))
            .expect("what takes a slot has a worker that is free");
        self.leave_line(live);
        if let Some(group) = &live.work.group {
            self.groups.count(group, at);
        }
        self.workers.begin(worker);
        self.count(live);
        worker
    }

    /// A run is running at a worker that is there: it had started before this planner.
    pub(super) fn resume(&mut self, live: &Live) {
        self.workers.resume(worker_of(live));
        self.count(live);
    }

    fn count(&mut self, live: &Live) {
        if let Some(group) = &live.work.group {
            let is_new = self.running.entry(group.clone()).or_default().insert(live.run.key.clone());
            debug_assert!(is_new, "a run takes one slot of its group");
        }
    }

    /// A run leaves its slot, or the line for one.
    pub(super) fn remove(&mut self, live: &mut Live) {
        if live.run.state == RunState::Running {
            self.workers.end(worker_of(live));
            if let Some(group) = &live.work.group {
                let running = self.running.get_mut(group).expect("a group knows what runs of it");
                let was_running = running.remove(&live.run.key);
                debug_assert!(was_running, "a run leaves the slot that it took");
                if running.is_empty() {
                    self.running.remove(group);
                }
            }
        } else {
            self.leave_line(live);
        }
    }

    /// Does nothing for a run that is in no line.
    fn leave_line(&mut self, live: &mut Live) {
        let Some(needs) = live.needs.take() else { return };
        let key = (live.work.group.clone(), needs, placement(&live.work));
        if let Some(line) = self.lines.get_mut(&key) {
            let was_in_line = line.remove(&rank(live));
            debug_assert!(was_in_line, "a run stands where its rank says");
            if line.is_empty() {
                self.lines.remove(&key);
            }
        }
    }

    /// The run that may start next, of those that are not barred.
    pub(super) fn best(&self, is_barred: impl Fn(&RunKey) -> bool) -> Option<RunKey> {
        let has_slot = |(group, needs, placement): &LineKey| {
            let placement = self.placement_in(group.as_ref(), *placement);
            self.is_open(group.as_ref()) && 0 < self.workers.free_count(needs, placement)
        };
        let open = self.lines.iter().filter(|(key, _)| has_slot(key));
        let first = |line: &'_ BTreeSet<Rank>| line.iter().find(|(_, _, key)| !is_barred(key)).cloned();
        open.filter_map(|(_, line)| first(line)).min().map(|(_, _, key)| key)
    }

    /// Checks the counts against the runs that are running.
    pub(super) fn check<'r>(&self, running: impl Iterator<Item = &'r Live>) {
        let (mut of_group, mut at_worker) = (BTreeMap::new(), BTreeMap::new());
        for live in running {
            *at_worker.entry(worker_of(live)).or_insert(0) += 1;
            if let Some(group) = &live.work.group {
                of_group.entry(group.clone()).or_insert_with(BTreeSet::new).insert(live.run.key.clone());
            }
        }
        assert_eq!(of_group, self.running, "the slots of a group are taken by what runs of it");
        assert!(self.lines.values().all(|line| !line.is_empty()), "a line has a run in it");
        self.groups.check();
        self.workers.check(|id| at_worker.remove(&id).unwrap_or_default());
        assert!(at_worker.is_empty(), "what runs is at a worker that is there");
    }
}

fn worker_of(live: &Live) -> WorkerId {
    live.run.worker.expect("what is running is at a worker")
}

/// A run is started where it has to wait only if it is tried again when its worker dies meanwhile.
pub(super) fn placement(work: &Work) -> Placement {
    let retry = work.policies.retry;
    if retry.on.abandoned && 0 < retry.max { Placement::Ahead } else { Placement::Free }
}

fn rank(live: &Live) -> Rank {
    (Reverse(live.work.priority), live.run.due, live.run.key.clone())
}

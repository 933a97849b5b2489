//! The planner's word of itself, as each server of a pool tells it: what is wrong, and how its files are.
//!
//! ```text
//!  loop ── each second, if it is another one ──▶ store ──▶ status, health and list of any server
//! ```
//!
//! Cost: a document each second, where several servers share the store, and a write when it has changed. When
//! the next job is due changes with each that is, and is written each [`NEXT_INTERVAL`] for that.
//!
//! Does not have what the store has: jobs, runs, workers, a pause.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Hold, JobName, Rate, Reader, Work};
use serde::{Deserialize, Serialize};

use crate::protocol::{HealthWire, StatusWire};
use mainspring_exec::clock::Moment;

/// How often it is written that another job is due next.
const NEXT_INTERVAL: Duration = Duration::from_secs(5);

/// What the planner alone knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PlannerStatus {
    pub(super) status: StatusWire,
    pub(super) health: HealthWire,
    /// The limits of groups.
    #[serde(default)]
    pub(super) limits: BTreeMap<JobName, u32>,
    /// The groups that are full by their rate, each with that and when it opens.
    #[serde(default)]
    pub(super) full_rates: BTreeMap<JobName, (String, Timestamp)>,
    /// The batches for which runs wait.
    #[serde(default)]
    pub(super) awaited_batches: BTreeSet<JobName>,
    /// What is due waits for room for another open run.
    #[serde(default)]
    pub(super) has_crowded: bool,
}

/// The state of a server that is about to end.
pub(super) const STOPPING: &str = "stopping";

/// What was written of it last.
#[derive(Debug)]
pub(super) struct KeptStatus {
    /// When it was compared last.
    pub(super) looked: Moment,
    written: Moment,
    known: PlannerStatus,
}

impl KeptStatus {
    pub(super) fn new(known: PlannerStatus, now: Moment) -> KeptStatus {
        KeptStatus { looked: now, written: now, known }
    }

    /// Whether this is to be written in its place.
    pub(super) fn is_old(&self, known: &PlannerStatus, now: Moment) -> bool {
        let (before, next) = (self.known.status.next, known.status.next);
        let has_passed = before.is_some_and(|before| before <= now.wall);
        let is_next_old = before != next && !(has_passed && now.since(self.written) < NEXT_INTERVAL);
        let mut with_next = self.known.clone();
        with_next.status.next = next;
        is_next_old || with_next != *known
    }

    /// Whether definitions have come from files since.
    pub(super) fn has_other_files(&self, known: &PlannerStatus) -> bool {
        self.known.status.files != known.status.files
    }
}

impl PlannerStatus {
    /// As it was written last; nothing of a store that has one server, and of a planner of another version.
    pub(super) fn read(reader: &mut dyn Reader) -> PlannerStatus {
        let text = reader.planner_status().ok().flatten().unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The group of some work that has a limit, with that.
    pub(super) fn limit<'w>(&self, work: &'w Work) -> Option<(&'w JobName, u32)> {
        let group = work.group.as_ref()?;
        Some((group, *self.limits.get(group)?))
    }

    /// The rate by which nothing of its group may start now, and when the next may.
    pub(super) fn full_rate(&self, work: &Work) -> Option<(Rate, Timestamp)> {
        let (rate, until) = self.full_rates.get(work.group.as_ref()?)?;
        Some((rate.parse().ok()?, *until))
    }

    /// Whether runs wait for the batch for which it waits.
    pub(super) fn awaits_batch(&self, work: &Work) -> bool {
        let batch = work.policies.after_batch.as_ref();
        batch.is_some_and(|batch| self.awaited_batches.contains(batch))
    }

    /// Whether the planner is about to end.
    pub(super) fn stopping(&self) -> Option<Hold> {
        (self.status.state == STOPPING).then_some(Hold::Stopping)
    }

    /// On which lines of their files definitions begin.
    pub(super) fn lines(reader: &mut dyn Reader) -> BTreeMap<JobName, usize> {
        let text = reader.planner_lines().ok().flatten().unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

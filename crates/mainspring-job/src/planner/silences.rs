//! Silences: since when no run of a job has succeeded, and when that is too long.
//!
//! Cost: O(log n) for each success of a job whose silence is told; nothing for others.
//!
//! Does not outlive the server: the shell tells the next one when runs last succeeded.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::schedule_queue::{Entry, Item, ScheduleQueue};
use crate::name::JobName;

#[derive(Debug, Default)]
pub(super) struct Silences {
    /// When a run last succeeded, or from when on the job is known.
    last_successes: BTreeMap<JobName, Timestamp>,
    entries: BTreeMap<JobName, Entry>,
}

impl Silences {
    /// A run of a job has succeeded.
    pub(super) fn hear(&mut self, name: &JobName, at: Timestamp) {
        self.last_successes.insert(name.clone(), at);
    }

    /// Since when a job is silent.
    pub(super) fn since(&self, name: &JobName) -> Option<Timestamp> {
        self.last_successes.get(name).copied()
    }

    /// Puts the moment in the schedule queue at which a job has been silent for too long, instead of the one
    /// that was there; none if its silence is not told.
    pub(super) fn expect(
        &mut self,
        now: Timestamp,
        name: &JobName,
        most: Option<Duration>,
        schedule: &mut ScheduleQueue,
    ) {
        if let Some(entry) = self.entries.remove(name) {
            schedule.cancel(entry);
        }
        let Some(most) = most else { return };
        let since = *self.last_successes.entry(name.clone()).or_insert(now);
        if let Ok(at) = since.checked_add(most) {
            self.entries.insert(name.clone(), schedule.add(at, Item::Silence(name.clone())));
        }
    }

    /// The moment has come: its entry is gone.
    pub(super) fn end(&mut self, name: &JobName) {
        self.entries.remove(name);
    }

    /// Checks that what is expected is in the schedule queue.
    pub(super) fn check(&self, schedule: &ScheduleQueue) {
        for (name, entry) in &self.entries {
            assert!(schedule.holds(*entry), "the silence of {name} is on the schedule");
            assert!(self.last_successes.contains_key(name), "the silence of {name} began at a time");
        }
    }
}

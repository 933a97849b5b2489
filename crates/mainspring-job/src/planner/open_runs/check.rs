//! The check that each open run is where its state says.
//!
//! Cost: O(n log n). For tests.
//!
//! Does not look into an admission queue: that checks itself.

use super::super::live::Live;
use super::super::rest::Rest;
use super::super::schedule_queue::ScheduleQueue;
use super::{OpenRuns, lane};
use crate::name::JobName;
use crate::state::RunState;

/// What always holds.
impl OpenRuns {
    /// Checks that each run is where its state says, and that no run waits that could be admitted.
    pub(in super::super) fn check(&self, schedule: &ScheduleQueue, rest_of: impl Fn(&JobName) -> Rest) {
        for (key, live) in &self.runs {
            let state = live.run.state;
            assert_eq!(*key, live.run.key, "a run is kept under its key");
            assert!(state.is_open(), "{key} is {state} and still kept");
            let is_scheduled = state == RunState::Scheduled;
            let is_in_schedule = live.wakes.is_some_and(|entry| schedule.holds(entry));
            let is_expected = is_scheduled && live.unconfirmed.is_none();
            assert_eq!(
                is_in_schedule, is_expected,
                "{key} is on the schedule iff scheduled and known to the store"
            );
            let is_queued = self.queues.get(&lane(live)).is_some_and(|queue| queue.holds(live));
            assert_eq!(is_queued, !is_scheduled, "{key} is in an admission queue iff queued or running");
        }
        self.batches.check(self.runs.values());
        self.slots.groups.check_open(self.runs.values().map(|live| &*live.work));
        self.slots.check(self.runs.values().filter(|live| live.run.state == RunState::Running));
        for (of, queue) in &self.queues {
            queue.check(|key| Rest::Paused.holds(&self.runs[key].run));
            let job = &of.0;
            let is_here = |live: &&Live| live.run.state == RunState::Running && lane(live) == *of;
            let started = self.of(job).filter(is_here).count();
            assert_eq!(queue.load().running, started, "{job} knows how many of its runs have started");
            assert!(!queue.is_empty(), "{job} has a run in its admission queue");
            let found = self.first_admissible(of, rest_of(job));
            assert!(found.is_none(), "{found:?} of {job} waits and could be admitted");
            let found = self.overtaken(of, rest_of(job));
            assert!(found.is_none(), "{found:?} is admitted before one that is due earlier");
        }
    }
}

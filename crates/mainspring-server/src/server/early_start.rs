//! Starts that are on disk before their time: they begin when it comes.
//!
//! ```text
//! start, not before t ─▶ hold ─▶ held ── t ──▶ take_due
//!                                 └─ cancel, or the end of the server ──▶ its end
//! ```
//!
//! The store takes a few milliseconds for the record of a start. A one-shot job that was decided that much
//! before its time begins when its time comes, and not when the record is on disk.
//!
//! For the planner such a run is running: its start is on disk, and it counts among those that run at once.
//!
//! Cost: O(log n) of those that are held.
//!
//! Does not begin anything. The wall clock is read once, when a start is held: a clock that is set meanwhile
//! changes nothing.

use std::collections::HashMap;
use std::time::Duration;

use mainspring_job::Start;

use super::execution::{AttemptKey, left_until};
use mainspring_exec::clock::Moment;
use mainspring_exec::delay_queue::{DelayQueue, TimerId};

/// See the head of this file.
#[derive(Debug)]
pub(super) struct EarlyStarts {
    queue: DelayQueue<Start>,
    /// By the attempt.
    ids: HashMap<AttemptKey, TimerId>,
}

impl EarlyStarts {
    /// Nothing yet.
    pub(super) fn new(now: Moment) -> EarlyStarts {
        EarlyStarts { queue: DelayQueue::new(now.monotonic), ids: HashMap::new() }
    }

    /// Holds a start whose time has not come. Returns any other.
    pub(super) fn hold(&mut self, start: Start, now: Moment) -> Option<Start> {
        let left = left_until(start.not_before, now);
        if left.is_zero() {
            return Some(start);
        }
        let attempted = (start.key.clone(), start.attempt);
        let id = self.queue.add(now.monotonic + left, start);
        let replaced = self.ids.insert(attempted, id);
        debug_assert!(replaced.is_none(), "an attempt is started once");
        None
    }

    /// Takes all whose time has come, in the order of their times.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<Start> {
        let mut starts = Vec::new();
        while let Some(start) = self.queue.pop_due(now.monotonic) {
            let id = self.ids.remove(&(start.key.clone(), start.attempt));
            debug_assert!(id.is_some(), "what is held is found by its attempt");
            starts.push(start);
        }
        starts
    }

    /// Takes one away that is not to begin any more. Returns whether it was there.
    pub(super) fn remove(&mut self, attempted: &AttemptKey) -> bool {
        self.ids.remove(attempted).and_then(|id| self.queue.cancel(id)).is_some()
    }

    /// Takes all away, because nothing begins any more.
    pub(super) fn take_all(&mut self) -> Vec<AttemptKey> {
        let ids: Vec<(AttemptKey, TimerId)> = self.ids.drain().collect();
        let count = ids.len();
        let taken = ids.into_iter().filter_map(|(attempted, id)| self.queue.cancel(id).map(|_| attempted));
        let taken: Vec<AttemptKey> = taken.collect();
        debug_assert_eq!(taken.len(), count, "each id names one that is held");
        debug_assert!(self.queue.is_empty(), "what is held has an id");
        taken
    }

    pub(super) fn count(&self) -> usize {
        debug_assert_eq!(self.ids.is_empty(), self.queue.is_empty(), "what is held has an id, and no more");
        self.ids.len()
    }

    /// How long the loop may sleep.
    pub(super) fn wait(&self, now: Moment) -> Option<Duration> {
        self.queue.wait(now.monotonic)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use mainspring_job::{Action, RunKey, Work, WorkerId};

    use super::super::execution::LEAD;
    use super::*;

    fn start(job: &str, not_before: Option<Timestamp>) -> Start {
        let key: RunKey = format!("{job}@2026-11-23T08:00:00Z").parse().unwrap();
        let work = Arc::new(Work::new(Action::new("process", "{}").unwrap()));
        let mut start = Start::new(key, 1, WorkerId(1), work);
        start.not_before = not_before;
        start
    }

    fn attempted(job: &str) -> AttemptKey {
        (start(job, None).key, 1)
    }

    fn later(start: Moment, microseconds: u64) -> Moment {
        start.after(Duration::from_micros(microseconds))
    }

    fn names(starts: &[Start]) -> Vec<&str> {
        starts.iter().map(|start| start.key.job.as_str()).collect()
    }

    #[test]
    fn a_start_begins_at_its_time_and_not_before_and_what_is_taken_away_never_does() {
        let began = Moment::now();
        let mut early = EarlyStarts::new(began);
        let mut hold = |job: &str, microseconds| {
            let at = Some(later(began, microseconds).wall);
            assert!(early.hold(start(job, at), began).is_none());
        };
        hold("second", 7_001);
        hold("first", 7_000);
        hold("cancelled", 5_000);
        hold("far", 3_600_000_000);
        assert!(early.remove(&attempted("cancelled")) && !early.remove(&attempted("cancelled")));
        assert_eq!(early.wait(began), Some(Duration::from_micros(7_000)));
        assert!(early.take_due(later(began, 6_999)).is_empty());
        assert_eq!(names(&early.take_due(later(began, 7_000))), ["first"]);
        // A clock that was read wrongly, or set, holds nothing up for longer than the lead.
        let over = began.after(LEAD);
        assert_eq!(names(&early.take_due(over)), ["second", "far"]);
        assert!(early.count() == 0 && early.wait(over).is_none());
    }

    #[test]
    fn a_start_whose_time_has_come_is_not_held() {
        let now = Moment::now();
        let mut early = EarlyStarts::new(now);
        for at in [None, Some(now.wall), Some(Timestamp::MIN)] {
            assert!(early.hold(start("a", at), now).is_some());
        }
        assert!(early.hold(start("a", Some(Timestamp::MAX)), now).is_none());
        assert_eq!(early.take_all(), [attempted("a")]);
        assert!(early.count() == 0 && early.take_due(now.after(LEAD)).is_empty());
    }
}

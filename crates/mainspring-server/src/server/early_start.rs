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
//! Cost: O(log n) of those that are held, for [`LEAD`](super::execution::LEAD) at most; O(n) to take one
//! away.
//!
//! Does not begin anything. The wall clock is read once, when a start is held: a clock that is set meanwhile
//! changes nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mainspring_job::Start;

use super::execution::{AttemptKey, left_until};
use mainspring_exec::clock::Moment;

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct EarlyStarts {
    /// By their times; of one time in the order in which they came.
    held: BTreeMap<(Instant, u64), Start>,
    /// How many ever were.
    held_count: u64,
}

impl EarlyStarts {
    /// Holds a start whose time has not come. Returns any other.
    pub(super) fn hold(&mut self, start: Start, now: Moment) -> Option<Start> {
        let left = left_until(start.not_before, now);
        if left.is_zero() {
            return Some(start);
        }
        self.held_count += 1;
        let replaced = self.held.insert((now.monotonic + left, self.held_count), start);
        debug_assert!(replaced.is_none(), "each has a number of its own");
        None
    }

    /// Takes all whose time has come, in the order of their times.
    pub(super) fn take_due(&mut self, now: Moment) -> Vec<Start> {
        let later = self.held.split_off(&(now.monotonic, u64::MAX));
        std::mem::replace(&mut self.held, later).into_values().collect()
    }

    /// Takes one away that is not to begin any more. Returns whether it was there.
    pub(super) fn remove(&mut self, (key, attempt): &AttemptKey) -> bool {
        let count = self.held.len();
        self.held.retain(|_, start| (&start.key, start.attempt) != (key, *attempt));
        self.held.len() < count
    }

    /// Takes all away, because nothing begins any more.
    pub(super) fn take_all(&mut self) -> Vec<AttemptKey> {
        std::mem::take(&mut self.held).into_values().map(|start| (start.key, start.attempt)).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.held.len()
    }

    /// How long the loop may sleep.
    pub(super) fn wait(&self, now: Moment) -> Option<Duration> {
        let ((first, _), _) = self.held.first_key_value()?;
        Some(first.saturating_duration_since(now.monotonic))
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
        let mut early = EarlyStarts::default();
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
        let mut early = EarlyStarts::default();
        for at in [None, Some(now.wall), Some(Timestamp::MIN)] {
            assert!(early.hold(start("a", at), now).is_some());
        }
        assert!(early.hold(start("a", Some(Timestamp::MAX)), now).is_none());
        assert_eq!(early.take_all(), [attempted("a")]);
        assert!(early.count() == 0 && early.take_due(now.after(LEAD)).is_empty());
    }
}

//! Starts that wait because the operating system had no descriptor, process or memory for them.
//!
//! ```text
//! start ─▶ too many open files ─▶ postponed ── a run has ended, or RETRY_INTERVAL ──▶ start
//!                                    │ cancel ──▶ its end
//!                                    └─ MAX_WAIT, or its timeout ──▶ failed: not started
//! ```
//!
//! For the planner such a run is running: its start is on disk, and it counts among those that run at once.
//! It waits until other runs of this server have ended, like a run in a queue.
//!
//! Cost: nothing while there is none.
//!
//! Does not wait for ever: the descriptor, process or memory may never be available.

use std::time::{Duration, Instant};

use mainspring_job::{RunKey, Start};

use super::execution::AttemptKey;
use mainspring_exec::clock::Moment;

/// How long a start is tried again: longer than most jobs run that could make room.
const MAX_WAIT: Duration = Duration::from_mins(5);

/// How long this one is: no longer than it could run.
pub(super) fn wait_max(start: &Start) -> Duration {
    start.work.policies.timeout.after.map_or(MAX_WAIT, |after| after.min(MAX_WAIT))
}

/// How often, if nothing ends.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const _: () = assert!(RETRY_INTERVAL.as_nanos() < MAX_WAIT.as_nanos(), "each start is tried again");

/// The starts that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct StartBacklog {
    starts: Vec<(Start, Moment)>,
    tried: Option<Moment>,
}

impl StartBacklog {
    /// Adds a start that has waited since then.
    pub(super) fn add(&mut self, start: Start, since: Moment, now: Moment) {
        let is_other = |(other, _): &(Start, _)| (&other.key, other.attempt) != (&start.key, start.attempt);
        debug_assert!(self.starts.iter().all(is_other), "an attempt waits once");
        self.starts.push((start, since));
        self.tried = Some(now);
    }

    /// Takes all to be tried now, each with when its wait began.
    pub(super) fn take_starts(&mut self) -> Vec<(Start, Moment)> {
        std::mem::take(&mut self.starts)
    }

    /// Takes one away that is not to be started any more. Returns whether it was there.
    pub(super) fn remove(&mut self, key: &RunKey, attempt: u32) -> bool {
        let count = self.starts.len();
        self.starts.retain(|(start, _)| (&start.key, start.attempt) != (key, attempt));
        self.starts.len() < count
    }

    /// Takes all away, because nothing starts any more.
    pub(super) fn take_all(&mut self) -> Vec<AttemptKey> {
        self.starts.drain(..).map(|(start, _)| (start.key, start.attempt)).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// When they are tried again, if nothing ends before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let tried = self.tried.filter(|_| !self.starts.is_empty())?;
        tried.monotonic.checked_add(RETRY_INTERVAL)
    }
}

//! The admission queue of a job: which of its runs are admitted, and which wait.
//!
//! ```text
//!   waiting (by due time) ───▶ admission ───▶ active: in line for a slot, or running
//! ```
//!
//! One run is admitted at a time. Under `allow` all runs are, but catch-up runs one at a time. An admitted
//! run that has not started goes back when a run comes that is due earlier.
//!
//! Cost: O(log n) of the job's runs for each.
//!
//! Does not know which of its runs have started, only how many.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::live::Live;
use super::rest::Rest;
use crate::policy::Overlap;
use crate::run::{Cause, RunKey};
use crate::state::RunState;

/// How many runs of a job are open and not scheduled.
///
/// # Example
/// ```
/// use mainspring_job::{Limits, Planner};
///
/// let load = Planner::new(1, Limits::default()).load(&"backup".parse()?);
/// assert_eq!((load.queued, load.running), (0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// Those that wait for their turn, or for a slot.
    pub queued: usize,
    /// Those that have started.
    pub running: usize,
}

impl Load {
    /// The runs of two queues.
    pub(super) fn and(self, other: Load) -> Load {
        Load { queued: self.queued + other.queued, running: self.running + other.running }
    }
}

/// Empty for a job that has no open run. A run is in `active` or in `waiting`, never in both.
#[derive(Debug, Default)]
pub(super) struct AdmissionQueue {
    active: BTreeSet<RunKey>,
    waiting: BTreeSet<(Timestamp, RunKey)>,
    /// How many of those that wait may pass beside others.
    allowing_count: usize,
    /// How many of those that wait no pause holds.
    free_count: usize,
    /// How many of the active ones have started.
    running_count: usize,
    /// The active run that is a catch-up run.
    catching_up: Option<RunKey>,
}

impl AdmissionQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.waiting.is_empty()
    }

    /// How many of its runs wait, admitted or not, and how many have started.
    pub(super) fn load(&self) -> Load {
        let queued = self.waiting.len() + self.active.len() - self.running_count;
        Load { queued, running: self.running_count }
    }

    /// An admitted run starts.
    pub(super) fn begin(&mut self) {
        debug_assert!(self.running_count < self.active.len(), "what starts was admitted");
        self.running_count += 1;
    }

    /// A run is admitted that is running already: it had started before this planner.
    pub(super) fn resume(&mut self, live: &Live) {
        self.pass(live);
        self.begin();
    }

    /// Whether a run waits here or is admitted.
    pub(super) fn holds(&self, live: &Live) -> bool {
        let key = &live.run.key;
        self.active.contains(key) || self.waiting.contains(&(live.run.due, key.clone()))
    }

    /// The admitted runs, in order of their keys.
    pub(super) fn active(&self) -> impl Iterator<Item = &RunKey> {
        self.active.iter()
    }

    /// The waiting runs, in order of their due times.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &RunKey> {
        self.waiting.iter().map(|(_, key)| key)
    }

    /// The waiting runs that are due before another run.
    pub(super) fn waiting_before(&self, other: &Live) -> impl Iterator<Item = &RunKey> {
        self.waiting.range(..(other.run.due, other.run.key.clone())).map(|(_, key)| key)
    }

    /// The run that was admitted singly: the catch-up run, or the only one.
    pub(super) fn single(&self) -> Option<&RunKey> {
        let only = self.active.first().filter(|_| self.active.len() == 1);
        self.catching_up.as_ref().or(only)
    }

    /// A run waits for admission.
    pub(super) fn add(&mut self, live: &Live) {
        let is_new = self.waiting.insert((live.run.due, live.run.key.clone()));
        if is_new {
            self.allowing_count += usize::from(allows(live));
            self.free_count += usize::from(!Rest::Paused.holds(&live.run));
        }
    }

    /// A run is admitted.
    pub(super) fn pass(&mut self, live: &Live) {
        let key = live.run.key.clone();
        self.stop_waiting(live);
        if live.run.cause == Cause::CatchUp {
            self.catching_up = Some(key.clone());
        }
        let is_new = self.active.insert(key);
        debug_assert!(is_new, "a run is admitted once");
    }

    /// A run leaves, admitted or not.
    pub(super) fn remove(&mut self, live: &Live) {
        let key = &live.run.key;
        self.active.remove(key);
        self.running_count -= usize::from(live.run.state == RunState::Running);
        self.stop_waiting(live);
        self.catching_up.take_if(|catching_up| catching_up == key);
    }

    fn stop_waiting(&mut self, live: &Live) {
        let was_waiting = self.waiting.remove(&(live.run.due, live.run.key.clone()));
        if was_waiting {
            self.allowing_count -= usize::from(allows(live));
            self.free_count -= usize::from(!Rest::Paused.holds(&live.run));
        }
    }

    /// Whether none of those that wait is admitted now, whatever they are.
    pub(super) fn is_shut(&self, rest: Rest) -> bool {
        let is_full = self.allowing_count == 0 && !self.active.is_empty();
        // An absence holds all that a pause does, and more.
        is_full || rest != Rest::Awake && self.free_count == 0
    }

    /// Whether a run is admitted now.
    pub(super) fn is_open_for(&self, live: &Live) -> bool {
        match (live.work.policies.overlap, live.run.cause) {
            (Overlap::Allow, Cause::CatchUp) => self.catching_up.is_none(),
            (Overlap::Allow, _) => true,
            _ => self.active.is_empty(),
        }
    }

    pub(super) fn check(&self, is_held: impl Fn(&RunKey) -> bool) {
        let free_count = self.waiting().filter(|key| !is_held(key)).count();
        assert_eq!(self.free_count, free_count, "what no pause holds is counted");
        assert!(self.allowing_count <= self.waiting.len(), "only those that wait are counted");
        assert!(self.running_count <= self.active.len(), "what has started is admitted");
        let is_past = self.catching_up.as_ref().is_none_or(|key| self.active.contains(key));
        assert!(is_past, "{:?} is admitted", self.catching_up);
        let in_both = self.waiting().find(|key| self.active.contains(*key));
        assert_eq!(in_both, None, "a run waits or is admitted");
    }
}

/// Whether a run may run beside others of its job.
fn allows(live: &Live) -> bool {
    live.work.policies.overlap == Overlap::Allow
}

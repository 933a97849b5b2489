//! The gate of a job: which of its runs is past its gate, and which wait before it.
//!
//! ```text
//!   waiting (by due time) ───▶ gate ───▶ active: in line for a place, or running
//! ```
//!
//! The gate lets one through at a time. Under `allow` it lets all through, but of those that make good for a misfire one at a
//! time. One that is past the gate and has not started goes back when one that is due earlier comes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::live::Live;
use crate::policy::Overlap;
use crate::run::{Cause, RunKey};

/// Empty for a job that has no open run.
#[derive(Debug, Default)]
pub(super) struct Gate {
    pub(super) active: BTreeSet<RunKey>,
    pub(super) waiting: BTreeSet<(Timestamp, RunKey)>,
    /// How many of those that wait may pass beside others.
    pub(super) allowing_count: usize,
    /// That of the active ones that makes good for a misfire.
    pub(super) catching_up: Option<RunKey>,
}

impl Gate {
    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.waiting.is_empty()
    }

    pub(super) fn holds(&self, due: Timestamp, key: &RunKey) -> bool {
        self.active.contains(key) || self.waiting.contains(&(due, key.clone()))
    }

    /// A run stands before the gate.
    pub(super) fn add(&mut self, live: &Live) {
        let is_new = self.waiting.insert((live.run.due, live.run.key.clone()));
        self.allowing_count += usize::from(is_new && allows(live));
    }

    /// A run passes the gate.
    pub(super) fn pass(&mut self, live: &Live) {
        let key = live.run.key.clone();
        self.stop_waiting(live);
        if live.run.cause == Cause::CatchUp {
            self.catching_up = Some(key.clone());
        }
        self.active.insert(key);
    }

    pub(super) fn remove(&mut self, live: &Live) {
        let key = &live.run.key;
        self.active.remove(key);
        self.stop_waiting(live);
        self.catching_up.take_if(|catching_up| catching_up == key);
    }

    pub(super) fn stop_waiting(&mut self, live: &Live) {
        let was_waiting = self.waiting.remove(&(live.run.due, live.run.key.clone()));
        self.allowing_count -= usize::from(was_waiting && allows(live));
    }

    /// Whether the gate is shut for all that wait, whatever they are.
    pub(super) fn is_shut(&self) -> bool {
        self.allowing_count == 0 && !self.active.is_empty()
    }

    /// Whether the gate is open for a run.
    pub(super) fn is_open_for(&self, live: &Live) -> bool {
        match (live.work.policies.overlap, live.run.cause) {
            (Overlap::Allow, Cause::CatchUp) => self.catching_up.is_none(),
            (Overlap::Allow, _) => true,
            _ => self.active.is_empty(),
        }
    }
}

/// Whether a run may run beside others of its job.
fn allows(live: &Live) -> bool {
    live.work.policies.overlap == Overlap::Allow
}

//! What the planner knows of a job and of an open run, beside what is on disk.
//!
//! Cost: each field is there once for each job, or for each open run.
//!
//! Does not decide: the planner and its parts do.

use std::sync::Arc;

use jiff::Timestamp;

use super::agenda::Entry;
use super::ledger::Place;
use crate::job::Job;
use crate::policy::Retention;
use crate::reason::Reason;
use crate::record::Mark;
use crate::run::Run;
use crate::work::Work;

/// Whether the store is still being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Restoring,
    Planning,
}

/// A job that is known.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    /// `None` between `Restore` and the definitions, if they lack it, and after it was removed.
    pub(super) job: Option<Arc<Job>>,
    /// `None` if it was removed.
    pub(super) source: Option<String>,
    /// What the store says it was, until planning begins.
    pub(super) former: Option<Arc<Job>>,
    pub(super) mark: Mark,
    /// Its entry on the agenda.
    pub(super) next: Option<Entry>,
    /// When a run of it last succeeded, or from when on it is known: silence counts from there.
    pub(super) heard: Option<Timestamp>,
    /// The entry on the agenda at which its silence is too long.
    pub(super) silence: Option<Entry>,
    /// Whether it waits for room.
    pub(super) is_crowded: bool,
    /// Rows that ended since the history was last pruned.
    pub(super) ended_count: u32,
    /// That of its last definition.
    pub(super) retention: Retention,
}

/// An open run.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) run: Run,
    pub(super) work: Arc<Work>,
    /// Somebody wants its end, or the overlap rule does: why.
    pub(super) kill_reason: Option<Reason>,
    /// Its entry on the agenda, while it is scheduled.
    pub(super) wakes: Option<Entry>,
    /// The turn in which it was admitted to its line.
    pub(super) admitted: u64,
    /// The record that says that it is queued, as long as it may be changed.
    pub(super) open: Option<Place>,
}

//! Names that are known of jobs which have no definition any more.
//!
//! Cost: one pass over all names, and a sort.
//!
//! Does not know whether a run of them is open.

use super::{Jobs, TrackedJob};
use crate::absence::Absence;
use crate::job::Job;
use crate::name::JobName;

impl Jobs {
    /// The names without a definition: those of removed jobs first, and of each kind what was planned least
    /// far.
    pub(in super::super) fn leftovers(&self) -> Vec<JobName> {
        let is_left = |tracked: &TrackedJob| tracked.source.is_none() && !tracked.is_crowded;
        let left = self.known.iter().filter(|(_, tracked)| is_left(tracked));
        let mut left: Vec<_> =
            left.map(|(name, tracked)| (tracked.absence.is_some(), tracked.mark.watermark, name)).collect();
        left.sort();
        left.into_iter().map(|(_, _, name)| name.clone()).collect()
    }

    /// The jobs that are absent, each with what it was.
    pub(in super::super) fn absent(&self) -> impl Iterator<Item = (&JobName, &Absence, Option<&Job>)> {
        let jobs = self.known.iter();
        jobs.filter_map(|(name, tracked)| Some((name, tracked.absence.as_ref()?, tracked.former.as_deref())))
    }

    /// Drops the mark of a removed job: if it comes back, it is new.
    pub(in super::super) fn drop_name(&mut self, name: &JobName) {
        let dropped = self.known.remove(name);
        debug_assert!(
            dropped.is_none_or(|it| it.source.is_none() && it.next.is_none() && it.silence.is_none()),
            "it was removed"
        );
    }
}

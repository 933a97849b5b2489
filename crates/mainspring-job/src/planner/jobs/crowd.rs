//! Jobs that were due when there was no room for another open run, in the order in which they were due.
//!
//! Cost: O(log n) a call.
//!
//! Does not say when there is room.

use super::{Jobs, Look};
use crate::name::JobName;

impl Jobs {
    /// There is no room for another open run: the job of a look is looked at again when there is.
    pub(in super::super) fn wait_for_room(&mut self, look: &Look) {
        let name = &look.job.name;
        if !look.was_crowded {
            self.crowded.push_back(name.clone());
        }
        if let Some(tracked) = self.known.get_mut(name) {
            tracked.is_crowded = true;
        }
    }

    /// Whether this job waits for room.
    pub(in super::super) fn is_crowded(&self, name: &JobName) -> bool {
        self.known.get(name).is_some_and(|tracked| tracked.is_crowded)
    }

    /// Whether a job waits for room.
    pub(in super::super) fn has_crowded(&self) -> bool {
        !self.crowded.is_empty()
    }

    /// Takes the job out of the line for room that came first.
    pub(in super::super) fn pop_crowded(&mut self) -> Option<JobName> {
        self.crowded.pop_front()
    }
}

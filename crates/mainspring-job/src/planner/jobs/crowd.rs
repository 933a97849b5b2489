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
        debug_assert!(self.crowded.contains(name), "what waits for room is in line for it");
        if let Some(tracked) = self.known.get_mut(name) {
            tracked.is_crowded = true;
        }
    }

    /// Whether this job waits for room.
    pub(in super::super) fn is_crowded(&self, name: &JobName) -> bool {
        self.known.get(name).is_some_and(|tracked| tracked.is_crowded)
    }

    /// The job that came first in the line for room.
    pub(in super::super) fn first_crowded(&self) -> Option<&JobName> {
        self.crowded.front()
    }

    /// Takes that job out of the line.
    pub(in super::super) fn pop_crowded(&mut self) -> Option<JobName> {
        self.crowded.pop_front()
    }
}

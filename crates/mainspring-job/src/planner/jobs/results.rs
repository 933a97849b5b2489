//! The results of a job's runs: how many failed in a row, whether the last one did, and since when none has
//! succeeded.
//!
//! Cost: O(log n) for each result; a look more where the silence of a job is reported.
//!
//! Does not say what is too long, nor whom it is reported to.

use std::time::Duration;

use jiff::Timestamp;

use super::{Item, Jobs, ScheduleQueue};
use crate::name::JobName;
use crate::record::{Pause, PauseTerms};
use crate::state::RunState;

impl Jobs {
    /// A run has ended for good. Tells whether the last one that succeeded or failed had failed.
    pub(in super::super) fn note_result(&mut self, name: &JobName, state: RunState, at: Timestamp) -> bool {
        let Some(tracked) = self.known.get_mut(name) else { return false };
        let had_failed = tracked.has_failed;
        if state == RunState::Succeeded {
            // Also one that is earlier: the clock was set back, and what is too long it says from now on.
            tracked.silent_since = at;
        }
        tracked.has_failed = state.is_failure() || had_failed && state != RunState::Succeeded;
        had_failed
    }

    /// So many runs failed in a row, and the job is paused for it or not.
    pub(in super::super) fn judge(&mut self, name: &JobName, failures: u32, pause: Option<Pause>) {
        if let Some(mark) = self.mark_mut(name) {
            mark.failures = failures;
            if pause.is_some() {
                (mark.pause, mark.pause_terms) = (pause, PauseTerms::default());
            }
        }
    }

    /// The server died so many times in a row in runs of a job. Tells whether that is news.
    pub(in super::super) fn set_crashes(&mut self, name: &JobName, crashes: u32) -> bool {
        let Some(mark) = self.mark_mut(name) else { return false };
        std::mem::replace(&mut mark.crashes, crashes) != crashes
    }

    /// Since when no run of a job has succeeded: where none has, from when on it is defined.
    pub(in super::super) fn silent_since(&self, name: &JobName) -> Option<Timestamp> {
        Some(self.known.get(name)?.silent_since)
    }

    /// Puts the moment in the schedule queue at which a job has been silent for too long, instead of the one
    /// that was there; none if its silence is not reported.
    pub(in super::super) fn expect_silence(
        &mut self,
        name: &JobName,
        most: Option<Duration>,
        schedule: &mut ScheduleQueue,
    ) {
        let Some(tracked) = self.known.get_mut(name) else { return };
        if let Some(entry) = tracked.silence.take() {
            schedule.cancel(entry);
        }
        let end = most.and_then(|most| tracked.silent_since.checked_add(most).ok());
        tracked.silence = end.map(|end| schedule.add(end, Item::Silence(name.clone())));
    }

    /// The moment has come: its entry is gone.
    pub(in super::super) fn end_silence(&mut self, name: &JobName) {
        if let Some(tracked) = self.known.get_mut(name) {
            tracked.silence = None;
        }
    }
}

//! Places: the workers that the runs of one time are for: one run for any, or, with `on=all`, one for each.
//!
//! ```text
//!  cleanup at 02:00 ─┬▶ cleanup@02:00#17   for worker 17
//!                    └▶ cleanup@02:00#21   for worker 21
//! ```
//!
//! The workers are those that are there when the runs are planned, do not leave, and have what is needed. The
//! series in the key of a run is the number of its worker. So a worker has one run of a time, also if that
//! time is planned again. Its backfills count on from there.
//!
//! | a worker | its runs |
//! |---|---|
//! | comes later | it has none of that time |
//! | is gone | those that wait are missed, and what was abandoned is not tried again |
//! | is gone, and planning begins with one worker, which has no run of that time | are for that one: a server of its own has a new number after each start |
//!
//! Cost: O(workers) for each time.
//!
//! Does not keep runs of two workers apart: `open_runs` has a lane for each.

use jiff::Timestamp;

use super::{Live, Planner};
use crate::job::Job;
use crate::name::JobName;
use crate::output::{Note, Output};
use crate::reason::Reason;
use crate::refusal::Refusal;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::work::Work;
use crate::worker::WorkerId;

/// The worker that a run is for; `None` is any.
pub(super) type Place = Option<WorkerId>;

impl Planner {
    /// What the runs of one time are for: any worker, or each of these.
    pub(super) fn places(&self, work: &Work) -> Vec<Place> {
        if !work.policies.on.is_each() {
            return vec![None];
        }
        self.runs.workers_for(work).into_iter().map(Some).collect()
    }

    /// The same for the runs of so many times, if there is room for all of them.
    pub(super) fn places_with_room(&self, work: &Work, time_count: usize) -> Result<Vec<Place>, Refusal> {
        let places = self.places(work);
        if places.is_empty() {
            Err(Refusal::NoWorker)
        } else if self.room() < time_count * places.len() {
            Err(Refusal::TooManyRuns)
        } else {
            Ok(places)
        }
    }

    /// Whether there is room for the job that came first in line: for its run at each of its places. With
    /// room for some of them it would leave the line for nothing.
    pub(super) fn has_room_in_line(&self) -> bool {
        let Some(name) = self.jobs.first_crowded() else { return false };
        let place_count = self.jobs.definition(name).map_or(0, |job| self.places(&job.work).len());
        place_count.max(1) <= self.room()
    }

    /// The key of the run that one time has at a place.
    pub(super) fn key_at(&mut self, job: &JobName, nominal: Timestamp, place: Place) -> RunKey {
        let Some(series) = place.map(series) else { return RunKey::new(job.clone(), nominal) };
        self.jobs.know_series(job, series);
        RunKey { job: job.clone(), nominal, series }
    }

    /// Records a run that does not start, of a time that no trigger names.
    pub(super) fn miss(&mut self, now: Timestamp, key: RunKey, cause: Cause, reason: Reason) {
        let mut run = Run::new(key.clone(), cause, RunState::Missed, now, now);
        (run.ended, run.reason) = (Some(now), Some(reason.clone()));
        self.record_run(run);
        self.tell_of_missed(now, self.hooks(&key.job), &key, 1, &reason);
        self.pruning.count_ended(&key.job);
        self.ledger.perform(Output::Note(Note::Missed { key, count: 1, reason }));
    }

    /// How many occurrences a job may still have, each with so many runs. The last has all of them.
    pub(super) fn occurrences_left(&self, job: &Job, places: usize) -> usize {
        let runs = self.jobs.mark(&job.name).map_or(0, |mark| mark.runs);
        let left = job.max_runs.map_or(u64::MAX, |max| max.saturating_sub(runs));
        usize::try_from(left).unwrap_or(usize::MAX).div_ceil(places)
    }

    /// A worker is gone: what waits for it is missed.
    pub(super) fn miss_waiting_for(&mut self, now: Timestamp, id: WorkerId) {
        for key in self.runs.waiting_for(id) {
            let live = self.leave(&key);
            self.end_unstarted(now, &live, RunState::Missed, Reason::WorkerGone);
            self.ledger.end_unit();
        }
    }

    /// Planning begins. A run whose worker is gone is for the only one there is, if that has none of its
    /// time.
    pub(super) fn settle(&self, live: &mut Live) {
        let key = &live.run.key;
        let has_one =
            |id| self.runs_of(&key.job).any(|run| run.worker == Some(id) && run.key.nominal == key.nominal);
        if !self.has_place(live)
            && let Some(only) = self.runs.slots.workers.only().filter(|id| !has_one(*id))
        {
            (live.target, live.run.worker) = (Some(only), Some(only));
        }
    }

    /// Whether the worker is there that a run is for, if it is for one.
    pub(super) fn has_place(&self, live: &Live) -> bool {
        live.target.is_none_or(|id| self.runs.slots.workers.has(id))
    }
}

/// The series of the runs that are for a worker: the low half of its number. Two workers whose halves are
/// equal are four thousand million lives apart, and have no run of one time.
fn series(id: WorkerId) -> u32 {
    (id.0 & u64::from(u32::MAX)) as u32
}

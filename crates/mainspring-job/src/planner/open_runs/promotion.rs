//! Promotion: which of a job's open runs are admitted to the line for a slot, and which go back to wait.
//!
//! Cost: O(log n) for each run that is looked at.
//!
//! Does not say what a policy admits: see [`AdmissionQueue`](super::super::admission_queue::AdmissionQueue).

use super::super::rest::Rest;
use super::{Lane, OpenRuns, lane};
use crate::name::JobName;
use crate::policy::Overlap;
use crate::run::{Cause, RunKey};
use crate::state::RunState;

impl OpenRuns {
    /// The jobs with runs that are queued or running.
    pub(in super::super) fn gated_jobs(&self) -> Vec<JobName> {
        let mut jobs: Vec<JobName> = self.queues.keys().map(|(job, _)| job.clone()).collect();
        jobs.dedup();
        jobs
    }

    /// A job is paused: what is admitted and has not started waits again.
    pub(in super::super) fn hold(&mut self, job: &JobName, rest: Rest) {
        let queued: Vec<RunKey> = self.lanes_of(job).flat_map(|lane| self.queued(&lane)).collect();
        for key in queued {
            if rest.holds(&self.runs[&key].run) {
                self.send_back(&key);
            }
        }
        // One that the pause does not hold may have waited behind them.
        self.promote(job, rest);
    }

    /// Admits runs of a job as far as its policy allows.
    pub(in super::super) fn promote(&mut self, job: &JobName, rest: Rest) {
        let lanes: Vec<Lane> = self.lanes_of(job).collect();
        for lane in lanes {
            if let Some(key) = self.overtaken(&lane, rest) {
                self.send_back(&key);
            }
            while let Some(key) = self.first_admissible(&lane, rest) {
                let live = self.runs.get_mut(&key).expect("what waits is open");
                self.slots.add(live);
                self.queues.get_mut(&lane).expect("a run waits at it").pass(live);
            }
        }
    }

    /// A queued run waits for admission again.
    fn send_back(&mut self, key: &RunKey) {
        let live = self.runs.get_mut(key).expect("what is queued is open");
        self.slots.remove(live);
        let queue = self.queues.get_mut(&lane(live)).expect("what is queued is in an admission queue");
        queue.remove(live);
        queue.add(live);
    }

    /// The one admitted run in a lane that has not started, and is due later than one that waits and may
    /// pass.
    pub(super) fn overtaken(&self, lane: &Lane, rest: Rest) -> Option<RunKey> {
        let queue = self.queues.get(lane)?;
        let key = queue.single()?;
        let past = &self.runs[key];
        let passes_singly = past.work.policies.overlap != Overlap::Allow || past.run.cause == Cause::CatchUp;
        if !passes_singly || past.run.state != RunState::Queued {
            return None;
        }
        let passes = |key: &RunKey| {
            let live = &self.runs[key];
            let is_alike = past.work.policies.overlap != Overlap::Allow || live.run.cause == past.run.cause;
            is_alike && !rest.holds(&live.run) && !self.batches.holds(live)
        };
        queue.waiting_before(past).any(passes).then(|| key.clone())
    }

    /// The first that waits, could be admitted, and is held by no pause and no batch.
    pub(super) fn first_admissible(&self, lane: &Lane, rest: Rest) -> Option<RunKey> {
        let queue = self.queues.get(lane).filter(|queue| !queue.is_shut(rest))?;
        let may_pass = |key: &&RunKey| {
            let live = &self.runs[*key];
            queue.is_open_for(live) && !rest.holds(&live.run) && !self.batches.holds(live)
        };
        queue.waiting().find(may_pass).cloned()
    }
}

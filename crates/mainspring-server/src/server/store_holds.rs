//! Holds by the store alone: why a job, a one-shot job or a run does not run, at a server that does not plan.
//!
//! ```text
//!  open runs, workers, the planner's word of itself ─▶ HoldRows ─▶ the same reasons as of the planner
//! ```
//!
//! Cost: the open runs of the job, the workers, and those that run of its group.
//!
//! Does not know what the planner has not written: see [`planner_status`](super::planner_status).

use jiff::Timestamp;
use mainspring_action::needs::needs;
use mainspring_job::{
    Cause, Hold, HoldRows, JobName, Load, Mark, Run, RunKey, RunState, StoreError, Work, Worker, WorkerId,
};

use super::planner_status::PlannerStatus;
use super::read_only_backend::{ReadOnlyBackend, defined};
use super::{describe, queries};
use crate::error::Error;
use crate::protocol::{HoldWire, MAX_ROWS, MAX_WAITING_SHOWN, MemberWire, RunWire};

impl ReadOnlyBackend<'_> {
    /// Each reason why a run does not start now, if it waits.
    pub(super) fn run_holds(&mut self, run: &Run) -> Result<Vec<HoldWire>, Error> {
        let record = self.record(&run.key.job)?;
        let of_job = record.as_ref().and_then(defined).map(|job| job.work);
        let is_waiting = matches!(run.state, RunState::Scheduled | RunState::Queued);
        let Some(work) = run.work.clone().or(of_job).filter(|_| is_waiting) else { return Ok(Vec::new()) };
        let is_each = work.policies.on.is_each() && run.cause != Cause::Once;
        let is_in_lane = |other: &Run| !is_each || other.worker == run.worker;
        let open = self.open_runs(&run.key.job, is_in_lane)?;
        let mut run = run.clone();
        if !self.is_shared {
            // It waits for no more than a server.
            run.state = RunState::Scheduled;
        }
        let (mark, now) = (record.as_ref().map(|record| &record.mark), self.now);
        let holds = self.holds(&work, mark, open.in_the_way, |rows| rows.run_holds(&run, now))?;
        Ok(describe::holds(holds, &run.key.job))
    }

    /// What may hold a one-shot job that is pending.
    pub(super) fn pending_holds(&mut self) -> Result<Vec<Hold>, StoreError> {
        let planner = PlannerStatus::read(self.reader);
        let paused = self.reader.pause()?.as_ref().map(Hold::of_pause);
        let crowded = planner.has_crowded.then_some(Hold::NoRoom);
        Ok(planner.stopping().into_iter().chain(paused).chain(crowded).collect())
    }

    /// What the rows of the store say of some work.
    pub(super) fn holds(
        &mut self,
        work: &Work,
        mark: Option<&Mark>,
        in_the_way: Vec<Run>,
        ask: impl FnOnce(&HoldRows<'_>) -> Vec<Hold>,
    ) -> Result<Vec<Hold>, StoreError> {
        let (planner, paused) = (PlannerStatus::read(self.reader), self.reader.pause()?);
        let running = |(group, limit)| Ok::<_, StoreError>((limit, self.reader.running_of(group)?));
        let group = planner.limit(work).map(running).transpose()?;
        let rows = HoldRows {
            work,
            mark,
            paused: paused.as_ref(),
            in_the_way,
            workers: self.workers()?,
            group,
            full_rate: planner.full_rate(work),
            awaits_batch: planner.awaits_batch(work),
            has_crowded: planner.has_crowded,
            needs: needs(&work.action),
        };
        Ok(planner.stopping().into_iter().chain(ask(&rows)).collect())
    }

    /// The open runs of a job, those of a lane. Of a folder that no server has none is open.
    pub(super) fn open_runs(
        &mut self,
        name: &JobName,
        is_in_lane: impl Fn(&Run) -> bool,
    ) -> Result<OpenRuns, StoreError> {
        let mut found = OpenRuns::default();
        let mut queued = None;
        let mut next = self.is_shared.then(|| RunKey::new(name.clone(), Timestamp::MIN));
        while let Some(after) = next.take() {
            let runs = self.reader.open_runs(Some(&after), MAX_ROWS)?;
            let is_full = runs.len() == MAX_ROWS;
            for run in runs.iter().take_while(|run| run.key.job == *name).filter(|run| is_in_lane(run)) {
                match run.state {
                    RunState::Running => {
                        found.load.running += 1;
                        found.in_the_way.extend((found.load.running == 1).then(|| run.clone()));
                    }
                    RunState::Queued => {
                        found.load.queued += 1;
                        queued.get_or_insert_with(|| run.clone());
                    }
                    _ => {
                        found.waiting_count += 1;
                        let is_shown = found.waiting_count <= MAX_WAITING_SHOWN;
                        found.waiting.extend(is_shown.then(|| RunWire::from(run)));
                    }
                }
            }
            next = runs.last().filter(|last| is_full && last.key.job == *name).map(|last| last.key.clone());
        }
        found.in_the_way.extend(queued);
        Ok(found)
    }

    /// The workers that take runs, and how many run at each.
    fn workers(&mut self) -> Result<Vec<(Worker, usize)>, StoreError> {
        let members = queries::cluster(self.reader)?.unwrap_or_default().servers.into_iter();
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let worker = |member: MemberWire| {
            let worker = Worker::new(WorkerId(member.id), member.name, size(member.capacity));
            let labels =
                member.labels.into_iter().filter_map(|(text, level)| Some((text.parse().ok()?, level)));
            let worker = labels.fold(worker, |worker, (label, level)| worker.with_label(label, level));
            (worker, size(member.running))
        };
        Ok(members.filter(|member| member.is_worker() && !member.is_leaving).map(worker).collect())
    }
}

/// What is open of a job.
#[derive(Debug, Default)]
pub(super) struct OpenRuns {
    pub(super) load: Load,
    /// The first that runs and the first that is queued.
    pub(super) in_the_way: Vec<Run>,
    /// Those that wait for their time, the first of them.
    pub(super) waiting: Vec<RunWire>,
    pub(super) waiting_count: usize,
}

//! Holds: each reason why a job does not run now, and what ends it.
//!
//! | | it ends |
//! |---|---|
//! | the server is stopping | with the next server |
//! | everything is paused, or the job is | at the time that was said, or when it is resumed |
//! | it is in quarantine | when a run of it has ended or has outlived its probation, or when the job is resumed |
//! | the clock stands before what is planned | when the clock has caught up, or when it is rewound |
//! | no room for another open run | when some have ended |
//! | an earlier run runs, or waits for its slot | with the end of that run, or its start |
//! | its group or the workers run as many as they may | when some of those have ended |
//! | as many of its group have started as may in a time | when that time is over |
//! | something of the batch for which it waits is left | when the last of that has ended |
//! | no worker has what it needs | with one that has |
//! | it has had its runs, or has no further time | with another definition |
//!
//! Several hold at once, and one does not hide another. All faces show this list.
//!
//! Cost: O(runs of the job); one search of its calendar.
//!
//! Does not change anything.

use jiff::Timestamp;

use super::Planner;
use super::hold::Hold;
use super::live::target;
use super::run_slots::placement;
use super::workers::Workers;
use crate::job::Job;
use crate::name::JobName;
use crate::policy::Overlap;
use crate::rate::Rate;
use crate::record::{Mark, PauseTerms};
use crate::run::{Run, RunKey};
use crate::state::RunState;
use crate::timetable::Next;
use crate::worker::{Needs, Worker};

impl Planner {
    /// Each reason why a job does not run now, those first that hold all else; empty if it runs when it is
    /// due.
    pub fn holds(&self, name: &JobName, now: Timestamp) -> Vec<Hold> {
        let Some((job, mark)) = self.job(name) else { return Vec::new() };
        let stopping = self.is_stopping().then_some(Hold::Stopping);
        let crowded = self.jobs.is_crowded(name).then_some(Hold::NoRoom);
        let in_the_way = self.runs.of_job_in_the_way(&job.name);
        let slot = |run: &Run| self.runs.get(&run.key).and_then(|live| self.runs.why_no_slot(live));
        let run = run_in_the_way(job, in_the_way.into_iter().map(|live| &live.run), slot);
        let all = stopping.into_iter().chain(of_records(mark, self.pause_terms(), now));
        all.chain(crowded).chain(why_no_time(job, mark)).chain(run).collect()
    }
}

/// The rows of a store that say why a job does not run, for a server that does not plan.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "each row is needed")]
pub struct JobRows<'r> {
    /// The job.
    pub job: &'r Job,
    /// How far it is.
    pub mark: &'r Mark,
    /// How long everything is paused, if it is.
    pub paused: Option<&'r PauseTerms>,
    /// Of its open runs that run or are queued the first of either, those that run before the others.
    pub in_the_way: Vec<Run>,
    /// The workers that are there and take runs, and how many run at each.
    pub workers: Vec<(Worker, usize)>,
    /// The limit of its group, and the runs of the group that are running, in order of their keys.
    pub group: Option<(u32, Vec<RunKey>)>,
    /// Of its group, see [`Planner::full_rates`].
    pub full_rate: Option<(Rate, Timestamp)>,
    /// Whether its batch is among the [`Planner::awaited_batches`].
    pub awaits_batch: bool,
    /// See [`Planner::has_crowded`].
    pub has_crowded: bool,
    /// What the job's action needs of its worker.
    pub needs: Needs,
}

impl JobRows<'_> {
    /// The same as [`Planner::holds`], but that the planner stops.
    pub fn holds(&self, now: Timestamp) -> Vec<Hold> {
        let JobRows { job, mark, paused, in_the_way, .. } = self;
        let (work, workers) = (&job.work, Workers::of(self.workers.iter().cloned()));
        let slot = |run: &Run| {
            let batch = work.policies.after_batch.clone().filter(|_| self.awaits_batch);
            if let Some(batch) = batch {
                return Some(Hold::AfterBatch { run: run.key.clone(), batch });
            }
            let needs = work.policies.on.add_to(self.needs.clone()).at(target(run, work));
            let full = self.group.as_ref().filter(|(limit, running)| *limit as usize <= running.len());
            let full = full.map(|(limit, running)| (*limit, running.iter()));
            let full_group =
                work.group.as_ref().and_then(|of| Hold::of_group(&run.key, of, full, self.full_rate));
            workers.why_no_slot(run.key.clone(), &needs, placement(work), full_group)
        };
        let run = run_in_the_way(job, in_the_way.iter(), slot);
        let of_records: Vec<Hold> = of_records(mark, *paused, now).collect();
        let is_due = job.timetable.next_after(mark.watermark).is_due(now);
        let crowded = (self.has_crowded && of_records.is_empty() && is_due).then_some(Hold::NoRoom);
        of_records.into_iter().chain(crowded).chain(why_no_time(job, mark)).chain(run).collect()
    }
}

/// The pauses, and what the record of the job tells.
fn of_records(mark: &Mark, paused: Option<&PauseTerms>, now: Timestamp) -> impl Iterator<Item = Hold> {
    let all = paused.map(|terms| Hold::AllPaused { until: terms.until });
    all.into_iter().chain(Hold::of_mark(mark, now))
}

/// Whether its timetable has come to its end, or its runs are used up.
fn why_no_time(job: &Job, mark: &Mark) -> Option<Hold> {
    if job.max_runs.is_some_and(|max| max <= mark.runs) {
        return Some(Hold::Done);
    }
    let is_over = job.timetable.next_after(mark.watermark) == Next::Never;
    let timetable = &job.timetable;
    let is_at_start = timetable.is_at_boot() || timetable.is_at_server_start();
    (is_over && !is_at_start && timetable.follows().next().is_none()).then_some(Hold::NoTime)
}

/// The run that is in the way of the next, of those that may be.
fn run_in_the_way<'r>(
    job: &Job,
    mut open: impl Iterator<Item = &'r Run>,
    why_no_slot: impl Fn(&Run) -> Option<Hold>,
) -> Option<Hold> {
    if job.work.policies.overlap == Overlap::Allow {
        // No run is in the way of another, but each needs a slot.
        return why_no_slot(open.find(|run| run.state == RunState::Queued)?);
    }
    let run = open.next()?;
    Some(match run.state {
        RunState::Running => Hold::Running(run.key.clone()),
        _ => why_no_slot(run).unwrap_or_else(|| Hold::Waiting(run.key.clone())),
    })
}

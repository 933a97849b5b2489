//! Holds: each reason why a job, or a run that waits, does not run now, and what ends it.
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
//! Several hold at once, and one does not hide another. All faces show this list. Of a run there are those
//! that hold it: a one-shot job has no pause and no timetable, and its quarantine is that of its run. Until
//! it fires it may be held by what holds everything, and by the lack of room.
//!
//! Cost: O(runs of the job); for a job one search of its calendar.
//!
//! Does not change anything.

use jiff::Timestamp;

use super::Planner;
use super::hold::Hold;
use super::live::target;
use super::open_runs::lane;
use super::run_slots::placement;
use super::workers::Workers;
use crate::job::Job;
use crate::name::JobName;
use crate::policy::Overlap;
use crate::rate::Rate;
use crate::record::{Mark, PauseTerms};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::timetable::Next;
use crate::work::Work;
use crate::worker::{Needs, Worker};

impl Planner {
    /// Each reason why a job does not run now, those first that hold all else; empty if it runs when it is
    /// due.
    pub fn holds(&self, name: &JobName, now: Timestamp) -> Vec<Hold> {
        let Some((job, mark)) = self.job(name) else { return Vec::new() };
        let crowded = self.jobs.is_crowded(name).then_some(Hold::NoRoom);
        let open = self.runs.of_job_in_the_way(name).into_iter().map(|live| &live.run);
        let run = run_in_the_way(&job.work, open, |run| self.why_no_slot(run));
        let all = self.of_all().chain(Hold::of_mark(mark, now));
        all.chain(crowded).chain(why_no_time(job, mark)).chain(run).collect()
    }

    /// The same of an open run; empty if it runs, or starts when it is due.
    pub fn run_holds(&self, key: &RunKey, now: Timestamp) -> Vec<Hold> {
        let Some(live) = self.runs.get(key) else { return Vec::new() };
        let (lane, mark) = (lane(live), self.jobs.mark(&key.job));
        let in_lane = self.runs.in_the_way(&lane).map(|live| &live.run);
        let own = of_run(&live.run, &live.work, mark, in_lane, |run| self.why_no_slot(run), now);
        own.map_or_else(Vec::new, |own| self.of_all().chain(own).collect())
    }

    /// The same of a one-shot job that is due and has not fired.
    pub fn pending_holds(&self) -> Vec<Hold> {
        self.of_all().chain(self.has_crowded().then_some(Hold::NoRoom)).collect()
    }

    /// What holds everything.
    fn of_all(&self) -> impl Iterator<Item = Hold> {
        let stopping = self.is_stopping().then_some(Hold::Stopping);
        stopping.into_iter().chain(self.pause_terms().map(Hold::of_pause))
    }

    fn why_no_slot(&self, run: &Run) -> Option<Hold> {
        self.runs.get(&run.key).and_then(|live| self.runs.why_no_slot(live))
    }
}

/// The rows of a store that say why the runs of some work do not start, for a server that does not plan.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "each row is needed")]
pub struct HoldRows<'r> {
    /// That of a job, or of the run of a one-shot job.
    pub work: &'r Work,
    /// How far the job is, if it is defined.
    pub mark: Option<&'r Mark>,
    /// How long everything is paused, if it is.
    pub paused: Option<&'r PauseTerms>,
    /// Of the open runs of its name that run or are queued the first of either, those that run before the
    /// others. Where each worker has a run of its own, and a run is asked about, those of its worker.
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
    /// What its action needs of its worker.
    pub needs: Needs,
}

impl HoldRows<'_> {
    /// The same as [`Planner::holds`] of this job, but that the planner stops.
    pub fn holds(&self, job: &Job, now: Timestamp) -> Vec<Hold> {
        let Some(mark) = self.mark else { return Vec::new() };
        let run = run_in_the_way(self.work, self.in_the_way.iter(), |run| self.why_no_slot(run));
        let of_records: Vec<Hold> = self.of_all().chain(Hold::of_mark(mark, now)).collect();
        let is_due = job.timetable.next_after(mark.watermark).is_due(now);
        let crowded = (self.has_crowded && of_records.is_empty() && is_due).then_some(Hold::NoRoom);
        of_records.into_iter().chain(crowded).chain(why_no_time(job, mark)).chain(run).collect()
    }

    /// The same as [`Planner::run_holds`] of this run, but that the planner stops.
    pub fn run_holds(&self, run: &Run, now: Timestamp) -> Vec<Hold> {
        let in_lane = self.in_the_way.iter();
        let own = of_run(run, self.work, self.mark, in_lane, |run| self.why_no_slot(run), now);
        own.map_or_else(Vec::new, |own| self.of_all().chain(own).collect())
    }

    fn of_all(&self) -> impl Iterator<Item = Hold> {
        self.paused.map(Hold::of_pause).into_iter()
    }

    fn why_no_slot(&self, run: &Run) -> Option<Hold> {
        let work = self.work;
        let batch = work.policies.after_batch.clone().filter(|_| self.awaits_batch);
        if let Some(batch) = batch {
            return Some(Hold::AfterBatch { run: run.key.clone(), batch });
        }
        let needs = work.policies.on.add_to(self.needs.clone()).at(target(run, work));
        let full = self.group.as_ref().filter(|(limit, running)| *limit as usize <= running.len());
        let full = full.map(|(limit, running)| (*limit, running.iter()));
        let full_group =
            work.group.as_ref().and_then(|of| Hold::of_group(&run.key, of, full, self.full_rate));
        let workers = Workers::of(self.workers.iter().cloned());
        workers.why_no_slot(run.key.clone(), &needs, placement(work), full_group)
    }
}

/// What holds a run of its own, those first that hold more; `None` if it does not wait.
fn of_run<'r>(
    run: &Run,
    work: &Work,
    mark: Option<&Mark>,
    in_lane: impl Iterator<Item = &'r Run>,
    why_no_slot: impl Fn(&Run) -> Option<Hold>,
    now: Timestamp,
) -> Option<Vec<Hold>> {
    let way = match run.state {
        RunState::Queued if work.policies.overlap == Overlap::Allow => why_no_slot(run),
        RunState::Queued => run_in_the_way(work, in_lane, why_no_slot),
        RunState::Scheduled => None,
        _ => return None,
    };
    let mark = mark.filter(|_| run.cause != Cause::Once);
    let of_job = mark.into_iter().flat_map(|mark| Hold::of_mark(mark, now)).filter(|hold| hold.is_for(run));
    // That of a job is in its record.
    let of_job = of_job.chain(Hold::of_crashes(if mark.is_none() { run.crashes } else { 0 }));
    Some(of_job.chain(way).collect())
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

/// The run that is in the way of the next, of those that may be, and why that has not started.
fn run_in_the_way<'r>(
    work: &Work,
    mut open: impl Iterator<Item = &'r Run>,
    why_no_slot: impl Fn(&Run) -> Option<Hold>,
) -> Option<Hold> {
    if work.policies.overlap == Overlap::Allow {
        // No run is in the way of another, but each needs a slot.
        return why_no_slot(open.find(|run| run.state == RunState::Queued)?);
    }
    let run = open.next()?;
    Some(match run.state {
        RunState::Running => Hold::Running(run.key.clone()),
        _ => why_no_slot(run).unwrap_or_else(|| Hold::Waiting(run.key.clone())),
    })
}

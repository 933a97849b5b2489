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
use crate::job::Job;
use crate::name::JobName;
use crate::policy::Overlap;
use crate::record::Mark;
use crate::state::RunState;
use crate::timetable::Next;

impl Planner {
    /// Each reason why a job does not run now, those first that hold all else; empty if it runs when it is
    /// due.
    pub fn holds(&self, name: &JobName, now: Timestamp) -> Vec<Hold> {
        let Some((job, mark)) = self.job(name) else { return Vec::new() };
        let stopping = self.is_stopping().then_some(Hold::Stopping);
        let all = self.pause_terms().map(|terms| Hold::AllPaused { until: terms.until });
        let crowded = self.jobs.is_crowded(name).then_some(Hold::NoRoom);
        let of_times = self.why_no_time(job, mark);
        let of_job = [crowded, of_times, self.run_in_the_way(job)];
        [stopping, all]
            .into_iter()
            .flatten()
            .chain(Hold::of_mark(mark, now))
            .chain(of_job.into_iter().flatten())
            .collect()
    }

    /// Whether its timetable has come to its end, or its runs are used up.
    fn why_no_time(&self, job: &Job, mark: &Mark) -> Option<Hold> {
        if self.jobs.is_done(&job.name) {
            return Some(Hold::Done);
        }
        let is_over = job.timetable.next_after(mark.watermark) == Next::Never;
        let timetable = &job.timetable;
        let is_at_start = timetable.is_at_boot() || timetable.is_at_server_start();
        (is_over && !is_at_start && timetable.follows().next().is_none()).then_some(Hold::NoTime)
    }

    /// The run that is in the way of the next.
    fn run_in_the_way(&self, job: &Job) -> Option<Hold> {
        let mut open = self.runs.of_job_in_the_way(&job.name).into_iter();
        if job.work.policies.overlap == Overlap::Allow {
            // No run is in the way of another, but each needs a slot.
            return self.runs.why_no_slot(open.find(|live| live.run.state == RunState::Queued)?);
        }
        let live = open.next()?;
        let key = live.run.key.clone();
        Some(match live.run.state {
            RunState::Running => Hold::Running(key),
            _ => self.runs.why_no_slot(live).unwrap_or(Hold::Waiting(key)),
        })
    }
}

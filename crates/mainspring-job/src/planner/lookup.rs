//! Questions about one job or one run: answered without a look at the others.
//!
//! Cost: O(log n) for each, and O(1) for each run of an answer.

use jiff::Timestamp;

use super::Planner;
use crate::job::Job;
use crate::name::JobName;
use crate::record::Mark;
use crate::run::{Run, RunKey};

impl Planner {
    /// The job of that name, if it has a definition, and how far it is.
    pub fn job(&self, name: &JobName) -> Option<(&Job, &Mark)> {
        let tracked = self.jobs.get(name)?;
        Some((tracked.job.as_deref()?, &tracked.mark))
    }

    /// The jobs with a definition whose names come after one, in order of their names.
    pub fn jobs_after<'p>(
        &'p self,
        after: Option<&JobName>,
    ) -> impl Iterator<Item = (&'p Job, &'p Mark)> + use<'p> {
        use std::ops::Bound::{Excluded, Unbounded};
        let range = self.jobs.range((after.map_or(Unbounded, |name| Excluded(name.clone())), Unbounded));
        range.filter_map(|(_, tracked)| Some((tracked.job.as_deref()?, &tracked.mark)))
    }

    /// When a job is looked at next: at its next occurrence, or before it where that is far away. `None` if it rests.
    pub fn next_of(&self, name: &JobName) -> Option<Timestamp> {
        self.jobs.get(name)?.next.map(|entry| entry.at)
    }

    /// The jobs with a definition, how far each is, and when it is looked at next as [`next_of`](Self::next_of) says. One walk.
    pub fn looks(&self) -> impl Iterator<Item = (&Job, &Mark, Option<Timestamp>)> {
        self.jobs.values().filter_map(|tracked| {
            let next = tracked.next.map(|entry| entry.at);
            Some((tracked.job.as_deref()?, &tracked.mark, next))
        })
    }

    /// An open run.
    pub fn run(&self, key: &RunKey) -> Option<&Run> {
        self.runs.get(key).map(|live| &live.run)
    }

    /// The open runs of a job, the earliest nominal time first.
    pub fn runs_of<'p>(&'p self, name: &JobName) -> impl Iterator<Item = &'p Run> + use<'p> {
        let name = name.clone();
        let first = RunKey { job: name.clone(), nominal: Timestamp::MIN, series: 0 };
        let runs = self.runs.range(first..).map(|(_, live)| &live.run);
        runs.take_while(move |run| run.key.job == name)
    }
}

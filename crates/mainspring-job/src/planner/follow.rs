//! The runs that follow the end of a run: one of each job that names it in its triggers.
//!
//! ```text
//!  End(extract@02:30, succeeded), Plan(load@.., scheduled), Mark(load)     one unit, so one batch
//! ```
//!
//! The run that follows is planned in the unit that records the end. So no crash can come between the two,
//! and a batch that is sent twice is applied once. An end is followed once, or will be if it is not on disk
//! yet. The run that follows is due then. Its own rules decide whether it starts: overlap, pause, jitter,
//! group.
//!
//! Cost: O(log n) for each follower of a job whose run ends; nothing for a job that none follows.
//!
//! Does not look for circles: [`circle`](crate::circle) does, when definitions come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::followers::MAX_FOLLOWERS;
use super::{Live, Planner};
use crate::circle::circle;
use crate::hash::{Purpose, placed};
use crate::input::Prune;
use crate::job::Job;
use crate::name::JobName;
use crate::output::{Note, Output};
use crate::reason::Reason;
use crate::refusal::Refusal;
use crate::run::{Cause, Run};
use crate::state::RunState;

/// How many are noted one by one: a log is read, and a parent that was renamed may have many followers.
const MAX_NOTED: usize = 16;

impl Planner {
    /// A run that had started has ended in this state, and is not tried again. Told in the unit that records
    /// it.
    pub(super) fn follow(&mut self, now: Timestamp, run: &Run, state: RunState) {
        // A one-shot job may have the name of a job that comes later.
        let of = &run.key.job;
        let Some(followers) = self.followers.of.get(of).filter(|_| run.cause != Cause::Once) else {
            return;
        };
        // A dead letter that is tried again was followed as a failure.
        let is_followed = run.was_dead();
        for name in followers.clone() {
            let Some(job) = self.jobs.definition(&name).map(Arc::clone) else { continue };
            let mut names = job.timetable.follows().filter(|after| after.job == *of);
            let is_named = names.any(|after| {
                after.ending.holds(state) && !(is_followed && after.ending.holds(RunState::Failed))
            });
            if is_named && job.timetable.admits(now) && !self.jobs.is_done(&name) {
                self.plan_follower(now, &job);
            }
        }
    }

    /// It waits for the next tick even if it is due, because its rules may need units of their own.
    fn plan_follower(&mut self, now: Timestamp, job: &Arc<Job>) {
        let first = self.new_key(now, &job.name, None);
        let places = match self.places_with_room(&job.work, 1) {
            Ok(places) => places,
            Err(Refusal::NoWorker) => return self.miss(now, first, Cause::After, Reason::NoWorker),
            Err(_) => return self.miss(now, first, Cause::After, Reason::Crowded),
        };
        for place in places {
            let key = self.key_at(&job.name, first.nominal, place);
            let due = placed(now, job.work.policies.jitter, &key, Purpose::Jitter);
            let mut run = Run::new(key, Cause::After, RunState::Scheduled, due, now);
            run.worker = place;
            self.record_run(run.clone());
            self.schedule(now, Live::new(run, Arc::clone(&job.work)));
            self.jobs.count_run(&job.name);
        }
        self.keep_mark(&job.name);
    }

    /// Says which of some jobs follow a name that no job has, up to [`MAX_NOTED`] of them.
    pub(super) fn note_followers(&mut self, is_meant: impl Fn(&JobName, &JobName) -> bool) {
        let found = self.follow_nothing().filter(|(job, of)| is_meant(job, of)).take(MAX_NOTED);
        let notes: Vec<Note> =
            found.map(|(job, of)| Note::FollowsNothing { job: job.clone(), of: of.clone() }).collect();
        notes.into_iter().for_each(|note| self.ledger.perform(Output::Note(note)));
    }

    /// Jobs that follow a name that no job has, with that name.
    pub fn follow_nothing(&self) -> impl Iterator<Item = (&JobName, &JobName)> {
        let is_known = |name: &JobName| self.jobs.definition(name).is_some();
        let unknown = self.followers.of.iter().filter(move |(of, _)| !is_known(of));
        unknown.flat_map(|(of, followers)| followers.iter().map(move |name| (name, of)))
    }

    /// The jobs of a set that may not be defined: they would be part of a circle, or one more follower than a
    /// job may have.
    pub(super) fn unfollowable(&self, source: &str, jobs: &[Job], prune: Prune) -> BTreeSet<JobName> {
        let mut barred = BTreeSet::new();
        if jobs.iter().all(|job| job.timetable.follows().next().is_none()) {
            return barred;
        }
        let of = |job: &Job| job.timetable.follows().map(|after| after.job.clone()).collect::<Vec<_>>();
        let stays = |job: &&Job| prune == Prune::Keep || job.source != source;
        let defined = self.jobs.defined_after(None).map(|(job, _, _)| &**job).filter(stays);
        let mut follows: BTreeMap<JobName, Vec<JobName>> =
            defined.map(|job| (job.name.clone(), of(job))).collect();
        follows.extend(jobs.iter().map(|job| (job.name.clone(), of(job))));
        let mut counts: BTreeMap<JobName, usize> = BTreeMap::new();
        for other in follows.values().flat_map(|of| of.iter().collect::<BTreeSet<_>>()) {
            *counts.entry(other.clone()).or_default() += 1;
        }
        for job in jobs {
            let is_one_too_many = |other: &JobName| MAX_FOLLOWERS < counts[other];
            if follows.get(&job.name).is_some_and(|of| of.iter().any(is_one_too_many)) {
                barred.insert(job.name.clone());
            }
        }
        // What is refused stays what it was, which may be a part of another circle.
        let before = |name: &JobName| self.jobs.definition(name).map(|job| of(job)).unwrap_or_default();
        for name in &barred {
            follows.insert(name.clone(), before(name));
        }
        while let Some(found) = circle(&follows) {
            let is_new = |name: &&JobName| follows[*name] != before(name);
            // Those that were in force before are no circle among themselves.
            let name = found.iter().find(is_new).expect("a job of the set closes the circle").clone();
            follows.insert(name.clone(), before(&name));
            barred.insert(name);
        }
        barred
    }
}

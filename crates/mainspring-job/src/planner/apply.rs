//! New definitions: what is added, changed and removed. Nothing waits for running jobs: they go on under the work that they
//! started with.
//!
//! | a job of the set | becomes |
//! |---|---|
//! | has a new name | added: its watermark is now, so that nothing before counts as missed |
//! | is known, from the same source or without one | unchanged, or changed; a new timetable counts from now on |
//! | is known from another source, or stands twice in the set | refused |
//!
//! A group may be defined by several sources: the smallest limit holds. Its limit stays as long as one of them defines it.
//!
//! A job changes its source by `Command::Adopt`, which comes before the set that holds it from then on.
//!
//! Where a timetable ends, by a new one or with its job, what it named and was not planned is planned at once, or recorded as
//! missed, or as skipped if the job was paused.
//!
//! With [`Prune::Remove`], a job of this source that is not in the set is removed. What runs goes on to its end and is not tried
//! again; what waits is cancelled, a retry too, as it would be at a start that finds the job gone. Of its record the mark stays,
//! so that nothing fires again if it comes back, with the timetable that it had, while the clock shows an earlier time.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Phase, Planner, Tracked};
use crate::input::{Definitions, Prune};
use crate::job::Job;
use crate::name::JobName;
use crate::operation::Operation;
use crate::output::{Applied, Reply};
use crate::reason::Reason;
use crate::record::{Mark, Rest};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::timetable::Span;

impl Planner {
    pub(super) fn apply(&mut self, now: Timestamp, definitions: Definitions) -> Applied {
        let Definitions { source, jobs, groups, prune } = definitions;
        self.places.define(&source, groups.into_iter().map(|group| (group.name, group.limit)), prune);
        let mut applied = Applied::default();
        let mut seen = BTreeSet::new();
        for mut job in jobs {
            job.source.clone_from(&source);
            let name = job.name.clone();
            let is_new = seen.insert(name.clone());
            let holder = self.jobs.get(&name).and_then(|tracked| tracked.source.as_deref());
            let is_full = !self.jobs.contains_key(&name) && self.limits.max_jobs <= self.jobs.len();
            if !is_new || is_full || holder.is_some_and(|holder| holder != source) {
                applied.refused.push(name);
            } else {
                self.define(now, job, &mut applied);
            }
            self.ledger.end_unit();
        }
        if prune == Prune::Remove {
            let is_gone = |(name, tracked): &(&JobName, &Tracked)| {
                tracked.source.as_ref() == Some(&source) && !seen.contains(*name)
            };
            let gone: Vec<JobName> = self.jobs.iter().filter(is_gone).map(|(name, _)| name.clone()).collect();
            for name in gone {
                self.forget(now, &name);
                self.ledger.end_unit();
                applied.removed.push(name);
            }
        }
        applied
    }

    fn define(&mut self, now: Timestamp, job: Job, applied: &mut Applied) {
        let (name, timetable) = (job.name.clone(), job.timetable.to_string());
        let known = self.jobs.get(&name).and_then(|tracked| tracked.job.as_deref());
        if known == Some(&job) {
            applied.unchanged_count += 1;
            return;
        }
        let was_known = self.jobs.get(&name).is_some_and(|tracked| tracked.source.is_some());
        if was_known && self.jobs[&name].mark.timetable != timetable {
            self.close(now, &name, Reason::TimetableChanged);
        }
        let tracked = self.jobs.entry(name.clone()).or_insert_with(|| Tracked {
            job: None,
            source: None,
            former: None,
            mark: Mark::new(name.clone(), now, timetable.clone()),
            next: None,
            is_crowded: false,
            ended_count: 0,
            retention: job.work.policies.retention,
        });
        if !was_known {
            // A new life of a job that was removed: only what keeps its runs apart from the earlier ones stays.
            (tracked.mark.runs, tracked.mark.failures, tracked.mark.crashes) = (0, 0, 0);
            (tracked.mark.pause, tracked.mark.rest) = (None, Rest::default());
        }
        let is_other = tracked.mark.timetable != timetable;
        let is_retimed = !was_known || is_other;
        if is_retimed {
            // Another timetable counts from now on, also where the clock stands before what the old one had planned: a time that
            // has run is on record, and the store refuses to record it again.
            tracked.mark.watermark = if is_other { now } else { tracked.mark.watermark.max(now) };
            tracked.mark.timetable = timetable;
        }
        match (was_known, tracked.job.is_some() || is_retimed) {
            (false, _) => applied.added.push(name.clone()),
            (true, true) => applied.changed.push(name.clone()),
            // Known from the store, and defined as it was, as far as that says.
            (true, false) => applied.unchanged_count += 1,
        }
        let mark = tracked.mark.clone();
        let (source, text) = (job.source.clone(), job.text.clone());
        tracked.retention = job.work.policies.retention;
        (tracked.job, tracked.source) = (Some(Arc::new(job)), Some(source.clone()));
        self.ledger.record(Operation::Define { mark: mark.clone(), source, text });
        if is_retimed {
            self.ledger.record(Operation::Mark(mark));
        }
        if self.phase == Phase::Planning {
            self.expect(&name);
        }
    }

    /// Only what says who may define a job changes; that it is written is left to the definition that follows.
    pub(super) fn adopt(&mut self, jobs: &[JobName], source: &str) -> Reply {
        for name in jobs {
            if let Some(from) = self.jobs.get_mut(name).and_then(|tracked| tracked.source.as_mut()) {
                source.clone_into(from);
            }
        }
        Reply::Done
    }

    /// Drops a job but for its mark. What runs of it goes on, what waits is cancelled.
    pub(super) fn forget(&mut self, now: Timestamp, name: &JobName) {
        if !self.jobs.contains_key(name) {
            return;
        }
        self.close(now, name, Reason::JobRemoved);
        // What the next turn was to admit waits like the others.
        for live in self.postponed.extract_if(.., |live| live.run.key.job == *name).collect::<Vec<_>>() {
            self.schedule(now, live);
        }
        for key in self.waiting_of(name) {
            self.withdraw_run(now, &key, Reason::Removed);
            self.ledger.end_unit();
        }
        self.release_job(name);
        let tracked = self.jobs.get_mut(name).expect("it was there a moment ago");
        (tracked.job, tracked.source) = (None, None);
        (tracked.mark.pause, tracked.mark.rest) = (None, Rest::default());
        if let Some(entry) = tracked.next.take() {
            self.agenda.cancel(entry);
        }
        self.ledger.record(Operation::Forget(name.clone()));
    }

    /// The timetable of a job ends: what it has named up to now is planned where that can be, and else recorded with the reason.
    fn close(&mut self, now: Timestamp, name: &JobName, reason: Reason) {
        let tracked = &self.jobs[name];
        if tracked.source.is_none() || now <= tracked.mark.watermark {
            return;
        }
        let (is_job_paused, is_all_paused) = (tracked.mark.pause.is_some(), self.is_paused());
        if self.phase == Phase::Planning && !self.rests() && !is_job_paused {
            self.job_due(now, name);
        }
        let tracked = self.jobs.get_mut(name).expect("it was there a moment ago");
        let watermark = tracked.mark.watermark;
        tracked.mark.watermark = watermark.max(now);
        let (state, why) = match is_job_paused || is_all_paused {
            true => (RunState::SkippedPaused, Reason::Paused),
            false => (RunState::Missed, reason),
        };
        match tracked.job.clone().or_else(|| tracked.former.take()) {
            Some(job) => {
                if let Some(stretch) = job.timetable.stretch_in(watermark, now) {
                    self.record_stretch(now, &job, (state, why), stretch);
                }
            }
            None => self.record_unknown(now, name, (state, why), watermark),
        }
        self.keep_mark(name);
    }

    /// One record for what a timetable named that cannot be read any more, if it named anything.
    fn record_unknown(
        &mut self,
        now: Timestamp,
        name: &JobName,
        (state, why): (RunState, Reason),
        watermark: Timestamp,
    ) {
        let first = watermark.saturating_add(SignedDuration::from_nanos(1)).unwrap_or(now);
        let mut run = Run::new(RunKey::new(name.clone(), first), Cause::Trigger, state, first, now);
        run.ended = Some(now);
        run.span = Some(Span { last: now, count: 1, is_exact: false });
        run.reason = Some(Reason::Forgotten(Box::new(why)));
        self.ledger.record(Operation::Plan(run));
        self.count_ended(name);
    }

    /// The runs of a job that have not started, or not again.
    fn waiting_of(&self, name: &JobName) -> Vec<RunKey> {
        let runs = self.runs.range(RunKey::new(name.clone(), Timestamp::MIN)..);
        let theirs = runs.map(|(_, live)| &live.run).take_while(|run| run.key.job == *name);
        let waits = |run: &&Run| run.state != RunState::Running && run.cause != Cause::Once;
        theirs.filter(waits).map(|run| run.key.clone()).collect()
    }
}

//! New definitions: jobs are added, changed and removed. This does not wait for running jobs: they go on with
//! the work that they started with. What waits starts with the new one.
//!
//! | a job of the set | becomes |
//! |---|---|
//! | has a new name | added: its watermark is now, so that nothing before counts as missed |
//! | is known, from the same source or without one | unchanged, or changed; a new timetable counts from now on |
//! | has been absent, and its source has it again, or another has the same definition | added: it continues as it was |
//! | is known from another source, or stands twice in the set | refused |
//! | would follow itself by way of others, or is one more follower of a job than there may be | refused |
//!
//! A group may be defined by several sources: the smallest limit holds, and each of the rates. They stay as
//! long as a source says them.
//!
//! A job changes its source by `Command::Adopt`, which comes before the set that holds it from then on.
//!
//! A timetable ends by a new one or with its job. Its occurrences up to that moment that were not planned are
//! planned at once, or recorded as missed, or as skipped if the job was paused.
//!
//! With [`Prune::Remove`], a job of this source that is not in the set is absent. It is removed when
//! its [`Absence`] is over, when another source defines its name otherwise, or when a person removes it.
//!
//! | of a job | that is absent | that comes back | that is removed |
//! |---|---|---|---|
//! | definition | is none: no command finds it | that of the source | is none |
//! | pause, failures, crashes, number of runs | stay | are as they were | begin again if the name comes again |
//! | watermark | stays | stays: what the timetable named meanwhile is judged by the misfire policy, as if no server had been there; with another timetable it counts from then | stays, so that nothing fires again |
//! | a run that waits, a retry too | waits, and does not start | continues; if its time has passed it is due then | is cancelled |
//! | a run that runs | continues to its end; a retry waits | the same | continues to its end, and is not tried again |
//! | as one that follows others | hears of no ends | hears of those to come | is none |
//!
//! The mark of a job stays until retention has dropped the last of its runs, and its name goes with it. So
//! nothing fires again if the job comes back, with the timetable that it had, while the clock shows an
//! earlier time.
//!
//! Cost: O(log n) for each job of the set, and for each of its runs that ends with it.
//!
//! Does not read any text: the caller hands it jobs.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::Planner;
use super::jobs::{Change, DefinedJob};
use super::rest::Rest;
use crate::absence::Absence;
use crate::input::{Definitions, Prune};
use crate::job::Job;
use crate::name::JobName;
use crate::operation::Operation;
use crate::output::{ApplyReport, Note, Output, Reply};
use crate::reason::Reason;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::timetable::Span;

impl Planner {
    pub(super) fn apply(&mut self, now: Timestamp, definitions: Definitions) -> ApplyReport {
        let Definitions { source, jobs, groups, prune } = definitions;
        self.runs.slots.groups.define(&source, groups, prune);
        let mut applied = ApplyReport::default();
        let barred = self.unfollowable(&source, &jobs, prune);
        let mut seen = BTreeSet::new();
        let mut may_make_room = true;
        for mut job in jobs {
            job.source.clone_from(&source);
            let name = job.name.clone();
            let is_new = seen.insert(name.clone());
            let mut is_full = !self.jobs.is_known(&name) && self.limits.max_jobs <= self.jobs.len();
            if is_full && may_make_room {
                may_make_room = self.make_room(now);
                is_full = !may_make_room;
            }
            let is_of_another = self.jobs.source(&name).is_some_and(|holder| holder != source);
            let is_barred = is_full || barred.contains(&name);
            if !is_new || is_barred || is_of_another {
                applied.refused.push(name);
            } else {
                self.define(now, job, &mut applied);
            }
            self.ledger.end_unit();
        }
        if prune == Prune::Remove {
            let is_removed = |name: &JobName| !seen.contains(name);
            for name in self.jobs.names_of(&source).into_iter().filter(is_removed) {
                self.lose(now, &name);
                self.ledger.end_unit();
                applied.removed.push(name);
            }
        }
        if self.activity.is_planning() {
            self.note_followers(|job, of| seen.contains(job) || applied.removed.contains(of));
        }
        applied
    }

    fn define(&mut self, now: Timestamp, job: Job, applied: &mut ApplyReport) {
        let name = job.name.clone();
        if self.jobs.definition(&name).map(Arc::as_ref) == Some(&job) {
            applied.unchanged_count += 1;
            return;
        }
        let was_absent = self.jobs.absence(&name).cloned();
        let is_same = |was: &Absence| was.source == job.source || was.text == job.text;
        let is_back = was_absent.as_ref().is_some_and(|was| is_same(was) && !was.is_over(now));
        if was_absent.is_some() && !is_back {
            self.forget(now, &name);
        }
        let known = self.jobs.mark(&name).filter(|_| self.jobs.source(&name).is_some());
        if known.is_some_and(|mark| mark.timetable != job.timetable.to_string()) {
            self.close(now, &name, Reason::TimetableChanged);
        }
        self.pruning.keep(&name, job.work.policies.retention);
        let (source, text) = (job.source.clone(), job.text.clone());
        if let Some(before) = self.jobs.definition(&name) {
            self.followers.remove(before);
        }
        self.followers.add(&job);
        let work = Arc::clone(&job.work);
        let DefinedJob { change, is_retimed, mark } = self.jobs.define(now, Arc::new(job));
        match change {
            Change::Added => applied.added.push(name.clone()),
            Change::Changed => applied.changed.push(name.clone()),
            Change::Unchanged => applied.unchanged_count += 1,
        }
        let mark = mark.clone();
        self.ledger.record(Operation::Define { mark: mark.clone(), source, text });
        if is_retimed {
            self.ledger.record(Operation::Mark(mark));
        }
        if is_back {
            self.ledger.perform(Output::Note(Note::Returned(name.clone())));
        }
        self.runs.rework(&name, &work);
        if self.activity.is_planning() {
            self.expect(&name);
            self.expect_silence(&name);
            if is_back {
                self.go_on(now, &name);
            }
            self.promote(&name);
        }
    }

    /// Forgets a tenth of all names, of those that have no definition and no open run: those of removed jobs
    /// first. So no source fills the names by jobs that come and go. Returns whether there is room.
    fn make_room(&mut self, now: Timestamp) -> bool {
        let excess = self.jobs.len().saturating_sub(self.limits.max_jobs);
        let wanted = excess + (self.limits.max_jobs / 10).max(1);
        let mut names = self.jobs.leftovers();
        names.retain(|name| self.runs.of(name).next().is_none());
        names.truncate(wanted);
        for name in &names {
            if self.jobs.absence(name).is_some() {
                self.forget(now, name);
                self.ledger.end_unit();
            }
            self.jobs.drop_name(name);
        }
        self.jobs.len() < self.limits.max_jobs
    }

    /// A job is not absent any more: what waited waits for its own time.
    fn go_on(&mut self, now: Timestamp, name: &JobName) {
        for live in self.runs.take_scheduled_of(name, &mut self.schedule_queue) {
            self.schedule(now, live);
        }
    }

    /// Its source does not have a job any more. What runs of it continues, what waits is held.
    fn lose(&mut self, now: Timestamp, name: &JobName) {
        let definition = self.jobs.definition(name).or_else(|| self.jobs.former(name)).map(Arc::clone);
        let (Some(job), Some(source)) = (definition, self.jobs.source(name).map(str::to_owned)) else {
            return self.forget(now, name);
        };
        self.close(now, name, Reason::JobRemoved);
        let absence = Absence::new(now, source, job.text.clone());
        self.jobs.leave(name, absence.clone(), job, &mut self.schedule_queue);
        self.withdraw_definition(name);
        self.hold(name);
        self.expect(name);
        let retention = self.pruning.retention(name);
        self.ledger.record(Operation::Forget { job: name.clone(), absence: Some(absence), retention });
    }

    /// A job that is absent was to be looked at: it is removed if it has not come back in time.
    pub(super) fn absence_due(&mut self, now: Timestamp, name: &JobName) {
        match self.jobs.absence(name) {
            Some(absence) if absence.is_over(now) => self.forget(now, name),
            _ => self.expect(name),
        }
    }

    /// Only what says who may define a job changes; that it is written is left to the definition that
    /// follows.
    pub(super) fn adopt(&mut self, jobs: &[JobName], source: &str) -> Reply {
        for name in jobs {
            self.jobs.adopt(name, source);
        }
        Reply::Done
    }

    /// Drops a job but for its mark. What runs of it continues, what waits is cancelled.
    pub(super) fn forget(&mut self, now: Timestamp, name: &JobName) {
        if !self.jobs.is_known(name) {
            return;
        }
        self.close(now, name, Reason::JobRemoved);
        // What the next turn was to admit waits like the others.
        for live in self.runs.take_postponed_of(name) {
            self.schedule(now, live);
        }
        for key in self.waiting_of(name) {
            self.withdraw_run(now, &key, Reason::Removed);
            self.ledger.end_unit();
        }
        self.withdraw_definition(name);
        self.jobs.remove(name, &mut self.schedule_queue);
        let retention = self.pruning.retention(name);
        self.pruning.keep(name, retention);
        self.ledger.record(Operation::Forget { job: name.clone(), absence: None, retention });
    }

    /// The store has nothing of a removed job any more, unless it is back by now, or was and left a run.
    pub(super) fn drop_name(&mut self, name: &JobName) {
        let is_removed = self.jobs.source(name).is_none() && self.jobs.absence(name).is_none();
        if is_removed && !self.jobs.is_crowded(name) && self.runs.of(name).next().is_none() {
            self.jobs.drop_name(name);
            self.pruning.drop_name(name);
            self.ledger.perform(Output::Note(Note::Forgotten(name.clone())));
        }
    }

    /// Nothing rests on the definition of a job any more.
    fn withdraw_definition(&mut self, name: &JobName) {
        self.release_job(name);
        if let Some(job) = self.jobs.definition(name).or_else(|| self.jobs.former(name)) {
            self.followers.remove(job);
        }
        self.jobs.expect_silence(name, None, &mut self.schedule_queue);
    }

    /// The timetable of a job ends: what it has named up to now is planned where that can be, and else
    /// recorded with the reason.
    fn close(&mut self, now: Timestamp, name: &JobName, reason: Reason) {
        let is_behind = self.jobs.mark(name).is_some_and(|mark| mark.watermark < now);
        if self.jobs.source(name).is_none() || !is_behind {
            return;
        }
        let rest = self.jobs.rest(name);
        if self.activity.is_planning() && !self.activity.starts_nothing() && rest == Rest::Awake {
            self.job_due(now, name);
        }
        let watermark = self.jobs.pass(name, now).expect("it was there a moment ago");
        let (state, why) = match rest == Rest::Paused || self.activity.is_paused() {
            true => (RunState::SkippedPaused, Reason::Paused),
            false => (RunState::Missed, reason),
        };
        let definition = self.jobs.definition(name).map(Arc::clone);
        match definition.or_else(|| self.jobs.take_former(name)) {
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
        self.pruning.count_ended(name);
    }

    /// The runs of a job that have not started, or not again.
    pub(super) fn waiting_of(&self, name: &JobName) -> Vec<RunKey> {
        let waits = |run: &&Run| run.state != RunState::Running && run.cause != Cause::Once;
        self.runs.of(name).map(|live| &live.run).filter(waits).map(|run| run.key.clone()).collect()
    }
}

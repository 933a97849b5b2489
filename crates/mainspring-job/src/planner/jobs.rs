//! The jobs: what each is, how far it has been planned, and when it is looked at next.
//!
//! ```text
//!  name ──▶ definition (from its source) · mark (as on disk) · entry in the schedule queue · waits for room?
//! ```
//!
//! | always | |
//! |---|---|
//! | a job with a definition has a source | one without a definition may have one, until its source was read |
//! | a job without a definition has no entry in the schedule queue | nor has one that is paused for good; one that is absent has the end of that |
//! | a watermark grows | but for a new timetable, which counts from now on, and for a rewind |
//! | a job that waits for room is in line for it | once, in the order in which they were due |
//!
//! A name stays known while something of it is in the store: of a job that was removed the mark is kept, so
//! that nothing fires again if it comes back. Of one that is absent all is kept: see [`Absence`]. Where there
//! is no room for another name, removed and absent jobs are forgotten; one that comes back then is planned
//! from that moment on.
//!
//! Cost: O(log n) for each question and change; memory for each name that is known.
//!
//! Does not write: the code that changes a mark has it recorded.

mod crowd;
mod leftovers;
mod results;

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use jiff::Timestamp;

use super::quarantine::MAX_CRASHES;
use super::rest::Rest;
use super::schedule_queue::{Entry, Item, ScheduleQueue};
use crate::absence::Absence;
use crate::job::Job;
use crate::name::JobName;
use crate::record::{self, JobRecord, Mark, Pause};
use crate::timetable::Next;

/// What a definition is to a job that may have been known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Changed,
    /// Known from the store, and defined as it was, as far as that says.
    Unchanged,
}

/// A definition that was taken in.
#[derive(Debug)]
pub(super) struct DefinedJob<'j> {
    pub(super) change: Change,
    /// Whether its timetable counts from now on.
    pub(super) is_retimed: bool,
    pub(super) mark: &'j Mark,
}

/// A look at a job that has a definition: its entry in the schedule queue is gone.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) job: Arc<Job>,
    /// Whether it waited for room.
    pub(super) was_crowded: bool,
}

#[derive(Clone, Debug)]
struct TrackedJob {
    /// `None` between `Restore` and the definitions, if they lack it, and after it was removed.
    job: Option<Arc<Job>>,
    /// `None` if it was removed.
    source: Option<String>,
    /// What it was: while it is absent, and by what the store says until planning begins.
    former: Option<Arc<Job>>,
    /// It has no source, and may come back as it was.
    absence: Option<Absence>,
    mark: Mark,
    /// Its entry in the schedule queue.
    next: Option<Entry>,
    is_crowded: bool,
    /// The last of its runs that succeeded or failed has failed; also one that [`Mark::failures`] leaves out.
    has_failed: bool,
    /// Since when no run has succeeded: see [`JobRecord::silent_since`].
    silent_since: Timestamp,
    /// The entry in the schedule queue of the moment at which it is silent for too long.
    silence: Option<Entry>,
}

impl TrackedJob {
    fn new(mark: Mark, source: Option<String>) -> TrackedJob {
        TrackedJob {
            silent_since: mark.since,
            job: None,
            source,
            former: None,
            absence: None,
            mark,
            next: None,
            is_crowded: false,
            has_failed: false,
            silence: None,
        }
    }

    /// Its pause for failures or crashes; also one that did not begin because a person's pause without an end
    /// was there before.
    fn lasting_pause(&self) -> Option<Pause> {
        let Mark { pause, pause_terms, failures, crashes, .. } = &self.mark;
        if *pause != Some(Pause::Manual) || pause_terms.until.is_some() {
            return pause.filter(|pause| *pause != Pause::Manual);
        }
        let limit = self.job.as_ref().and_then(|job| job.work.policies.pause_after);
        let has_failed = limit.is_some_and(|limit| limit <= *failures).then_some(Pause::Failures);
        (MAX_CRASHES <= *crashes).then_some(Pause::Crashes).or(has_failed)
    }

    /// Whether it will have no further occurrence, because it has had as many runs as it may.
    fn is_done(&self) -> bool {
        let max = self.job.as_ref().and_then(|job| job.max_runs);
        max.is_some_and(|max| max <= self.mark.runs)
    }

    fn unschedule(&mut self, schedule: &mut ScheduleQueue) {
        if let Some(entry) = self.next.take() {
            schedule.cancel(entry);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Jobs {
    known: BTreeMap<JobName, TrackedJob>,
    /// Jobs that were due when there was no room for another open run.
    crowded: VecDeque<JobName>,
    /// How many jobs have lost their definition.
    pub(super) lost_count: u64,
}

/// What is asked about jobs.
impl Jobs {
    /// How many names are known.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether a job of that name was ever known.
    pub(super) fn is_known(&self, name: &JobName) -> bool {
        self.known.contains_key(name)
    }

    /// Who may define a job; `None` if it was removed, or never known.
    pub(super) fn source(&self, name: &JobName) -> Option<&str> {
        self.known.get(name)?.source.as_deref()
    }

    /// Since when and from where a job is absent, if it is.
    pub(super) fn absence(&self, name: &JobName) -> Option<&Absence> {
        self.known.get(name)?.absence.as_ref()
    }

    /// What a job was, while it has no definition.
    pub(super) fn former(&self, name: &JobName) -> Option<&Arc<Job>> {
        self.known.get(name)?.former.as_ref()
    }

    /// A job's definition.
    pub(super) fn definition(&self, name: &JobName) -> Option<&Arc<Job>> {
        self.known.get(name)?.job.as_ref()
    }

    /// How far a job is.
    pub(super) fn mark(&self, name: &JobName) -> Option<&Mark> {
        Some(&self.known.get(name)?.mark)
    }

    pub(super) fn rest(&self, name: &JobName) -> Rest {
        match self.known.get(name) {
            Some(tracked) if tracked.absence.is_some() => Rest::Absent,
            Some(tracked) if tracked.mark.pause.is_some() => Rest::Paused,
            _ => Rest::Awake,
        }
    }

    /// Whether a job has had as many runs as it may.
    pub(super) fn is_done(&self, name: &JobName) -> bool {
        self.known.get(name).is_some_and(TrackedJob::is_done)
    }

    /// How many times in a row the server died in runs of a job.
    pub(super) fn crashes(&self, name: &JobName) -> u32 {
        self.mark(name).map_or(0, |mark| mark.crashes)
    }

    /// When a job is looked at next.
    pub(super) fn next(&self, name: &JobName) -> Option<Timestamp> {
        self.known.get(name)?.next.map(|entry| entry.at)
    }

    /// All names, in order.
    pub(super) fn names(&self) -> Vec<JobName> {
        self.known.keys().cloned().collect()
    }

    /// The names that a source defines, in order.
    pub(super) fn names_of(&self, source: &str) -> Vec<JobName> {
        let theirs = self.known.iter().filter(|(_, tracked)| tracked.source.as_deref() == Some(source));
        theirs.map(|(name, _)| name.clone()).collect()
    }

    /// The marks of all jobs that were not removed.
    pub(super) fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.known.values().filter(|tracked| tracked.source.is_some()).map(|tracked| &tracked.mark)
    }

    /// The names of all that are not paused, removed ones among them.
    pub(super) fn names_awake(&self) -> Vec<JobName> {
        let awake = self.known.iter().filter(|(_, tracked)| tracked.mark.pause.is_none());
        awake.map(|(name, _)| name.clone()).collect()
    }

    /// The jobs with a definition, how far each is, and when it is looked at next. In order of their names,
    /// and after one of them.
    pub(super) fn defined_after<'p>(
        &'p self,
        after: Option<&JobName>,
    ) -> impl Iterator<Item = (&'p Arc<Job>, &'p Mark, Option<Timestamp>)> + use<'p> {
        let range = self.known.range((after.map_or(Unbounded, |name| Excluded(name.clone())), Unbounded));
        range.filter_map(|(_, tracked)| {
            let next = tracked.next.map(|entry| entry.at);
            Some((tracked.job.as_ref()?, &tracked.mark, next))
        })
    }

    /// Checks that what is kept twice is kept alike.
    pub(super) fn check(&self, schedule: &ScheduleQueue) {
        for (name, tracked) in &self.known {
            assert_eq!(*name, tracked.mark.job, "a job is kept under its name");
            assert!(tracked.job.is_none() || tracked.source.is_some(), "{name} has a source");
            assert!(
                tracked.absence.is_none() || tracked.source.is_none(),
                "{name} is absent and has a source"
            );
            assert!(!tracked.is_crowded || self.crowded.contains(name), "{name} is in line for room");
            let silence = tracked.silence;
            assert!(silence.is_none_or(|it| schedule.holds(it)), "the silence of {name} is in the schedule");
            let Some(entry) = tracked.next else { continue };
            assert!(schedule.holds(entry), "{name} is in the schedule where it says");
            let is_absent = tracked.absence.is_some();
            assert!(tracked.job.is_some() || is_absent, "{name} has an occurrence and so a definition");
            let looks = tracked.mark.pause.is_none() || tracked.mark.pause_terms.until.is_some();
            assert!(looks || is_absent, "{name} is paused for good and not looked at");
        }
    }
}

/// What becomes of a job.
impl Jobs {
    /// Takes in what the store holds of a job.
    pub(super) fn restore(&mut self, record: JobRecord) {
        let silent_since = record.silent_since();
        let JobRecord { mark, source, absence, last, last_success, .. } = record;
        let has_failed = last.is_some_and(|last| last.state.is_failure() && last_success < Some(last.ended));
        let name = mark.job.clone();
        let tracked = TrackedJob::new(mark, source);
        self.known.insert(name, TrackedJob { absence, has_failed, silent_since, ..tracked });
    }

    /// Takes in what a job was, if its timetable is still that.
    pub(super) fn remember(&mut self, job: Job) {
        if let Some(tracked) = self.known.get_mut(&job.name)
            && tracked.mark.timetable == job.timetable.to_string()
        {
            tracked.former = Some(Arc::new(job));
        }
    }

    /// What a job was is of no use any more, unless it is absent.
    pub(super) fn take_former(&mut self, name: &JobName) -> Option<Arc<Job>> {
        self.known.get_mut(name).filter(|tracked| tracked.absence.is_none())?.former.take()
    }

    /// A definition of a job that has none, or another one. A new timetable counts from now on. One that was
    /// absent continues where it was: what its timetable named meanwhile is not planned yet.
    pub(super) fn define(&mut self, now: Timestamp, job: Arc<Job>) -> DefinedJob<'_> {
        let timetable = job.timetable.to_string();
        let tracked = match self.known.entry(job.name.clone()) {
            Slot::Occupied(slot) => slot.into_mut(),
            Slot::Vacant(slot) => {
                slot.insert(TrackedJob::new(Mark::new(job.name.clone(), now, timetable.clone()), None))
            }
        };
        let is_back = tracked.absence.take().is_some();
        let was_known = tracked.source.is_some() || is_back;
        tracked.former = None;
        if !was_known {
            // A new life of a job that was removed: only what keeps its runs apart from the earlier ones
            // stays.
            (tracked.mark.runs, tracked.mark.failures, tracked.mark.crashes) = (0, 0, 0);
            (tracked.mark.pause, tracked.mark.pause_terms) = (None, record::PauseTerms::default());
            (tracked.mark.since, tracked.silent_since, tracked.has_failed) = (now, now, false);
        }
        let is_other = tracked.mark.timetable != timetable;
        if is_other {
            // Also where the clock stands before what the old one had planned: a time that has run is on
            // record, and the store refuses to record it again.
            tracked.mark.watermark = now;
            tracked.mark.timetable = timetable;
        } else if !was_known {
            tracked.mark.watermark = tracked.mark.watermark.max(now);
        }
        let change = match (was_known && !is_back, tracked.job.is_some() || is_other) {
            (false, _) => Change::Added,
            (true, true) => Change::Changed,
            (true, false) => Change::Unchanged,
        };
        tracked.source = Some(job.source.clone());
        tracked.job = Some(job);
        DefinedJob { change, is_retimed: !was_known || is_other, mark: &tracked.mark }
    }

    /// Another source may define a job from now on.
    pub(super) fn adopt(&mut self, name: &JobName, source: &str) {
        if let Some(from) = self.known.get_mut(name).and_then(|tracked| tracked.source.as_mut()) {
            source.clone_into(from);
        }
    }

    /// A job is absent: it has no definition, and may come back as it was.
    pub(super) fn leave(
        &mut self,
        name: &JobName,
        absence: Absence,
        former: Arc<Job>,
        schedule: &mut ScheduleQueue,
    ) {
        let Some(tracked) = self.known.get_mut(name) else { return };
        self.lost_count += 1;
        (tracked.job, tracked.source) = (None, None);
        (tracked.former, tracked.absence) = (Some(former), Some(absence));
        tracked.unschedule(schedule);
    }

    /// Drops a job but for its mark.
    pub(super) fn remove(&mut self, name: &JobName, schedule: &mut ScheduleQueue) {
        let Some(tracked) = self.known.get_mut(name) else { return };
        self.lost_count += 1;
        (tracked.job, tracked.source, tracked.former, tracked.absence) = (None, None, None, None);
        (tracked.mark.pause, tracked.mark.pause_terms) = (None, record::PauseTerms::default());
        tracked.unschedule(schedule);
    }
}

/// How far a job is.
impl Jobs {
    /// What is due by `now` has been dealt with. Tells what the watermark was.
    pub(super) fn pass(&mut self, name: &JobName, now: Timestamp) -> Option<Timestamp> {
        let mark = self.mark_mut(name)?;
        let watermark = mark.watermark;
        mark.watermark = watermark.max(now);
        Some(watermark)
    }

    /// Occurrences up to the last became so many runs, or none.
    pub(super) fn count_planned(&mut self, name: &JobName, last: Timestamp, run_count: usize) {
        let Some(mark) = self.mark_mut(name) else { return };
        assert!(mark.watermark < last, "a watermark only grows");
        mark.watermark = last;
        mark.runs += u64::try_from(run_count).expect("a length fits");
    }

    /// A run that no occurrence names counts as one.
    pub(super) fn count_run(&mut self, name: &JobName) {
        if let Some(mark) = self.mark_mut(name) {
            mark.runs += 1;
        }
    }

    /// A run that was counted will not start. Tells whether the job is known.
    pub(super) fn uncount_run(&mut self, name: &JobName) -> bool {
        let Some(mark) = self.mark_mut(name) else { return false };
        mark.runs = mark.runs.saturating_sub(1);
        true
    }

    /// A person pauses a job that was not removed. Tells whether there is one.
    pub(super) fn pause(&mut self, name: &JobName, terms: record::PauseTerms) -> bool {
        let tracked = self.known.get_mut(name).filter(|tracked| tracked.source.is_some());
        tracked.is_some_and(|tracked| {
            match tracked.lasting_pause().filter(|_| terms.until.is_some()) {
                // A person has to say that it continues: the note is kept, the time is not.
                Some(pause) => {
                    tracked.mark.pause = Some(pause);
                    tracked.mark.pause_terms = record::PauseTerms::new(terms.note);
                }
                None => (tracked.mark.pause, tracked.mark.pause_terms) = (Some(Pause::Manual), terms),
            }
            true
        })
    }

    /// A paused job continues, without its failures and crashes. Tells whether it was paused.
    pub(super) fn resume(&mut self, name: &JobName) -> bool {
        let Some(mark) = self.mark_mut(name) else { return false };
        let was_paused = mark.pause.take().is_some();
        mark.pause_terms = record::PauseTerms::default();
        if was_paused {
            (mark.failures, mark.crashes) = (0, 0);
        }
        was_paused
    }

    /// A pause for a while is over: the job continues as it was, with its failures, and in quarantine if the
    /// server died in it. Tells when the pause was over, if it is.
    pub(super) fn end_pause(&mut self, name: &JobName, now: Timestamp) -> Option<Timestamp> {
        let mark = self.mark_mut(name).filter(|mark| mark.pause.is_some())?;
        let until = mark.pause_terms.until.filter(|until| *until <= now)?;
        (mark.pause, mark.pause_terms) = (None, record::PauseTerms::default());
        Some(until)
    }

    /// The key of a run of a job has this series: no backfill has it from now on.
    pub(super) fn know_series(&mut self, name: &JobName, series: u32) {
        if let Some(mark) = self.mark_mut(name) {
            mark.max_series = mark.max_series.max(series);
        }
    }

    /// The number of the next backfill of a job.
    pub(super) fn count_backfill(&mut self, name: &JobName) -> u32 {
        let mark = self.mark_mut(name).expect("a job with a definition is backfilled");
        mark.max_series += 1;
        mark.max_series
    }

    /// Moves the watermark of a job with a definition back to now. Tells where it was; `None` if it was not
    /// ahead.
    pub(super) fn rewind(&mut self, name: &JobName, now: Timestamp) -> Option<Timestamp> {
        let mark = self.mark_mut(name)?;
        let from = mark.watermark;
        let is_ahead = now < from;
        mark.watermark = from.min(now);
        is_ahead.then_some(from)
    }

    fn mark_mut(&mut self, name: &JobName) -> Option<&mut Mark> {
        Some(&mut self.known.get_mut(name)?.mark)
    }
}

/// When a job is looked at.
impl Jobs {
    /// Puts a job in the schedule queue at its next occurrence, or the end of its absence, instead of where
    /// it was.
    pub(super) fn expect(&mut self, name: &JobName, schedule: &mut ScheduleQueue) {
        let Some(tracked) = self.known.get_mut(name) else { return };
        tracked.unschedule(schedule);
        if let Some(end) = tracked.absence.as_ref().map(Absence::end) {
            return tracked.next = Some(schedule.add(end, Item::Job(name.clone())));
        }
        let Some(job) = &tracked.job else { return };
        if tracked.mark.pause.is_some() {
            tracked.next =
                tracked.mark.pause_terms.until.map(|until| schedule.add(until, Item::Job(name.clone())));
            return;
        }
        if tracked.is_done() {
            return;
        }
        if let Next::At(at) | Next::NotBefore(at) = job.timetable.next_after(tracked.mark.watermark) {
            tracked.next = Some(schedule.add(at, Item::Job(name.clone())));
        }
    }

    /// A look at a job, which leaves the schedule queue for it. `None` if it has no definition.
    pub(super) fn begin_look(&mut self, name: &JobName, schedule: &mut ScheduleQueue) -> Option<Look> {
        let tracked = self.known.get_mut(name)?;
        tracked.unschedule(schedule);
        let was_crowded = std::mem::take(&mut tracked.is_crowded);
        Some(Look { job: tracked.job.clone()?, was_crowded })
    }

    /// The first occurrence of a job that is due and was not planned.
    pub(super) fn first_due(&mut self, name: &JobName, now: Timestamp) -> Option<Timestamp> {
        let tracked = self.known.get_mut(name)?;
        if tracked.mark.pause.is_some() {
            return None;
        }
        match tracked.job.as_ref()?.timetable.next_after(tracked.mark.watermark) {
            Next::At(first) if first <= now && !tracked.is_done() => Some(first),
            Next::NotBefore(later) if later <= now => {
                // Nothing lies in between, so the watermark in memory may run ahead of the one on disk.
                tracked.mark.watermark = later;
                None
            }
            _ => None,
        }
    }
}

//! From occurrences to runs: the misfire policy decides about the occurrences between the watermark and now.
//!
//! The header of `policy/misfire.rs` has the rules. The work is bounded, however long the gap is. Each end of
//! the gap is found by one search. At most [`MAX_CATCH_UP_RUNS`](crate::MAX_CATCH_UP_RUNS) runs are planned,
//! and at most two records of missed occurrences.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::jobs::Look;
use super::open_runs::lane;
use super::places::Place;
use super::{Live, Planner};
use crate::hash::{self, Purpose};
use crate::job::Job;
use crate::name::JobName;
use crate::operation::{MAX_BATCH_OPERATIONS, Operation};
use crate::output::{Note, Output};
use crate::policy::{CatchUp, MAX_CATCH_UP_RUNS, Overlap};
use crate::reason::Reason;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::timetable::{Timetable, before};

const _: () = assert!((MAX_CATCH_UP_RUNS as usize) < MAX_BATCH_OPERATIONS, "a gap is caught up in one batch");

/// What becomes of the occurrences in a gap. All are in order.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// Catch-up runs.
    made_good: Vec<Timestamp>,
    /// Runs as if nothing had happened.
    on_time: Option<Timestamp>,
    /// First and last of each stretch that does not run.
    missed: Vec<(Timestamp, Timestamp)>,
    /// The last of all.
    last: Timestamp,
}

impl Plan {
    fn run_count(&self) -> usize {
        self.made_good.len() + usize::from(self.on_time.is_some())
    }

    /// Its beginning, up to the last of so many runs, which is at least one.
    fn limited(mut self, count: usize) -> Plan {
        assert!(0 < count, "a look without room plans nothing");
        if self.run_count() <= count {
            return self;
        }
        let is_cut = count < self.made_good.len();
        self.made_good.truncate(count);
        let last_run = *self.made_good.last().expect("only the one on time goes if there was one other");
        if is_cut {
            self.missed.retain(|(from, _)| *from < last_run);
        }
        self.on_time = None;
        self.last = self.missed.last().map_or(last_run, |(_, to)| last_run.max(*to));
        debug_assert!(self.run_count() <= count, "no more is planned than there is room for");
        self
    }
}

impl Planner {
    /// A job's entry in the schedule queue is due: plans what has passed, and puts it in the schedule queue
    /// again.
    pub(super) fn job_due(&mut self, now: Timestamp, name: &JobName) {
        let Some(look) = self.jobs.begin_look(name, &mut self.schedule_queue) else {
            return self.absence_due(now, name);
        };
        if let Some(until) = self.jobs.end_pause(name, now) {
            self.ledger.perform(Output::Note(Note::PauseOver(name.clone())));
            return self.wake(now, until, name);
        }
        if let Some(first) = self.jobs.first_due(name, now) {
            let places = self.places(&look.job.work);
            let room = self.room() / places.len().max(1);
            if room == 0 {
                return self.jobs.wait_for_room(&look);
            }
            let of_group = look.job.work.group.as_ref().and_then(|group| self.runs.slots.groups.room(group));
            let room = room.min(of_group.unwrap_or(usize::MAX) / places.len().max(1));
            self.plan_passed(now, &look, first, (&places, room));
        }
        self.expect(name);
    }

    /// Puts a job in the schedule queue at its next occurrence, instead of where it was.
    pub(super) fn expect(&mut self, name: &JobName) {
        self.jobs.expect(name, &mut self.schedule_queue);
    }

    /// Plans what has passed, as far as there is room and the job has runs left; the rest is for another
    /// look. Without room in its group all of it is missed.
    fn plan_passed(
        &mut self,
        now: Timestamp,
        look: &Look,
        first: Timestamp,
        (places, room): (&[Place], usize),
    ) {
        let job = &look.job;
        let plan = plan(job, first, now);
        if places.is_empty() || room == 0 {
            let reason = if places.is_empty() { Reason::NoWorker } else { Reason::Crowded };
            self.jobs.count_planned(&job.name, plan.last, 0);
            self.record_stretch(now, job, (RunState::Missed, reason), (first, plan.last));
            return self.keep_mark(&job.name);
        }
        let plan = plan.limited(self.occurrences_left(job, places.len()).min(room));
        self.jobs.count_planned(&job.name, plan.last, plan.run_count() * places.len());
        for stretch in &plan.missed {
            let reason = self.why_missed(look, stretch.0);
            self.record_stretch(now, job, (RunState::Missed, reason), *stretch);
        }
        for place in places {
            self.plan_at(now, job, &plan, *place);
        }
        // After the runs, because one that ends at once is not counted.
        self.keep_mark(&job.name);
    }

    /// Plans the runs of a plan at one place.
    fn plan_at(&mut self, now: Timestamp, job: &Job, plan: &Plan, place: Place) {
        if let Some(first) = plan.made_good.first() {
            let first = self.key_at(&job.name, *first, place);
            let due = self.made_good_due(now, job, first, place);
            for nominal in &plan.made_good {
                let key = self.key_at(&job.name, *nominal, place);
                self.plan_run(now, job, key, (Cause::CatchUp, due), place);
            }
        }
        if let Some(nominal) = plan.on_time {
            let key = self.key_at(&job.name, nominal, place);
            let due = hash::placed(nominal, job.work.policies.jitter, &key, Purpose::Jitter);
            self.plan_run(now, job, key, (Cause::Trigger, due), place);
        }
    }

    /// When the catch-up runs of one look are due. All are due at one moment, so that they run in order. They
    /// are not due before those of an earlier look, unless that due time was measured by a clock that was
    /// ahead.
    fn made_good_due(&self, now: Timestamp, job: &Job, key: RunKey, place: Place) -> Timestamp {
        let spread = job.work.policies.misfire.spread;
        let due = hash::placed(now, spread, &key, Purpose::Spread);
        let latest = now.saturating_add(spread).unwrap_or(Timestamp::MAX).max(due);
        let run = Run::new(key, Cause::CatchUp, RunState::Scheduled, due, now);
        self.runs.before_in_line(&run, place).map_or(due, |before| before.run.due.clamp(due, latest))
    }

    /// Has the mark of a job written as it is.
    pub(super) fn keep_mark(&mut self, name: &JobName) {
        if let Some(mark) = self.jobs.mark(name) {
            self.ledger.record(Operation::Mark(mark.clone()));
        }
    }

    /// A run that was counted will not start: its job may have another one. The caller keeps the mark.
    pub(super) fn uncount(&mut self, run: &Run) -> bool {
        run.cause.is_counted() && run.attempt == 0 && self.jobs.uncount_run(&run.key.job)
    }

    /// A new run of a job: recorded as scheduled if it is not due, else admitted.
    pub(super) fn plan_run(
        &mut self,
        now: Timestamp,
        job: &Job,
        key: RunKey,
        (cause, due): (Cause, Timestamp),
        place: Place,
    ) {
        let mut run = Run::new(key.clone(), cause, RunState::Scheduled, due, now);
        run.worker = place;
        if self.runs.is_open(&key) {
            // The clock was set back, and the job has another timetable, or was removed and put back: this
            // time has its run.
            self.uncount(&run);
            return self.ledger.perform(Output::Note(Note::Refused(key)));
        }
        let mut live = Live::new(run, Arc::clone(&job.work));
        let displaces =
            !cause.is_kept() && matches!(job.work.policies.overlap, Overlap::Replace | Overlap::KillOld);
        if displaces && (now < due || !self.runs.is_clear(&lane(&live))) {
            // After a rewind the store may know this time already: then nothing is to make way for it.
            live.unconfirmed = Some(self.record_run(live.run.clone()));
            self.schedule(now, live);
        } else if now < due {
            self.record_run(live.run.clone());
            self.schedule(now, live);
        } else {
            self.admit_new(now, live);
        }
    }

    /// Why a stretch that begins with this occurrence was not planned in time: there was no room for another
    /// open run, or no look, as the server was down or did not see that time.
    fn why_missed(&self, look: &Look, first: Timestamp) -> Reason {
        if look.was_crowded {
            Reason::Crowded
        } else if Some(first) < self.clock.began() {
            Reason::ServerDown
        } else {
            Reason::Unseen
        }
    }

    /// One record for all occurrences from the first to the last: in which state, and why.
    pub(super) fn record_stretch(
        &mut self,
        now: Timestamp,
        job: &Job,
        (state, reason): (RunState, Reason),
        (first, last): (Timestamp, Timestamp),
    ) {
        let key = RunKey::new(job.name.clone(), first);
        let span = job.timetable.count(first, last);
        let mut run = Run::new(key.clone(), Cause::Trigger, state, first, now);
        run.ended = Some(now);
        run.span = Some(span).filter(|span| 1 < span.count);
        run.reason = Some(reason.clone());
        // Nothing depends on the answer: where the store knows one of them already, it stays as it is.
        self.ledger.record(Operation::Plan(run));
        if state == RunState::Missed {
            self.tell_of_missed(now, job.hooks.clone(), &key, span.count, &reason);
            self.ledger.perform(Output::Note(Note::Missed { key, count: span.count, reason }));
        }
        self.pruning.count_ended(&job.name);
    }

    /// What passed while a job was paused, up to that end: one record, and the watermark moves there.
    pub(super) fn skip_paused(&mut self, now: Timestamp, until: Timestamp, name: &JobName) {
        let Some(job) = self.jobs.definition(name).map(Arc::clone) else { return };
        let Some(watermark) = self.jobs.pass(name, until) else { return };
        if let Some(stretch) = job.timetable.stretch_in(watermark, until) {
            self.record_stretch(now, &job, (RunState::SkippedPaused, Reason::Paused), stretch);
        }
    }
}

/// How old an occurrence is; nothing for one in the future.
fn age(now: Timestamp, nominal: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(nominal)).unwrap_or_default()
}

/// The table of `policy/misfire.rs`. `first` is the first occurrence after the watermark.
fn plan(job: &Job, first: Timestamp, now: Timestamp) -> Plan {
    debug_assert!(first <= now, "what is planned has passed");
    let (timetable, misfire) = (&job.timetable, &job.work.policies.misfire);
    let (_, last) = timetable.stretch_in(before(first), now).unwrap_or((first, first));
    let on_time = Some(last).filter(|&last| age(now, last) <= misfire.grace);
    let last_misfired = match on_time {
        None => Some(last),
        Some(last) if first < last => timetable.prev_before(last, before(first)),
        Some(_) => None,
    };
    let Some(last_misfired) = last_misfired else {
        return Plan { made_good: Vec::new(), on_time, missed: Vec::new(), last };
    };
    let is_young = |nominal: &Timestamp| age(now, *nominal) <= misfire.window;
    let made_good = match misfire.catch_up {
        CatchUp::Latest if on_time.is_none() => Some(last_misfired).filter(is_young).into_iter().collect(),
        CatchUp::None | CatchUp::Latest => Vec::new(),
        CatchUp::Earliest => earliest(timetable, (first, last_misfired), now, misfire.window),
        CatchUp::All { cap } => {
            let mut found = Vec::new();
            let mut at = Some(last_misfired).filter(is_young);
            while let Some(nominal) = at {
                found.push(nominal);
                let is_full = usize::try_from(cap).is_ok_and(|cap| cap <= found.len());
                at = if is_full {
                    None
                } else {
                    timetable.prev_before(nominal, before(first)).filter(is_young)
                };
            }
            found.reverse();
            found
        }
    };
    debug_assert!(made_good.is_sorted_by(|a, b| a < b), "catch-up runs are in order, and one of each time");
    let missed = gaps(timetable, (first, last_misfired), &made_good);
    Plan { made_good, on_time, missed, last }
}

/// The earliest occurrence in a stretch that is within the window, if there is one.
fn earliest(
    timetable: &Timetable,
    (first, last): (Timestamp, Timestamp),
    now: Timestamp,
    window: Duration,
) -> Vec<Timestamp> {
    if age(now, first) <= window {
        return vec![first];
    }
    let Ok(limit) = now.checked_sub(window) else { return vec![first] };
    timetable.first_in(before(limit), last).into_iter().collect()
}

/// The occurrences of a stretch before and after its catch-up runs, which lie side by side.
fn gaps(
    timetable: &Timetable,
    (first, last): (Timestamp, Timestamp),
    made_good: &[Timestamp],
) -> Vec<(Timestamp, Timestamp)> {
    let (Some(&from), Some(&to)) = (made_good.first(), made_good.last()) else { return vec![(first, last)] };
    let mut gaps = Vec::new();
    if first < from {
        gaps.push((first, timetable.prev_before(from, before(first)).unwrap_or(first)));
    }
    if to < last {
        gaps.push((timetable.first_in(to, last).unwrap_or(last), last));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Action, Work};
    use jiff::tz::TimeZone;
    use mainspring_cron::{Expression, Schedule};

    fn job(expression: &str, misfire: &str) -> Job {
        let trigger = Schedule::new(Expression::parse(expression).unwrap(), TimeZone::UTC);
        let mut work = Work::new(Action::new("process", "true").unwrap());
        work.policies.misfire = misfire.parse().unwrap();
        Job::new(JobName::new("j").unwrap(), Timetable::new(vec![trigger]).unwrap(), work)
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    /// Policy, now, then the occurrences that are caught up, on time and missed, of a job that is due each
    /// hour and planned up to 00:00.
    const CASES: [(&str, &str, &str, &str, &str); 12] = [
        ("none", "01:00:30", "", "01", ""),
        ("none", "01:01:01", "", "", "01-01"),
        ("none", "05:00:00", "", "05", "01-04"),
        ("latest", "05:30:00", "05", "", "01-04"),
        ("latest", "05:00:10", "", "05", "01-04"),
        ("latest,window=10m", "05:30:00", "", "", "01-05"),
        ("earliest", "05:30:00", "01", "", "02-05"),
        ("earliest", "01:00:10", "", "01", ""),
        ("earliest,window=2h", "05:30:00", "04", "", "01-03 05-05"),
        ("all,cap=2", "05:30:00", "04 05", "", "01-03"),
        ("all,cap=9", "05:00:00", "01 02 03 04", "05", ""),
        ("all,cap=9,window=150m", "05:00:00", "03 04", "05", "01-02"),
    ];

    #[test]
    fn every_policy_divides_a_gap_as_its_table_says() {
        let hour = |time: &Timestamp| time.to_zoned(TimeZone::UTC).strftime("%H").to_string();
        for (policy, now, made_good, on_time, missed) in CASES {
            let job = job("0 * * * *", policy);
            let plan = plan(&job, at("01:00:00"), at(now));
            let join = |times: Vec<String>| times.join(" ");
            assert_eq!(join(plan.made_good.iter().map(hour).collect()), made_good, "{policy} {now}");
            assert_eq!(join(plan.on_time.iter().map(hour).collect()), on_time, "{policy} {now}");
            let stretch = |(from, to): &(Timestamp, Timestamp)| format!("{}-{}", hour(from), hour(to));
            assert_eq!(join(plan.missed.iter().map(stretch).collect()), missed, "{policy} {now}");
        }
    }
}

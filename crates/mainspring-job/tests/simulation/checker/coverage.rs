//! Every occurrence is on record once, and each look at a job makes of what has passed what the manual's
//! table says.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{Answer, Cause, Command, JobName, Mark, Operation, Reason, Run, RunKey, RunState};

use crate::simulation::calendar::{Calendar, age, expected};
use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::Model;
use crate::simulation::script::Script;
use crate::simulation::world::World;

/// Up to how many occurrences a record's count is exact.
const EXACT: i64 = 1_000;

/// How far a job is on disk.
struct StoredProgress {
    watermark: Timestamp,
    timetable: String,
    is_defined: bool,
    /// It has no definition, and its next one continues where it was.
    is_absent: bool,
    /// It has come back, and its next mark may be that of another timetable, which counts from then.
    is_back: bool,
    /// It is put back, and its next mark begins another life.
    is_fresh: bool,
}

/// The rows of one job in one batch that stand for occurrences.
type Rows<'w> = BTreeMap<Timestamp, (&'w Run, Answer)>;

struct Reader<'w> {
    script: &'w Script,
    jobs: BTreeMap<JobName, StoredProgress>,
    /// Every run on record. A time of an earlier timetable that has one is not planned again by the next.
    recorded: BTreeSet<RunKey>,
    /// The least time at which definitions were told since all was on disk. `None`: they were not.
    applied: Option<Timestamp>,
    /// When it was asked that a job is rewound: several may be asked for before one is written.
    rewound: BTreeSet<(JobName, Timestamp)>,
    began: Timestamp,
}

pub(crate) fn check(world: &World<'_>) -> Verdict {
    let mut reader = Reader {
        script: world.script,
        jobs: BTreeMap::new(),
        recorded: BTreeSet::new(),
        applied: None,
        rewound: BTreeSet::new(),
        began: Timestamp::MIN,
    };
    let mut batch: Vec<(&Operation, Answer)> = Vec::new();
    let mut number = None;
    for event in &world.log {
        if let Event::Wrote { batch: of, operation, answer, .. } = event {
            if number.replace(*of) != Some(*of) {
                reader.judge(&std::mem::take(&mut batch))?;
            }
            batch.push((operation, *answer));
            continue;
        }
        reader.judge(&std::mem::take(&mut batch))?;
        number = None;
        match event {
            Event::Began { at, .. } => (reader.began, reader.applied) = (*at, None),
            Event::Issued { at, command: Command::Apply(_) | Command::Remove(_), .. } => {
                // The clock may have been set back between two of them.
                reader.applied = Some(reader.applied.map_or(*at, |applied| applied.min(*at)));
            }
            Event::Issued { at, command: Command::Rewind(name), .. } => {
                reader.rewound.insert((name.clone(), *at));
            }
            Event::Settled { .. } => reader.applied = None,
            _ => (),
        }
    }
    reader.judge(&batch)
}

/// What is due by the last look is planned, unless the job is done or as many runs are open as may be; and no
/// job has more runs than it may.
pub(crate) fn watch_end(model: &Model<'_>, event: &Event) -> Verdict {
    let most = |name: &JobName| model.script.subjects[Script::index(name).unwrap()].max_runs;
    match event {
        Event::Started { key, attempt: 1, cause, .. } if cause.is_counted() => {
            let may = most(&key.job).is_none_or(|most| model.counted(&key.job) <= most);
            ensure!(may, "out of policy: {key} is one run more than its job may have");
        }
        Event::LookedLast { at } => {
            for (name, job) in model.jobs.iter().filter(|(_, job)| job.is_defined) {
                let index = Script::index(name).unwrap();
                let Some(calendar) = model.script.calendar(index, &job.mark.timetable) else { continue };
                let next = calendar.next(job.mark.watermark);
                let is_done = most(name).is_some_and(|most| most <= model.counted(name));
                let waits_for_room = model.script.max_open <= model.open.len();
                ensure!(is_done || waits_for_room || *at < next, "lost: {name} at {next} is not on record");
            }
        }
        _ => (),
    }
    Ok(())
}

impl Reader<'_> {
    fn judge(&mut self, batch: &[(&Operation, Answer)]) -> Verdict {
        // After a rewind the same times may be planned again, in the same batch.
        let rewinds = |(operation, _): &(&Operation, Answer)| matches!(operation, Operation::Rewind(_));
        if let Some(index) = batch.iter().position(rewinds)
            && index + 1 < batch.len()
        {
            let (before, after) = batch.split_at(index + 1);
            self.judge_part(before)?;
            return self.judge(after);
        }
        self.judge_part(batch)
    }

    fn judge_part(&mut self, batch: &[(&Operation, Answer)]) -> Verdict {
        let mut rows: BTreeMap<JobName, Rows<'_>> = BTreeMap::new();
        for (operation, answer) in batch {
            if let Operation::Plan(run) = operation
                && matches!(run.cause, Cause::Trigger | Cause::CatchUp)
            {
                rows.entry(run.key.job.clone()).or_default().insert(run.key.nominal, (run, *answer));
            }
        }
        for (operation, answer) in batch {
            if *answer != Answer::New {
                continue;
            }
            match operation {
                Operation::Define { mark, .. } => self.define(mark),
                Operation::Mark(mark) => {
                    let known = &self.jobs[&mark.job];
                    let (after, up_to) = (known.watermark, mark.watermark);
                    let is_anew = known.is_fresh || known.is_back && known.timetable != mark.timetable;
                    if after < up_to && known.is_defined && !is_anew {
                        self.interval(&mark.job, rows.entry(mark.job.clone()).or_default(), (after, up_to))?;
                    }
                    let known = self.jobs.get_mut(&mark.job).unwrap();
                    let is_other = known.timetable != mark.timetable;
                    known.watermark = if is_other { up_to } else { after.max(up_to) };
                    known.timetable.clone_from(&mark.timetable);
                    (known.is_fresh, known.is_back) = (false, false);
                }
                Operation::Rewind(mark) => {
                    let was_requested = self.rewound.remove(&(mark.job.clone(), mark.watermark));
                    let known = self.jobs.get_mut(&mark.job).unwrap();
                    // From there on each occurrence is on record again, or was before.
                    let is_asked = was_requested && mark.watermark < known.watermark;
                    ensure!(is_asked, "out of policy: {} is rewound to {}", mark.job, mark.watermark);
                    known.watermark = mark.watermark;
                }
                Operation::Forget { job: name, absence, .. } => {
                    let known = self.jobs.get_mut(name).unwrap();
                    let was_absent = std::mem::replace(&mut known.is_absent, absence.is_some());
                    known.is_defined = false;
                    if was_absent {
                        continue;
                    }
                    let applied = self.applied.expect("a job is removed because somebody asked");
                    let index = Script::index(name).unwrap();
                    if let Some(calendar) = self.script.calendar(index, &known.timetable) {
                        let next = calendar.next(known.watermark);
                        ensure!(applied < next, "lost: {name} at {next}, and it was removed at {applied}");
                    }
                }
                _ => (),
            }
        }
        for (operation, answer) in batch {
            if let (Operation::Plan(run), Answer::New) = (operation, answer) {
                self.recorded.insert(run.key.clone());
            }
        }
        for (name, rows) in rows {
            let left = rows.into_iter().next();
            ensure!(left.is_none(), "doubled: {name} at {} is planned again", left.unwrap().0);
        }
        Ok(())
    }

    fn define(&mut self, mark: &Mark) {
        let new = StoredProgress {
            watermark: mark.watermark,
            timetable: mark.timetable.clone(),
            is_defined: true,
            is_absent: false,
            is_back: false,
            is_fresh: false,
        };
        let known = self.jobs.entry(mark.job.clone()).or_insert(new);
        known.is_fresh |= !known.is_defined && !known.is_absent;
        known.is_back |= known.is_absent;
        (known.is_defined, known.is_absent) = (true, false);
    }

    /// The watermark of a job moves on: takes the rows for what lies in between.
    fn interval(
        &self,
        name: &JobName,
        rows: &mut Rows<'_>,
        (after, up_to): (Timestamp, Timestamp),
    ) -> Verdict {
        let index = Script::index(name).unwrap();
        let mine: Vec<(&Run, Answer)> = {
            let later = rows.split_off(&(after + SignedDuration::from_nanos(1)));
            let (mine, rest) = later.into_iter().partition::<Rows<'_>, _>(|(nominal, _)| *nominal <= up_to);
            rows.extend(rest);
            mine.into_values().collect()
        };
        let calendar = self.script.calendar(index, &self.jobs[name].timetable);
        let Some(calendar) = calendar else {
            ensure!(mine.is_empty(), "doubled: {name} has no times");
            return Ok(());
        };
        let is_recorded = |nominal: Timestamp| self.recorded.contains(&RunKey::new(name.clone(), nominal));
        covers(name, calendar, &mine, (after, up_to), is_recorded)?;
        let Some((first, _)) = mine.first() else { return Ok(()) };
        let is_whole = first.state == RunState::SkippedPaused
            || matches!(first.reason, Some(Reason::TimetableChanged | Reason::JobRemoved));
        if is_whole {
            ensure!(mine.len() == 1, "out of policy: {name} has {} records of one stretch", mine.len());
            return Ok(());
        }
        self.look(index, calendar, &mine, (after, up_to))
    }

    /// What the misfire rule makes of a stretch.
    fn look(
        &self,
        index: usize,
        calendar: Calendar,
        rows: &[(&Run, Answer)],
        (after, up_to): (Timestamp, Timestamp),
    ) -> Verdict {
        let name = Script::name(index);
        let policies = &self.script.job(index, 0).work.policies;
        let now = rows[0].0.planned;
        let Some(mut expected) = expected(calendar, after, now, &policies.misfire) else {
            return Err(format!("early: {name} is planned up to {up_to} at {now}"));
        };
        let runs = |cause: Cause| {
            let is_run = move |run: &&Run| run.cause == cause && run.state != RunState::Missed;
            rows.iter().map(|(run, _)| *run).filter(is_run).collect::<Vec<_>>()
        };
        let (made_good, on_time) = (runs(Cause::CatchUp), runs(Cause::Trigger));
        let nominals: Vec<Timestamp> = made_good.iter().map(|run| run.key.nominal).collect();
        let on_time_nominal = on_time.first().map(|run| run.key.nominal);
        // What has its run by an earlier timetable is not planned again.
        let is_told = |nominal: &Timestamp| rows.iter().any(|(run, _)| run.key.nominal == *nominal);
        let is_new = |nominal: &Timestamp| {
            is_told(nominal) || !self.recorded.contains(&RunKey::new(name.clone(), *nominal))
        };
        let full_count = expected.made_good.len();
        expected.made_good.retain(is_new);
        expected.on_time = expected.on_time.filter(is_new);
        let is_whole = nominals == expected.made_good && on_time_nominal == expected.on_time;
        // A look ends early where there is no room for more runs, or the job may have no more.
        let subject = &self.script.subjects[index];
        let is_limited = subject.max_runs.is_some() || self.script.max_open < 100;
        let is_part = is_limited
            && (!nominals.is_empty() || expected.made_good.len() < full_count)
            && expected.made_good.starts_with(&nominals)
            && on_time.is_empty()
            && (nominals.len() < full_count || Some(up_to) == expected.last_misfired);
        let rule = &policies.misfire;
        ensure!(
            is_whole || is_part,
            "out of policy: {name} by {rule} at {now} caught up {nominals:?}, on time {on_time_nominal:?}, \
             instead of {expected:?}"
        );
        for run in on_time {
            let late = age(run.due, run.key.nominal);
            ensure!(run.key.nominal <= run.due && late <= policies.jitter, "out of policy: {} due", run.key);
        }
        for run in &made_good {
            let is_within = now <= run.due && age(run.due, now) <= rule.spread;
            ensure!(is_within, "out of policy: {} is due at {}, spread from {now}", run.key, run.due);
            ensure!(run.due == made_good[0].due, "out of policy: {} has a place of its own", run.key);
        }
        for (run, _) in rows.iter().filter(|(run, _)| run.state == RunState::Missed) {
            let is_before = run.key.nominal < self.began;
            let is_true = match &run.reason {
                Some(Reason::ServerDown) => is_before,
                Some(Reason::Crowded) => self.script.max_open < 100,
                reason => !is_before && *reason == Some(Reason::Unseen),
            };
            ensure!(is_true, "untrue: {} is missed because {}", run.key, run.why());
        }
        Ok(())
    }
}

/// Each occurrence of a stretch is in one row, and each row counts right.
fn covers(
    name: &JobName,
    calendar: Calendar,
    rows: &[(&Run, Answer)],
    (after, up_to): (Timestamp, Timestamp),
    is_recorded: impl Fn(Timestamp) -> bool,
) -> Verdict {
    let mut next = calendar.next(after);
    for (run, _) in rows {
        let nominal = run.key.nominal;
        while next < nominal && is_recorded(next) {
            next = calendar.next(next);
        }
        ensure!(next <= nominal, "doubled: {} is on record twice, or is no occurrence", run.key);
        ensure!(nominal <= next, "lost: {name} at {next} is not on record");
        let last = run.span.map_or(nominal, |span| span.last);
        let count = calendar.count(nominal, last);
        let (stated, is_exact) = run.span.map_or((1, true), |span| (span.count as i64, span.is_exact));
        let is_right = if is_exact { stated == count } else { EXACT <= stated && stated < count };
        ensure!(is_right, "untrue: {} says {:?} and there were {count}", run.key, run.span);
        next = calendar.next(last);
    }
    while next <= up_to && is_recorded(next) {
        next = calendar.next(next);
    }
    ensure!(up_to < next, "lost: {name} at {next} is not on record, and planned up to {up_to}");
    Ok(())
}

//! Each failure, recovery, stretch of missed occurrences and silence of a job with a hook is reported, in the
//! batch that records it, as often as the manual says; and nothing else is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{
    Answer, Cause, Command, JobName, Mark, NoticeKind, Once, OnceId, Operation, Pause, Run, RunKey, RunState,
};

use crate::simulation::checker::following::is_tried_again;
use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::Model;
use crate::simulation::script::Script;
use crate::simulation::world::World;

/// So many notifications a target gets one by one in a minute, as the manual says.
const MOST_IN_A_MINUTE: u32 = 10;

/// A report that has to be made: the name of the one-shot job, and what it says.
#[derive(Debug, PartialEq)]
struct OwedReport {
    name: String,
    text: String,
    /// Whether one of its kind waited, so that it may be left out.
    may_be_left_out: bool,
}

/// What is known of the reports of a history.
#[derive(Default)]
struct Reports {
    /// Those of the batch that is read.
    owed: Vec<OwedReport>,
    /// How many of them one report stands for that says that there are more.
    more_count: usize,
    /// The name of that report.
    more_name: Option<String>,
    /// How many runs of a job have failed in a row.
    failures: BTreeMap<JobName, u32>,
    /// Those whose last run that failed or succeeded has failed, counted or not, and whether that was in this
    /// server and in this life of the job.
    failing: BTreeMap<JobName, bool>,
    /// The last failure that is owed if the job is paused by it.
    last_failure: Option<Run>,
    /// The reports that wait.
    pending: BTreeMap<OnceId, JobName>,
    /// The present minute, and how many were made in it by this server.
    minute: (i64, u32),
    silences: Silences,
}

/// Since when jobs are silent, and what was said of it.
#[derive(Default)]
struct Silences {
    /// When a run last succeeded, as the disk has it: of a job that was removed, too.
    recorded: BTreeMap<JobName, Timestamp>,
    /// The same when this server began.
    latest: BTreeMap<JobName, Timestamp>,
    /// In this server.
    present: BTreeMap<JobName, Timestamp>,
    /// When this server began, and got definitions.
    began: BTreeSet<Timestamp>,
    /// From when on jobs are defined.
    defined: BTreeMap<JobName, Timestamp>,
    /// What was asked for, and what of it was made.
    reported: BTreeSet<(JobName, Timestamp)>,
    made: BTreeSet<(JobName, Timestamp)>,
    /// How many may have been reported among others, in one report that says that there are more.
    unnamed_count: usize,
}

pub(crate) fn check(world: &World<'_>) -> Verdict {
    if world.script.subjects.iter().all(|subject| subject.hook.is_none()) {
        return Ok(());
    }
    let mut model = Model::new(world.script);
    let mut reports = Reports::default();
    let mut open = None;
    for (index, event) in world.log.iter().enumerate() {
        let batch = if let Event::Wrote { batch, .. } = event { Some(*batch) } else { None };
        if open != batch {
            reports.settle(&model)?;
            open = batch;
        }
        match event {
            Event::Began { at, .. } => reports.begin(*at),
            Event::Issued { at, command: Command::Apply(_), .. } => drop(reports.silences.began.insert(*at)),
            Event::Wrote { operation, answer, .. } => {
                let is_final = |key: &RunKey, state: RunState| {
                    !is_tried_again(&world.log[index + 1..], batch, key, state)
                };
                reports.write(&model, operation, answer, is_final)?;
            }
            Event::LookedLast { at } => reports.silences.all_are_told(&model, *at)?,
            _ => (),
        }
        model.apply(event);
    }
    reports.settle(&model)
}

impl Reports {
    fn begin(&mut self, at: Timestamp) {
        self.minute = (0, 0);
        self.failing.values_mut().for_each(|is_sure| *is_sure = false);
        let silences = &mut self.silences;
        silences.present.clear();
        silences.latest.clone_from(&silences.recorded);
        silences.began = BTreeSet::from([at]);
    }

    /// All reports of a batch are made. One that says that there are more may stand for a silence, too.
    fn settle(&mut self, model: &Model<'_>) -> Verdict {
        if self.has_more_waiting(model) {
            // The one that waits stands for what is left, and maybe for a silence.
            self.silences.unnamed_count += 1;
            self.more_count = self.more_count.max(self.owed.len());
        }
        let owed = self.owed.iter().filter(|owed| !owed.may_be_left_out).count();
        ensure!(owed <= self.more_count, "lost: {:?} are owed, {} more", self.owed, self.more_count);
        self.silences.unnamed_count += self.more_count - owed;
        self.owed.clear();
        self.last_failure = None;
        self.more_count = 0;
        Ok(())
    }

    fn write(
        &mut self,
        model: &Model<'_>,
        operation: &Operation,
        answer: &Answer,
        is_final: impl Fn(&RunKey, RunState) -> bool,
    ) -> Verdict {
        match operation {
            Operation::End { key, state, at, .. } if *answer == Answer::New => {
                let run = &model.runs[key].run;
                if run.cause != Cause::Once && *state == RunState::Succeeded {
                    let last = self.silences.recorded.entry(key.job.clone()).or_insert(*at);
                    *last = (*at).max(*last);
                }
                if run.cause != Cause::Once && is_final(key, *state) {
                    self.end(model, run, *state, *at);
                }
            }
            Operation::Plan(run) if run.state == RunState::Missed && run.cause != Cause::Once => {
                self.missed(model, run, run.span.map_or(1, |span| span.count));
            }
            Operation::Move { key, to: RunState::Missed, .. } => {
                let run = &model.runs[key].run;
                if run.cause != Cause::Once {
                    self.missed(model, run, 1);
                }
            }
            Operation::Define { mark, .. } | Operation::Mark(mark) | Operation::Rewind(mark) => {
                self.failures.insert(mark.job.clone(), mark.failures);
                if let (Operation::Define { .. }, Some(is_sure)) =
                    (operation, self.failing.get_mut(&mark.job))
                {
                    *is_sure = false;
                }
                let is_defined = model.jobs.get(&mark.job).is_some_and(|job| job.is_defined);
                self.silences.define(mark, is_defined)?;
                let failure = self.last_failure.take().filter(|run| run.key.job == mark.job);
                if let Some(run) = failure.filter(|_| mark.pause == Some(Pause::Failures)) {
                    self.owe(model, &run, NoticeKind::Failed, 1);
                }
            }
            Operation::Submit(once) if once.name.as_str().starts_with("notify:") => {
                return self.submit(model, once, answer);
            }
            Operation::Fire { id, .. } | Operation::Withdraw { id, .. } => {
                self.pending.remove(id);
            }
            _ => (),
        }
        Ok(())
    }

    fn end(&mut self, model: &Model<'_>, run: &Run, state: RunState, at: Timestamp) {
        let job = &run.key.job;
        let before = self.failures.get(job).copied().unwrap_or(0);
        let policies = &model.runs[&run.key].policies;
        let after = match state {
            RunState::Succeeded => 0,
            _ if model.runs[&run.key].was_dead => before,
            RunState::Failed | RunState::TimedOut => before + 1,
            RunState::Abandoned if policies.retry.on.abandoned => before + 1,
            _ => before,
        };
        let has_failed = matches!(state, RunState::Failed | RunState::TimedOut | RunState::Abandoned);
        let failing = self.failing.get(job).copied();
        if has_failed {
            self.failing.insert(job.clone(), model.jobs.get(job).is_some_and(|job| job.is_defined));
        } else if state == RunState::Succeeded {
            self.failing.remove(job);
            self.silences.present.insert(job.clone(), at);
        }
        if hook_silence(model, job).is_none() {
            return;
        }
        self.failures.insert(job.clone(), after);
        if has_failed && (after == before || after.is_power_of_two()) {
            self.owe(model, run, NoticeKind::Failed, 1);
        } else if has_failed {
            self.last_failure = Some(run.clone());
        }
        if state == RunState::Succeeded && (0 < before || failing.is_some()) {
            self.owe(model, run, NoticeKind::Recovered, 1);
            // What the counter leaves out the next server may not know, if another run has ended since.
            let is_sure = 0 < before || failing == Some(true);
            self.owed.last_mut().expect("it is owed").may_be_left_out |= !is_sure;
        }
    }

    fn missed(&mut self, model: &Model<'_>, run: &Run, count: u64) {
        if hook_silence(model, &run.key.job).is_some() {
            self.owe(model, run, NoticeKind::Missed, count);
        }
    }

    /// Whether one waits that stands for what is beyond the limit of this minute.
    fn has_more_waiting(&self, model: &Model<'_>) -> bool {
        let is_full = MOST_IN_A_MINUTE <= self.minute.1;
        is_full && self.more_name.as_ref().is_some_and(|name| waits(model, name))
    }

    fn owe(&mut self, model: &Model<'_>, run: &Run, kind: NoticeKind, count: u64) {
        let name = format!("notify:{}:{}:1", run.key.job, kind.name());
        // The one that says that there are more may wait now, and begin in the same batch.
        let may_be_left_out = waits(model, &name) || self.has_more_waiting(model);
        self.owed.push(OwedReport { name, text: format!("{} {count}", run.key), may_be_left_out });
    }

    fn submit(&mut self, model: &Model<'_>, once: &Once, answer: &Answer) -> Verdict {
        let name = once.name.as_str();
        if *answer == Answer::New {
            let is_pending = self.pending.values().any(|pending| *pending == once.name);
            // A server that takes over reports before it has taken in what waits.
            let takes_over = self.silences.began.contains(&once.submitted);
            let waits = is_pending || !takes_over && waits(model, name);
            ensure!(!waits, "doubled: {name} waits already");
            self.pending.insert(once.id, once.name.clone());
        }
        let minute = once.submitted.as_second().div_euclid(60);
        self.minute = if self.minute.0 == minute { (minute, self.minute.1 + 1) } else { (minute, 1) };
        let is_one_too_many = MOST_IN_A_MINUTE < self.minute.1;
        if name.starts_with("notify:more:") {
            ensure!(is_one_too_many, "out of policy: {name} is the {}th in a minute", self.minute.1);
            self.more_count += 1;
            self.more_name = Some(name.to_owned());
            return Ok(());
        }
        ensure!(!is_one_too_many, "out of policy: {name} is the {}th in a minute", self.minute.1);
        if let Some(job) = name.strip_suffix(":silent:1").and_then(|name| name.strip_prefix("notify:")) {
            return self.silences.submit(model, &JobName::new(job).unwrap(), once, answer);
        }
        let text = once.work.action.body();
        let place = self.owed.iter().position(|owed| owed.name == name && owed.text == text);
        ensure!(place.is_some(), "untrue: {name} reports {text}, and {:?} are owed", self.owed);
        self.owed.remove(place.unwrap());
        Ok(())
    }
}

/// Whether a notification of a name has fired and waits, to be tried again or for its place.
fn waits(model: &Model<'_>, name: &str) -> bool {
    let waits = |run: &Run| run.key.job.as_str() == name && run.state != RunState::Running;
    model.open.iter().any(|key| waits(&model.runs[key].run))
}

/// Whether the report of an earlier silence of a job was open then, which stands for a later one.
fn is_open_at(model: &Model<'_>, job: &JobName, at: Timestamp) -> bool {
    let first = RunKey::new(JobName::new(&format!("notify:{job}:silent:1")).unwrap(), Timestamp::MIN);
    let reports = model.runs.range(first.clone()..).take_while(|(key, _)| key.job == first.job);
    reports.map(|(_, known)| &known.run).any(|run| run.ended.is_none_or(|ended| at <= ended))
}

impl Silences {
    /// A job is defined from a time on: from that of its definitions if it is new, and else as it was.
    fn define(&mut self, mark: &Mark, was_defined: bool) -> Verdict {
        let Mark { job, since, .. } = mark;
        let before = self.defined.insert(job.clone(), *since);
        let is_new = before != Some(*since);
        ensure!(!is_new || !was_defined, "untrue: {job} is defined since {since}, and was since {before:?}");
        ensure!(!is_new || self.began.contains(since), "untrue: {job} is defined since {since}");
        if is_new {
            self.present.remove(job);
        }
        Ok(())
    }

    /// Since when a job is silent: the last success since it is defined, or that.
    fn since(&self, job: &JobName) -> Option<Timestamp> {
        let defined = *self.defined.get(job)?;
        let latest = self.latest.get(job).filter(|latest| defined <= **latest);
        Some(self.present.get(job).or(latest).copied().unwrap_or(defined))
    }

    fn submit(&mut self, model: &Model<'_>, job: &JobName, once: &Once, answer: &Answer) -> Verdict {
        let silent_after = hook_silence(model, job).flatten();
        ensure!(silent_after.is_some(), "out of policy: the silence of {job} is reported");
        ensure!(once.id.due <= once.submitted, "early: {job} is silent since {}", once.id.due);
        let since = once.id.due - silent_after.unwrap();
        ensure!(self.since(job) == Some(since), "untrue: {job} is silent since {since}");
        let silence = (job.clone(), once.id.due);
        // One that met an older one which waits was not made, and the next server may make it.
        let is_first = *answer != Answer::New || self.made.insert(silence.clone());
        ensure!(is_first, "doubled: the silence of {job} since {since} is reported");
        self.reported.insert(silence);
        Ok(())
    }

    /// Every silence that is too long by now was reported.
    fn all_are_told(&self, model: &Model<'_>, now: Timestamp) -> Verdict {
        let mut untold = Vec::new();
        for job in model.jobs.keys() {
            let Some(silent_after) = hook_silence(model, job).flatten() else { continue };
            let is_told = |since: &Timestamp| {
                let due = *since + silent_after;
                self.reported.contains(&(job.clone(), due)) || is_open_at(model, job, due)
            };
            let is_over = |since: &Timestamp| *since + silent_after <= now;
            let Some(since) = self.since(job) else { continue };
            untold.extend((is_over(&since) && !is_told(&since)).then_some(job));
        }
        let is_told = untold.len() <= self.unnamed_count;
        ensure!(is_told, "lost: the silence of {untold:?} is not reported at {now}");
        Ok(())
    }
}

/// The limit of silence of a job that is defined and has a hook; `Some(None)` if it has a hook and no limit.
fn hook_silence(model: &Model<'_>, job: &JobName) -> Option<Option<Duration>> {
    model.jobs.get(job).filter(|job| job.is_defined)?;
    let hook = model.script.subjects[Script::index(job)?].hook?;
    Some(hook.silent_after)
}

//! The manual's section on places: who starts when there is a line, and that none waits for nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use mainspring_job::{Answer, CatchUp, Cause, JobName, Operation, Overlap, RunKey, RunState};

use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::{Model, View};

/// The order of the line.
fn rank(view: &View) -> (Reverse<i8>, Timestamp, &RunKey) {
    (Reverse(view.priority), view.run.due, &view.run.key)
}

/// The order of a job's runs.
fn turn(view: &View) -> (Timestamp, &RunKey) {
    (view.run.due, &view.run.key)
}

/// Whether runs of a group wait for the limit of their group, or for its rate.
fn is_group_full(model: &Model<'_>, group: Option<&JobName>, at: Timestamp) -> bool {
    let in_group = model.alive.iter().filter(|(key, _)| model.runs[key].group.as_ref() == group).count();
    let is_full = model.script.group_limit as usize <= in_group;
    group.is_some() && (is_full || model.rated_starts.may_be_full(model.script.rate, at))
}

/// What goes before others of its job: whether one runs, and the first of those that are queued and not held.
#[derive(Default)]
struct QueueHead<'m> {
    is_running: bool,
    first: Option<(Timestamp, &'m RunKey)>,
}

impl<'m> QueueHead<'m> {
    fn add(&mut self, model: &Model<'_>, view: &'m View) {
        if view.run.state == RunState::Running {
            self.is_running = true;
        } else if !model.is_held(view) && self.first.is_none_or(|first| turn(view) < first) {
            self.first = Some(turn(view));
        }
    }
}

/// For each job what is ahead in it: of all its runs, and of its catch-up runs.
fn ahead<'m>(model: &'m Model<'_>) -> BTreeMap<&'m JobName, [QueueHead<'m>; 2]> {
    let mut ahead: BTreeMap<&JobName, [QueueHead<'_>; 2]> = BTreeMap::new();
    for view in model.open.iter().map(|key| &model.runs[key]).filter(|view| view.is_in_the_way()) {
        let [all, catching_up] = ahead.entry(&view.run.key.job).or_default();
        all.add(model, view);
        if view.run.cause == Cause::CatchUp {
            catching_up.add(model, view);
        }
    }
    ahead
}

/// Whether a run waits for nothing but a place: it has its turn in its job, and no pause or quarantine holds
/// it.
fn has_turn(model: &Model<'_>, [all, catching_up]: &[QueueHead<'_>; 2], view: &View) -> bool {
    if view.run.state != RunState::Queued || model.is_held(view) || 0 < model.crashes(view) {
        return false;
    }
    let ahead = if view.policies.overlap == Overlap::Allow { catching_up } else { all };
    let is_first = !ahead.is_running && ahead.first.is_none_or(|first| turn(view) <= first);
    !view.passes_singly() || is_first
}

/// When all is on disk: no run waits while a place is free for it, and none that waits is better than one
/// that started.
pub(crate) fn watch(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Settled { at, is_single } = event else { return Ok(()) };
    if model.is_all_paused || model.is_stopping {
        return Ok(());
    }
    let ahead = ahead(model);
    let waiting = model.open.iter().map(|key| &model.runs[key]).filter(|view| view.is_in_the_way());
    for view in waiting.filter(|view| has_turn(model, &ahead[&view.run.key.job], view)) {
        let (key, group) = (&view.run.key, view.group.as_ref());
        let is_group_full = is_group_full(model, group, *at);
        let is_full = is_group_full || model.script.max_running <= model.alive.len();
        ensure!(is_full, "out of policy: {key} waits while a place is free");
        if !is_single {
            continue;
        }
        for started in model.started.iter().map(|key| &model.runs[key]) {
            let is_rival = !is_group_full || started.group.as_ref() == group;
            let other = &started.run.key;
            let may = !is_rival || rank(started) < rank(view) || 0 < model.crashes(started);
            ensure!(may, "out of policy: {other} starts before {key}, which is better");
        }
    }
    Ok(())
}

/// Runs of one job start in the order in which they are due.
pub(crate) fn watch_order(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Settled { is_single: true, .. } = event else { return Ok(()) };
    for started in model.started.iter().map(|key| &model.runs[key]) {
        let waits = |view: &&View| {
            let is_alike = started.policies.overlap != Overlap::Allow || view.run.cause == Cause::CatchUp;
            view.run.state == RunState::Queued && is_alike && !model.is_held(view)
        };
        let earlier = model.others(&started.run.key).filter(waits).find(|view| turn(view) < turn(started));
        let key = &started.run.key;
        let may = earlier.is_none() || !started.passes_singly();
        ensure!(may, "out of policy: {key} starts before {}", earlier.unwrap().run.key);
    }
    Ok(())
}

/// The catch-up runs of `all` run in the order of their nominal times, one after the other. Holds the last of
/// each job that started.
#[derive(Default)]
pub(crate) struct CatchingUp {
    last: BTreeMap<JobName, (u32, Timestamp, Timestamp)>,
}

impl CatchingUp {
    pub(crate) fn watch_catching_up(&mut self, model: &Model<'_>, event: &Event) -> Verdict {
        let Event::Started { key, attempt, cause: Cause::CatchUp, .. } = event else { return Ok(()) };
        let view = &model.runs[key];
        if !matches!(view.policies.misfire.catch_up, CatchUp::All { .. }) {
            return Ok(());
        }
        let runs = |(other, _): &&(RunKey, u32)| {
            other.job == key.job && model.runs[other].run.cause == Cause::CatchUp
        };
        let beside = model.alive.iter().find(runs);
        ensure!(beside.is_none(), "out of policy: {key} is a catch-up run beside {beside:?}");
        if *attempt == 1 {
            let planned = view.run.planned;
            let before = self.last.insert(key.job.clone(), (view.era, planned, key.nominal));
            // A look after the clock was set back does not line up behind one before it.
            let is_late = before.is_some_and(|(era, looked, last)| {
                era == view.era && planned <= looked && key.nominal < last
            });
            ensure!(!is_late, "out of policy: {key} is caught up after a later one");
        }
        Ok(())
    }
}

/// No more run side by side than may: of a job, of its group, and in all.
pub(crate) fn watch_side_by_side(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Started { key, .. } = event else { return Ok(()) };
    let view = &model.runs[key];
    ensure!(
        model.alive.len() < model.script.max_running,
        "out of policy: {key} starts beside {:?}",
        model.alive
    );
    let of_job = model.alive.iter().filter(|(other, _)| other.job == key.job).count();
    let may = view.policies.overlap == Overlap::Allow || of_job == 0;
    ensure!(may, "out of policy: {key} starts beside {of_job} of its job");
    if view.group.is_some() {
        let in_group = model.alive.iter().filter(|(other, _)| model.runs[other].group == view.group).count();
        let limit = model.script.group_limit as usize;
        ensure!(in_group < limit, "out of policy: {key} starts beside {in_group} of its group");
    }
    Ok(())
}

/// No more runs of a group start in any span of a period than its rate allows, by the planner's clock; and
/// none while a new planner waits, as it does not know what the one before has started.
pub(crate) fn watch_rate(model: &Model<'_>, event: &Event) -> Verdict {
    let Some(rate) = model.script.rate else { return Ok(()) };
    let Event::Wrote { operation, .. } = event else { return Ok(()) };
    let Some((key, at)) = model.start_in_group(operation) else { return Ok(()) };
    let count = model.rated_starts.count_before(rate, at);
    ensure!(count < rate.starts() as usize, "out of policy: {key} starts as number {count} within {rate}");
    let is_resting = model.rated_starts.is_resting(rate, at);
    ensure!(!is_resting, "out of policy: {key} starts at {at}, before what its rate {rate} allows is known");
    Ok(())
}

/// A run that waits for a batch starts when nothing of that was left at some moment since it waits.
pub(crate) fn watch_batch(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Wrote { operation, answer: Answer::New, .. } = event else { return Ok(()) };
    let (key, is_free) = match operation {
        Operation::Begin { key, .. } => {
            (key, model.released.contains(key) || !model.waits_for_batch(&model.runs[key]))
        }
        Operation::Plan(run) | Operation::Fire { run, .. } if run.state == RunState::Running => {
            (&run.key, false)
        }
        _ => return Ok(()),
    };
    let after = match operation {
        Operation::Begin { .. } => model.runs[key].policies.after_batch.as_ref(),
        Operation::Fire { run, .. } => run.work.as_ref().and_then(|work| work.policies.after_batch.as_ref()),
        _ => None,
    };
    ensure!(after.is_none() || is_free, "out of policy: {key} starts before its batch has ended");
    Ok(())
}

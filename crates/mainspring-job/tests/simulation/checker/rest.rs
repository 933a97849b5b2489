//! Pauses: what is paused, what is removed and a server that ends start nothing; and no batch is too large.

use std::collections::BTreeMap;

use mainspring_job::jiff::Timestamp;
use mainspring_job::{
    Absence, Answer, Cause, Command, JobName, MAX_BATCH_OPERATIONS, Operation, Pause, Reason, Reply,
    RunState, Scope, Ticket,
};

use crate::simulation::checker::attempts::Stories;
use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::{JobView, Model};
use crate::simulation::world::World;

/// After a pause is acknowledged nothing of it starts, until somebody asks to resume or the rest is over.
pub(crate) fn check_pauses(world: &World<'_>, stories: &Stories) -> Verdict {
    // Each scope that is paused, since which command, whether that has been acknowledged, and until when at
    // least.
    let mut paused: BTreeMap<Option<JobName>, (Ticket, bool, Timestamp)> = BTreeMap::new();
    let named = |scope: &Scope| match scope {
        Scope::All => None,
        Scope::Job(name) => Some(name.clone()),
        other => unreachable!("no script has {other:?}"),
    };
    for event in &world.log {
        match event {
            Event::Issued { ticket, command: Command::Pause(scope, rest), .. } => {
                let until = rest.until.unwrap_or(Timestamp::MAX);
                let entry = paused.entry(named(scope)).or_insert((*ticket, false, until));
                entry.2 = entry.2.min(until);
            }
            Event::Acknowledged { ticket, command: Command::Pause(scope, _), reply: Reply::Done } => {
                let entry = paused.get_mut(&named(scope)).filter(|(first, ..)| first == ticket);
                if let Some((_, is_acknowledged, _)) = entry {
                    *is_acknowledged = true;
                }
            }
            Event::Issued { command: Command::Resume(scope), .. } => {
                paused.remove(&named(scope));
            }
            // A job that is taken away, and put back when a day is over, is a new one.
            Event::Wrote { operation: Operation::Forget { job, absence: None, .. }, .. } => {
                paused.remove(&Some(job.clone()));
            }
            Event::Started { key, cause, attempt, high_water, .. } => {
                let is_paused = |name| {
                    let found = paused.get(&name).filter(|(_, is_acknowledged, _)| *is_acknowledged);
                    found.is_some_and(|(.., until)| high_water < until)
                };
                ensure!(!is_paused(None), "out of policy: {key} started while everything was paused");
                // Who runs a paused job now wants that; not a later start, nor another attempt.
                let is_for_now = || stories.get(key).is_some_and(|it| it.first.due <= it.first.planned);
                let is_wanted = *cause == Cause::Request && *attempt == 1 && is_for_now();
                let may = *cause == Cause::Once || is_wanted || !is_paused(Some(key.job.clone()));
                ensure!(may, "out of policy: {key} started while its job was paused");
            }
            _ => (),
        }
    }
    Ok(())
}

/// A pause for failures or crashes stays until somebody asks to resume the job, or pauses it without an end.
pub(crate) fn check_kept(world: &World<'_>) -> Verdict {
    let is_kept = |pause| matches!(pause, Some(Pause::Failures | Pause::Crashes));
    let has_begun = |event: &Event| match event {
        Event::Wrote { operation: Operation::Mark(mark), .. } => is_kept(mark.pause),
        _ => false,
    };
    if !world.log.iter().any(has_begun) {
        return Ok(());
    }
    let mut model = Model::new(world.script);
    // Who may go on, and whether that was asked since all was on disk: it may be about a pause that is
    // written only now.
    let mut lifted: BTreeMap<JobName, bool> = BTreeMap::new();
    for event in &world.log {
        match event {
            Event::Issued { command: Command::Resume(Scope::Job(name)), .. } => {
                lifted.insert(name.clone(), true);
            }
            Event::Issued { command: Command::Pause(Scope::Job(name), terms), .. }
                if terms.until.is_none() =>
            {
                lifted.insert(name.clone(), true);
            }
            Event::Settled { .. } => lifted.values_mut().for_each(|is_recent| *is_recent = false),
            Event::Wrote { operation: Operation::Mark(mark), answer: Answer::New, .. } => {
                let is_kept_on = |job: &&JobView| job.is_defined || job.absence.is_some();
                let known = model.jobs.get(&mark.job).filter(is_kept_on);
                if known.is_some_and(|job| is_kept(job.mark.pause)) {
                    let may = is_kept(mark.pause) || lifted.contains_key(&mark.job);
                    ensure!(may, "out of policy: {} continues, and nobody has resumed it", mark.job);
                } else if is_kept(mark.pause) && lifted.get(&mark.job) == Some(&false) {
                    lifted.remove(&mark.job);
                }
                let ends = is_kept(mark.pause) && mark.pause_terms.until.is_some();
                ensure!(!ends, "out of policy: the pause of {} ends by itself", mark.job);
            }
            _ => (),
        }
        model.apply(event);
    }
    Ok(())
}

/// Nothing of a job that was removed starts any more, and nothing of it is left waiting. While it is absent,
/// which is a day at most, nothing of it starts and nothing that waits is lost.
pub(crate) fn watch_removal(model: &Model<'_>, event: &Event) -> Verdict {
    let is_removed =
        |name: &JobName| model.jobs.get(name).is_some_and(|job| job.is_removed && !job.is_defined);
    match event {
        Event::Started { key, cause, .. } if *cause != Cause::Once => {
            ensure!(!is_removed(&key.job), "out of policy: {key} started, and its job was removed");
        }
        Event::Settled { .. } => {
            for key in model.open.iter().filter(|key| model.absence(key).is_none()) {
                let run = &model.runs[key].run;
                let waits = run.state != RunState::Running && run.cause != Cause::Once;
                ensure!(
                    !waits || !is_removed(&key.job),
                    "out of policy: {key} is {}, its job removed",
                    run.state
                );
            }
        }
        Event::Wrote {
            operation: Operation::Move { key, at, reason: Some(Reason::Removed | Reason::NoJob), .. },
            answer: Answer::New,
            ..
        } => {
            let end = model.absence(key).map(Absence::end);
            let is_over = end.is_none_or(|end| end <= *at);
            ensure!(is_over, "lost: {key} is cancelled at {at}, and its job may come back");
        }
        Event::LookedLast { at } => {
            let late =
                model.jobs.iter().find(|(_, job)| job.absence.as_ref().is_some_and(|it| it.is_over(*at)));
            ensure!(late.is_none(), "out of policy: {} is absent for more than a day", late.unwrap().0);
        }
        _ => (),
    }
    Ok(())
}

/// A server that ends starts nothing; the next one does.
pub(crate) fn watch_stop(model: &Model<'_>, event: &Event) -> Verdict {
    if let Event::Started { key, .. } = event {
        ensure!(!model.is_stopping, "out of policy: {key} started while the server ended");
    }
    Ok(())
}

/// A batch is one group commit and no more.
pub(crate) fn check_batches(world: &World<'_>) -> Verdict {
    let mut sizes: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for event in &world.log {
        if let Event::Wrote { batch, .. } = event {
            *sizes.entry(*batch).or_default() += 1;
        }
    }
    let largest = sizes.values().max().copied().unwrap_or(0);
    ensure!(largest <= MAX_BATCH_OPERATIONS, "out of bounds: a batch of {largest} operations");
    Ok(())
}

//! The manual's section on overlaps, decision by decision, and what a killed or skipped run has to do with
//! others.

use jiff::Timestamp;
use mainspring_job::{Answer, Operation, Overlap, Reason, Run, RunKey, RunState};

use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::{Model, View};

/// What is in the way of a run. A start is on disk with the wait before it, so that what started later than
/// the decision, or at the same moment, may have been running or queued then.
struct Way {
    running_count: usize,
    queued_count: usize,
    either_count: usize,
}

fn way(model: &Model<'_>, key: &RunKey, at: Timestamp) -> Way {
    let refused = model.refused.iter().filter(|other| other.job == key.job).count();
    let mut way = Way { running_count: 0, queued_count: 0, either_count: refused };
    for view in model.others(key).filter(|view| view.is_in_the_way()) {
        match view.run.state {
            RunState::Running if view.since < at => way.running_count += 1,
            RunState::Running => way.either_count += 1,
            _ => way.queued_count += 1,
        }
    }
    way
}

/// A run reaches a state for the first time after it was due.
pub(crate) fn watch(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Wrote { operation, answer: Answer::New, .. } = event else { return Ok(()) };
    match operation {
        Operation::Plan(run) if run.span.is_none() => {
            let mut fresh = Model::new(model.script);
            fresh.apply(event);
            let at = run.started.or(run.ended).unwrap_or(run.planned);
            judge(model, &fresh.runs[&run.key], run.state, at, run.reason.as_ref())
        }
        Operation::Move { key, to, at, reason, .. } => {
            judge(model, &model.runs[key], *to, *at, reason.as_ref())
        }
        Operation::Begin { key, at, .. } => match model.runs[key].run.state {
            RunState::Scheduled => judge(model, &model.runs[key], RunState::Running, *at, None),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn judge(model: &Model<'_>, view: &View, to: RunState, at: Timestamp, reason: Option<&Reason>) -> Verdict {
    let Run { key, state, .. } = &view.run;
    let overlap = view.policies.overlap;
    let is_decided = view.is_kept() || *state == RunState::Queued;
    if to != RunState::SkippedOverlap && is_decided {
        return Ok(());
    }
    let way = way(model, key, at);
    let in_the_way = way.running_count + way.queued_count + way.either_count;
    match to {
        RunState::SkippedOverlap if reason == Some(&Reason::Replaced) => {
            let may = matches!(overlap, Overlap::Replace | Overlap::KillOld) && !view.is_kept();
            ensure!(may, "out of policy: {key} is replaced");
            let takes_over = |other: &View| other.run.state == RunState::Scheduled && !other.is_kept();
            ensure!(
                model.others(key).any(takes_over),
                "lost: {key} is replaced, and no run on record takes its place"
            );
        }
        RunState::SkippedOverlap => {
            ensure!(!view.is_kept(), "out of policy: {key} is skipped, and was asked for");
            let most_queued = way.queued_count + way.either_count;
            let may = match overlap {
                Overlap::Skip => 0 < in_the_way,
                Overlap::QueueOne => 0 < most_queued,
                Overlap::QueueAll { cap } => cap as usize <= most_queued,
                Overlap::Replace | Overlap::KillOld | Overlap::Allow => false,
                other => unreachable!("no script has {other:?}"),
            };
            ensure!(may, "out of policy: {key} is skipped, and nothing is in the way by {overlap}");
            let is_true = match reason {
                Some(Reason::EarlierRunning) => 0 < way.running_count + way.either_count,
                Some(Reason::EarlierQuarantined) => {
                    let held = model.others(key).any(|other| 0 < model.crashes(other));
                    way.running_count == 0 && held
                }
                other => other == Some(&Reason::EarlierWaiting) && way.running_count == 0,
            };
            ensure!(is_true, "untrue: {key} is skipped because {reason:?}");
        }
        RunState::Queued | RunState::Running => {
            // Those that wait for a probation or a place are as much in the way as others.
            let may = match overlap {
                Overlap::Skip => way.running_count + way.queued_count == 0,
                Overlap::QueueOne => in_the_way == 0 || way.queued_count == 0,
                Overlap::QueueAll { cap } => way.queued_count < cap as usize,
                Overlap::Replace | Overlap::KillOld => {
                    let waits = |other: &View| other.run.state == RunState::Queued && !other.is_kept();
                    !model.others(key).any(waits)
                }
                Overlap::Allow => true,
                other => unreachable!("no script has {other:?}"),
            };
            ensure!(may, "out of policy: {key} becomes {to} with others in the way by {overlap}");
        }
        _ => (),
    }
    Ok(())
}

/// Only what runs is killed; and what is in the way of a newer run by `kill-old` is.
pub(crate) fn watch_kills(model: &Model<'_>, event: &Event) -> Verdict {
    match event {
        Event::Killed { key, attempt } => {
            let attempt_of = (key.clone(), *attempt);
            // It may have ended by itself since this was decided.
            let was_alive = model.alive.contains(&attempt_of) || model.ended.contains(&attempt_of);
            ensure!(was_alive, "out of policy: {key} attempt {attempt} is killed, and does not run");
        }
        Event::Settled { .. } => {
            for (key, attempt) in &model.alive {
                let view = &model.runs[key];
                let is_newer = |other: &View| {
                    // A start may be on record with the wait before it, and the clock may have been set back.
                    let is_later = view.since < other.since && view.event_index < other.event_index;
                    other.run.state == RunState::Queued && is_later && !other.is_kept()
                };
                let is_owed = view.policies.overlap == Overlap::KillOld
                    && model.others(key).any(is_newer)
                    && !view.is_killed;
                ensure!(!is_owed, "out of policy: {key} attempt {attempt} is in the way, and not killed");
            }
        }
        _ => (),
    }
    Ok(())
}

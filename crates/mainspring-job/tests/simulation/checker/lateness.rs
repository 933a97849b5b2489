//! The manual's rules on runs that waited for too long, checked at each start and at each record of a missed
//! run.

use std::time::Duration;

use mainspring_job::{Answer, CatchUp, Cause, Operation, RunState};

use crate::simulation::calendar::age;
use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::{Model, View};

/// How late a run may start that waits for nothing but its time, or for its turn. `None`: however late.
fn most(view: &View, waits_for_time: bool) -> Option<Duration> {
    let (run, misfire) = (&view.run, &view.policies.misfire);
    let is_asked_for = matches!(run.cause, Cause::Request | Cause::Backfill | Cause::Once);
    // A dead letter that a person takes up again.
    if is_asked_for || 0 < run.forgiven && run.forgiven == run.attempt {
        return None;
    }
    let is_first = run.attempt == 0;
    let is_dropped = misfire.catch_up == CatchUp::None && is_first && waits_for_time;
    Some(if is_dropped { misfire.grace } else { misfire.window.max(misfire.grace) })
}

/// Nothing starts later than it may, and nothing is missed that may still start.
pub(crate) fn watch(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Wrote { operation, answer: Answer::New, .. } = event else { return Ok(()) };
    let mut fresh = Model::new(model.script);
    let (view, at, to) = match operation {
        Operation::Plan(run) if run.state == RunState::Running => {
            fresh.apply(event);
            let view = fresh.runs.get_mut(&run.key).unwrap();
            // Its record is that of its wait.
            view.run.attempt = 0;
            (&*view, run.started.unwrap_or(run.planned), RunState::Running)
        }
        Operation::Begin { key, at, .. } => (&model.runs[key], *at, RunState::Running),
        Operation::Move { key, at, to, .. } => (&model.runs[key], *at, *to),
        _ => return Ok(()),
    };
    // Where several facts are told before anything is written, the record of a start is that of a wait for a
    // place too.
    let is_doubtful = to == RunState::Running && model.is_gathering;
    if view.run.state == RunState::Running {
        // It had started in time, and was given back.
        return Ok(());
    }
    let waits_for_time = view.run.state == RunState::Scheduled && !is_doubtful;
    let is_late = most(view, waits_for_time).is_some_and(|most| most < age(at, view.run.due));
    let (key, due) = (&view.run.key, view.run.due);
    let of_due = format!("at {at}, and was due at {due}");
    match to {
        RunState::Running | RunState::Queued => {
            ensure!(!is_late, "out of policy: {key} becomes {to} {of_due}");
        }
        RunState::Missed => ensure!(is_late, "out of policy: {key} becomes {to} {of_due}"),
        _ => (),
    }
    Ok(())
}

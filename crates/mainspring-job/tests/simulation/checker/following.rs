//! Each end of a run is followed by one run of each job that names it, in the same batch, and by no other.
//! One whose name the store knows, from before the clock was set back, is planned again under another at
//! once.

use jiff::Timestamp;
use mainspring_job::{Answer, Cause, JobName, Operation, RunKey, RunState};

use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::Model;
use crate::simulation::script::Script;
use crate::simulation::world::World;

/// A run that has to be planned: of whom, and after the end of which.
struct OwedRun {
    job: JobName,
    of: RunKey,
}

pub(crate) fn check(world: &World<'_>) -> Verdict {
    let mut model = Model::new(world.script);
    let mut owed: Vec<OwedRun> = Vec::new();
    // Those whose names the store knew.
    let mut unnamed: Vec<OwedRun> = Vec::new();
    let mut was_set_back = false;
    let mut open = None;
    for (index, event) in world.log.iter().enumerate() {
        let batch = if let Event::Wrote { batch, .. } = event { Some(*batch) } else { None };
        if open != batch {
            paid(&owed)?;
            open = batch;
        }
        match event {
            Event::Wrote {
                operation: Operation::End { key, state, at, .. }, answer: Answer::New, ..
            } => {
                let rest = &world.log[index + 1..];
                if model.runs[key].run.cause != Cause::Once && !is_tried_again(rest, batch, key, *state) {
                    let followers = followers(&model, key, *state, *at);
                    owed.extend(followers.map(|job| OwedRun { job, of: key.clone() }));
                }
            }
            Event::Wrote { operation: Operation::Plan(run), answer, .. } if run.cause == Cause::After => {
                let again = unnamed.iter().position(|owed| owed.job == run.key.job);
                let (follower, is_again) = match owed.iter().position(|owed| owed.job == run.key.job) {
                    Some(place) => (owed.remove(place), false),
                    None => {
                        ensure!(again.is_some(), "doubled: {} follows no end of this batch", run.key);
                        (unnamed.remove(again.unwrap()), true)
                    }
                };
                let of = &follower.of;
                if *answer == Answer::New {
                    let is_room = run.state == RunState::Scheduled;
                    let is_full = run.state == RunState::Missed && world.script.max_open < 100;
                    // Its turn may have passed when the store knew its name.
                    let may = is_room || is_full || is_again;
                    ensure!(may, "out of policy: {} follows {of} as {}", run.key, run.state);
                } else {
                    ensure!(was_set_back, "lost: {} follows {of}, and is answered {answer:?}", run.key);
                    unnamed.push(follower);
                }
            }
            Event::SetBack => was_set_back = true,
            Event::Settled { .. } => paid(&unnamed)?,
            // A server that dies in between knows of none.
            Event::Crashed { .. } | Event::Rebooted | Event::Released => unnamed.clear(),
            _ => (),
        }
        model.apply(event);
    }
    paid(&owed)
}

fn paid(owed: &[OwedRun]) -> Verdict {
    let left = owed.first();
    ensure!(left.is_none(), "lost: no run of {} follows {}", left.unwrap().job, left.unwrap().of);
    Ok(())
}

/// Whether the batch continues with another attempt.
pub(super) fn is_tried_again(
    rest: &[Event],
    batch: Option<(u64, u64)>,
    key: &RunKey,
    ended: RunState,
) -> bool {
    let same = rest.iter().map_while(|event| match event {
        Event::Wrote { batch: of, operation, .. } if Some(*of) == batch => Some(operation),
        _ => None,
    });
    let mut its = same.filter_map(|operation| match operation {
        Operation::Move { key: of, from, to, .. } if of == key => Some((*from, *to)),
        _ => None,
    });
    its.next() == Some((ended, RunState::Scheduled))
}

/// The jobs that name this end, unless they are done or nothing is due of them at that time.
fn followers(
    model: &Model<'_>,
    key: &RunKey,
    state: RunState,
    at: Timestamp,
) -> impl Iterator<Item = JobName> {
    let parent = Script::index(&key.job).expect("only a one-shot job is no subject");
    model.jobs.iter().filter(|(_, job)| job.is_defined).filter_map(move |(name, job)| {
        let index = Script::index(name).unwrap();
        let text = &job.mark.timetable;
        let names = model.script.follows(index, text).iter();
        let is_named = names.into_iter().any(|(of, ending)| {
            let has_failed = matches!(state, RunState::Failed | RunState::TimedOut | RunState::Abandoned);
            // The failure of a dead letter was followed when it became one.
            let is_followed = model.runs[key].was_dead;
            let holds = match ending.name() {
                "succeeded" => state == RunState::Succeeded,
                "failed" => has_failed && !is_followed,
                _ => !is_followed,
            };
            *of == parent && holds
        });
        let rests = model.script.calendar(index, text).is_some_and(|calendar| calendar.is_resting(at));
        let most = model.script.subjects[index].max_runs;
        let is_done = most.is_some_and(|most| most <= model.counted(name));
        (is_named && !rests && !is_done).then(|| name.clone())
    })
}

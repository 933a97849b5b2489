//! Acknowledged work is on disk; a one-shot job fires once, at its time; in the end nothing is left over.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::{
    Answer, CatchUp, Cause, Command, JobName, Operation, Reader, Reply, Run, RunKey, RunRequest, RunState,
};

use crate::simulation::calendar::age;
use crate::simulation::checker::attempts::Stories;
use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::Model;
use crate::simulation::world::World;

pub(crate) fn check(world: &World<'_>, stories: &Stories) -> Verdict {
    let mut disk = world.disk.clone();
    let mut planned = BTreeSet::new();
    for event in &world.log {
        let Event::Acknowledged { command, reply, .. } = event else { continue };
        match reply {
            Reply::Submitted { id, name } => {
                let key = RunKey::new(name.clone(), id.due);
                let pending = disk.pending_named(name).unwrap();
                let is_pending = pending.is_some_and(|once| once.id == *id);
                let is_run = disk.run(&key).unwrap().is_some();
                ensure!(is_pending || is_run, "lost: {name} was acknowledged");
                ensure!(!(is_pending && is_run), "doubled: {name} ran and is still pending");
                let is_due = id.due <= world.now;
                ensure!(!is_pending || !is_due, "lost: {name} is pending, and was due at {}", id.due);
            }
            Reply::Planned { key } => {
                ensure!(stories.contains_key(key), "lost: {key} was acknowledged");
                ensure!(planned.insert(key), "lost: {key} was acknowledged twice, and is one run");
            }
            Reply::Backfilled { count, series } => {
                let Command::Backfill { job, .. } = command else { return Err("a wrong reply".to_owned()) };
                let is_theirs = |key: &&RunKey| key.job == *job && key.series == *series;
                let found = stories.keys().filter(is_theirs).count();
                ensure!(found == *count, "lost: {found} of {count} runs of a backfill are there");
            }
            _ => (),
        }
    }
    Ok(())
}

/// A run that is asked for is due when it was asked for, or at once; and under one key a job has one run.
pub(crate) fn check_asked(world: &World<'_>, stories: &Stories) -> Verdict {
    let mut known: BTreeMap<(&JobName, &str), Option<&RunKey>> = BTreeMap::new();
    for event in &world.log {
        match event {
            Event::Issued { command: Command::Trigger(RunRequest { job, key: Some(text), .. }), .. } => {
                known.entry((job, text.as_str())).or_default();
            }
            Event::Acknowledged { command: Command::Trigger(request), reply, .. } => {
                let RunRequest { job, due, key: text, .. } = request;
                let before = text.as_ref().map(|text| known.get_mut(&(job, text.as_str())).unwrap());
                match reply {
                    Reply::Planned { key } => {
                        let first = &stories.get(key).ok_or_else(|| format!("lost: {key}"))?.first;
                        let wanted = due.map_or(first.planned, |due| due.max(first.planned));
                        let is_right = first.cause == Cause::Request && first.due == wanted;
                        ensure!(is_right, "untrue: {key} is due at {}, not at {wanted}", first.due);
                        let other = before.and_then(|before| before.replace(key));
                        ensure!(other.is_none(), "doubled: {key} has the key of {other:?}");
                    }
                    // Where the answer to the first was lost, its run is on record all the same.
                    Reply::Duplicate { .. } => {
                        let is_there = |run: &&Run| run.key.job == *job && run.cause == Cause::Request;
                        let found = stories.values().map(|story| &story.first).find(is_there);
                        ensure!(found.is_some(), "lost: a run of {job} is said to be there, and none is");
                    }
                    _ => (),
                }
            }
            _ => (),
        }
    }
    Ok(())
}

/// A one-shot job is missed only by `none`, and when it is later than its grace.
pub(crate) fn watch_once(_: &Model<'_>, event: &Event) -> Verdict {
    let Event::Wrote { operation: Operation::Fire { id, run }, answer: Answer::New, .. } = event else {
        return Ok(());
    };
    // That of a job's run that was asked for under a key.
    if run.cause != Cause::Once {
        return Ok(());
    }
    ensure!(id.due <= run.planned, "early: {} fires at {}", run.key, run.planned);
    let misfire = run.work.as_ref().map(|work| work.policies.misfire).unwrap_or_default();
    let is_expired = misfire.catch_up == CatchUp::None && misfire.grace < age(run.planned, id.due);
    let is_missed = run.state == RunState::Missed;
    ensure!(is_missed == is_expired, "out of policy: {} fires as {} at {}", run.key, run.state, run.planned);
    Ok(())
}

/// In the end nothing is open and nothing runs.
pub(crate) fn check_end(world: &World<'_>) -> Verdict {
    let open = world.disk.clone().open_runs(None, 10).unwrap();
    ensure!(open.is_empty(), "lost: {} is still {}", open[0].key, open[0].state);
    Ok(())
}

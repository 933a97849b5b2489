//! Judges what kills the server: it starts singly, not for ever, and ends as a dead letter.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mainspring_job::{
    Cause, Command, DeadLetters, JobName, MAX_CRASHES, PROBATION, Policies, RunKey, RunState, Scope,
};

use crate::simulation::checker::{Story, Verdict, ensure, policies};
use crate::simulation::event::Event;
use crate::simulation::world::World;

pub(crate) fn check(world: &World<'_>, stories: &BTreeMap<RunKey, Story>) -> Verdict {
    check_count(world)?;
    check_singly(world)?;
    check_ends(world, stories)
}

/// No job kills the server more often in a row than it may, unless a person has a hand in it.
fn check_count(world: &World<'_>) -> Verdict {
    let mut crashes: BTreeMap<JobName, u32> = BTreeMap::new();
    let mut there: BTreeSet<JobName> = world.script.jobs.iter().map(|job| job.name.clone()).collect();
    for event in &world.log {
        match event {
            Event::Started { key, cause, .. } if world.script.is_poison(&key.job) => {
                let count = crashes.entry(key.job.clone()).or_default();
                *count += 1;
                let may = *count <= MAX_CRASHES || *cause == Cause::Request;
                ensure!(may, "out of policy: {key} kills the server for the {count}th time in a row");
            }
            Event::Asked { command: Command::Resume(Scope::Job(name)), .. } => drop(crashes.remove(name)),
            // Taken away or put back: another life begins.
            Event::Asked { command: Command::Apply(definitions), .. } => {
                let now_there: BTreeSet<JobName> =
                    definitions.jobs.iter().map(|job| job.name.clone()).collect();
                crashes.retain(|name, _| there.contains(name) && now_there.contains(name));
                there = now_there;
            }
            Event::Mended => break,
            _ => (),
        }
    }
    Ok(())
}

/// Who is suspected when the server dies in a run: its job, or a one-shot job itself.
fn suspect(key: &RunKey) -> String {
    if key.job.as_str().starts_with("job-") { key.job.to_string() } else { key.to_string() }
}

/// Suspects start one after the other: the next when the last has ended or has outlived its probation.
fn check_singly(world: &World<'_>) -> Verdict {
    let mut running: BTreeMap<RunKey, Timestamp> = BTreeMap::new();
    let mut suspects: BTreeSet<String> = BTreeSet::new();
    let mut on_probation: Option<(RunKey, Timestamp)> = None;
    for event in &world.log {
        match event {
            Event::Started { key, at, .. } => {
                if let Some((last, since)) = &on_probation
                    && PROBATION <= at.duration_since(*since)
                {
                    suspects.remove(&suspect(last));
                    on_probation = None;
                }
                if suspects.contains(&suspect(key)) {
                    let other = on_probation.replace((key.clone(), *at));
                    ensure!(other.is_none(), "out of policy: {key} starts during the probation of {other:?}");
                }
                running.insert(key.clone(), *at);
            }
            Event::Ended { key, .. } => {
                running.remove(key);
                suspects.remove(&suspect(key));
                on_probation.take_if(|(last, _)| last == key);
            }
            // Nobody can tell how long a probation takes on such a clock, nor whose pause was lifted when.
            Event::SetBack | Event::Asked { .. } | Event::Released => {
                suspects.clear();
                on_probation = None;
                if matches!(event, Event::Released) {
                    running.clear();
                }
            }
            Event::Crashed => {
                on_probation = None;
                suspects.extend(std::mem::take(&mut running).keys().map(suspect));
            }
            _ => (),
        }
    }
    Ok(())
}

/// A run in which the server died too often is a dead letter, unless the policy keeps none.
fn check_ends(world: &World<'_>, stories: &BTreeMap<RunKey, Story>) -> Verdict {
    for (key, story) in stories.iter().filter(|(_, story)| story.is_crash_loop) {
        let is_dead = story.states.contains(&RunState::Dead);
        let Policies { dead_letters, .. } = policies(world.script, story, key);
        // After a start by hand the count may stand at its end though nobody died.
        let is_asked =
            story.was_revived || story.first.as_ref().is_none_or(|run| run.cause == Cause::Request);
        let may = is_asked || is_dead || dead_letters == DeadLetters::Never || world.was_removed(&key.job);
        ensure!(may, "lost: the server died in {key} {MAX_CRASHES} times, and it is no dead letter");
    }
    Ok(())
}

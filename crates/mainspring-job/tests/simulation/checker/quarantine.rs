//! A run that kills the server starts a few at a time, not for ever, and ends as a dead letter; a power cut
//! changes none of that.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mainspring_job::{
    Cause, Command, DeadLetters, JobName, MAX_CRASHES, MAX_ON_PROBATION, PROBATION, RunKey, RunState, Scope,
};

use crate::simulation::checker::attempts::{RecordedStep, Stories};
use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::script::Script;
use crate::simulation::world::World;

pub(crate) fn check(world: &World<'_>, stories: &Stories) -> Verdict {
    check_count(world, stories)?;
    check_few(world, stories)?;
    check_ends(world, stories)
}

/// No job kills the server more often in a row than it may, unless a person has a hand in it.
fn check_count(world: &World<'_>, stories: &Stories) -> Verdict {
    let mut crashes: BTreeMap<JobName, u32> = BTreeMap::new();
    let mut there: BTreeSet<JobName> = (0..world.script.subjects.len()).map(Script::name).collect();
    for event in &world.log {
        match event {
            Event::Started { key, attempt, cause, at, .. }
                if world.script.is_poison(&key.job) && is_soon(stories, key, *attempt, *at) =>
            {
                let count = crashes.entry(key.job.clone()).or_default();
                *count += 1;
                let may = *count <= MAX_CRASHES || *cause == Cause::Request;
                ensure!(may, "out of policy: {key} kills the server for the {count}th time in a row");
            }
            Event::Issued { command: Command::Resume(Scope::Job(name)), .. } => drop(crashes.remove(name)),
            // Taken away or put back: another life begins.
            Event::Issued { command: Command::Apply(definitions), .. } => {
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

/// When the start of an attempt was recorded: what is on record after it may have been decided before the
/// attempt was step to the executor.
fn recorded(stories: &Stories, key: &RunKey, attempt: u32) -> Option<Timestamp> {
    let is_start = |step: &&RecordedStep| step.state == RunState::Running && step.attempt == attempt;
    stories.get(key)?.steps.iter().find(is_start).map(|step| step.at)
}

fn is_soon(stories: &Stories, key: &RunKey, attempt: u32, at: Timestamp) -> bool {
    recorded(stories, key, attempt).is_some_and(|recorded| at.duration_since(recorded) < PROBATION)
}

/// What is in quarantine when the server dies in a run: its job, or a one-shot job itself.
fn held(key: &RunKey) -> String {
    if Script::index(&key.job).is_some() { key.job.to_string() } else { key.to_string() }
}

/// What may have killed the server starts a few at a time, and after a second crash alone: the next when one
/// has ended or has outlived its probation.
fn check_few(world: &World<'_>, stories: &Stories) -> Verdict {
    // Since when.
    let mut running: BTreeMap<RunKey, Timestamp> = BTreeMap::new();
    let mut crashes: BTreeMap<String, u32> = BTreeMap::new();
    // Since when, and with how many crashes.
    let mut on_probation: BTreeMap<RunKey, (Timestamp, u32)> = BTreeMap::new();
    let mut was_set_back = false;
    for event in &world.log {
        match event {
            Event::Started { key, attempt, at, .. } => {
                on_probation.retain(|key, (since, _)| {
                    let is_over = PROBATION <= at.duration_since(*since);
                    if is_over {
                        crashes.remove(&held(key));
                    }
                    !is_over
                });
                let count = crashes.get(&held(key)).copied().unwrap_or(0);
                let is_one_alone = on_probation.values().any(|(_, count)| 1 < *count);
                let may = match count {
                    0 => true,
                    1 => on_probation.len() < MAX_ON_PROBATION && !is_one_alone,
                    _ => on_probation.is_empty(),
                };
                ensure!(may, "out of policy: {key}, {count} crashes, starts beside {on_probation:?}");
                if 0 < count {
                    on_probation.insert(key.clone(), (*at, count));
                }
                running.insert(key.clone(), recorded(stories, key, *attempt).unwrap_or(*at));
            }
            Event::Ended { key, .. } => {
                running.remove(key);
                crashes.remove(&held(key));
                on_probation.remove(key);
            }
            // How long a probation takes on such a clock, and whose pause was lifted when, is not known here.
            Event::SetBack | Event::Issued { .. } | Event::Released => {
                was_set_back |= matches!(event, Event::SetBack);
                crashes.clear();
                on_probation.clear();
                if matches!(event, Event::Released) {
                    running.clear();
                }
            }
            Event::Rebooted => {
                on_probation.clear();
                running.clear();
            }
            Event::Crashed { at } => {
                for (key, (since, _)) in std::mem::take(&mut on_probation) {
                    if PROBATION <= at.duration_since(since) {
                        crashes.remove(&held(&key));
                    }
                }
                // What is on record of a clock that was ahead may say that the server lived on.
                let is_soon = |since: &Timestamp| !was_set_back && at.duration_since(*since) < PROBATION;
                let dead = std::mem::take(&mut running).into_iter().filter(|(_, since)| is_soon(since));
                let held: BTreeSet<String> = dead.map(|(key, _)| held(&key)).collect();
                held.into_iter().for_each(|held| *crashes.entry(held).or_default() += 1);
            }
            _ => (),
        }
    }
    Ok(())
}

/// A run in which the server died too often is a dead letter, unless the policy keeps none.
fn check_ends(world: &World<'_>, stories: &Stories) -> Verdict {
    for (key, story) in stories.iter().filter(|(_, story)| story.is_crash_loop) {
        let is_dead = story.steps.iter().any(|step| step.state == RunState::Dead);
        // After a start by hand the count may stand at its end though no server died.
        let is_asked = story.first.cause == Cause::Request
            || story.steps.iter().any(|step| step.state == RunState::Dead);
        let keeps = story.policies.dead_letters != DeadLetters::Never;
        let is_removed = world.log.iter().any(|event| {
            matches!(event, Event::Issued { command: Command::Apply(set), .. }
                if !set.jobs.iter().any(|job| job.name == key.job))
        });
        let may = is_asked || is_dead || !keeps || is_removed;
        ensure!(may, "lost: the server died in {key} {MAX_CRASHES} times, and it is no dead letter");
    }
    Ok(())
}

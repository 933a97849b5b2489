//! Judges a history of several owners: by the checks of the single owner's histories that hold for the log
//! of a store that has several writers, and by the laws that only several can break.
//!
//! | law | check |
//! |---|---|
//! | one start record for each attempt, and each starts once | `attempts::stories`, `attempts::check_starts` |
//! | what was acknowledged ended or is open; nothing is left | `acknowledged::check`, `check_end` |
//! | each occurrence ended, was missed or skipped with a reason | `coverage::check`, `coverage::watch_end` |
//! | nothing is written under an old token, nothing twice; watermarks grow | the store of `world` |
//! | nothing starts after the lease went to another | `begin_attempt` |
//! | who starts an attempt has recorded its start | [`recorded_by_its_owner`] |
//! | two attempts of a run never overlap, but see there | [`side_by_side`] |
//! | no crash is counted for a run that went on for long after its start | [`blamed`] |
//! | nothing is decided before its time, by the clock of the owner that decides | [`early`] |

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{Answer, Cause, JobName, Operation, PROBATION, Run, RunKey, RunState};

use super::world::Owners;
use crate::simulation::checker::{CHECKS, Check, Verdict, ensure, judge};
use crate::simulation::event::Event;
use crate::simulation::world::World;

/// Checks of the single owner's histories that need its world, in which a batch is on disk before the next
/// fact is told: here a start may be on its way when the server is asked to stop, a place become free, or a
/// run that counts be replaced before all that a takeover decided is on disk.
const OF_ONE_SERVER: [&str; 3] = ["rest::watch_stop", "slots::watch", "starting::check_boots"];

pub(crate) fn check(world: &Owners<'_>) -> Verdict {
    if let Some(fault) = &world.fault {
        return Err(fault.clone());
    }
    early(world)?;
    recorded_by_its_owner(world)?;
    side_by_side(world)?;
    blamed(world)?;
    let is_shared = |name: &str| {
        !OF_ONE_SERVER.contains(&name) && (name != "quarantine::check" || world.plan.tells_deaths())
    };
    let shared: Vec<(&str, Check)> = CHECKS.iter().filter(|(name, _)| is_shared(name)).copied().collect();
    let index = (0..world.servers.len()).find(|index| world.servers[*index].owns().is_some());
    let now = index.map_or(world.high_water, |index| world.reading(index).wall);
    let seen =
        World::of_log(&world.plan.script, now, world.high_water, world.disk.clone(), world.log.clone());
    judge(&seen, &shared)
}

/// Whether a run is for its nominal time, and not for a person or a start of the server.
fn is_timed(run: &Run) -> bool {
    matches!(run.cause, Cause::Trigger | Cause::CatchUp | Cause::Once)
}

/// A run that is planned to start at once is due by then, and by when it is planned no clock has lied: a
/// later owner's clock may show less.
fn early(world: &Owners<'_>) -> Verdict {
    for event in &world.log {
        let Event::Wrote { operation, answer: Answer::New, .. } = event else { continue };
        match operation {
            Operation::Plan(run) | Operation::Fire { run, .. } if is_timed(run) => {
                let (key, at) = (&run.key, run.planned);
                ensure!(key.nominal <= at, "early: {key} is planned at {at}");
                let waits = run.state == RunState::Scheduled || !run.state.is_open();
                ensure!(waits || run.due <= at, "early: {key} is due at {}, and starts at {at}", run.due);
                ensure!(at <= world.high_water, "early: {key} is planned at {at}");
            }
            _ => (),
        }
    }
    Ok(())
}

/// The owner that starts an attempt is the one whose batch recorded the start, and starts it once. What an
/// owner starts that was robbed of its lease and does not know it yet is seen here alone.
fn recorded_by_its_owner(world: &Owners<'_>) -> Verdict {
    let mut records: BTreeMap<(&RunKey, u32), u64> = BTreeMap::new();
    for event in &world.log {
        let Event::Wrote { batch: (epoch, _), operation, answer: Answer::New } = event else { continue };
        match operation {
            Operation::Plan(run) | Operation::Fire { run, .. } if run.state == RunState::Running => {
                records.insert((&run.key, run.attempt), *epoch);
            }
            Operation::Begin { key, attempt, .. } => {
                records.insert((key, *attempt), *epoch);
            }
            _ => (),
        }
    }
    let mut started = BTreeSet::new();
    for process in &world.processes {
        let (key, attempt) = (&process.key, process.attempt);
        ensure!(started.insert((key, attempt)), "doubled: {key} #{attempt} was started twice");
        let by = records.get(&(key, attempt));
        ensure!(by == Some(&process.epoch), "doubled: {key} #{attempt} was started, and recorded by {by:?}");
    }
    Ok(())
}

/// A takeover counts a crash in a job only for a run that had started soon before its owner was last heard
/// of.
fn blamed(world: &Owners<'_>) -> Verdict {
    let mut started: BTreeMap<&RunKey, Timestamp> = BTreeMap::new();
    let mut counts: BTreeMap<&JobName, u32> = BTreeMap::new();
    // For each owner and job: whether it counts a crash more, and how young the youngest was that it ended.
    let mut found: BTreeMap<(u64, &JobName), (bool, Option<SignedDuration>)> = BTreeMap::new();
    for event in &world.log {
        let Event::Wrote { batch: (epoch, _), operation, answer: Answer::New } = event else { continue };
        match operation {
            Operation::Plan(run) | Operation::Fire { run, .. } if run.state == RunState::Running => {
                started.insert(&run.key, run.started.unwrap_or(run.planned));
            }
            Operation::Begin { key, at, .. } => drop(started.insert(key, *at)),
            Operation::Mark(mark) => {
                let before = counts.insert(&mark.job, mark.crashes).unwrap_or(0);
                found.entry((*epoch, &mark.job)).or_default().0 |= before < mark.crashes;
            }
            Operation::End { key, state: RunState::Abandoned, at, outcome: None, .. } => {
                let age = at.duration_since(started[key]);
                let youngest = &mut found.entry((*epoch, &key.job)).or_default().1;
                *youngest = Some(youngest.map_or(age, |youngest| youngest.min(age)));
            }
            _ => (),
        }
    }
    for ((epoch, job), (is_blamed, youngest)) in found {
        let Some(silent) = world.silent.get(&epoch) else { continue };
        let most = SignedDuration::try_from(*silent).unwrap() + PROBATION;
        let may = !is_blamed || youngest.is_some_and(|youngest| youngest < most);
        ensure!(may, "untrue: the server died in {job}, of which the youngest run was {youngest:?} old");
    }
    Ok(())
}

/// Two attempts of a run never overlap, but where the first one's server was stopped when it was to end it,
/// or a person ended its lease.
fn side_by_side(world: &Owners<'_>) -> Verdict {
    let mut by_run: BTreeMap<&RunKey, Vec<usize>> = BTreeMap::new();
    for (index, process) in world.processes.iter().enumerate() {
        let earlier = by_run.entry(&process.key).or_default();
        for other in earlier.iter().map(|other| &world.processes[*other]) {
            let overlaps = other.ended.is_none_or(|ended| process.began < ended);
            let may = other.is_excused || world.is_robbed(other.epoch);
            ensure!(
                !overlaps || may,
                "overlap: {} #{} of server {} runs beside #{} of server {}",
                process.key,
                process.attempt,
                process.server,
                other.attempt,
                other.server
            );
        }
        earlier.push(index);
    }
    Ok(())
}

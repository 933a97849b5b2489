//! The laws of a pool, by the records and by what the processes did.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use mainspring_job::{MAX_PAGE, Pause, Query, Reader, Run, RunKey, RunState, WorkerId};

use super::world::{EACH, Pool, Process};

pub(super) fn check(pool: &Pool) -> Result<(), String> {
    if let Some(fault) = &pool.fault {
        return Err(fault.clone());
    }
    each_process_is_on_record_where_it_ran(pool)?;
    what_ended_by_itself_is_recorded_so(pool)?;
    what_is_for_each_worker_ran_at_each(pool)?;
    what_ended_is_recorded_with_its_time(pool)?;
    nothing_is_left(pool)
}

/// The record of an end says when the process ended, and not when the planner was told.
fn what_ended_is_recorded_with_its_time(pool: &Pool) -> Result<(), String> {
    for process in &pool.processes {
        let recorded = pool.ended.get(&(process.key.clone(), process.attempt));
        let ended = process.ended.map(|now| pool.start + SignedDuration::from_millis(now));
        if recorded.is_some_and(|recorded| Some(*recorded) != ended) {
            return Err(format!(
                "untrue: {} #{} ended at {ended:?}, and {recorded:?} is on record",
                process.key, process.attempt
            ));
        }
    }
    Ok(())
}

/// Nothing ran that was not on record as this worker's.
fn each_process_is_on_record_where_it_ran(pool: &Pool) -> Result<(), String> {
    for process in &pool.processes {
        let place = pool.begun.get(&(process.key.clone(), process.attempt)).copied().flatten();
        if place != Some(process.worker) {
            return Err(format!(
                "unrecorded: {} #{} ran at {}",
                process.key, process.attempt, process.worker
            ));
        }
    }
    Ok(())
}

/// A run of the job that each worker has ran at the worker that its key names, or at one with which alone a
/// planner began; and its job has a run for each worker that there was when it was planned.
fn what_is_for_each_worker_ran_at_each(pool: &Pool) -> Result<(), String> {
    let is_elsewhere = |process: &&Process| {
        process.key.job.as_str() == EACH
            && u64::from(process.key.series) != process.worker.0
            && !pool.alone.contains(&process.worker)
    };
    if let Some(process) = pool.processes.iter().find(is_elsewhere) {
        return Err(format!("misplaced: {} ran at {}", process.key, process.worker));
    }
    match pool.planned_for.iter().find(|(_, (planned, there))| !there.is_subset(planned)) {
        Some((nominal, (planned, there))) => {
            Err(format!("misplaced: {EACH}@{nominal} is planned for {planned:?}, and there are {there:?}"))
        }
        None => Ok(()),
    }
}

/// Only its worker, or the loss or the end of that, abandons a run: no planner's fall does. And what its
/// worker ended by itself is abandoned, unless a client asked for that.
fn what_ended_by_itself_is_recorded_so(pool: &Pool) -> Result<(), String> {
    for (key, attempt, state) in &pool.ends {
        let place: Option<WorkerId> = pool.begun.get(&(key.clone(), *attempt)).copied().flatten();
        let is_over = place.is_some_and(|id| pool.lost.contains(&id) || pool.left.contains(&id));
        let has_left = place.is_some_and(|id| pool.left.contains(&id));
        let process = pool.processes.iter().find(|it| it.key == *key && it.attempt == *attempt);
        let (has_begun, is_cut_off) = (process.is_some(), process.is_some_and(|it| it.is_cut_off));
        let is_asked = pool.cancelled.contains(&(key.clone(), *attempt));
        let is_said = *state == RunState::Abandoned || is_asked && *state == RunState::Cancelled;
        if is_cut_off && !state.is_open() && !is_said {
            return Err(format!("untrue: {key} #{attempt} is {state}, and its worker ended it by itself"));
        }
        if *state == RunState::Abandoned && has_left && !has_begun {
            return Err(format!("ended by a departure: {key} #{attempt} is abandoned, and has not begun"));
        }
        if *state == RunState::Abandoned && !is_over && !is_cut_off {
            return Err(format!(
                "ended by the fall of a planner: {key} #{attempt} is abandoned, and its worker lives"
            ));
        }
    }
    Ok(())
}

/// After a calm everything has an end: each attempt, each run, and each submission that was acknowledged.
fn nothing_is_left(pool: &Pool) -> Result<(), String> {
    let mut disk = pool.disk.clone();
    let open = disk.open_runs(None, MAX_PAGE).unwrap();
    let known: BTreeSet<(&RunKey, u32)> = pool.ends.iter().map(|(key, attempt, _)| (key, *attempt)).collect();
    // A job in which servers died again and again waits for a person.
    let (records, _) = disk.jobs().unwrap();
    let is_paused = |run: &&Run| {
        records
            .iter()
            .any(|record| record.mark.job == run.key.job && record.mark.pause == Some(Pause::Crashes))
    };
    if let Some(run) = open.iter().filter(|run| !is_paused(run)).find(|run| run.state != RunState::Scheduled)
    {
        return Err(format!("lost: {} is still {} after a calm", run.key, run.state));
    }
    if let Some((key, attempt)) = pool.begun.keys().find(|(key, attempt)| !known.contains(&(key, *attempt))) {
        return Err(format!("lost: {key} #{attempt} has begun, and no end is on record"));
    }
    let mut by_name = BTreeMap::new();
    for name in &pool.acknowledged {
        let runs = disk.find(&Query::new(10).of(name.clone())).unwrap();
        by_name.insert(name, runs.len());
    }
    match by_name.into_iter().find(|(_, count)| *count != 1) {
        Some((name, count)) => Err(format!("lost: {name} was acknowledged, and has {count} runs")),
        None => Ok(()),
    }
}

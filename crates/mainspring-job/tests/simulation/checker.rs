//! Judges a history by what the disk accepted and what the world saw: lost, doubled, early, out of policy.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Answer, CatchUp, Cause, Command, DeadLetters, JobName, MAX_CRASHES, Operation, Outcome, Overlap,
    Policies, Query, Reply, Retry, Run, RunKey, RunState, Scope, Shard, Store, Ticket,
};

use crate::simulation::event::Event;
use crate::simulation::poison;
use crate::simulation::script::Script;
use crate::simulation::world::World;

pub(crate) type Verdict = Result<(), String>;

macro_rules! ensure {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(format!($($text)*));
        }
    };
}

pub(crate) use ensure;

/// What the journal says of one run.
#[derive(Default)]
pub(crate) struct Story {
    pub states: Vec<RunState>,
    pub first: Option<Run>,
    /// Attempt, start.
    begun: Vec<(u32, Timestamp)>,
    /// Attempt, end, how.
    ended: BTreeMap<u32, RunState>,
    /// Due times that were ever recorded.
    dues: BTreeSet<Timestamp>,
    pub was_revived: bool,
    /// The server died in it so often that it is not tried again.
    pub is_crash_loop: bool,
    policies: Option<Policies>,
}

pub(crate) fn check(world: &World<'_>) -> Verdict {
    let stories = stories(world)?;
    check_starts(world, &stories)?;
    check_side_by_side(world)?;
    check_acknowledged(world, &stories)?;
    check_pauses(world)?;
    check_stops(world)?;
    poison::check(world, &stories)?;
    check_policies(world, &stories)?;
    for index in 0..world.script.subjects.len() {
        check_coverage(world, index)?;
    }
    check_end(world)
}

pub(crate) fn policies(script: &Script, story: &Story, key: &RunKey) -> Policies {
    let index = key.job.as_str().strip_prefix("job-").and_then(|index| index.parse::<usize>().ok());
    match index {
        Some(index) => script.jobs[index].work.policies.clone(),
        None => story.policies.clone().unwrap_or_default(),
    }
}

fn stories(world: &World<'_>) -> Result<BTreeMap<RunKey, Story>, String> {
    let mut stories: BTreeMap<RunKey, Story> = BTreeMap::new();
    for (operation, answer) in &world.journal {
        if *answer != Answer::New {
            // Only what people ask for may come twice or too late.
            let is_asked = match operation {
                Operation::Submit(_)
                | Operation::Withdraw { .. }
                | Operation::Forget(_)
                | Operation::Mark(_) => true,
                Operation::Move { from, .. } => *from == RunState::Dead,
                _ => false,
            };
            ensure!(is_asked, "doubled: the store refused {operation:?} with {answer:?}");
            continue;
        }
        match operation {
            Operation::Plan(run) | Operation::Fire { run, .. } => {
                let story = stories.entry(run.key.clone()).or_default();
                ensure!(story.first.is_none(), "doubled: {} is recorded twice", run.key);
                story.first = Some(run.clone());
                story.policies = run.work.as_ref().map(|work| work.policies.clone());
                story.states.push(run.state);
                story.dues.insert(run.due);
                if run.state == RunState::Running {
                    story.begun.push((run.attempt, run.started.unwrap()));
                }
            }
            Operation::Begin { key, attempt, at } => {
                let story = stories.get_mut(key).ok_or_else(|| format!("{key} begins from nothing"))?;
                story.states.push(RunState::Running);
                story.begun.push((*attempt, *at));
            }
            Operation::End { key, attempt, state, outcome, crashes, .. } => {
                let story = stories.get_mut(key).ok_or_else(|| format!("{key} ends from nothing"))?;
                story.states.push(*state);
                story.ended.insert(*attempt, *state);
                story.is_crash_loop |= MAX_CRASHES <= *crashes;
                // The end was never told, or the server killed it in order to stop.
                let is_cut_off = matches!(outcome, None | Some(Outcome::Killed));
                let is_abandoned = *state == RunState::Abandoned;
                ensure!(
                    if is_abandoned { is_cut_off } else { outcome.is_some() },
                    "{key} ended as {state} with {outcome:?}"
                );
                let has_succeeded = *outcome == Some(Outcome::Succeeded);
                ensure!(
                    has_succeeded == (*state == RunState::Succeeded),
                    "{key}: {outcome:?} became {state}"
                );
            }
            Operation::Move { key, from, to, due, .. } => {
                let story = stories.get_mut(key).ok_or_else(|| format!("{key} moves from nothing"))?;
                story.was_revived |= *from == RunState::Dead && *to == RunState::Scheduled;
                story.states.push(*to);
                story.dues.insert(*due);
            }
            _ => (),
        }
    }
    for (key, story) in &stories {
        for pair in story.states.windows(2) {
            ensure!(pair[0].may_become(pair[1]), "out of policy: {key} went from {} to {}", pair[0], pair[1]);
        }
    }
    Ok(stories)
}

fn check_starts(world: &World<'_>, stories: &BTreeMap<RunKey, Story>) -> Verdict {
    let mut started = BTreeSet::new();
    for event in &world.log {
        let Event::Started { key, attempt, cause, due, high_water, .. } = event else { continue };
        ensure!(started.insert((key.clone(), *attempt)), "doubled: {key} attempt {attempt} started twice");
        let story = stories.get(key).ok_or_else(|| format!("{key} started and was never recorded"))?;
        let has_begun = story.begun.iter().any(|(begun, _)| begun == attempt);
        ensure!(has_begun, "doubled: {key} attempt {attempt} started and its start is not on disk");
        ensure!(*due <= *high_water, "early: {key} started at {high_water} and was due at {due}");
        ensure!(
            story.dues.contains(due),
            "out of policy: {key} was due at {due}, which is not what was recorded"
        );
        let is_timed = matches!(cause, Cause::Trigger | Cause::CatchUp | Cause::Backfill | Cause::Once);
        ensure!(!is_timed || key.nominal <= *high_water, "early: {key} started at {high_water}");
    }
    for (key, story) in stories {
        for (index, (attempt, at)) in story.begun.iter().enumerate() {
            ensure!(
                *attempt as usize == index + 1,
                "doubled: attempt {attempt} of {key} began as number {index}"
            );
            ensure!(story.dues.iter().any(|due| due <= &world.high_water), "early: {key} began at {at}");
        }
    }
    Ok(())
}

/// Replays who ran beside whom.
fn check_side_by_side(world: &World<'_>) -> Verdict {
    let mut running: BTreeSet<(RunKey, u32)> = BTreeSet::new();
    let jobs: Vec<_> = (0..world.script.subjects.len()).map(|index| world.script.job(index)).collect();
    for event in &world.log {
        match event {
            Event::Started { key, attempt, .. } => {
                running.insert((key.clone(), *attempt));
            }
            Event::Ended { key, attempt } => {
                running.remove(&(key.clone(), *attempt));
            }
            Event::Crashed { .. } | Event::Released => running.clear(),
            _ => (),
        }
        ensure!(running.len() <= world.script.max_running, "out of policy: {running:?} run at once");
        let mut in_group = 0;
        for (index, subject) in world.script.subjects.iter().enumerate() {
            let (name, policies) = (&jobs[index].name, &jobs[index].work.policies);
            let count = running.iter().filter(|(key, _)| key.job == *name).count();
            in_group += if subject.group.is_some() { count } else { 0 };
            let may = policies.overlap == Overlap::Allow || count <= 1;
            ensure!(may, "out of policy: {count} runs of {name} at once");
        }
        ensure!(
            in_group <= world.script.group_limit as usize,
            "out of policy: {in_group} of the group at once"
        );
    }
    Ok(())
}

fn check_acknowledged(world: &World<'_>, stories: &BTreeMap<RunKey, Story>) -> Verdict {
    let mut disk = world.disk.clone();
    for event in &world.log {
        let Event::Acknowledged { command, reply, .. } = event else { continue };
        match reply {
            Reply::Submitted { id, name } => {
                let key = RunKey::new(name.clone(), id.due);
                let is_pending =
                    disk.pending_named(Shard::WHOLE, name).unwrap().is_some_and(|once| once.id == *id);
                let is_run = disk.run(Shard::WHOLE, &key).unwrap().is_some();
                ensure!(is_pending || is_run, "lost: {name} was acknowledged");
                ensure!(!(is_pending && is_run), "doubled: {name} ran and is still pending");
                ensure!(
                    !is_pending || world.now < id.due,
                    "lost: {name} is pending, and was due at {}",
                    id.due
                );
            }
            Reply::Planned { key } => ensure!(stories.contains_key(key), "lost: {key} was acknowledged"),
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

/// After a pause is acknowledged nothing of it starts, until somebody asks to resume.
fn check_pauses(world: &World<'_>) -> Verdict {
    // Each scope that is paused, since which command, and whether that has been acknowledged.
    let mut paused: BTreeMap<Option<JobName>, (Ticket, bool)> = BTreeMap::new();
    let named = |scope: &Scope| match scope {
        Scope::All => None,
        Scope::Job(name) => Some(name.clone()),
    };
    for event in &world.log {
        match event {
            Event::Asked { ticket, command: Command::Pause(scope) } => {
                paused.entry(named(scope)).or_insert((*ticket, false));
            }
            Event::Acknowledged { ticket, command: Command::Pause(scope), reply: Reply::Done } => {
                let entry = paused.get_mut(&named(scope)).filter(|(asked, _)| asked == ticket);
                if let Some((_, is_acknowledged)) = entry {
                    *is_acknowledged = true;
                }
            }
            Event::Asked { command: Command::Resume(scope), .. } => {
                paused.remove(&named(scope));
            }
            // A job that is taken away and put back is a new one.
            Event::Asked { command: Command::Apply(definitions), .. } => paused.retain(|name, _| {
                let is_there = |name: &JobName| definitions.jobs.iter().any(|job| job.name == *name);
                name.as_ref().is_none_or(is_there)
            }),
            Event::Started { key, cause, .. } => {
                let is_paused = |name| paused.get(&name).is_some_and(|(_, is_acknowledged)| *is_acknowledged);
                ensure!(!is_paused(None), "out of policy: {key} started while everything was paused");
                let may = matches!(cause, Cause::Request | Cause::Once) || !is_paused(Some(key.job.clone()));
                ensure!(may, "out of policy: {key} started while its job was paused");
            }
            _ => (),
        }
    }
    Ok(())
}

/// A server that ends starts nothing; the next one does.
fn check_stops(world: &World<'_>) -> Verdict {
    let mut is_stopping = false;
    for event in &world.log {
        match event {
            Event::Stopped => is_stopping = true,
            Event::Crashed { .. } | Event::Released => is_stopping = false,
            Event::Started { key, .. } => {
                ensure!(!is_stopping, "out of policy: {key} started while the server ended");
            }
            _ => (),
        }
    }
    Ok(())
}

fn check_policies(world: &World<'_>, stories: &BTreeMap<RunKey, Story>) -> Verdict {
    let mut caught_up: BTreeMap<(JobName, Timestamp), u32> = BTreeMap::new();
    let mut run_counts: BTreeMap<JobName, u64> = BTreeMap::new();
    for (key, story) in stories {
        let Some(first) = &story.first else { continue };
        let policies = policies(world.script, story, key);
        check_retries(key, story, &policies)?;
        check_last_end(world, key, story, &policies)?;
        let age = Duration::try_from(first.planned.duration_since(key.nominal)).unwrap_or_default();
        let misfire = policies.misfire;
        match (first.cause, first.span, first.state) {
            (Cause::Trigger, _, RunState::Missed | RunState::SkippedPaused) => continue,
            (Cause::Trigger, _, _) => {
                ensure!(age <= misfire.grace, "out of policy: {key} ran on time, {age:?} late");
                let jitter = Duration::try_from(first.due.duration_since(key.nominal)).unwrap_or_default();
                ensure!(jitter <= policies.jitter, "out of policy: {key} has a jitter of {jitter:?}");
            }
            (Cause::CatchUp, _, _) => {
                ensure!(age <= misfire.window, "out of policy: {key} was made good after {age:?}");
                let spread = Duration::try_from(first.due.duration_since(first.planned)).unwrap_or_default();
                ensure!(spread <= misfire.spread, "out of policy: {key} was spread by {spread:?}");
                *caught_up.entry((key.job.clone(), first.planned)).or_default() += 1;
            }
            _ => continue,
        }
        *run_counts.entry(key.job.clone()).or_default() += u64::from(!story.begun.is_empty());
        if policies.overlap == Overlap::Allow {
            let has_skipped = story.states.contains(&RunState::SkippedOverlap);
            ensure!(!has_skipped, "out of policy: {key} was skipped though overlap is allowed");
        }
    }
    for ((job, at), count) in caught_up {
        let key = RunKey::new(job, at);
        let cap = match policies(world.script, &Story::default(), &key).misfire.catch_up {
            CatchUp::None => 0,
            CatchUp::Latest | CatchUp::Earliest => 1,
            CatchUp::All { cap } => cap,
        };
        // What was planned twice at one time was planned by two looks, each with its own cap.
        ensure!(count <= cap.max(1) * 4 && 0 < cap, "out of policy: {count} runs of {} made good", key.job);
    }
    for (index, subject) in world.script.subjects.iter().enumerate() {
        let name = Script::name(index);
        let count = run_counts.get(&name).copied().unwrap_or(0);
        let may = subject.max_runs.is_none_or(|max| count <= max) || world.was_removed(&name);
        ensure!(may, "out of policy: {name} ran {count} times");
    }
    Ok(())
}

fn check_retries(key: &RunKey, story: &Story, policies: &Policies) -> Verdict {
    for (attempt, _) in story.begun.iter().skip(1) {
        let before = story.ended.get(&(attempt - 1)).copied();
        let Some(before) = before else {
            return Err(format!("doubled: attempt {attempt} of {key} began too soon"));
        };
        let may = policies.retry.follows(attempt - 1, before) || story.was_revived;
        ensure!(may, "doubled: attempt {attempt} of {key} follows one that {before}");
    }
    Ok(())
}

/// What follows the end of an attempt: another while the policy names that end and attempts are left, a dead letter if it names
/// the end and none is left, and nothing if it does not name it.
fn check_last_end(world: &World<'_>, key: &RunKey, story: &Story, policies: &Policies) -> Verdict {
    let Retry { on, max, .. } = policies.retry;
    let keeps_dead = match policies.dead_letters {
        DeadLetters::AfterRetries => 0 < max,
        DeadLetters::Always => true,
        DeadLetters::Never => false,
    };
    for (index, state) in story.states.iter().enumerate().filter(|(_, state)| state.is_failure()) {
        let next = story.states.get(index + 1).copied();
        if *state == RunState::Dead {
            continue;
        }
        ensure!(
            next != Some(RunState::Dead) || on.holds(*state) && keeps_dead || story.is_crash_loop,
            "out of policy: {key} is a dead letter after it was {state}"
        );
        let attempt = story.states[..=index].iter().filter(|state| **state == RunState::Running).count();
        // Of a job that was removed while the server was down nobody knows the policies any more.
        if story.was_revived || story.is_crash_loop || !on.holds(*state) || world.was_removed(&key.job) {
            continue;
        }
        let is_owed = attempt <= max as usize;
        ensure!(
            !is_owed || next == Some(RunState::Scheduled),
            "lost: {key} is {state}, and a retry was owed"
        );
        let is_kept = attempt <= max as usize || !keeps_dead || next == Some(RunState::Dead);
        ensure!(is_kept, "lost: {key} is {state} and no dead letter");
    }
    Ok(())
}

/// Every occurrence from the job's first sight to the last look is on record once: as a run, or in a stretch that did not run.
fn check_coverage(world: &World<'_>, index: usize) -> Verdict {
    let (name, subject) = (Script::name(index), &world.script.subjects[index]);
    if world.was_removed(&name) || subject.max_runs.is_some() {
        return Ok(());
    }
    let first_mark = world.journal.iter().find_map(|(operation, answer)| match operation {
        Operation::Define { mark, .. } if *answer == Answer::New && mark.job == name => Some(mark.watermark),
        _ => None,
    });
    let first_mark = first_mark.ok_or_else(|| format!("lost: {name} was never kept"))?;
    let query = Query { job: Some(name.clone()), limit: 10_000, ..Query::default() };
    let mut runs = world.disk.clone().find(Shard::WHOLE, &query).unwrap();
    runs.retain(|run| matches!(run.cause, Cause::Trigger | Cause::CatchUp));
    runs.reverse();
    let period = SignedDuration::from_secs(subject.period);
    let after = |moment: Timestamp| {
        let marks = moment.as_second().div_euclid(subject.period) + 1;
        Timestamp::from_second(marks * subject.period).unwrap()
    };
    let mut expected = after(first_mark);
    for run in &runs {
        ensure!(expected <= run.key.nominal, "doubled: {} is on record twice", run.key);
        ensure!(run.key.nominal <= expected, "lost: {name} at {expected} is not on record");
        let last = run.span.map_or(run.key.nominal, |span| span.last);
        if let Some(span) = run.span {
            let count = last.duration_since(run.key.nominal).as_secs() / subject.period + 1;
            let is_right =
                if span.is_exact { span.count as i64 == count } else { (span.count as i64) < count };
            ensure!(is_right, "out of policy: {} says {span:?} and there were {count}", run.key);
        }
        expected = last + period;
    }
    let record = world.last_records.iter().find(|record| record.mark.job == name);
    let is_paused = record.is_some_and(|record| record.mark.pause.is_some());
    ensure!(world.last_look < expected || is_paused, "lost: {name} at {expected} is not on record");
    Ok(())
}

/// In the end nothing is open and nothing runs.
fn check_end(world: &World<'_>) -> Verdict {
    let open = world.disk.clone().open_runs(Shard::WHOLE, None, 10).unwrap();
    ensure!(open.is_empty(), "lost: {} is still {}", open[0].key, open[0].state);
    Ok(())
}

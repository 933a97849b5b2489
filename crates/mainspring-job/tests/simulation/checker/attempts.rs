//! Attempts: started once, recorded first, tried again as the policy says, and counted as failures of their
//! job.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mainspring_job::{
    Answer, Cause, Command, DeadLetters, JobName, MAX_CRASHES, Operation, Outcome, Pause, Policies, Retry,
    Run, RunKey, RunState, Scope,
};

use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::script::Script;
use crate::simulation::world::World;

/// What the disk says of one run, in order.
pub(crate) struct Story {
    pub first: Run,
    pub policies: Policies,
    pub steps: Vec<RecordedStep>,
    /// The server died in it so often that it is not tried again.
    pub is_crash_loop: bool,
}

/// One step of a run: where it stands in the log, the state, and when it was decided.
pub(crate) struct RecordedStep {
    pub index: usize,
    pub state: RunState,
    pub at: Timestamp,
    pub due: Timestamp,
    /// Of a start: which attempt it is.
    pub attempt: u32,
}

pub(crate) type Stories = BTreeMap<RunKey, Story>;

/// From which places in the log on each job is defined, or not any more.
struct DefinedSpans(BTreeMap<JobName, Vec<(usize, bool)>>);

impl DefinedSpans {
    fn of(world: &World<'_>) -> DefinedSpans {
        let mut spans: BTreeMap<JobName, Vec<(usize, bool)>> = BTreeMap::new();
        for (index, event) in world.log.iter().enumerate() {
            let Event::Wrote { operation, answer: Answer::New, .. } = event else { continue };
            match operation {
                Operation::Define { mark, .. } => {
                    spans.entry(mark.job.clone()).or_default().push((index, true));
                }
                // One that is absent continues when it is back.
                Operation::Forget { job, absence: None, .. } => {
                    spans.entry(job.clone()).or_default().push((index, false));
                }
                _ => (),
            }
        }
        DefinedSpans(spans)
    }

    /// Whether a run's job was removed at a place in the log.
    fn is_of_removed(&self, run: &Run, index: usize) -> bool {
        run.cause != Cause::Once && self.is_removed(&run.key.job, index)
    }

    fn is_removed(&self, job: &JobName, index: usize) -> bool {
        let changes = self.0.get(job);
        let last = changes.and_then(|changes| changes.iter().rfind(|(changed, _)| *changed < index));
        last.is_some_and(|(_, is_defined)| !is_defined)
    }
}

/// What the store may refuse: what people ask for twice or too late, what another timetable names again, and
/// after a clock was set back the name of a run that no trigger names, which then gets another.
fn may_be_refused(operation: &Operation) -> bool {
    match operation {
        Operation::Submit(_) | Operation::Withdraw { .. } | Operation::Forget { .. } | Operation::Mark(_) => {
            true
        }
        Operation::Move { from, .. } => *from == RunState::Dead,
        Operation::Plan(run) => run.cause != Cause::Backfill,
        // A run that was asked for before, under the same key.
        Operation::Fire { run, .. } => run.cause == Cause::Request,
        _ => false,
    }
}

pub(crate) fn stories(world: &World<'_>) -> Result<Stories, String> {
    let mut stories = Stories::new();
    let mut was_set_back = false;
    // Runs that were refused when they were planned: what was decided of them before that was known is
    // refused too.
    let mut refused: BTreeSet<&RunKey> = BTreeSet::new();
    for (index, event) in world.log.iter().enumerate() {
        was_set_back |= matches!(event, Event::SetBack);
        if matches!(event, Event::Settled { .. }) {
            refused.clear();
        }
        let Event::Wrote { operation, answer, .. } = event else { continue };
        if *answer != Answer::New {
            let follows = match operation {
                Operation::Begin { key, .. } | Operation::Move { key, .. } => refused.contains(key),
                _ => false,
            };
            let is_plan = matches!(operation, Operation::Plan(_));
            let may = follows || may_be_refused(operation) && (!is_plan || was_set_back);
            if let Operation::Plan(run) | Operation::Fire { run, .. } = operation {
                refused.insert(&run.key);
            }
            ensure!(may, "doubled: the store refused {operation:?} with {answer:?}");
            continue;
        }
        tell(world.script, &mut stories, index, operation)?;
    }
    for (key, story) in &stories {
        for pair in story.steps.windows(2) {
            let (from, to) = (pair[0].state, pair[1].state);
            ensure!(from.may_become(to), "out of policy: {key} went from {from} to {to}");
        }
    }
    Ok(stories)
}

fn tell(script: &Script, stories: &mut Stories, index: usize, operation: &Operation) -> Verdict {
    let (key, step) = match operation {
        Operation::Plan(run) | Operation::Fire { run, .. } => {
            let at = run.started.unwrap_or(run.planned);
            let step = RecordedStep { index, state: run.state, at, due: run.due, attempt: run.attempt };
            let job = Script::index(&run.key.job).filter(|_| run.cause != Cause::Once);
            let work = job.map_or(run.work.as_deref(), |job| Some(&*script.job(job, 0).work));
            let policies = work.map(|work| work.policies.clone()).unwrap_or_default();
            let story = Story { first: run.clone(), policies, steps: Vec::new(), is_crash_loop: false };
            let before = stories.insert(run.key.clone(), story);
            ensure!(before.is_none(), "doubled: {} is recorded twice", run.key);
            (&run.key, step)
        }
        Operation::Begin { key, attempt, at, .. } => {
            (key, RecordedStep { index, state: RunState::Running, at: *at, due: *at, attempt: *attempt })
        }
        Operation::End { key, attempt, state, at, outcome, .. } => {
            // Its end was never told, or the server killed it in order to stop.
            let is_cut_off = matches!(outcome, None | Some(Outcome::Killed));
            let is_abandoned = *state == RunState::Abandoned;
            let is_told = if is_abandoned { is_cut_off } else { outcome.is_some() };
            ensure!(is_told, "untrue: {key} ended as {state} with {outcome:?}");
            let has_succeeded = *outcome == Some(Outcome::Succeeded);
            let is_right = has_succeeded == (*state == RunState::Succeeded);
            ensure!(is_right, "untrue: {key}: {outcome:?} became {state}");
            (key, RecordedStep { index, state: *state, at: *at, due: *at, attempt: *attempt })
        }
        Operation::Move { key, to, due, at, .. } => {
            (key, RecordedStep { index, state: *to, at: *at, due: *due, attempt: 0 })
        }
        _ => return Ok(()),
    };
    let story = stories.get_mut(key).ok_or_else(|| format!("{key} continues from nothing"))?;
    if let Operation::End { crashes, .. } = operation {
        story.is_crash_loop |= MAX_CRASHES <= *crashes;
    }
    story.steps.push(step);
    Ok(())
}

/// One start record for each attempt, on disk before it starts; each starts once, and not before its time.
pub(crate) fn check_starts(world: &World<'_>, stories: &Stories) -> Verdict {
    let mut started = BTreeSet::new();
    for (index, event) in world.log.iter().enumerate() {
        let Event::Started { key, attempt, cause, due, high_water, .. } = event else { continue };
        ensure!(started.insert((key, *attempt)), "doubled: {key} attempt {attempt} started twice");
        let story = stories.get(key).ok_or_else(|| format!("doubled: {key} started, and is on no record"))?;
        let is_record = |step: &RecordedStep| {
            step.attempt == *attempt && step.state == RunState::Running && step.index < index
        };
        let has_begun = story.steps.iter().any(is_record);
        ensure!(has_begun, "doubled: {key} attempt {attempt} started, and its start is not on disk");
        ensure!(*due <= *high_water, "early: {key} started at {high_water} and was due at {due}");
        let is_told = story.steps.iter().any(|step| step.due == *due);
        ensure!(is_told, "untrue: {key} was due at {due}, which is on no record");
        let is_timed = matches!(cause, Cause::Trigger | Cause::CatchUp | Cause::Backfill | Cause::Once);
        ensure!(!is_timed || key.nominal <= *high_water, "early: {key} started at {high_water}");
    }
    for (key, story) in stories {
        let begun = story.steps.iter().filter(|step| step.state == RunState::Running);
        for (number, step) in (1..).zip(begun) {
            ensure!(step.attempt == number, "doubled: attempt {} of {key} began as {number}", step.attempt);
            ensure!(step.at <= world.high_water, "early: {key} began at {}", step.at);
        }
    }
    Ok(())
}

/// What a handler has put off begins again at that time or later, unless the clock was set back meanwhile.
pub(crate) fn check_put_off(world: &World<'_>, stories: &Stories) -> Verdict {
    for (key, story) in stories {
        for steps in story.steps.windows(3) {
            let [begun, waits, next] = steps else { unreachable!("three are asked for") };
            let is_put_off = begun.state == RunState::Running && waits.state == RunState::Scheduled;
            let is_early = is_put_off && next.state != RunState::Cancelled && next.at < waits.due;
            let is_set_back =
                || world.log[begun.index..next.index].iter().any(|it| matches!(it, Event::SetBack));
            ensure!(
                !is_early || is_set_back(),
                "early: {key} was put off until {}, and continues at {}",
                waits.due,
                next.at
            );
        }
    }
    Ok(())
}

/// What follows the end of an attempt: another while the policy names that end and attempts are left, a dead
/// letter if it names the end and none is left, and nothing if it does not name it.
pub(crate) fn check_retries(world: &World<'_>, stories: &Stories) -> Verdict {
    let spans = DefinedSpans::of(world);
    for (key, story) in stories {
        let Retry { on, max, .. } = story.policies.retry;
        let keeps_dead = match story.policies.dead_letters {
            DeadLetters::AfterRetries => 0 < max,
            DeadLetters::Always => true,
            DeadLetters::Never => false,
            other => unreachable!("no script has {other:?}"),
        };
        let mut attempts = 0;
        for (position, step) in story.steps.iter().enumerate() {
            let before = position.checked_sub(1).map(|before| story.steps[before].state);
            let next = story.steps.get(position + 1);
            let next_state = next.map(|next| next.state);
            match step.state {
                RunState::Running => attempts += 1,
                // A person asked for another round.
                RunState::Scheduled if before == Some(RunState::Dead) => attempts = 0,
                // It was given back before it began, or put off.
                RunState::Queued | RunState::Scheduled if before == Some(RunState::Running) => attempts -= 1,
                _ => (),
            }
            if !matches!(step.state, RunState::Failed | RunState::TimedOut | RunState::Abandoned) {
                continue;
            }
            let (state, is_named) = (step.state, on.holds(step.state));
            let is_over = story.is_crash_loop && next.is_none_or(|next| next.state == RunState::Dead);
            let is_removed = spans.is_of_removed(&story.first, step.index);
            if is_over || is_removed {
                let may = next_state != Some(RunState::Scheduled) && (!is_removed || next_state.is_none());
                ensure!(may, "out of policy: {key} became {next_state:?} after the end of its job");
            } else if is_named && attempts <= max {
                ensure!(
                    next_state == Some(RunState::Scheduled),
                    "lost: {key} is {state}, and a retry was owed"
                );
                check_wait(key, &story.policies.retry, attempts, step.at, next.unwrap().due)?;
            } else if is_named && keeps_dead {
                let is_dead = next_state == Some(RunState::Dead);
                ensure!(is_dead, "lost: {key} is {state} after {attempts} attempts, and no dead letter");
            } else {
                ensure!(next.is_none(), "out of policy: {key} became {next_state:?} after it was {state}");
            }
        }
    }
    Ok(())
}

fn check_wait(key: &RunKey, retry: &Retry, attempt: u32, ended: Timestamp, due: Timestamp) -> Verdict {
    let factor = f64::from(retry.factor).powi(attempt as i32 - 1);
    let wait = (retry.backoff.as_secs_f64() * factor).min(retry.cap.as_secs_f64());
    let range = wait * f64::from(retry.jitter_percent) / 100.0;
    let found = due.duration_since(ended).as_secs_f64();
    let is_within = wait - range - 0.001 <= found && found <= wait + range + 0.001;
    ensure!(is_within, "out of policy: {key} waits {found} s before attempt {}, not {wait}", attempt + 1);
    Ok(())
}

/// After so many failures in a row the job is paused, and not before.
pub(crate) fn check_failures(world: &World<'_>, stories: &Stories) -> Verdict {
    let spans = DefinedSpans::of(world);
    // How each run ended for good, by the place in the log.
    let mut ends: BTreeMap<usize, (&JobName, bool)> = BTreeMap::new();
    for (key, story) in stories.iter().filter(|(_, story)| story.first.cause != Cause::Once) {
        for (position, step) in story.steps.iter().enumerate() {
            let is_last = story.steps.get(position + 1).is_none_or(|next| next.state == RunState::Dead);
            let is_failure = match step.state {
                RunState::Succeeded => Some(false),
                _ if story.steps[..position].iter().any(|step| step.state == RunState::Dead) => None,
                RunState::Failed | RunState::TimedOut => Some(true),
                RunState::Abandoned => Some(true).filter(|_| story.policies.retry.on.abandoned),
                _ => None,
            };
            if let Some(is_failure) =
                is_failure.filter(|_| is_last && !spans.is_of_removed(&story.first, step.index))
            {
                ends.insert(step.index, (&key.job, is_failure));
            }
        }
    }
    let mut failures: BTreeMap<&JobName, u32> = BTreeMap::new();
    let mut pauses: BTreeMap<&JobName, Option<Pause>> = BTreeMap::new();
    let mut resumed: BTreeSet<&JobName> = BTreeSet::new();
    for (index, event) in world.log.iter().enumerate() {
        if let Some((job, is_failure)) = ends.get(&index) {
            let count = failures.entry(job).or_default();
            *count = if *is_failure { *count + 1 } else { 0 };
        }
        match event {
            // The counts of a removed job mean nothing until it is put back, which begins them again.
            Event::Wrote { operation: Operation::Mark(mark), answer: Answer::New, .. }
                if !spans.is_removed(&mark.job, index) =>
            {
                let subject = Script::index(&mark.job).unwrap();
                let limit = world.script.job(subject, 0).work.policies.pause_after;
                let mut count = failures.get(&mark.job).copied().unwrap_or(0);
                if mark.failures < count && resumed.remove(&mark.job) {
                    // A person who resumes a job that was paused has looked at it.
                    count = mark.failures;
                    failures.insert(&mark.job, count);
                }
                let is_too_many = limit.is_some_and(|limit| limit <= count);
                // A pause lasts until it is lifted, whatever ends meanwhile.
                let before = pauses.insert(&mark.job, mark.pause).flatten();
                let is_found = mark.pause == Some(Pause::Failures) && before != mark.pause;
                ensure!(
                    !is_found || is_too_many,
                    "out of policy: {} is paused after {count} failures",
                    mark.job
                );
                let is_counted = mark.failures == count;
                ensure!(
                    is_counted,
                    "untrue: {} has {count} failures, and {} are told",
                    mark.job,
                    mark.failures
                );
                let may = !is_too_many || mark.pause.is_some();
                ensure!(may, "out of policy: {} has failed {count} times, and is not paused", mark.job);
            }
            Event::Issued { command: Command::Resume(Scope::Job(name)), .. } => drop(resumed.insert(name)),
            Event::Wrote { operation: Operation::Forget { job, absence: None, .. }, .. } => {
                failures.remove(job);
            }
            _ => (),
        }
    }
    Ok(())
}

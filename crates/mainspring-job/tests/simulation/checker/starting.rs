//! The start of a server: what ran when the one before ended is over first. Jobs that are for it run once,
//! and so do those that are for the start of the machine, if it is the first server since.

use std::collections::BTreeMap;

use jiff::Timestamp;
use mainspring_job::{Answer, Cause, Command, Job, JobName, Operation, Reason, Run, RunState, Takeover};

use crate::simulation::checker::{Verdict, ensure};
use crate::simulation::event::Event;
use crate::simulation::model::Model;
use crate::simulation::world::World;

/// Whatever is planned or begun comes after the ends of what was cut off; and why it was is true.
pub(crate) fn watch_dead_first(model: &Model<'_>, event: &Event) -> Verdict {
    let Event::Wrote { operation, answer: Answer::New, .. } = event else { return Ok(()) };
    let decides = match operation {
        // What passed by a timetable that ends with the new definitions is recorded before anything.
        // What follows the end of what was cut off is recorded with it, and waits.
        Operation::Plan(run) if run.cause == Cause::After => {
            !matches!(run.state, RunState::Scheduled | RunState::Missed)
        }
        Operation::Plan(run) => !matches!(run.state, RunState::Missed | RunState::SkippedPaused),
        Operation::Fire { .. } | Operation::Begin { .. } => true,
        Operation::Move { to, .. } => to.is_open() && *to != RunState::Scheduled,
        _ => false,
    };
    if decides {
        let left = model.cut_off.first();
        ensure!(
            left.is_none(),
            "out of policy: {operation:?} while {} is open, and its server gone",
            left.unwrap()
        );
    }
    let Operation::End { key, attempt, state, reason, outcome, .. } = operation else { return Ok(()) };
    let is_by_server = model.ended_by_server.contains(&(key.clone(), *attempt));
    let is_no_failure = matches!(state, RunState::Abandoned | RunState::Cancelled);
    ensure!(!is_by_server || is_no_failure, "untrue: {key} is {state}, and its server ended it by itself");
    if *state == RunState::Abandoned {
        let is_true = match model.takeover {
            _ if outcome.is_some() && is_by_server => *reason == Some(Reason::ServerCutOff),
            _ if outcome.is_some() => *reason == Some(Reason::ServerStopped),
            Takeover::Clean => *reason == Some(Reason::ServerEnded),
            Takeover::Rebooted => *reason == Some(Reason::MachineDown),
            Takeover::Unclean => matches!(reason, Some(Reason::ServerDied | Reason::CrashLoop(_))),
        };
        ensure!(is_true, "untrue: {key} was abandoned because {reason:?}");
    }
    Ok(())
}

/// Each start of the server is an occurrence of the jobs that are for it, and the first since the machine was
/// started is one of those that are for that, unless they are done.
pub(crate) fn check_boots(world: &World<'_>) -> Verdict {
    let mut model = Model::new(world.script);
    let mut boot: Option<(Timestamp, Vec<Job>, Vec<Run>)> = None;
    // The most runs that a job had that counted since the server began, whatever became of them at once.
    let mut counted: BTreeMap<JobName, u64> = BTreeMap::new();
    let mut is_machine_new = true;
    for event in &world.log {
        match event {
            Event::Began { at, .. } => {
                boot = Some((*at, Vec::new(), Vec::new()));
                counted = model.jobs.keys().map(|name| (name.clone(), model.counted(name))).collect();
            }
            Event::Issued { command: Command::Apply(definitions), .. } => {
                if let Some((_, jobs, _)) = &mut boot {
                    jobs.clone_from(&definitions.jobs);
                }
            }
            Event::Wrote { operation: Operation::Plan(run), answer: Answer::New, .. }
                if run.cause == Cause::Boot =>
            {
                let Some((at, _, runs)) = &mut boot else {
                    return Err(format!("out of policy: {} is planned, and no server starts", run.key));
                };
                ensure!(run.planned == *at, "out of policy: {} is planned at {}", run.key, run.planned);
                runs.push(run.clone());
            }
            Event::Settled { .. } => {
                let Some((_, jobs, runs)) = boot.take() else { continue };
                let is_due = |job: &Job| {
                    job.timetable.is_at_server_start() || is_machine_new && job.timetable.is_at_boot()
                };
                for job in jobs {
                    let count = runs.iter().filter(|run| run.key.job == job.name).count();
                    let most = counted.get(&job.name).copied().unwrap_or(0);
                    let is_done = job.max_runs.is_some_and(|max| max <= most);
                    let is_right = count == usize::from(is_due(&job)) || count == 0 && is_done;
                    ensure!(is_right, "lost: {} has {count} runs for one start", job.name);
                }
                is_machine_new = false;
            }
            Event::Crashed { .. } | Event::Released => boot = None,
            Event::Rebooted => (boot, is_machine_new) = (None, true),
            _ => (),
        }
        model.apply(event);
        if let (Some(_), Event::Wrote { operation: Operation::Plan(run), .. }) = (&boot, event) {
            let most = counted.entry(run.key.job.clone()).or_default();
            *most = model.counted(&run.key.job).max(*most);
        }
    }
    Ok(())
}

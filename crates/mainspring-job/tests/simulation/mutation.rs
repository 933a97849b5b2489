//! Mutations: for each check a record that is made wrong in the log of a right history, to see that the check
//! sees it.

use jiff::SignedDuration;
use mainspring_job::{
    Action, Answer, Batch, Cause, Command, Once, OnceId, Operation, Owner, Pause, PauseTerms, Reason, Reply,
    Retention, Run, RunKey, RunRequest, RunState, Scope, Store, Ticket, Work,
};

use crate::simulation::checker::{CHECKS, Check, judge};
use crate::simulation::event::Event;
use crate::simulation::fault::Flaw;
use crate::simulation::script::Script;
use crate::simulation::world::World;

/// So many histories at most until one of them can be mutated and the check sees it.
const MOST_HISTORIES: u64 = 3_000;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Makes a log wrong; `None` if it holds nothing of the kind.
type Mutate = fn(&mut World<'_>) -> Option<()>;

const MUTATIONS: &[(&str, &str, Mutate)] = &[
    ("attempts::stories", "a run is planned twice", |world| {
        let index = position(world, |event| planned(event).is_some())?;
        world.log.insert(index, world.log[index].clone());
        Some(())
    }),
    ("attempts::check_starts", "an attempt starts twice", |world| {
        let index = started(world, |_, _| true)?;
        world.log.insert(index, world.log[index].clone());
        Some(())
    }),
    ("attempts::check_put_off", "what was put off begins a day before its time", |world| {
        let is_set_back = world.log.iter().any(|it| matches!(it, Event::SetBack));
        let due = world.log.iter_mut().filter(|_| !is_set_back).find_map(|event| match event {
            Event::Wrote {
                operation: Operation::Move { from: RunState::Running, to: RunState::Scheduled, due, .. },
                ..
            } => Some(due),
            _ => None,
        });
        *due? += DAY;
        Some(())
    }),
    ("attempts::check_retries", "a retry waits a day longer", |world| {
        let wait = world.log.iter_mut().rev().find_map(|event| match event {
            Event::Wrote {
                operation:
                    Operation::Move {
                        from: RunState::Failed | RunState::TimedOut,
                        to: RunState::Scheduled,
                        due,
                        ..
                    },
                ..
            } => Some(due),
            _ => None,
        });
        *wait? += DAY;
        Some(())
    }),
    ("attempts::check_failures", "a failure is counted that was none", |world| {
        let mark = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote { operation: Operation::Mark(mark), answer: Answer::New, .. } => Some(mark),
            _ => None,
        });
        mark?.failures += 1;
        Some(())
    }),
    ("acknowledged::check", "a run by hand is acknowledged and is on no record", |world| {
        let key = world.log.iter_mut().find_map(|event| match event {
            Event::Acknowledged { reply: Reply::Planned { key }, .. } => Some(key),
            _ => None,
        });
        key?.nominal += DAY;
        Some(())
    }),
    ("acknowledged::check", "two runs by hand are acknowledged under one name", |world| {
        let mut keys = world.log.iter_mut().filter_map(|event| match event {
            Event::Acknowledged { reply: Reply::Planned { key }, .. } => Some(key),
            _ => None,
        });
        let first = keys.next()?.clone();
        *keys.next()? = first;
        Some(())
    }),
    ("acknowledged::watch_once", "a one-shot job fires before its time", |world| {
        let (due, run) = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote { operation: Operation::Fire { id, run }, answer: Answer::New, .. } => {
                Some((id.due, run))
            }
            _ => None,
        })?;
        run.planned = due - SignedDuration::from_secs(1);
        Some(())
    }),
    ("acknowledged::check_end", "a run is left in the line", |world| {
        let index = position(world, |event| planned(event).is_some())?;
        let mut run = planned(&world.log[index])?.clone();
        (run.key.nominal, run.state) = (run.key.nominal + DAY * 1_000, RunState::Queued);
        let lease = world.disk.acquire(&Owner::new("forger")).unwrap();
        let batch = Batch::new(1, vec![Operation::Plan(run)]);
        world.disk.commit(lease, &batch).unwrap();
        Some(())
    }),
    ("notifications::check", "a failure is not reported", |world| {
        remove(world, |event| match event {
            Event::Wrote { operation: Operation::Submit(once), .. } => {
                once.name.as_str().contains(":failed:")
            }
            _ => false,
        })
    }),
    ("rest::check_pauses", "a run starts after a pause", |world| {
        let index = started(world, |key, _| Script::index(&key.job).is_some())?;
        let Event::Started { at, .. } = world.log[index] else { return None };
        let (ticket, command) = (Ticket(u64::MAX), Command::Pause(Scope::All, PauseTerms::default()));
        let reply = Reply::Done;
        world.log.insert(index, Event::Acknowledged { ticket, command: command.clone(), reply });
        world.log.insert(index, Event::Issued { at, ticket, command });
        Some(())
    }),
    ("rest::check_kept", "a job that was paused after failures continues by itself", |world| {
        let index = position(world, |event| match event {
            Event::Wrote { operation: Operation::Mark(mark), answer: Answer::New, .. } => {
                mark.pause == Some(Pause::Failures)
            }
            _ => false,
        })?;
        let mut mutated = world.log[index].clone();
        if let Event::Wrote { operation: Operation::Mark(mark), .. } = &mut mutated {
            mark.pause = None;
        }
        world.log.insert(index + 1, mutated);
        Some(())
    }),
    ("rest::check_batches", "a batch is larger than one commit", |world| {
        let index = position(world, |event| matches!(event, Event::Wrote { .. }))?;
        let many = vec![world.log[index].clone(); 2_000];
        let refused = many.into_iter().map(|event| match event {
            Event::Wrote { batch, .. } => {
                Event::Wrote { batch, operation: Operation::PauseAll(None), answer: Answer::New }
            }
            other => other,
        });
        world.log.splice(index..index, refused);
        Some(())
    }),
    ("rest::watch_removal", "a run of a removed job starts", |world| {
        let index = started(world, |key, cause| Script::index(&key.job).is_some() && cause != Cause::Once)?;
        let Event::Started { key, .. } = &world.log[index] else { return None };
        let operation =
            Operation::Forget { job: key.job.clone(), absence: None, retention: Retention::default() };
        world.log.insert(index, Event::Settled { at: world.now, is_single: false });
        world.log.insert(index, Event::Wrote { batch: (0, 0), operation, answer: Answer::New });
        Some(())
    }),
    ("rest::watch_stop", "a run starts while the server ends", |world| {
        let index = started(world, |_, _| true)?;
        world.log.insert(index, Event::Stopped);
        Some(())
    }),
    ("lateness::watch", "a run that waited for ten days for its jitter starts", |world| {
        let index = position(world, |event| {
            planned(event).is_some_and(|run| run.cause == Cause::Trigger && run.state == RunState::Scheduled)
        })?;
        late_by_ten_days(world, index)
    }),
    ("lateness::watch", "a catch-up run that waited for ten days starts", |world| {
        let index = position(world, |event| {
            planned(event).is_some_and(|run| run.cause == Cause::CatchUp && run.state == RunState::Scheduled)
        })?;
        late_by_ten_days(world, index)
    }),
    ("lateness::watch", "a run that waited for ten days for its turn starts", |world| {
        let is_first = |run: &Run| run.cause == Cause::Trigger && run.state == RunState::Queued;
        let index = position(world, |event| planned(event).is_some_and(is_first))?;
        late_by_ten_days(world, index)
    }),
    ("lateness::watch", "a run that is in time is missed", |world| {
        let (to, at, due) = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote {
                operation: Operation::Move { from: RunState::Scheduled, to, at, due, .. },
                answer: Answer::New,
                ..
            } if *to == RunState::Cancelled => Some((to, at, *due)),
            _ => None,
        })?;
        (*to, *at) = (RunState::Missed, due);
        Some(())
    }),
    ("acknowledged::check_asked", "a run is due a day later than it was asked for", |world| {
        let due = world.log.iter_mut().find_map(|event| match event {
            Event::Acknowledged {
                command: Command::Trigger(RunRequest { due: Some(due), .. }),
                reply: Reply::Planned { .. },
                ..
            } => Some(due),
            _ => None,
        });
        *due? += DAY * 9;
        Some(())
    }),
    ("acknowledged::check_asked", "two runs of a job have one key", |world| {
        let planned = |event: &&Event| {
            matches!(
                event,
                Event::Acknowledged {
                    command: Command::Trigger(RunRequest { key: Some(_), .. }),
                    reply: Reply::Planned { .. },
                    ..
                }
            )
        };
        let second = world.log.iter().find(planned)?.clone();
        world.log.push(second);
        Some(())
    }),
    (
        "rest::check_pauses",
        "a run that was asked for at a later time starts in a pause of its job",
        |world| {
            let later = world.log.iter().find_map(|event| match event {
                Event::Wrote { operation: Operation::Plan(run), answer: Answer::New, .. } => {
                    (run.cause == Cause::Request && run.planned < run.due).then(|| run.key.clone())
                }
                _ => None,
            })?;
            let index = started(world, |key, _| *key == later)?;
            let Event::Started { at, .. } = world.log[index] else { return None };
            let scope = Scope::Job(later.job);
            let (ticket, command) = (Ticket(u64::MAX), Command::Pause(scope, PauseTerms::default()));
            world
                .log
                .insert(index, Event::Acknowledged { ticket, command: command.clone(), reply: Reply::Done });
            world.log.insert(index, Event::Issued { at, ticket, command });
            Some(())
        },
    ),
    ("starting::check_boots", "a run for the start of the server is recorded as one by hand", |world| {
        let cause = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote { operation: Operation::Plan(run), answer: Answer::New, .. }
                if run.cause == Cause::Boot =>
            {
                Some(&mut run.cause)
            }
            _ => None,
        });
        *cause? = Cause::Request;
        Some(())
    }),
    ("starting::watch_dead_first", "a run is abandoned for a reason that is none", |world| {
        let why = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote {
                operation: Operation::End { state: RunState::Abandoned, reason, .. },
                answer: Answer::New,
                ..
            } => Some(reason),
            _ => None,
        });
        *why? = Some(Reason::Crowded);
        Some(())
    }),
    ("starting::watch_dead_first", "what its server ended by itself has failed", |world| {
        world.log.iter_mut().find_map(|event| match event {
            Event::Wrote { operation: Operation::End { state, reason, .. }, answer: Answer::New, .. }
                if *reason == Some(Reason::ServerCutOff) =>
            {
                (*state, *reason) = (RunState::Failed, None);
                Some(())
            }
            _ => None,
        })
    }),
    ("quarantine::check", "a job kills the server without end", |world| {
        let index = position(world, |event| {
            matches!(event, Event::Started { key, cause, .. }
                if world.script.is_poison(&key.job) && *cause != Cause::Request)
        })?;
        let Event::Started { at, .. } = world.log[index] else { return None };
        for _ in 0..4 {
            world.log.insert(index, Event::Crashed { at });
            world.log.insert(index, world.log[index + 1].clone());
        }
        Some(())
    }),
    ("coverage::check", "an occurrence is in no record", |world| {
        remove(world, |event| planned(event).is_some_and(|run| run.state == RunState::Missed))
    }),
    ("following::check", "a run that follows another is recorded as one by hand", |world| {
        let cause = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote { operation: Operation::Plan(run), answer: Answer::New, .. }
                if run.cause == Cause::After =>
            {
                Some(&mut run.cause)
            }
            _ => None,
        });
        *cause? = Cause::Request;
        Some(())
    }),
    ("coverage::watch_end", "what is due by the last look is not planned", |world| {
        let look = world.log.iter_mut().find_map(|event| match event {
            Event::LookedLast { at } => Some(at),
            _ => None,
        });
        *look? += DAY * 400;
        Some(())
    }),
    ("overlap::watch", "a run is skipped for a reason that is none", |world| {
        let why = world.log.iter_mut().find_map(|event| match event {
            Event::Wrote { operation: Operation::Plan(run), answer: Answer::New, .. }
                if run.state == RunState::SkippedOverlap =>
            {
                Some(&mut run.reason)
            }
            _ => None,
        });
        *why? = Some(Reason::EarlierQuarantined);
        Some(())
    }),
    ("overlap::watch_kills", "what does not run is killed", |world| {
        let index = started(world, |_, _| true)?;
        let Event::Started { key, attempt, .. } = world.log[index].clone() else { return None };
        world.log.insert(index, Event::Killed { key, attempt });
        Some(())
    }),
    ("slots::watch", "a run waits while a place is free", |world| {
        let index =
            position(world, |event| planned(event).is_some_and(|run| run.state == RunState::Running))?;
        let Event::Wrote { operation: Operation::Plan(run) | Operation::Fire { run, .. }, .. } =
            &mut world.log[index]
        else {
            return None;
        };
        (run.state, run.attempt, run.started) = (RunState::Queued, 0, None);
        let waits = run.key.clone();
        let settled = index + world.log[index..].iter().position(|it| matches!(it, Event::Settled { .. }))?;
        let start = world.log[..settled]
            .iter()
            .rposition(|it| matches!(it, Event::Started { key, .. } if *key == waits))?;
        world.log.remove(start);
        Some(())
    }),
    ("slots::watch_order", "a run starts before one that is due earlier", |world| {
        let dues = world.log.iter_mut().filter_map(|event| match event {
            Event::Wrote { operation: Operation::Plan(run), .. } if run.state == RunState::Running => {
                Some(&mut run.due)
            }
            _ => None,
        });
        dues.fold(None, |_, due| {
            *due += DAY;
            Some(())
        })
    }),
    ("slots::watch_side_by_side", "a run starts beside another of its job", |world| {
        remove(world, |event| matches!(event, Event::Ended { .. }))
    }),
    ("slots::watch_rate", "runs start more often than their rate allows", |world| {
        let rate = world.script.rate?;
        let starts = world.log.iter_mut().filter_map(|event| match event {
            Event::Wrote { operation: Operation::Begin { at, .. }, answer: Answer::New, .. } => Some(at),
            _ => None,
        });
        let mut starts: Vec<&mut jiff::Timestamp> = starts.collect();
        let first = **starts.first()?;
        starts.iter_mut().for_each(|at| **at = first);
        (rate.starts() < u32::try_from(starts.len()).unwrap()).then_some(())
    }),
    ("slots::watch_batch", "a run starts although a member of its batch is pending", |world| {
        let after = |run: &Run| run.work.as_ref()?.policies.after_batch.clone();
        let (index, run) = world.log.iter().enumerate().find_map(|(index, event)| match event {
            Event::Wrote { operation: Operation::Fire { run, .. }, answer: Answer::New, .. } => {
                after(run).map(|_| (index, run.clone()))
            }
            _ => None,
        })?;
        let is_begin = |event: &Event| {
            let Event::Wrote { operation: Operation::Begin { key, .. }, answer, .. } = event else {
                return false;
            };
            *key == run.key && *answer == Answer::New
        };
        world.log[index..].iter().position(is_begin)?;
        let mut member = Work::new(Action::new("process", "true").unwrap());
        member.policies.batch = after(&run);
        let member = Once::new(OnceId { due: jiff::Timestamp::MAX, number: 7 }, run.planned, member);
        let mut event = world.log[index].clone();
        let Event::Wrote { operation, answer, .. } = &mut event else { return None };
        (*operation, *answer) = (Operation::Submit(member), Answer::New);
        world.log.insert(index, event);
        Some(())
    }),
    ("slots::watch_catching_up", "a catch-up run is beside another", |world| {
        let is_catch_up = |key: &RunKey| {
            world.log.iter().any(|event| matches!(event, Event::Started { key: other, cause: Cause::CatchUp, .. } if other == key))
        };
        let ends = world
            .log
            .iter()
            .position(|event| matches!(event, Event::Ended { key, .. } if is_catch_up(key)))?;
        world.log.remove(ends);
        Some(())
    }),
];

/// What waits since this place in the log begins, or is in line, ten days later.
fn late_by_ten_days(world: &mut World<'_>, index: usize) -> Option<()> {
    let waits = planned(&world.log[index])?.key.clone();
    let at = world.log.iter_mut().find_map(|event| match event {
        Event::Wrote { operation: Operation::Begin { key, at, .. }, .. } if *key == waits => Some(at),
        Event::Wrote { operation: Operation::Move { key, at, to: RunState::Queued, .. }, .. }
            if *key == waits =>
        {
            Some(at)
        }
        _ => None,
    });
    *at? += DAY * 10;
    Some(())
}

fn planned(event: &Event) -> Option<&Run> {
    match event {
        Event::Wrote { operation: Operation::Plan(run), answer: Answer::New, .. } => Some(run),
        _ => None,
    }
}

fn position(world: &World<'_>, is_it: impl Fn(&Event) -> bool) -> Option<usize> {
    world.log.iter().position(is_it)
}

fn started(world: &World<'_>, is_it: impl Fn(&RunKey, Cause) -> bool) -> Option<usize> {
    position(world, |event| matches!(event, Event::Started { key, cause, .. } if is_it(key, *cause)))
}

fn remove(world: &mut World<'_>, is_it: impl Fn(&Event) -> bool) -> Option<()> {
    let index = position(world, is_it)?;
    world.log.remove(index);
    Some(())
}

#[test]
fn every_check_sees_a_record_that_is_made_wrong_for_it() {
    let mut seen: Vec<&str> = Vec::new();
    for (name, what, mutate) in MUTATIONS {
        let check =
            CHECKS.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("there is no check {name}"));
        let is_seen = |seed: &u64| {
            let script = Script::generate(*seed);
            let mut world = World::run(&script, Flaw::None);
            mutate(&mut world).is_some() && sees(&world, *check)
        };
        assert!((0..MOST_HISTORIES).find(is_seen).is_some(), "{name} does not see that {what}");
        seen.push(name);
    }
    let left: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(left, [] as [&str; 0], "each check has its mutation");
}

/// Whether this check finds the history wrong, and not what reads the log for all of them.
fn sees(world: &World<'_>, check: (&str, Check)) -> bool {
    let is_readable = check.0 == "attempts::stories" || judge(world, &[]).is_ok();
    is_readable && judge(world, &[check]).is_err()
}

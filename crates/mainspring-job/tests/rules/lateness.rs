//! Starts still allowed, by the cause of the wait and the lateness: the table of `planner/lateness.rs`.

use super::*;

/// What a run waits for when its server ends, and the next one comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Its jitter, or its delay within `spread`.
    Time,
    /// An earlier run of its job.
    Queue,
    /// A place of its group.
    Group,
    /// The back-off before its next attempt.
    Retry,
    /// The end of its job's pause.
    Pause,
}

const GROUP: &str = "db";

/// The nightly job under test, the one that it follows, and one that holds the only place of the group.
fn jobs(waits: Waits, policies: &str) -> Vec<Job> {
    let mut nightly = job("j", "25 6 1 1 *", policies);
    if waits == Waits::Group {
        Arc::make_mut(&mut nightly.work).group = Some(name(GROUP));
    }
    let mut holder = job("holder", "0 6 1 1 *", "misfire=none,grace=1s");
    Arc::make_mut(&mut holder.work).group = Some(name(GROUP));
    vec![nightly, holder]
}

/// A job that is due at 06:25 has a run of this cause that waits; the server dies and comes back so much
/// later. Tells the state of the run when all has ended that was in its way.
fn outcome(cause: Cause, waits: Waits, misfire: &str, late: SignedDuration) -> RunState {
    let policies = match (cause, waits) {
        (_, Waits::Retry) => format!("{misfire} jitter=0s retry=1,backoff=1m,jitter=0%"),
        (Cause::Trigger, Waits::Time) => format!("{misfire} jitter=10m"),
        _ => format!("{misfire} overlap=queue-all,cap=9"),
    };
    let groups = vec![Group::new(name(GROUP), 1)];
    let mut shell = Shell::with("2026-01-01T05:59:00Z", jobs(waits, &policies), groups, Limits::default());
    shell.live("2026-01-01T06:00:00Z");
    let trigger = |shell: &mut Shell| shell.command(Command::Trigger(RunRequest::new(name("j"))));
    if waits == Waits::Queue {
        trigger(&mut shell);
    }
    match cause {
        Cause::Trigger => shell.live("2026-01-01T06:25:00Z"),
        Cause::CatchUp => shell.wake("2026-01-01T06:30:00Z"),
        Cause::Request => {
            shell.live("2026-01-01T06:20:00Z");
            trigger(&mut shell);
        }
        Cause::Backfill => {
            let (from, to) = (at("2025-01-01T00:00:00Z"), at("2025-02-01T00:00:00Z"));
            shell.command(Command::Backfill { job: name("j"), from, to });
        }
        other => unreachable!("{other:?} is not in the table"),
    }
    let key = loop {
        let run = shell.runs("j").into_iter().rev().find(|run| run.cause == cause).unwrap();
        match waits {
            Waits::Retry if run.state == RunState::Running => {
                let index = shell.started.iter().position(|start| start.key == run.key).unwrap();
                shell.end(index, failed());
            }
            Waits::Retry if run.state == RunState::Scheduled && run.attempt == 0 => {
                shell.live(&run.due.to_string());
            }
            _ => break run.key,
        }
    };
    let before = shell.planner.run(&key).unwrap().clone();
    assert!(
        matches!(before.state, RunState::Scheduled | RunState::Queued),
        "{cause:?} {waits:?}: {before:?}"
    );
    shell.now = before.due + late;
    shell.boot();
    shell.live(&(shell.now + SignedDuration::from_secs(1)).to_string());
    // What stood in the way has ended with its server.
    shell.store.run(&key).unwrap().unwrap().state
}

#[test]
fn a_catch_up_run_that_waits_for_its_spread_does_not_start_nine_days_late() {
    let mut shell =
        Shell::new("2026-01-01T06:00:00Z", vec![job("j", "25 6 * * *", "misfire=latest,window=1h")]);
    shell.wake("2026-01-01T06:30:00Z");
    assert_eq!(shell.states("j"), "scheduled", "it waits for its delay within the spread");
    shell.now = at("2026-01-10T08:30:00Z");
    shell.boot();
    shell.live("2026-01-10T08:40:00Z");
    assert_eq!(shell.started_names(), "");
    let missed = shell.runs("j").remove(0);
    assert_eq!((missed.state, missed.reason), (RunState::Missed, Some(Reason::Stale)));
}

#[test]
fn what_may_still_start_is_one_rule_for_all_that_waits() {
    let (hour, day) = (SignedDuration::from_hours(1), SignedDuration::from_hours(24));
    let second = SignedDuration::from_secs(1);
    let latest = "misfire=latest,window=1h,spread=9m,grace=1m";
    let none = "misfire=none,window=1h,grace=5m";
    let grace = SignedDuration::from_mins(5);
    // Cause, what it waits for, the rule, and how late it may start; `None`: however late.
    let table = [
        (Cause::Trigger, Waits::Time, latest, Some(hour)),
        (Cause::Trigger, Waits::Time, none, Some(grace)),
        (Cause::Trigger, Waits::Queue, latest, Some(hour)),
        (Cause::Trigger, Waits::Queue, none, Some(hour)),
        (Cause::Trigger, Waits::Group, latest, Some(hour)),
        (Cause::Trigger, Waits::Group, none, Some(hour)),
        (Cause::Trigger, Waits::Retry, latest, Some(hour)),
        (Cause::Trigger, Waits::Retry, none, Some(hour)),
        (Cause::CatchUp, Waits::Time, latest, Some(hour)),
        (Cause::Request, Waits::Queue, latest, None),
        (Cause::Request, Waits::Group, none, None),
        (Cause::Request, Waits::Retry, latest, None),
        (Cause::Backfill, Waits::Group, none, None),
        (Cause::Backfill, Waits::Queue, latest, None),
        (Cause::Backfill, Waits::Retry, none, None),
    ];
    for (cause, waits, misfire, most) in table {
        let late = most.unwrap_or(day * 9);
        let row = format!("{cause:?} {waits:?} {misfire}");
        assert_eq!(outcome(cause, waits, misfire, late), RunState::Running, "{row}, {late:#} late");
        if let Some(most) = most {
            assert_eq!(
                outcome(cause, waits, misfire, most + second),
                RunState::Missed,
                "{row}, a second more"
            );
        }
    }
}

#[test]
fn what_waited_in_a_living_server_is_judged_when_its_turn_comes() {
    for (waits, ends_at, expected) in [
        (Waits::Queue, "2026-01-01T07:25:00Z", RunState::Running),
        (Waits::Queue, "2026-01-01T07:25:01Z", RunState::Missed),
        (Waits::Group, "2026-01-01T07:25:00Z", RunState::Running),
        (Waits::Group, "2026-01-01T07:25:01Z", RunState::Missed),
    ] {
        let policies = "misfire=latest,window=1h overlap=queue-one";
        let groups = vec![Group::new(name(GROUP), 1)];
        let mut shell = Shell::with("2026-01-01T05:59:00Z", jobs(waits, policies), groups, Limits::default());
        shell.live("2026-01-01T06:00:00Z");
        if waits == Waits::Queue {
            shell.command(Command::Trigger(RunRequest::new(name("j"))));
        }
        shell.live("2026-01-01T06:25:00Z");
        shell.live(ends_at);
        let index = shell.started.len() - 1;
        shell.end(index, Outcome::Succeeded);
        let run = shell.runs("j").into_iter().find(|run| run.cause == Cause::Trigger).unwrap();
        assert_eq!(run.state, expected, "{waits:?} {ends_at}");
        if expected == RunState::Missed {
            assert_eq!(run.reason, Some(Reason::Stale));
            assert_eq!(shell.planner.job(&name("j")).unwrap().1.runs, 0, "it is not counted");
            let is_noted = |note: &Note| matches!(note, Note::Missed { reason: Reason::Stale, .. });
            assert!(shell.notes.iter().any(is_noted), "{:?}", shell.notes);
        }
    }
}

#[test]
fn what_a_pause_held_for_longer_than_its_window_is_missed_when_the_pause_ends() {
    for (resumed, expected) in
        [("2026-01-01T07:26:00Z", RunState::Running), ("2026-01-01T07:26:01Z", RunState::Missed)]
    {
        let policies = "misfire=latest,window=1h retry=1,backoff=1m,jitter=0%";
        let mut shell = Shell::new("2026-01-01T06:00:00Z", jobs(Waits::Pause, policies));
        shell.live("2026-01-01T06:25:00Z");
        let index = shell.started.iter().position(|start| start.key.job == name("j")).unwrap();
        shell.end(index, failed());
        let scope = Scope::Job(name("j"));
        shell.command(Command::Pause(scope.clone(), PauseTerms::default()));
        shell.live(resumed);
        shell.command(Command::Resume(scope));
        assert_eq!(shell.runs("j")[0].state, expected, "{resumed}");
    }
}

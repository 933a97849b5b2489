//! The states of a job, in pairs: each reason why it does not run is told, what it says ends it, and when
//! none is left the job runs.

use super::*;
use mainspring_job::{Hold, Pause};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    AllPaused,
    AllPausedUntil,
    Paused,
    PausedUntil,
    /// Paused after failures.
    Failures,
    /// A crash of the server, and nothing has started since.
    Quarantine,
    /// The same, and a run of it is on probation.
    Probation,
    /// A run of it is running.
    Running,
    /// A run of it waits for a place.
    Waiting,
    /// The clock stands before what is planned.
    ClockBehind,
}

use State::{
    AllPaused, AllPausedUntil, ClockBehind, Failures, Paused, PausedUntil, Probation, Quarantine, Running,
    Waiting,
};

const ALL: [State; 10] = [
    AllPaused,
    AllPausedUntil,
    Paused,
    PausedUntil,
    Failures,
    Quarantine,
    Probation,
    Running,
    Waiting,
    ClockBehind,
];

fn shell() -> Shell {
    let mut hourly = job("j", "0 * * * *", "pause-after=1 misfire=latest,spread=0s");
    Arc::make_mut(&mut hourly.work).group = Some(name("db"));
    let mut holder = job("holder", "0 0 1 1 *", "misfire=none,grace=1s");
    Arc::make_mut(&mut holder.work).group = Some(name("db"));
    let groups = vec![Group::new(name("db"), 1)];
    Shell::with("2026-01-01T00:30:00Z", vec![hourly, holder], groups, Limits::default())
}

fn running(shell: &Shell, job: &str) -> Option<usize> {
    let is_running = |start: &Start| {
        let run = shell.planner.run(&start.key);
        start.key.job == name(job) && run.is_some_and(|run| run.state == RunState::Running)
    };
    shell.started.iter().rposition(is_running)
}

fn start(shell: &mut Shell, job: &str) -> Option<usize> {
    shell.command(Command::Trigger(RunRequest::new(name(job))));
    running(shell, job)
}

/// Brings the job into a state; `None` if that cannot be from where it is.
fn enter(shell: &mut Shell, state: State) -> Option<()> {
    let until = PauseTerms::default().until(shell.now + SignedDuration::from_mins(10));
    let of_job = || Scope::Job(name("j"));
    match state {
        AllPaused => drop(shell.command(Command::Pause(Scope::All, PauseTerms::default()))),
        AllPausedUntil => drop(shell.command(Command::Pause(Scope::All, until))),
        Paused => drop(shell.command(Command::Pause(of_job(), PauseTerms::default()))),
        PausedUntil => drop(shell.command(Command::Pause(of_job(), until))),
        Failures => {
            let index = running(shell, "j").or_else(|| start(shell, "j"))?;
            shell.end(index, failed());
        }
        Quarantine => {
            running(shell, "j").or_else(|| start(shell, "j"))?;
            shell.boot();
        }
        Probation => {
            enter(shell, Quarantine)?;
            start(shell, "j")?;
        }
        Running => drop(running(shell, "j").or_else(|| start(shell, "j"))?),
        Waiting => {
            if running(shell, "j").is_some() {
                return None;
            }
            start(shell, "holder")?;
            shell.command(Command::Trigger(RunRequest::new(name("j"))));
        }
        ClockBehind => {
            if !shell.holds(&name("j")).is_empty() {
                return None;
            }
            shell.live("2026-01-01T01:00:00Z");
            let index = running(shell, "j")?;
            shell.end(index, Outcome::Succeeded);
            shell.wake("2026-01-01T00:40:00Z");
        }
    }
    Some(())
}

/// The word for a state in the list of reasons.
fn code(state: State) -> &'static str {
    match state {
        AllPaused | AllPausedUntil => "all_paused",
        Paused | PausedUntil => "paused",
        Failures => "paused_failures",
        Quarantine | Probation => "quarantined",
        Running => "running",
        Waiting => "group_full",
        ClockBehind => "clock_behind",
    }
}

/// Which reasons are told of a job that came into one state and then into another.
fn expected(first: State, second: State) -> Vec<&'static str> {
    let is_pause = |state| matches!(state, Paused | PausedUntil | Failures);
    let mut codes = vec![code(first), code(second)];
    match (first, second) {
        // A pause for a while leaves one after failures as it is, and another pause takes its place.
        (Failures, PausedUntil) => codes = vec!["paused_failures"],
        // A pause for good is not taken over by failures.
        (Paused, Failures) => codes = vec!["paused"],
        (one, other) if is_pause(one) && is_pause(other) => codes = vec![code(other)],
        // A run that ends takes its job out of quarantine, and is not running any more.
        (Quarantine | Probation | Running, Failures) => codes = vec!["paused_failures"],
        // What ran when the server died is over.
        (Running | Probation, Quarantine) => codes = vec!["quarantined"],
        _ => (),
    }
    if second == Probation || first == Probation && !matches!(second, Failures | Quarantine) {
        codes.push("running");
    }
    codes
}

/// Does what ends a reason. `None` if that has to wait for another.
fn end(shell: &mut Shell, hold: &Hold) -> Option<()> {
    match hold {
        Hold::AllPaused { until: Some(until) } | Hold::Paused { until: Some(until), .. } => {
            shell.live(&until.to_string());
        }
        Hold::AllPaused { until: None } => drop(shell.command(Command::Resume(Scope::All))),
        Hold::Paused { until: None, .. } => drop(shell.command(Command::Resume(Scope::Job(name("j"))))),
        Hold::Quarantined { .. } => {
            let index = running(shell, "j").or_else(|| start(shell, "j"))?;
            shell.end(index, Outcome::Succeeded);
        }
        Hold::Running(_) => {
            let index = running(shell, "j")?;
            shell.end(index, Outcome::Succeeded);
        }
        Hold::Waiting(key) | Hold::GroupFull { run: key, .. } => {
            if let Some(index) = running(shell, "holder") {
                shell.end(index, Outcome::Succeeded);
            }
            if shell.planner.run(key).is_some_and(|run| run.state == RunState::Queued) {
                shell.command(Command::Cancel(key.clone()));
            }
        }
        Hold::ClockBehind { .. } => drop(shell.command(Command::Rewind(name("j")))),
        other => panic!("{other:?} is in no row"),
    }
    Some(())
}

#[test]
fn each_pair_of_states_is_told_ends_as_it_says_and_then_the_job_runs() {
    let mut pair_count = 0;
    for (first, second) in ALL.into_iter().flat_map(|first| ALL.map(|second| (first, second))) {
        for is_reverse in [false, true] {
            let mut shell = shell();
            let is_reached = enter(&mut shell, first).and_then(|()| enter(&mut shell, second)).is_some();
            if !is_reached {
                continue;
            }
            pair_count += 1;
            let holds = shell.holds(&name("j"));
            let codes: Vec<&str> = holds.iter().map(Hold::code).collect();
            for expected in expected(first, second) {
                assert!(codes.contains(&expected), "{first:?} {second:?}: {expected} is not in {codes:?}");
            }
            // Whatever is ended first.
            for round in 0.. {
                let mut holds = shell.holds(&name("j"));
                if holds.is_empty() {
                    break;
                }
                assert!(round < 12, "{first:?} {second:?}: {holds:?} do not end");
                if is_reverse {
                    holds.reverse();
                }
                let ended = holds.iter().find_map(|hold| end(&mut shell, hold).map(|()| hold.code()));
                assert!(ended.is_some(), "{first:?} {second:?}: {holds:?} wait for each other");
            }
            let before = shell.started.len();
            shell.live(&(shell.now + SignedDuration::from_mins(121)).to_string());
            let starts = shell.started[before..].iter();
            let is_due = |start: &&Start| start.key.job == name("j") && start.cause == Cause::Trigger;
            assert_eq!(starts.filter(is_due).count(), 1, "{first:?} {second:?} {:?}", shell.states("j"));
        }
    }
    assert!(140 <= pair_count, "{pair_count} pairs were reached");
}

#[test]
fn a_pause_for_a_while_ends_also_of_a_job_in_quarantine_and_after_a_crash() {
    for (first, second) in [(Quarantine, PausedUntil), (PausedUntil, Quarantine), (Probation, PausedUntil)] {
        let mut shell = shell();
        enter(&mut shell, first).unwrap();
        enter(&mut shell, second).unwrap();
        shell.live("2026-01-01T00:45:00Z");
        let (_, mark) = shell.planner.job(&name("j")).unwrap();
        assert_eq!(mark.pause, None, "{first:?} {second:?}");
        assert!(shell.notes.contains(&Note::PauseOver(name("j"))));
    }
}

#[test]
fn a_pause_after_crashes_does_not_end_by_itself() {
    let mut shell = shell();
    for _ in 0..3 {
        start(&mut shell, "j").unwrap();
        shell.boot();
    }
    let until = PauseTerms::default().until(shell.now + SignedDuration::from_mins(10));
    shell.command(Command::Pause(Scope::Job(name("j")), until));
    shell.live("2026-01-01T02:30:00Z");
    let holds = shell.holds(&name("j"));
    assert_eq!(holds, [Hold::Paused { why: Pause::Crashes, until: None }]);
}

#[test]
fn a_run_that_waits_for_a_place_names_what_is_full_and_who_has_the_places() {
    let of = |text: &str, policies: &str, group: Option<&str>| {
        let mut job = job(text, "0 0 1 1 *", policies);
        Arc::make_mut(&mut job.work).group = group.map(name);
        job
    };
    let jobs = vec![
        of("a", "misfire=none", Some("db")),
        of("b", "misfire=none", Some("db")),
        of("c", "overlap=allow misfire=none", Some("db")),
        of("d", "misfire=none", None),
        of("e", "misfire=none", None),
    ];
    let groups = vec![Group::new(name("db"), 1)];
    let mut shell = Shell::with("2026-01-01T00:30:00Z", jobs, groups, Limits::default()).of_capacity(2);
    start(&mut shell, "a").unwrap();
    for waits in ["b", "c"] {
        assert_eq!(start(&mut shell, waits), None);
        let holds = shell.holds(&name(waits));
        let [hold @ Hold::GroupFull { group, limit: 1, holders, .. }] = &holds[..] else {
            panic!("{holds:?}")
        };
        assert_eq!((group, holders.len(), &holders[0].job), (&name("db"), 1, &name("a")));
        assert_eq!(hold.code(), "group_full");
        let sentence = hold.to_string();
        assert!(sentence.contains("a place of group db, whose limit is 1: a@2026-01-01"), "{sentence}");
        assert!(sentence.ends_with(" has it"), "{sentence}");
        assert!(hold.ends(&name(waits)).starts_with("the end of a run of the group, or `mainspring cancel"));
    }
    start(&mut shell, "d").unwrap();
    assert_eq!(start(&mut shell, "e"), None);
    let holds = shell.holds(&name("e"));
    assert!(matches!(holds[..], [Hold::ServerFull { limit: 2, .. }]), "{holds:?}");
    assert!(holds[0].to_string().ends_with("a place of the server, which runs 2 at once"), "{holds:?}");
    let running = running(&shell, "a").unwrap();
    shell.end(running, Outcome::Succeeded);
    let holds = shell.holds(&name("b"));
    assert!(matches!(holds[..], [Hold::Running(_)]), "{holds:?}");
}

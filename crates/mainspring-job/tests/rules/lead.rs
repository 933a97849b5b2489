//! The lead: the start of a one-shot job that nothing stands in the way of is on disk before it is due.

use super::*;

const DUE: &str = "2026-01-01T00:00:10Z";
const AHEAD: &str = "2026-01-01T00:00:09.98Z";

fn shell_with(capacity: usize, groups: Vec<Group>) -> Shell {
    let mut limits = Limits::default();
    limits.lead = std::time::Duration::from_millis(20);
    Shell::with("2026-01-01T00:00:00Z", Vec::new(), groups, limits).of_capacity(capacity)
}

fn submit(shell: &mut Shell, due: &str, work: Work) -> OnceId {
    match shell.command(Command::Submit(Submission::new(at(due), work))) {
        Reply::Submitted { id, .. } => id,
        reply => panic!("{reply:?}"),
    }
}

fn work_of_bank() -> Work {
    let mut work = work("");
    work.group = Some(name("bank"));
    work
}

/// The record of the run of a start.
fn run_of(shell: &mut Shell, index: usize) -> Run {
    let job = shell.started[index].key.job.to_string();
    shell.runs(&job).pop().expect("it is on record")
}

#[test]
fn a_start_is_on_disk_ahead_of_its_time_and_says_that_time() {
    let mut shell = shell_with(8, Vec::new());
    submit(&mut shell, DUE, work(""));
    assert_eq!(shell.planner.next_due(), Some(at(AHEAD)));
    shell.live(AHEAD);
    let [start] = &shell.started[..] else { panic!("{:?}", shell.started) };
    assert_eq!((start.due, start.not_before), (at(DUE), Some(at(DUE))));
    let run = run_of(&mut shell, 0);
    assert_eq!((run.state, run.started, run.planned), (RunState::Running, Some(at(DUE)), at(DUE)));
}

#[test]
fn runs_that_no_worker_serves_take_no_place_of_one_that_starts_ahead() {
    let mut shell = shell_with(2, Vec::new());
    shell.executes = |action| action.kind() == "process";
    let mut shell = shell.of_capacity(2);
    for _ in 0..3 {
        let unserved = Work::new(Action::new("handler", "{}").unwrap());
        submit(&mut shell, "2026-01-01T00:00:01Z", unserved);
    }
    submit(&mut shell, DUE, work(""));
    shell.live(AHEAD);
    assert_eq!((shell.started.len(), shell.planner.unserved().count()), (1, 3));
}

#[test]
fn what_is_due_at_once_or_late_waits_for_nothing() {
    let mut shell = shell_with(8, Vec::new());
    submit(&mut shell, "2026-01-01T00:00:00Z", work(""));
    submit(&mut shell, DUE, work(""));
    shell.live("2026-01-01T00:00:00Z");
    shell.wake("2026-01-01T00:00:30Z");
    let waits: Vec<Option<Timestamp>> = shell.started.iter().map(|start| start.not_before).collect();
    assert_eq!(waits, [None, None]);
}

#[test]
fn without_a_place_a_job_starts_when_it_is_due_and_the_best_first() {
    let mut shell = shell_with(1, Vec::new());
    submit(&mut shell, "2026-01-01T00:00:01Z", work(""));
    shell.live("2026-01-01T00:00:01Z");
    submit(&mut shell, DUE, work(""));
    let mut urgent_work = work("");
    urgent_work.priority = 5;
    let urgent = submit(&mut shell, DUE, urgent_work);
    shell.live("2026-01-01T00:00:09.999Z");
    assert_eq!(shell.started.len(), 1, "the only place is taken");
    assert_eq!(shell.planner.lookahead_count(), 2, "neither is on record");
    shell.live(DUE);
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.started.len(), 2);
    assert_eq!((&shell.started[1].key.job, shell.started[1].not_before), (&urgent.name(), None));
}

#[test]
fn a_job_of_a_group_starts_when_it_is_due() {
    let mut shell = shell_with(8, vec![Group::new(name("bank"), 1)]);
    submit(&mut shell, DUE, work_of_bank());
    shell.live("2026-01-01T00:00:09.999Z");
    assert_eq!(shell.started.len(), 0);
    shell.live(DUE);
    assert_eq!((shell.started.len(), shell.started[0].not_before), (1, None));
}

#[test]
fn one_that_has_to_wait_is_in_nobodys_way() {
    let mut shell = shell_with(8, vec![Group::new(name("bank"), 1)]);
    submit(&mut shell, DUE, work_of_bank());
    shell.live("2026-01-01T00:00:09.985Z");
    let sooner = submit(&mut shell, "2026-01-01T00:00:09.99Z", work(""));
    shell.live("2026-01-01T00:00:09.99Z");
    assert_eq!(shell.started.iter().map(|start| &start.key.job).collect::<Vec<_>>(), [&sooner.name()]);
    shell.live(DUE);
    assert_eq!(shell.started.len(), 2);
    // It waits no longer than that: the next fires ahead of its time again.
    submit(&mut shell, "2026-01-01T00:00:20Z", work(""));
    shell.live("2026-01-01T00:00:19.98Z");
    assert_eq!(shell.started.len(), 3);
}

#[test]
fn a_job_that_is_paused_with_all_or_withdrawn_in_time_does_not_start() {
    let mut shell = shell_with(8, Vec::new());
    let id = submit(&mut shell, DUE, work(""));
    shell.live("2026-01-01T00:00:09.979Z");
    assert_eq!(shell.command(Command::Withdraw(id)), Reply::Done);
    submit(&mut shell, DUE, work(""));
    shell.command(Command::Pause(Scope::All, PauseTerms::new("")));
    shell.live("2026-01-01T00:00:11Z");
    assert_eq!(shell.started.len(), 0);
}

#[test]
fn a_crash_ahead_of_the_time_leaves_a_start_that_is_not_doubled() {
    let mut shell = shell_with(8, Vec::new());
    submit(&mut shell, DUE, work(""));
    shell.live(AHEAD);
    shell.boot();
    shell.live("2026-01-01T00:01:00Z");
    assert_eq!(shell.started.len(), 1);
    assert_eq!(run_of(&mut shell, 0).state, RunState::Abandoned);
}

//! Executors mark a failure as final; workers have what runs need, or have not.

use super::*;

fn failed_for_good() -> Outcome {
    Outcome::Failed(Failure::Final("missing field `name`".to_owned()))
}

#[test]
fn a_failure_for_good_is_not_tried_again_and_is_a_dead_letter() {
    // Policy, and the state in the end.
    let cases = [
        ("", "dead"),
        ("retry=3,backoff=1s", "dead"),
        ("retry=3,backoff=1s,on=timed_out", "dead"),
        ("retry=3,backoff=1s dead-letters=never", "failed"),
    ];
    for (policies, state) in cases {
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 1 1 1 *", policies)]);
        shell.live("2026-01-01T01:00:00Z");
        shell.end(0, failed_for_good());
        shell.live("2026-01-02T00:00:00Z");
        assert_eq!((shell.states("j").as_str(), shell.started.len()), (state, 1), "{policies}");
        let why = shell.runs("j")[0].why();
        let expected = if state == "dead" { "another attempt would not change how it ended" } else { "" };
        assert_eq!(why, expected, "{policies}");
    }
}

#[test]
fn a_run_that_no_worker_serves_waits_for_one_that_does() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", "")]);
    let submission = Submission::new(at("2026-01-01T01:30:00Z"), work(""));
    assert!(matches!(shell.command(Command::Submit(submission)), Reply::Submitted { .. }));
    shell.executes = |action| action.kind() != "process";
    shell.boot();
    shell.live("2026-01-01T03:00:00Z");
    assert_eq!(shell.started.len(), 0);
    assert_eq!(shell.states("j"), "queued skipped_overlap skipped_overlap");
    assert_eq!(shell.planner.unserved().count(), 2, "that of the job, and the one-shot job");
    shell.boot();
    assert_eq!((shell.started.len(), shell.planner.unserved().count()), (0, 2));
    shell.executes = |_| true;
    shell.boot();
    assert_eq!((shell.started.len(), shell.planner.unserved().count()), (2, 0));
    assert_eq!(shell.states("j"), "running skipped_overlap skipped_overlap");
}

#[test]
fn a_run_that_waits_for_a_worker_can_be_cancelled_and_takes_no_place() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", Vec::new()).of_capacity(1);
    shell.executes = |action| action.kind() != "handler";
    shell.boot();
    let unserved = Work::new(Action::new("handler", "{}").unwrap());
    let due = at("2026-01-01T01:00:00Z");
    assert!(matches!(
        shell.command(Command::Submit(Submission::new(due, unserved))),
        Reply::Submitted { .. }
    ));
    assert!(matches!(
        shell.command(Command::Submit(Submission::new(due, work("")))),
        Reply::Submitted { .. }
    ));
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.started.len(), 1, "the other takes the one place");
    let key = shell.planner.unserved().next().unwrap().0.key.clone();
    assert_eq!(shell.command(Command::Cancel(key.clone())), Reply::Done);
    assert_eq!(shell.planner.unserved().count(), 0);
    let run = shell.store.run(&key).unwrap().unwrap();
    assert_eq!(run.state, RunState::Cancelled);
}

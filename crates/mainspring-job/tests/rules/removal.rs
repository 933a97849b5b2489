//! A job that is removed: what runs continues to its end, and nothing of it starts any more.

use super::*;

fn remove(shell: &mut Shell) {
    assert_eq!(shell.command(Command::Remove(name("j"))), Reply::Done);
}

#[test]
fn a_purge_drops_the_ended_runs_in_portions_and_refuses_open_ones() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", "retention=keep=3000")]);
    let runs = mainspring_job::MAX_PRUNED + 2;
    for _ in 0..runs {
        shell.now += SignedDuration::from_millis(1);
        assert!(matches!(shell.command(Command::Trigger(RunRequest::new(name("j")))), Reply::Planned { .. }));
        shell.end(shell.started.len() - 1, Outcome::Succeeded);
    }
    shell.now += SignedDuration::from_millis(1);
    assert!(matches!(shell.command(Command::Trigger(RunRequest::new(name("j")))), Reply::Planned { .. }));
    let purge = |shell: &mut Shell| shell.command(Command::Purge(name("j")));
    assert_eq!(purge(&mut shell), Reply::Refused(Refusal::OpenRuns));
    assert!(shell.planner.job(&name("j")).is_some(), "what is refused changes nothing");
    shell.end(shell.started.len() - 1, Outcome::Succeeded);
    assert_eq!(purge(&mut shell), Reply::Done);
    assert!(shell.planner.job(&name("j")).is_none());
    assert_eq!(shell.runs("j").len(), 3, "one command drops one portion");
    assert_eq!(purge(&mut shell), Reply::Done, "a job that is gone is purged of the rest");
    assert_eq!(shell.runs("j").len(), 0);
}

#[test]
fn jobs_that_come_and_go_leave_room_for_others() {
    let mut limits = Limits::default();
    limits.max_jobs = 5;
    let mut shell =
        Shell::with("2026-01-01T00:00:00Z", vec![job("root", "@every 1h", "")], Vec::new(), limits);
    let of_user = |shell: &mut Shell, names: [&str; 2]| {
        let jobs = names.map(|text| job(text, "* * * * *", "")).to_vec();
        let definitions = Definitions::new("user", jobs).with_prune(Prune::Remove);
        let Reply::Applied(applied) = shell.command(Command::Apply(definitions)) else {
            panic!("definitions are applied")
        };
        shell.now += SignedDuration::from_secs(90);
        let until = shell.now.to_string();
        shell.live(&until);
        shell.planner.check();
        applied.refused.len()
    };
    assert_eq!(of_user(&mut shell, ["a", "b"]), 0);
    assert_eq!(shell.started_names(), "a b");
    assert_eq!(of_user(&mut shell, ["c", "d"]), 0);
    assert_eq!(of_user(&mut shell, ["e", "f"]), 2, "of those before a run is open");
    (0..shell.started.len()).for_each(|index| shell.end(index, Outcome::Succeeded));
    for round in 0..9 {
        let names = [format!("e{round}"), format!("f{round}")];
        assert_eq!(of_user(&mut shell, [&names[0], &names[1]]), 0, "{round}");
        (0..shell.started.len()).for_each(|index| shell.end(index, Outcome::Succeeded));
    }
    assert_eq!(shell.planner.jobs().count(), 3);
    // One that was forgotten comes back as a new job, and nothing of it fires again.
    let runs = shell.runs("a").len();
    assert_eq!(of_user(&mut shell, ["a", "b"]), 0);
    assert_eq!(shell.runs("a").len(), runs + 1);
    shell.boot();
    assert_eq!(of_user(&mut shell, ["x", "y"]), 0, "after a restart, which reads all names");
}

#[test]
fn what_waits_is_cancelled_also_where_the_job_was_paused() {
    let cases = ["overlap=queue-all", "overlap=queue-all jitter=50s", "retry=9,backoff=1h overlap=skip"];
    for policies in cases {
        for is_paused in [false, true] {
            let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("j", "@every 1h", policies)]);
            shell.live("2026-01-01T01:01:00Z");
            if policies.starts_with("retry") {
                shell.end(0, failed());
            } else {
                shell.live("2026-01-01T02:00:00Z");
            }
            if is_paused {
                shell.command(Command::Pause(Scope::Job(name("j")), PauseTerms::default()));
            }
            remove(&mut shell);
            let run = shell.runs("j").pop().unwrap();
            assert_eq!(
                (run.state, run.why().as_str()),
                (RunState::Cancelled, "its job was removed"),
                "{policies}"
            );
            let started_count = shell.started.len();
            if shell.states("j").contains("running") {
                shell.end(0, Outcome::Succeeded);
            }
            shell.live("2026-01-01T09:00:00Z");
            assert_eq!(shell.started.len(), started_count, "{policies}");
        }
    }
}

#[test]
fn a_run_of_a_removed_job_ends_as_it_ends_and_is_not_tried_again() {
    let policies = "retry=2,backoff=1s pause-after=1 dead-letters=always";
    for (outcome, state, reason) in [
        (failed(), RunState::Failed, "its job was removed, and it is not tried again"),
        (Outcome::TimedOut, RunState::TimedOut, "its job was removed, and it is not tried again"),
        (Outcome::Succeeded, RunState::Succeeded, ""),
    ] {
        let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("j", "@every 1h", policies)]);
        shell.live("2026-01-01T01:00:00Z");
        remove(&mut shell);
        shell.end(0, outcome);
        let run = shell.runs("j").remove(0);
        assert_eq!((run.state, run.why().as_str()), (state, reason));
        // As at a start that finds the job gone.
        shell.boot();
        assert_eq!(shell.runs("j").remove(0).state, state);
    }
}

#[test]
fn what_comes_due_with_its_removal_is_cancelled_too() {
    // At 10:30 the run of 10:10 is caught up, and that of 10:30 is on time: it is judged when the first
    // has its place.
    let policies = "misfire=earliest,spread=0s overlap=kill-old";
    let mut shell = Shell::new("2026-01-01T10:05:00Z", vec![job("j", "*/10 * * * *", policies)]);
    shell.now = at("2026-01-01T10:30:10Z");
    remove(&mut shell);
    assert_eq!(shell.states("j"), "cancelled missed cancelled");
    shell.live("2026-01-01T12:00:00Z");
    assert_eq!(shell.started.len(), 0);
}

#[test]
fn a_run_that_was_cut_off_says_why_also_where_its_job_is_gone() {
    for (is_clean, machine, reason) in [
        (true, "first", "the server ended while it ran"),
        (false, "first", "the server died while it ran"),
        (false, "second", "the machine went down while it ran"),
    ] {
        let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("j", "@every 1h", "")]);
        shell.live("2026-01-01T01:00:00Z");
        if is_clean {
            shell.store.release(shell.lease).unwrap();
        }
        shell.jobs.clear();
        shell.machine_start = machine.to_owned();
        shell.boot();
        let run = shell.runs("j").remove(0);
        assert_eq!((run.state, run.why().as_str()), (RunState::Abandoned, reason));
    }
}

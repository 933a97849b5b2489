//! A job that its source does not have any more, and that is there again within a day or not.

use super::*;

/// A job whose run waits for its retry, paused.
fn retrying(policies: &str) -> Shell {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("j", "@every 1h", policies)]);
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, failed());
    shell
}

fn pause(shell: &mut Shell) {
    shell.command(Command::Pause(Scope::Job(name("j")), PauseTerms::new("a note")));
}

/// Its definition goes, `seconds` pass, a restart among them or not, and it is there again.
fn blink(shell: &mut Shell, seconds: i64, has_restart: bool) {
    let jobs = std::mem::take(&mut shell.jobs);
    let former = jobs.clone();
    assert_eq!(shell.apply(Vec::new()).removed, [name("j")]);
    shell.former.clone_from(&former);
    let back = shell.now + SignedDuration::from_secs(seconds);
    if has_restart {
        shell.boot();
        shell.former = former;
    }
    shell.live(&back.to_string());
    shell.jobs.clone_from(&jobs);
    assert_eq!(shell.apply(jobs).added, [name("j")]);
    shell.tell(Input::Tick);
}

#[test]
fn a_job_that_is_back_within_a_day_has_its_pause_its_marks_and_its_retry() {
    for has_restart in [false, true] {
        for (seconds, is_same) in [(6, true), (86_399, true), (86_400, false), (90_000, false)] {
            let mut shell = retrying("retry=9,backoff=5m pause-after=9");
            pause(&mut shell);
            let mark = shell.planner.job(&name("j")).unwrap().1.clone();
            blink(&mut shell, seconds, has_restart);
            let found = shell.planner.job(&name("j")).unwrap().1.clone();
            let case = format!("{seconds} s, restart: {has_restart}");
            let run = shell.runs("j").remove(0);
            if is_same {
                assert_eq!(found, mark, "{case}");
                assert!(shell.notes.contains(&Note::Returned(name("j"))), "{case}");
                assert!(run.state.is_open(), "{case}: {run:?}");
                shell.command(Command::Resume(Scope::Job(name("j"))));
                shell.live("2026-01-02T01:10:00Z");
                let attempts: Vec<u32> = shell
                    .started
                    .iter()
                    .filter(|start| start.key == run.key)
                    .map(|start| start.attempt)
                    .collect();
                assert_eq!(attempts, [1, 2], "{case}");
            } else {
                assert_eq!((found.pause, found.runs), (None, 0), "{case}");
                assert_eq!(
                    (run.state, run.why().as_str()),
                    (RunState::Cancelled, "its job was removed"),
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn nothing_of_an_absent_job_starts_nor_is_lost_whatever_it_waits_for() {
    let cases =
        ["overlap=queue-all", "overlap=queue-all jitter=50s", "overlap=allow jitter=50s misfire=latest"];
    for policies in cases {
        let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("j", "@every 1h", policies)]);
        shell.live("2026-01-01T01:00:00Z");
        shell.command(Command::Trigger(RunRequest::new(name("j"))));
        let (before, open) = (shell.started.len(), shell.planner.open_count());
        let jobs = std::mem::take(&mut shell.jobs);
        shell.apply(Vec::new());
        shell.live("2026-01-01T01:30:00Z");
        assert!(shell.planner.job(&name("j")).is_none(), "no command finds it");
        assert_eq!((shell.started.len(), shell.planner.open_count()), (before, open), "{policies}");
        shell.apply(jobs);
        shell.live("2026-01-01T01:31:00Z");
        while shell.planner.running_count() != 0 {
            let key =
                shell.planner.open_runs().find(|run| run.state == RunState::Running).unwrap().key.clone();
            shell.tell(Input::Ended(AttemptEnd::new(key, 1, Outcome::Succeeded)));
        }
        assert_eq!((shell.started.len(), shell.planner.open_count()), (2, 0), "{policies}");
    }
}

#[test]
fn what_a_timetable_named_while_its_job_was_absent_is_judged_by_the_misfire_policy() {
    // It goes at 00:30, and is back at 03:00:30.
    for (misfire, states) in [
        ("none", "missed succeeded"),
        ("none,grace=1s", "missed"),
        ("latest,spread=0s,grace=1s", "missed succeeded"),
        ("all,cap=9,spread=0s,grace=1s", "succeeded succeeded succeeded"),
    ] {
        let policies = format!("misfire={misfire} overlap=allow");
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", &policies)]);
        blink(&mut shell, 9_030, false);
        while shell.planner.running_count() != 0 {
            shell.end(shell.started.len() - 1, Outcome::Succeeded);
        }
        assert_eq!(shell.states("j"), states, "{misfire}");
    }
}

#[test]
fn another_timetable_counts_from_when_the_job_is_back() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "misfire=all,cap=9")]);
    shell.apply(Vec::new());
    shell.now = at("2026-01-01T05:20:00Z");
    shell.apply(vec![job("j", "30 * * * *", "misfire=all,cap=9")]);
    shell.live("2026-01-01T05:31:00Z");
    assert_eq!(shell.states("j"), "running");
}

#[test]
fn another_source_and_a_person_end_an_absence() {
    let mut shell = retrying("retry=9,backoff=5m");
    pause(&mut shell);
    let jobs = std::mem::take(&mut shell.jobs);
    shell.apply(Vec::new());
    assert!(shell.planner.absence(&name("j")).is_some());
    let mut changed = jobs.clone();
    changed[0].text = "another".to_owned();
    shell.command(Command::Apply(Definitions::new("another", changed)));
    assert_eq!(shell.states("j"), "cancelled");
    assert_eq!(shell.planner.job(&name("j")).unwrap().1.pause, None);

    let mut shell = retrying("retry=9,backoff=5m");
    shell.apply(Vec::new());
    assert_eq!(shell.command(Command::Remove(name("j"))), Reply::Done);
    assert_eq!(shell.states("j"), "cancelled");
    assert_eq!(shell.command(Command::Remove(name("j"))), Reply::Refused(Refusal::NoSuchJob));
}

#[test]
fn a_job_that_moves_by_two_changes_is_as_it_was() {
    for has_restart in [false, true] {
        let mut shell = retrying("retry=9,backoff=5m pause-after=9");
        pause(&mut shell);
        let mark = shell.planner.job(&name("j")).unwrap().1.clone();
        let jobs = std::mem::take(&mut shell.jobs);
        shell.apply(Vec::new());
        shell.former.clone_from(&jobs);
        if has_restart {
            shell.boot();
        }
        shell.live("2026-01-01T01:01:00Z");
        shell.command(Command::Apply(Definitions::new("another", jobs)));
        let (job, found) = shell.planner.job(&name("j")).unwrap();
        assert_eq!((job.source.as_str(), found), ("another", &mark), "restart: {has_restart}");
        shell.command(Command::Resume(Scope::Job(name("j"))));
        shell.live("2026-01-01T01:10:00Z");
        let attempts: Vec<u32> = shell.started.iter().map(|start| start.attempt).collect();
        assert_eq!(attempts, [1, 2], "restart: {has_restart}");
        shell.planner.check();
    }
}

#[test]
fn a_run_that_fails_while_its_job_is_absent_is_tried_again_when_it_is_back() {
    for is_cut_off in [false, true] {
        let policies = "retry=2,backoff=1s,on=failed+abandoned";
        let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("j", "@every 1h", policies)]);
        shell.live("2026-01-01T01:00:00Z");
        let jobs = std::mem::take(&mut shell.jobs);
        shell.apply(Vec::new());
        shell.former.clone_from(&jobs);
        if is_cut_off {
            shell.boot();
        } else {
            shell.end(0, failed());
        }
        shell.live("2026-01-01T01:05:00Z");
        assert_eq!((shell.states("j").as_str(), shell.started.len()), ("scheduled", 1));
        shell.apply(jobs);
        shell.live("2026-01-01T01:05:01Z");
        assert_eq!((shell.states("j").as_str(), shell.started.len()), ("running", 2));
    }
}

#[test]
fn a_run_by_hand_of_an_absent_job_can_be_cancelled() {
    let mut shell = retrying("retry=9,backoff=5m");
    shell.apply(Vec::new());
    let key = shell.runs("j").remove(0).key;
    assert_eq!(shell.command(Command::Cancel(key)), Reply::Done);
    assert_eq!(shell.states("j"), "cancelled");
}

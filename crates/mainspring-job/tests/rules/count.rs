//! `max_runs`: how many occurrences may become runs. What did not run is not counted.

use super::*;

fn limited(expression: &str, policies: &str) -> Job {
    let mut job = job("j", expression, policies);
    job.max_runs = Some(2);
    job
}

fn runs_counted(shell: &Shell) -> u64 {
    shell.planner.jobs().map(|(_, mark)| mark.runs).sum()
}

#[test]
fn an_occurrence_that_is_skipped_does_not_count() {
    let mut shell = Shell::new("2026-01-01T09:59:30Z", vec![limited("* * * * *", "")]);
    shell.live("2026-01-01T10:02:10Z");
    assert_eq!(
        (shell.states("j").as_str(), runs_counted(&shell)),
        ("running skipped_overlap skipped_overlap", 1)
    );
    shell.end(0, Outcome::Succeeded);
    shell.live("2026-01-01T10:10:30Z");
    assert_eq!(shell.states("j"), "succeeded skipped_overlap skipped_overlap running");
    assert_eq!(runs_counted(&shell), 2);
    let mark = shell.store.jobs().unwrap().0.remove(0).mark;
    assert_eq!(mark.runs, 2, "the store knows it too");
    assert!(shell.planner.next_due().is_none_or(|due| shell.now < due), "it is done");
}

#[test]
fn a_run_that_never_started_gives_its_place_back() {
    // What befalls the second, which waits for the first: it is withdrawn, or a later one takes its place.
    let mut shell = Shell::new("2026-01-01T09:59:30Z", vec![limited("* * * * *", "overlap=queue-one")]);
    shell.live("2026-01-01T10:01:30Z");
    assert_eq!((shell.states("j").as_str(), runs_counted(&shell)), ("running queued", 2));
    let key = shell.runs("j")[1].key.clone();
    shell.command(Command::Cancel(key));
    assert_eq!(runs_counted(&shell), 1);
    shell.boot();
    shell.live("2026-01-01T10:02:00Z");
    assert_eq!(shell.states("j"), "abandoned cancelled running");
    shell.end(1, Outcome::Succeeded);
    shell.live("2026-01-01T10:09:00Z");
    assert_eq!(shell.started.len(), 2, "two and no more");
    let mut shell =
        Shell::new("2026-01-01T09:59:30Z", vec![limited("* * * * *", "jitter=50s misfire=none,grace=5s")]);
    shell.live("2026-01-01T10:00:00Z");
    assert_eq!(shell.states("j"), "scheduled");
    shell.wake("2026-01-01T10:30:30Z");
    assert_eq!((shell.states("j").as_str(), runs_counted(&shell)), ("missed missed", 0));
}

#[test]
fn starts_of_the_server_count_too() {
    let mut shell = Shell::new("2026-01-01T09:59:30Z", vec![limited("@reboot", "")]);
    for _ in 0..5 {
        shell.live(&(shell.now + SignedDuration::from_secs(60)).to_string());
        shell.store.release(shell.lease).unwrap();
        shell.boot();
    }
    assert_eq!((shell.states("j").as_str(), runs_counted(&shell)), ("abandoned abandoned", 2));
}

#[test]
fn one_job_and_one_run_are_found_among_all() {
    let names = ["a", "a.b", "b", "c"];
    let jobs = names.map(|name| job(name, "@every 1h", "overlap=allow")).to_vec();
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    shell.live("2026-01-01T02:00:00Z");
    let planner = &shell.planner;
    for name in names {
        let name: JobName = name.parse().unwrap();
        assert_eq!(planner.job(&name).unwrap().0.name, name);
        let runs: Vec<&Run> = planner.runs_of(&name).collect();
        let expected: Vec<&Run> = planner.open_runs().filter(|run| run.key.job == name).collect();
        assert_eq!((runs.len(), &runs), (2, &expected));
        assert_eq!(planner.run(&runs[1].key), Some(runs[1]));
        assert_eq!(planner.next_of(&name), Some(at("2026-01-01T03:00:00Z")));
        let after: Vec<&JobName> = planner.looks_after(Some(&name)).map(|(job, ..)| &job.name).collect();
        let expected: Vec<&JobName> = planner.jobs().map(|(job, _)| &job.name).collect();
        assert_eq!(after, expected[expected.iter().position(|it| **it == name).unwrap() + 1..]);
    }
    assert!(planner.job(&"d".parse().unwrap()).is_none());
    assert_eq!(planner.jobs().count(), 4);
}

//! The order of a job's runs: in which they are due, and one after the other where they catch up on what
//! was missed.

use super::*;

/// Ends whatever runs, a minute after it started, and says what started, in order; at most one may run at a
/// time.
fn one_after_the_other(shell: &mut Shell, count: usize) -> Vec<Timestamp> {
    for index in 0..count {
        shell.live(&(shell.now + SignedDuration::from_secs(150)).to_string());
        assert_eq!(shell.started.len(), index + 1, "one at a time");
        shell.end(index, Outcome::Succeeded);
    }
    shell.started.iter().map(|start| start.key.nominal).collect()
}

#[test]
fn all_that_is_made_good_for_runs_in_order_and_one_after_the_other() {
    for overlap in ["skip", "queue-all", "replace", "allow"] {
        let policies = format!("misfire=all,cap=100,grace=0s overlap={overlap}");
        let mut hourly = job("j", "*/10 * * * *", &policies);
        hourly.timetable = hourly.timetable.between(None, Some(at("2026-01-01T11:00:00Z"))).unwrap();
        let mut shell = Shell::new("2026-01-01T10:05:00Z", vec![hourly]);
        // Two looks, the second before what the first caught up is due: it lines up behind.
        shell.wake("2026-01-01T10:35:00Z");
        shell.wake("2026-01-01T10:59:50Z");
        let expected = [10, 20, 30, 40, 50].map(|minute| at(&format!("2026-01-01T10:{minute}:00Z")));
        let spread = SignedDuration::from_secs(120);
        let dues: Vec<Timestamp> = shell.runs("j").iter().map(|run| run.due).collect();
        assert!(dues.is_sorted(), "{overlap}: {dues:?}");
        assert!(dues.iter().all(|due| *due <= shell.now + spread), "{overlap}: {dues:?}");
        assert_eq!(one_after_the_other(&mut shell, 5), expected, "{overlap}");
    }
}

#[test]
fn what_is_on_time_runs_beside_what_is_made_good_for_only_where_that_is_allowed() {
    let policies = "misfire=all,cap=100,spread=0s overlap=allow";
    let mut shell = Shell::new("2026-01-01T10:05:00Z", vec![job("j", "*/10 * * * *", policies)]);
    shell.wake("2026-01-01T10:30:10Z");
    assert_eq!(
        shell.states("j"),
        "running queued running",
        "10:10 is caught up, 10:20 waits, 10:30 is on time"
    );
}

#[test]
fn what_comes_due_with_another_of_its_job_is_judged_when_that_has_its_place() {
    // At 10:30 the run of 10:10 is caught up, and that of 10:30 is on time.
    let cases = [
        ("skip", "running missed skipped_overlap", 0),
        ("queue-one", "running missed queued", 0),
        ("replace", "running missed queued", 0),
        ("kill-old", "running missed queued", 1),
    ];
    for (overlap, states, killed_count) in cases {
        let policies = format!("misfire=earliest,spread=0s overlap={overlap}");
        let mut shell = Shell::new("2026-01-01T10:05:00Z", vec![job("j", "*/10 * * * *", &policies)]);
        shell.wake("2026-01-01T10:30:10Z");
        assert_eq!((shell.states("j").as_str(), shell.killed_count), (states, killed_count), "{overlap}");
        let reasons: Vec<Option<Reason>> = shell.runs("j").into_iter().map(|run| run.reason).collect();
        assert!(matches!(reasons[2], None | Some(Reason::EarlierRunning)), "{reasons:?}");
    }
}

#[test]
fn a_run_that_is_due_earlier_goes_before_one_that_waits_for_a_place() {
    let jobs = vec![job("a", "0 10 * * *", ""), job("j", "5 10 * * *", "overlap=queue-all")];
    let mut shell = Shell::new("2026-01-01T09:59:30Z", jobs).of_capacity(1);
    shell.live("2026-01-01T10:06:00Z");
    assert_eq!((shell.started_names().as_str(), shell.states("j").as_str()), ("a", "queued"));
    // The clock is set back, and somebody wants a run now.
    shell.now = at("2026-01-01T09:50:00Z");
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.started[1].cause, Cause::Request);
    shell.end(1, Outcome::Succeeded);
    assert_eq!(shell.started[2].cause, Cause::Trigger);
}

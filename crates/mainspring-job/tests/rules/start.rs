//! The start of a server after another has ended: its runs are over, and hold nothing up.

use super::*;

#[test]
fn a_run_of_the_last_server_is_not_in_the_way_of_the_next_start() {
    for policy in ["skip", "queue-one", "queue-all", "replace", "kill-old", "allow"] {
        for is_clean in [true, false] {
            let jobs = vec![job("boot", "@reboot", &format!("overlap={policy}"))];
            let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
            for count in 1..=3 {
                assert_eq!(shell.started.len(), count, "{policy}, clean: {is_clean}");
                // What kills the server at each start is another matter.
                shell.live(&(shell.now + SignedDuration::from_secs(60)).to_string());
                if is_clean {
                    shell.store.release(shell.lease).unwrap();
                }
                shell.boot();
            }
            let states = "abandoned abandoned abandoned running";
            assert_eq!((shell.states("boot").as_str(), shell.killed_count), (states, 0), "{policy}");
        }
    }
}

#[test]
fn the_line_of_the_last_server_comes_before_what_is_due_at_the_start() {
    let mut jobs = vec![
        job("boot", "@reboot", ""),
        job("first", "0 1 * * *", "overlap=queue-one"),
        job("later", "30 1 * * *", ""),
    ];
    let first = Arc::make_mut(&mut jobs[1].work);
    (first.group, first.priority) = (Some(name("db")), 1);
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs).of_capacity(1);
    let submission = Submission::new(at("2026-01-01T01:30:00Z"), work("")).with_name(name("once"));
    shell.command(Command::Submit(submission));
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!((shell.started_names().as_str(), shell.states("first").as_str()), ("boot", "queued"));
    shell.store.release(shell.lease).unwrap();
    shell.now = at("2026-01-01T01:30:10Z");
    shell.boot();
    shell.live("2026-01-01T01:30:20Z");
    for index in 1..4 {
        assert_eq!(shell.started.len(), index + 1, "{}", shell.started_names());
        shell.end(index, Outcome::Succeeded);
    }
    assert_eq!(shell.started_names(), "boot first later once boot");
}

#[test]
fn each_stretch_that_is_missed_says_why_it_was() {
    let jobs =
        vec![job("a", "*/10 * * * *", ""), job("j", "*/10 * * * *", "misfire=earliest,window=30m,spread=0s")];
    let mut limits = Limits::default();
    limits.per_turn = 1;
    let mut shell = Shell::with("2026-01-01T10:05:00Z", jobs, Vec::new(), limits);
    shell.now = at("2026-01-01T11:05:00Z");
    // The first look is at the other job, and then there is no look for an hour.
    shell.boot();
    shell.wake("2026-01-01T12:05:00Z");
    let missed: Vec<Run> = shell.runs("j").into_iter().filter(|run| run.state == RunState::Missed).collect();
    let stretches: Vec<(String, bool)> = missed
        .iter()
        .map(|run| (run.key.nominal.to_string(), run.reason == Some(Reason::ServerDown)))
        .collect();
    let expected = [("2026-01-01T10:10:00Z".to_owned(), true), ("2026-01-01T11:50:00Z".to_owned(), false)];
    assert_eq!(stretches, expected);
}

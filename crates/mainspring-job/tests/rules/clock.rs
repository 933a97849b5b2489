//! A clock that was ahead and is right again: what rests, and what does not.

use super::*;

/// Lives for two minutes a year ahead, then the clock is right again.
fn a_year_ahead(jobs: Vec<Job>) -> Shell {
    let mut shell = Shell::new("2026-01-01T09:59:30Z", jobs);
    shell.live("2026-01-01T10:00:30Z");
    shell.wake("2027-01-01T10:00:30Z");
    shell.live("2027-01-01T10:02:30Z");
    shell
}

#[test]
fn a_changed_timetable_counts_from_now_whatever_the_clock_showed() {
    for restarts in [false, true] {
        let mut shell = a_year_ahead(vec![job("j", "* * * * *", "overlap=allow")]);
        let started = shell.started.len();
        shell.wake("2026-01-01T10:03:10Z");
        shell.live("2026-01-01T10:10:10Z");
        assert_eq!(shell.started.len(), started, "it rests: nothing fires again");
        shell.jobs = vec![job("j", "*/30 * * * * *", "overlap=allow")];
        if restarts {
            shell.boot();
        } else {
            shell.apply(shell.jobs.clone());
        }
        shell.live("2026-01-01T10:11:10Z");
        let nominals: Vec<String> =
            shell.started[started..].iter().map(|start| start.key.nominal.to_string()).collect();
        assert_eq!(nominals, ["2026-01-01T10:10:30Z", "2026-01-01T10:11:00Z"], "restarts: {restarts}");
        shell.boot();
        shell.live("2026-01-01T10:11:30Z");
        assert_eq!(shell.started.len(), started + 3, "and continues after a restart");
    }
}

#[test]
fn a_time_that_has_run_does_not_run_again_by_another_timetable() {
    let mut shell = Shell::new("2026-01-01T09:59:30Z", vec![job("j", "* * * * *", "overlap=allow")]);
    shell.live("2026-01-01T10:30:30Z");
    assert_eq!(shell.started.len(), 31);
    // Half of them have ended, and are known to the store alone.
    (0..31).step_by(2).for_each(|index| shell.end(index, Outcome::Succeeded));
    shell.wake("2026-01-01T10:10:30Z");
    let mut limited = job("j", "*/30 * * * * *", "overlap=allow");
    limited.max_runs = Some(36);
    shell.apply(vec![limited]);
    shell.live("2026-01-01T10:13:10Z");
    let nominals: Vec<String> =
        shell.started[31..].iter().map(|start| start.key.nominal.to_string()).collect();
    assert_eq!(nominals, ["2026-01-01T10:11:30Z", "2026-01-01T10:12:30Z"], "11:00, 12:00 and 13:00 have run");
    let runs = shell.planner.jobs().next().unwrap().1.runs;
    assert_eq!(runs, 33, "and what did not run again is not counted");
}

#[test]
fn a_wait_that_is_a_length_of_time_takes_no_longer_for_a_clock_that_is_set_back() {
    let cases = [
        ("retry=3,backoff=1h,jitter=0%", "2026-01-01T11:03:10Z"),
        ("misfire=all,cap=3,spread=1h,grace=0s", "2026-01-01T11:03:10Z"),
    ];
    for (policies, until) in cases {
        for restarts in [false, true] {
            let mut shell = Shell::new("2026-12-31T23:59:30Z", vec![job("j", "0 0 1 1 *", policies)]);
            if policies.starts_with("retry") {
                shell.live("2027-01-01T00:00:10Z");
                shell.end(0, failed());
            } else {
                shell.wake("2027-01-01T00:10:00Z");
            }
            let started = shell.started.len();
            assert!(shell.states("j").contains("scheduled"), "{policies}");
            shell.now = at("2026-01-01T10:03:10Z");
            if restarts {
                shell.store.release(shell.lease).unwrap();
                shell.boot();
            }
            shell.tell(Input::Tick);
            assert_eq!(shell.started.len(), started, "{policies}: it waits");
            shell.live(until);
            assert_eq!(shell.started.len(), started + 1, "{policies}, restarts: {restarts}");
        }
    }
}

#[test]
fn what_is_made_good_for_does_not_wait_for_what_a_clock_that_was_ahead_put_off() {
    let policies = "misfire=earliest,spread=10m,grace=0s overlap=allow";
    let mut shell = Shell::new("2026-01-01T10:05:00Z", vec![job("j", "*/10 * * * *", policies)]);
    shell.wake("2026-01-01T13:05:30Z");
    shell.now = at("2026-01-01T11:05:30Z");
    shell.apply(vec![job("j", "* * * * *", policies)]);
    shell.wake("2026-01-01T11:05:31Z");
    shell.wake("2026-01-01T11:06:30Z");
    let runs = shell.runs("j");
    let made_good: Vec<&Run> = runs.iter().filter(|run| run.cause == Cause::CatchUp).collect();
    assert_eq!(made_good.len(), 2);
    assert!(made_good[0].state == RunState::Scheduled, "the earlier one still waits");
    let latest = shell.now + SignedDuration::from_mins(10);
    assert!(made_good[1].due <= latest, "due at {}, and it is {}", made_good[1].due, shell.now);
}

#[test]
fn what_is_made_good_for_keeps_its_order_when_the_clock_is_set_back() {
    let policies = "misfire=all,cap=100,grace=0s,spread=10m overlap=queue-all";
    let mut shell = Shell::new("2026-01-01T10:05:00Z", vec![job("j", "10,20,30,55 10 * * *", policies)]);
    shell.wake("2026-01-01T10:35:00Z");
    shell.live("2026-01-01T10:50:00Z");
    assert_eq!(shell.states("j"), "running queued queued");
    shell.wake("2026-01-01T10:56:00Z");
    assert_eq!(shell.states("j"), "running queued queued scheduled");
    // The last wakes by a clock that shows less than what the others were due at.
    shell.wake("2026-01-01T10:00:00Z");
    shell.tell(Input::Tick);
    shell.live("2026-01-01T10:11:00Z");
    assert_eq!(shell.states("j"), "running queued queued queued");
    (0..3).for_each(|index| shell.end(index, Outcome::Succeeded));
    let nominals: Vec<String> = shell.started.iter().map(|start| start.key.nominal.to_string()).collect();
    let expected = [10, 20, 30, 55].map(|minute| format!("2026-01-01T10:{minute}:00Z"));
    assert_eq!(nominals, expected);
}

#[test]
fn a_job_that_rests_for_a_clock_that_was_ahead_is_rewound() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", "overlap=allow")]);
    let rewind = || Command::Rewind(name("j"));
    assert_eq!(shell.command(rewind()), Reply::Refused(Refusal::NotAhead));
    assert_eq!(shell.command(Command::Rewind(name("x"))), Reply::Refused(Refusal::NoSuchJob));
    // A year ahead for a look: 01:00 to the year's end are one missed stretch, and its last time ran.
    shell.wake("2027-01-01T00:00:30Z");
    assert_eq!(shell.started.len(), 1);
    shell.wake("2026-01-01T00:40:00Z");
    shell.live("2026-01-01T04:30:00Z");
    assert_eq!(shell.started.len(), 1, "it rests");
    let (_, mark) = shell.planner.job(&name("j")).unwrap();
    let from = mark.watermark;
    let (times, count) = rewind_preview(&shell.jobs[0].timetable, from, shell.now, 2).unwrap();
    assert_eq!(times, [at("2026-01-01T05:00:00Z"), at("2026-01-01T06:00:00Z")]);
    assert!(count > 8_000, "{count}");
    assert_eq!(shell.command(rewind()), Reply::Rewound { from });
    shell.live("2026-01-01T06:30:00Z");
    let nominals: Vec<Timestamp> = shell.started[1..].iter().map(|start| start.key.nominal).collect();
    assert_eq!(nominals, times);
    // It is on disk, and what ran does not run again.
    shell.boot();
    shell.wake("2026-01-01T00:40:00Z");
    assert!(matches!(shell.command(rewind()), Reply::Rewound { .. }));
    shell.live("2026-01-01T07:30:00Z");
    let nominals: Vec<Timestamp> = shell.started[1..].iter().map(|start| start.key.nominal).collect();
    let hours = [5, 6, 2, 3, 4, 7].map(|hour| at(&format!("2026-01-01T0{hour}:00:00Z")));
    assert_eq!(nominals, hours, "01:00 is on record as the first that was missed");
}

#[test]
fn a_run_that_waits_is_not_replaced_by_itself_when_its_time_comes_again() {
    for overlap in ["replace", "kill-old"] {
        let policies = format!("overlap={overlap}");
        let jobs = vec![job("busy", "40 59 9 1 1 *", ""), job("j", "* * * * *", &policies)];
        let mut shell = Shell::new("2026-01-01T09:59:30Z", jobs).of_capacity(1);
        shell.live("2026-01-01T10:00:10Z");
        assert_eq!((shell.started.len(), shell.states("j")), (1, "queued".to_owned()), "{overlap}");
        shell.wake("2026-01-01T09:59:35Z");
        assert!(matches!(shell.command(Command::Rewind(name("j"))), Reply::Rewound { .. }));
        shell.live("2026-01-01T10:00:10Z");
        assert_eq!(shell.states("j"), "queued", "{overlap}: 10:00 has its run");
        shell.end(0, Outcome::Succeeded);
        assert_eq!(shell.started[1].key.nominal, at("2026-01-01T10:00:00Z"), "{overlap}");
    }
}

#[test]
fn a_period_keeps_its_nanoseconds_over_thousands_of_runs_and_a_restart() {
    let period = SignedDuration::new(1, 1);
    let jobs = vec![job("j", "@every 1.000000001s", "overlap=allow retention=keep=100000")];
    let mut shell = Shell::new("2026-01-01T00:00:00Z", jobs).of_capacity(10_000);
    for (until, policies) in [("2026-01-01T00:30:00Z", "before"), ("2026-01-01T01:00:00Z", "after")] {
        shell.live(until);
        let nominals: Vec<Timestamp> = shell.started.iter().map(|start| start.key.nominal).collect();
        let count = shell.now.duration_since(at("2026-01-01T00:00:00Z")).as_secs();
        assert_eq!(nominals.len() as i64, count, "{policies} the restart");
        assert!(nominals.windows(2).all(|pair| pair[1].duration_since(pair[0]) == period));
        // As at the epoch, so that no rounding adds up.
        assert_eq!(nominals[0].as_nanosecond() % period.as_nanos(), 0);
        for index in 0..shell.started.len() {
            if shell.planner.run(&shell.started[index].key).is_some() {
                shell.end(index, Outcome::Succeeded);
            }
        }
        shell.boot();
    }
}

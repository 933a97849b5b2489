//! Crowds: much that is due at once is planned in portions, and what finds no room is not called what it is
//! not.

use super::workers::limited_pool;
use super::*;

/// So many jobs of each minute, none of whose occurrences may be left out.
fn crowd(count: usize) -> Vec<Job> {
    let policies = "misfire=all,cap=1000,spread=0s retention=keep=100000";
    (0..count).map(|index| job(&format!("j{index:02}"), "* * * * *", policies)).collect()
}

#[test]
fn a_day_of_many_jobs_is_made_good_for_in_batches_of_a_bounded_size() {
    let mut shell = Shell::new("2026-01-01T00:00:30Z", crowd(20));
    let before = shell.operations.len();
    shell.wake("2026-01-02T00:00:30Z");
    assert!(shell.batch_sizes.iter().all(|size| *size <= MAX_BATCH_OPERATIONS), "{:?}", shell.batch_sizes);
    for index in 0..20 {
        let runs = shell.runs(&format!("j{index:02}"));
        let counts: Vec<u64> = runs.iter().map(|run| run.span.map_or(1, |span| span.count)).collect();
        assert_eq!((counts[0], counts.len(), counts.iter().sum()), (439, 1_002, 1_440));
    }
    assert!(shell.operations.len() - before < 21_000, "each occurrence is written once");
}

#[test]
fn what_finds_no_room_waits_for_it_and_is_then_judged_by_the_misfire_rule() {
    let mut limits = Limits::default();
    limits.max_open = 100;
    let mut jobs = crowd(3);
    jobs.push(job("none", "* * * * *", "misfire=none"));
    let mut shell = Shell::with("2026-01-01T00:00:30Z", jobs, Vec::new(), limits).of_capacity(10);
    shell.wake("2026-01-01T01:00:30Z");
    assert!(shell.planner.open_count() <= 100, "{}", shell.planner.open_count());
    assert_eq!(shell.states("none"), "", "it waits for room");
    assert_eq!(shell.holds(&name("none")), [Hold::NoRoom]);
    // Each run ends after a second, and makes room for another.
    let mut ended = 0;
    while ended < shell.started.len() {
        shell.end(ended, Outcome::Succeeded);
        ended += 1;
        for job in ["j00", "none"] {
            shell.holds(&name(job));
        }
        shell.live(&(shell.now + SignedDuration::from_secs(1)).to_string());
        assert!(shell.planner.open_count() <= 100, "{}", shell.planner.open_count());
        if shell.now > at("2026-01-01T03:00:00Z") {
            break;
        }
    }
    for name in ["j00", "j01", "j02"] {
        let nominals: Vec<Timestamp> = shell.runs(name).iter().map(|run| run.key.nominal).collect();
        let expected = (1..).map(|minute| at("2026-01-01T00:00:00Z") + SignedDuration::from_mins(minute));
        let expected: Vec<Timestamp> = expected.take(60).collect();
        assert_eq!(nominals[..60], expected[..], "{name}: each is on record, in order");
    }
    let first = shell.runs("none").remove(0);
    assert_eq!((first.state, first.why().as_str()), (RunState::Missed, "too many runs were open"));
}

#[test]
fn a_job_of_each_worker_stays_in_line_until_there_is_room_for_all_its_runs() {
    let mut limits = Limits::default();
    limits.max_open = 3;
    let jobs = vec![job("a", "0 * * * *", "on=all overlap=allow"), job("b", "0 * * * *", "overlap=allow")];
    let mut shell = limited_pool(jobs, &[5, 5], limits);
    shell.live("2026-01-01T02:00:00Z");
    assert_eq!((shell.states("a"), shell.states("b")), ("running running".into(), "running".into()));
    assert_eq!(shell.holds(&name("a")), [Hold::NoRoom]);
    shell.end(2, Outcome::Succeeded);
    shell.live("2026-01-01T02:00:01Z");
    assert_eq!(shell.holds(&name("a")), [Hold::NoRoom], "there is room for one of its two runs");
    shell.end(0, Outcome::Succeeded);
    shell.live("2026-01-01T02:00:02Z");
    assert_eq!(shell.states("a"), "succeeded running running running");
    assert_eq!(shell.states("b"), "succeeded", "it came second");
    shell.end(1, Outcome::Succeeded);
    shell.live("2026-01-01T02:00:03Z");
    assert_eq!(shell.states("b"), "succeeded running");
    shell.planner.check();
}

//! Runs that follow the end of a run.

use super::*;
use mainspring_job::{After, Ending, MAX_FOLLOWERS, Trigger};

fn follower(text: &str, of: &[(&str, Ending)], policies: &str) -> Job {
    let triggers = of.iter().map(|(job, ending)| After::new(name(job), *ending));
    Job::new(name(text), Timetable::new(triggers).unwrap(), work(policies))
}

/// A parent that is due each hour, and one follower for each ending.
fn family(policies: &str) -> Vec<Job> {
    let mut jobs = vec![job("parent", "0 * * * *", policies)];
    jobs.extend(Ending::ALL.map(|ending| follower(ending.name(), &[("parent", ending)], "overlap=allow")));
    jobs
}

fn end_parent(shell: &mut Shell) {
    let last = shell.started.iter().rposition(|start| start.key.job == name("parent"));
    shell.end(last.unwrap(), Outcome::Succeeded);
}

fn counts(shell: &mut Shell) -> [usize; 3] {
    Ending::ALL.map(|ending| shell.runs(ending.name()).len())
}

#[test]
fn an_end_is_followed_by_those_that_name_it_and_by_each_once() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", family("retry=1,backoff=1s dead-letters=never"));
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, failed());
    assert_eq!(counts(&mut shell), [0, 0, 0], "it is tried again");
    shell.live("2026-01-01T01:00:05Z");
    shell.end(1, failed());
    assert_eq!(counts(&mut shell), [0, 1, 1]);
    let run = &shell.runs("failed")[0];
    assert_eq!((run.cause, run.planned), (Cause::After, at("2026-01-01T01:00:05Z")));
    shell.live("2026-01-01T02:00:00Z");
    shell.end(shell.started.len() - 1, Outcome::Succeeded);
    assert_eq!(counts(&mut shell), [1, 1, 2]);
    shell.live("2026-01-01T02:00:10Z");
    assert_eq!(shell.started_names(), "parent parent any failed parent any succeeded");
}

#[test]
fn what_follows_is_planned_in_the_batch_of_the_end_and_survives_a_crash() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", family(""));
    shell.live("2026-01-01T01:00:00Z");
    shell.batch_sizes.clear();
    shell.operations.clear();
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.batch_sizes.len(), 1, "{:?}", shell.operations);
    let planned = shell.operations.iter().filter(|it| matches!(it, Operation::Plan(_))).count();
    assert_eq!(planned, 2);
    shell.boot();
    assert_eq!(counts(&mut shell), [1, 0, 1]);
    assert_eq!(shell.started_names(), "parent any succeeded");
}

#[test]
fn what_the_end_of_the_server_cut_off_is_followed_at_the_next_start() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", family(""));
    shell.live("2026-01-01T01:00:00Z");
    shell.boot();
    assert_eq!((shell.states("parent").as_str(), counts(&mut shell)), ("abandoned", [0, 1, 1]));
    // Whose definition is gone by then is followed too.
    shell.live("2026-01-01T02:00:00Z");
    shell.jobs.remove(0);
    shell.boot();
    assert_eq!(counts(&mut shell), [0, 2, 2]);
}

#[test]
fn what_never_started_is_followed_by_nothing_and_a_run_by_hand_by_a_run() {
    let mut shell = Shell::new("2026-01-01T00:59:30Z", family("misfire=none"));
    shell.wake("2026-01-01T04:30:00Z");
    assert_eq!(shell.states("parent"), "missed");
    assert_eq!(counts(&mut shell), [0, 0, 0]);
    shell.command(Command::Trigger(RunRequest::new(name("parent"))));
    shell.live("2026-01-01T05:00:00Z");
    assert_eq!(shell.states("parent"), "missed running skipped_overlap");
    assert_eq!(counts(&mut shell), [0, 0, 0]);
    shell.end(0, Outcome::Succeeded);
    assert_eq!(counts(&mut shell), [1, 0, 1]);
}

#[test]
fn the_rules_of_what_follows_decide_about_it() {
    let jobs = vec![
        job("parent", "0 * * * *", ""),
        follower("skips", &[("parent", Ending::Any)], ""),
        follower("waits", &[("parent", Ending::Any)], "overlap=queue-one jitter=30s"),
        follower("stale", &[("parent", Ending::Any)], "misfire=none,grace=10s"),
    ];
    let mut shell = Shell::new("2026-01-01T00:59:30Z", jobs);
    for hour in ["01", "02"] {
        shell.live(&format!("2026-01-01T{hour}:00:00Z"));
        end_parent(&mut shell);
        shell.live(&format!("2026-01-01T{hour}:00:40Z"));
    }
    assert_eq!(shell.states("skips"), "running skipped_overlap");
    assert_eq!(shell.states("waits"), "running queued");
    shell.command(Command::Pause(Scope::Job(name("skips")), PauseTerms::default()));
    shell.live("2026-01-01T03:00:00Z");
    end_parent(&mut shell);
    shell.now = at("2026-01-01T03:05:00Z");
    shell.boot();
    assert_eq!(shell.states("skips"), "abandoned skipped_overlap skipped_paused");
    assert_eq!(shell.states("stale"), "abandoned skipped_overlap missed");
}

#[test]
fn a_job_has_no_more_runs_that_follow_than_it_may_and_none_where_it_is_excluded() {
    let mut twice = follower("twice", &[("parent", Ending::Any)], "overlap=allow");
    twice.max_runs = Some(2);
    let noon = Schedule::parse("* 2 * * *", "UTC").unwrap();
    let mut rests = follower("rests", &[("parent", Ending::Any)], "overlap=allow");
    rests.timetable = rests.timetable.without(vec![Exclusion::Times(Box::new(noon))]).unwrap();
    let mut shell = Shell::new("2026-01-01T00:59:30Z", vec![job("parent", "0 * * * *", ""), twice, rests]);
    for hour in 1..5 {
        shell.live(&format!("2026-01-01T0{hour}:00:00Z"));
        end_parent(&mut shell);
        shell.live(&format!("2026-01-01T0{hour}:00:01Z"));
    }
    assert_eq!((shell.runs("twice").len(), shell.runs("rests").len()), (2, 3));
}

#[test]
fn a_job_of_its_own_times_follows_too_and_one_of_two_names_follows_each() {
    let triggers: Vec<Trigger> = vec![
        Schedule::parse("30 * * * *", "UTC").unwrap().into(),
        After::new(name("a"), Ending::Succeeded).into(),
        After::new(name("b"), Ending::Succeeded).into(),
        After::new(name("b"), Ending::Any).into(),
    ];
    let both = Job::new(name("both"), Timetable::new(triggers).unwrap(), work("overlap=allow"));
    let jobs = vec![job("a", "0 * * * *", ""), job("b", "0 * * * *", ""), both];
    let mut shell = Shell::new("2026-01-01T00:59:30Z", jobs);
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, Outcome::Succeeded);
    shell.end(1, Outcome::Succeeded);
    shell.live("2026-01-01T01:30:00Z");
    let causes: Vec<Cause> = shell.runs("both").iter().map(|run| run.cause).collect();
    assert_eq!(causes, [Cause::After, Cause::After, Cause::Trigger]);
}

#[test]
fn a_set_that_would_close_a_circle_is_refused_in_part_and_one_that_turns_it_round_is_not() {
    let any = |of: &str| [(of.to_owned(), Ending::Any)];
    let make = |job: &str, of: &str| {
        let of = any(of);
        follower(job, &[(of[0].0.as_str(), of[0].1)], "")
    };
    let mut shell = Shell::new("2026-01-01T00:00:00Z", vec![make("a", "b"), job("b", "0 * * * *", "")]);
    let applied = shell.apply(vec![make("a", "b"), make("b", "a")]);
    assert_eq!(applied.refused, [name("b")], "a follows it already, and stays what it is: {applied:?}");
    let applied = shell.apply(vec![job("a", "0 * * * *", ""), make("b", "a")]);
    assert_eq!((applied.refused.len(), applied.changed.len()), (0, 2), "{applied:?}");
    assert_eq!(shell.apply(vec![make("a", "a")]).refused, [name("a")]);
}

#[test]
fn what_follows_one_end_is_one_batch_however_many_follow() {
    let mut jobs = vec![job("parent", "0 * * * *", "")];
    let more =
        (0..=MAX_FOLLOWERS).map(|index| follower(&format!("f{index}"), &[("parent", Ending::Any)], ""));
    jobs.extend(more);
    let mut shell = Shell::new("2026-01-01T00:59:30Z", Vec::new());
    assert_eq!(shell.apply(jobs.clone()).refused.len(), MAX_FOLLOWERS + 1, "one too many, so none");
    jobs.pop();
    assert_eq!(shell.apply(jobs).refused, []);
    shell.live("2026-01-01T01:00:00Z");
    shell.batch_sizes.clear();
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.batch_sizes, [2 * MAX_FOLLOWERS + 1]);
    shell.live("2026-01-01T01:00:01Z");
    assert_eq!(shell.started.len(), 1 + MAX_FOLLOWERS);
}

#[test]
fn a_dead_letter_that_fails_again_is_followed_and_counted_once_also_when_the_server_dies() {
    for dies in [false, true] {
        let jobs = family("retry=1,backoff=1s,on=failed+abandoned pause-after=2");
        let mut shell = Shell::new("2026-01-01T00:59:30Z", jobs);
        shell.live("2026-01-01T01:00:00Z");
        shell.end(0, failed());
        // The two of a round, and the second round ends well.
        for (round, expected) in [[0, 1, 1], [0, 1, 1], [1, 1, 1]].into_iter().enumerate() {
            if 0 < round {
                let dead = shell.runs("parent").remove(0);
                assert_eq!(dead.state, RunState::Dead);
                assert_eq!(shell.command(Command::RetryDead(Box::new(dead))), Reply::Done);
                shell.tell(Input::Tick);
                if dies {
                    shell.boot();
                } else {
                    let last = shell.started.len() - 1;
                    shell.end(last, failed());
                }
            }
            shell.live(&(shell.now + SignedDuration::from_secs(5)).to_string());
            let last = shell.started.iter().rposition(|start| start.key.job == name("parent")).unwrap();
            shell.end(last, if round == 2 { Outcome::Succeeded } else { failed() });
            assert_eq!(counts(&mut shell), expected, "{dies} {round}");
            let failures = shell.planner.job(&name("parent")).unwrap().1.failures;
            assert_eq!(failures, u32::from(round < 2), "{dies} {round}");
        }
    }
}

//! Retention: what is kept of a history, however many servers wrote it.

use std::fs;
use std::path::Path;

use mainspring_job::Retention;

use super::*;
use crate::replay;

/// Rows that may be kept beyond what retention says.
const SLACK: usize = 15;

/// A server starts, its job runs so many times and ends, and it dies.
fn life(shell: &mut Shell, job: &str, count: usize) {
    shell.boot();
    for _ in 0..count {
        shell.now += SignedDuration::from_secs(1);
        let Reply::Planned { key } = shell.command(Command::Trigger(RunRequest::new(name(job)))) else {
            panic!("it is there")
        };
        shell.tell(Input::Ended(AttemptEnd::new(key, 1, Outcome::Succeeded)));
    }
}

#[test]
fn many_short_lives_of_a_server_leave_no_more_than_one_long_one() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 1 1 1 *", "retention=keep=2")]);
    for _ in 0..12 {
        life(&mut shell, "j", 10);
        assert!(shell.runs("j").len() <= 2 + SLACK, "{}", shell.runs("j").len());
    }
    shell.boot();
    assert_eq!(shell.runs("j").len(), 2, "a start drops what is too many");
}

#[test]
fn what_is_too_old_goes_at_a_start_and_once_a_day() {
    for is_daily in [false, true] {
        let jobs = vec![job("j", "0 1 1 1 *", "retention=keep=100,days=3")];
        let mut shell = Shell::new("2026-03-01T00:30:00Z", jobs);
        life(&mut shell, "j", 5);
        for day in 2..=4 {
            let time = format!("2026-03-{day:02}T00:29:00Z");
            if is_daily {
                shell.live(&time);
            } else {
                shell.now = at(&time);
                shell.boot();
            }
            assert_eq!(shell.runs("j").len(), 5, "day {day}");
        }
        if is_daily {
            shell.live("2026-03-05T12:00:00Z");
            shell.tell(Input::Tick);
        } else {
            shell.now = at("2026-03-04T12:00:00Z");
            shell.boot();
        }
        assert_eq!(shell.runs("j"), [], "daily: {is_daily}");
    }
}

#[test]
fn one_shot_jobs_of_many_short_lives_are_pruned_together() {
    let mut limits = Limits::default();
    limits.once_retention.keep = 3;
    let mut shell = Shell::with("2026-01-01T00:30:00Z", Vec::new(), Vec::new(), limits);
    for _ in 0..5 {
        shell.boot();
        for _ in 0..10 {
            shell.now += SignedDuration::from_secs(1);
            shell.command(Command::Submit(Submission::new(shell.now, work(""))));
            shell.tell(Input::Tick);
            shell.end(shell.started.len() - 1, Outcome::Succeeded);
        }
    }
    shell.boot();
    assert_eq!(shell.store.counts().unwrap().runs, 3);
}

/// The row of a document that begins so, with its other column; `None` where the documents are not there.
fn second_column(document: &str, first: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = fs::read_to_string(path).ok()?;
    let row = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(first))
        .unwrap_or_else(|| panic!("{document}: {first}"));
    Some(row.trim_matches([' ', '|']).to_owned())
}

#[test]
fn a_one_shot_job_and_its_key_are_kept_as_long_as_the_reference_says() {
    let retention = Limits::default().once_retention;
    let days = retention.days;
    assert_eq!((retention.keep, days), (10_000, Retention::default().days));
    let wanted = format!("the newest 10,000 of all together, none older than {days} days");
    let document = "reference/limits.md";
    let Some(found) = second_column(document, "| history of one-shot jobs, and with it their keys |") else {
        return;
    };
    assert!(found.starts_with(&wanted), "{document}: {found}");
    let mut shell = Shell::new("2026-01-01T00:30:00Z", Vec::new());
    let submit = |shell: &mut Shell| {
        let submission = Submission::new(shell.now, work("")).with_key("welcome 17");
        shell.command(Command::Submit(submission))
    };
    assert!(matches!(submit(&mut shell), Reply::Submitted { .. }));
    shell.tell(Input::Tick);
    shell.end(0, Outcome::Succeeded);
    for (age, is_known) in [(i64::from(days) - 1, true), (i64::from(days) + 1, false)] {
        shell.now = at("2026-01-01T00:30:00Z") + SignedDuration::from_hours(24 * age);
        shell.boot();
        assert_eq!(matches!(submit(&mut shell), Reply::Duplicate(_)), is_known, "after {age} days");
    }
}

#[test]
fn a_job_whose_definition_is_not_there_keeps_its_history() {
    let jobs = vec![job("j", "0 1 1 1 *", "retention=keep=1000,days=1000")];
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    life(&mut shell, "j", 300);
    let jobs = std::mem::take(&mut shell.jobs);
    for _ in 0..3 {
        shell.now += SignedDuration::from_hours(24 * 200);
        shell.former.clone_from(&jobs);
        shell.boot();
    }
    let count = |shell: &mut Shell| shell.runs("j").iter().filter(|run| run.cause == Cause::Request).count();
    assert_eq!(count(&mut shell), 300);
    shell.jobs = jobs;
    shell.boot();
    assert_eq!(count(&mut shell), 300);
}

/// A job that has run five times, on the first of March, and was removed then.
fn removed(policies: &str) -> Shell {
    let mut shell = Shell::new("2026-03-01T00:30:00Z", vec![job("j", "0 1 1 1 *", policies)]);
    life(&mut shell, "j", 5);
    shell.jobs.clear();
    assert_eq!(shell.command(Command::Remove(name("j"))), Reply::Done);
    shell
}

/// That time comes, with a restart or without. How many runs there are, and how many names.
fn left(shell: &mut Shell, time: &str, has_restart: bool) -> (usize, usize) {
    if has_restart {
        shell.now = at(time);
        shell.boot();
    } else {
        shell.live(time);
        shell.tell(Input::Tick);
    }
    (shell.runs("j").len(), shell.store.jobs().unwrap().0.len())
}

#[test]
fn a_removed_job_goes_by_the_retention_that_it_had_and_its_name_with_the_last_of_its_runs() {
    for has_restart in [false, true] {
        let mut shell = removed("retention=keep=100,days=3");
        assert_eq!(left(&mut shell, "2026-03-03T12:00:00Z", has_restart), (5, 1));
        assert!(!shell.notes.contains(&Note::Forgotten(name("j"))));
        assert_eq!(left(&mut shell, "2026-03-05T12:00:00Z", has_restart), (0, 0));
        assert!(shell.notes.contains(&Note::Forgotten(name("j"))));
        let mut shell = removed("retention=days=300");
        assert_eq!(left(&mut shell, "2026-12-01T12:00:00Z", has_restart), (5, 1));
    }
}

#[test]
fn a_removed_job_that_is_back_in_time_has_its_history_and_later_is_new() {
    for has_restart in [false, true] {
        let mut shell = removed("retention=days=3");
        let back = vec![job("j", "0 1 1 1 *", "retention=days=3")];
        assert_eq!(left(&mut shell, "2026-03-03T12:00:00Z", has_restart), (5, 1));
        assert_eq!(shell.apply(back.clone()).added, [name("j")]);
        assert_eq!(shell.runs("j").len(), 5);
        assert_eq!(shell.command(Command::Remove(name("j"))), Reply::Done);
        assert_eq!(
            left(&mut shell, "2026-03-05T12:00:00Z", has_restart),
            (0, 1),
            "it was there on the third"
        );
        assert_eq!(left(&mut shell, "2026-03-07T12:00:00Z", has_restart), (0, 0));
        assert_eq!(shell.apply(back).added, [name("j")]);
        assert!(matches!(shell.command(Command::Trigger(RunRequest::new(name("j")))), Reply::Planned { .. }));
        assert_eq!(left(&mut shell, "2026-03-20T12:00:00Z", false), (1, 1));
    }
}

#[test]
fn a_run_of_a_removed_job_that_runs_or_is_a_dead_letter_keeps_its_name() {
    let policies = "retention=days=3 dead-letters=always";
    for is_dead in [false, true] {
        let mut shell = Shell::new("2026-03-01T00:30:00Z", vec![job("j", "0 1 1 1 *", policies)]);
        shell.command(Command::Trigger(RunRequest::new(name("j"))));
        if is_dead {
            shell.end(0, failed());
        }
        shell.jobs.clear();
        shell.command(Command::Remove(name("j")));
        assert_eq!(left(&mut shell, "2026-03-12T12:00:00Z", is_dead), (1, 1));
        if is_dead {
            let key = shell.runs("j").remove(0).key;
            assert_eq!(shell.command(Command::DropDead(key)), Reply::Done);
        } else {
            shell.end(0, Outcome::Succeeded);
        }
        assert_eq!(left(&mut shell, "2026-03-14T12:00:00Z", false), (1, 1), "it ended on the twelfth");
        assert_eq!(left(&mut shell, "2026-03-16T12:00:00Z", false), (0, 0));
    }
}

#[test]
fn a_store_in_which_names_come_and_go_has_those_of_the_last_days() {
    for max_jobs in [100, 5] {
        let mut limits = Limits::default();
        limits.max_jobs = max_jobs;
        let mut shell = Shell::with("2026-03-01T00:30:00Z", Vec::new(), Vec::new(), limits);
        let mut all = Vec::new();
        for day in 0..60 {
            let new = job(&format!("j{day}"), "0 1 1 1 *", "retention=days=10");
            all.push(new.clone());
            shell.jobs = vec![new.clone()];
            shell.apply(vec![new]);
            shell.former.clone_from(&all);
            shell.command(Command::Trigger(RunRequest::new(name(&format!("j{day}")))));
            shell.end(shell.started.len() - 1, Outcome::Succeeded);
            let next = shell.now + SignedDuration::from_hours(24);
            left(&mut shell, &next.to_string(), day % 7 == 3);
            let found = (shell.store.counts().unwrap().runs, shell.store.jobs().unwrap().0.len());
            assert!(found.0 <= 13 && found.1 <= 13, "day {day}, at most {max_jobs}: {found:?}");
        }
    }
}

#[test]
fn a_start_with_many_jobs_prunes_a_few_with_each_batch() {
    let jobs = (0..200).map(|index| job(&format!("j-{index}"), "0 1 1 1 *", "retention=keep=1")).collect();
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    for index in 0..200 {
        life_of_two(&mut shell, &format!("j-{index}"));
    }
    shell.operations.clear();
    shell.boot();
    let pruned =
        shell.operations.iter().filter(|operation| matches!(operation, Operation::Prune { .. })).count();
    assert_eq!(pruned, 201, "each job once, and the one-shot jobs");
    for index in 0..200 {
        assert_eq!(shell.runs(&format!("j-{index}")).len(), 1);
    }
}

/// Two runs of a job.
fn life_of_two(shell: &mut Shell, job: &str) {
    for _ in 0..2 {
        shell.now += SignedDuration::from_secs(1);
        let Reply::Planned { key } = shell.command(Command::Trigger(RunRequest::new(name(job)))) else {
            panic!("it is there")
        };
        shell.tell(Input::Ended(AttemptEnd::new(key, 1, Outcome::Succeeded)));
    }
}

/// Lives of random lengths, each ended in the middle of something, with a retention that changes.
#[test]
fn after_a_quiet_start_no_history_has_more_than_it_may() {
    replay::each_seed(0..200, |seed| {
        let mut random = crate::simulation::random::Random(seed);
        let keep = 1 + random.below(20);
        let policies = format!("overlap=allow retention=keep={keep}");
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 1 1 1 *", &policies)]);
        for _ in 0..1 + random.below(12) {
            life(&mut shell, "j", random.below(40) as usize);
            if random.one_in(3) {
                // One is cut off by the end of the server.
                shell.command(Command::Trigger(RunRequest::new(name("j"))));
            }
            let most = keep as usize + SLACK + 1;
            assert!(shell.runs("j").len() <= most, "seed {seed}: {} of {keep}", shell.runs("j").len());
        }
        shell.boot();
        let count = shell.runs("j").len();
        assert!(count <= keep as usize, "seed {seed}: {count} of {keep}");
    });
}

#[test]
fn a_time_whose_record_was_dropped_runs_again_after_a_rewind() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 * * * *", "retention=keep=1")]);
    for (index, time) in ["2026-01-01T01:30:00Z", "2026-01-01T02:30:00Z"].into_iter().enumerate() {
        shell.live(time);
        shell.end(index, Outcome::Succeeded);
    }
    shell.boot();
    assert_eq!(shell.states("j"), "succeeded", "that of 02:00 is kept");
    shell.now = at("2026-01-01T00:40:00Z");
    shell.tell(Input::Tick);
    let reply = shell.command(Command::Rewind(name("j")));
    assert!(matches!(reply, Reply::Rewound { .. }), "{reply:?}");
    shell.live("2026-01-01T01:30:00Z");
    assert_eq!(shell.started.last().unwrap().key.nominal, at("2026-01-01T01:00:00Z"));
    assert_eq!(shell.started.len(), 3);
}

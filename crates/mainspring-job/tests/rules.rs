//! The planner's rules one by one, each in its smallest history, with a store in memory and a clock that is a
//! number.

mod absence;
mod batch;
mod change;
mod clock;
mod count;
mod crowd;
mod each;
mod exclusion;
mod executor;
mod follow;
mod group;
mod hooks;
mod lateness;
mod lead;
mod lookahead;
mod names;
mod one_shot_holds;
mod order;
mod pause;
mod quarantine;
mod question;
mod rate;
mod removal;
mod retention;
mod roads;
mod server;
mod shell;
mod start;
mod states;
mod workers;

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mainspring_cron::{Expression, Schedule};
use mainspring_job::{
    Action, ApplyReport, AttemptEnd, Audit, AuditQuery, Cause, Command, Definitions, Exclusion, Failure,
    Group, Hold, HoldRows, Holder, Input, Job, JobName, Lease, Limits, MAX_BATCH_OPERATIONS,
    MAX_ON_PROBATION, MemoryStore, Needs, Note, OnceId, Operation, Outcome, Output, Owner, PauseTerms,
    Planner, Prune, Query, Rate, Reader, Reason, Refusal, Reply, Run, RunRequest, RunState, Scope, Start,
    Store, Submission, Takeover, Ticket, Timetable, Work, Worker, WorkerEvent, WorkerId, preview,
    rewind_preview,
};

use shell::{Shell, at, job, name, work};

fn failed() -> Outcome {
    Outcome::Failed(Failure::Exit(1))
}

#[test]
fn three_years_of_a_job_that_is_due_each_second_are_a_constant_amount_of_work() {
    for expression in ["@every 1s", "* * * * * *"] {
        let mut shell = Shell::new(
            "2023-01-01T00:00:00.5Z",
            vec![job("tick", expression, "misfire=all,cap=5,spread=0s overlap=allow")],
        );
        shell.operation_count = 0;
        shell.wake("2026-01-01T00:00:00.5Z");
        assert!(shell.operation_count < 20, "{expression}: {} operations", shell.operation_count);
        let runs = shell.runs("tick");
        assert_eq!(runs.iter().filter(|run| run.state.is_open()).count(), 6, "five caught up, one on time");
        let span = runs[0].span.unwrap();
        assert_eq!((runs[0].state, span.is_exact), (RunState::Missed, expression == "@every 1s"));
        assert_eq!(span.last, at("2025-12-31T23:59:54Z"));
        assert!(span.count == 94_694_394 || !span.is_exact, "{span:?}");
    }
}

#[test]
fn a_clock_that_is_set_back_fires_nothing_again_and_is_noted() {
    let mut shell = Shell::new("2026-01-01T00:00:30Z", vec![job("tick", "* * * * *", "overlap=allow")]);
    shell.live("2026-01-01T02:00:30Z");
    assert_eq!(shell.started.len(), 120);
    shell.wake("2026-01-01T00:30:00Z");
    shell.tell(Input::Tick);
    let watermark = at("2026-01-01T02:00:00Z");
    assert_eq!(shell.notes.pop(), Some(Note::BehindWatermark { job: name("tick"), watermark }));
    shell.boot();
    shell.live("2026-01-01T02:00:59Z");
    assert_eq!(shell.started.len(), 120);
    shell.live("2026-01-01T02:01:00Z");
    assert_eq!(shell.started.len(), 121);
}

#[test]
fn a_run_that_was_cut_off_is_abandoned_and_retried_on_request_only() {
    let jobs = vec![
        job("once", "@every 1h", ""),
        job("often", "@every 1h", "retry=2,backoff=5s,jitter=0%,on=abandoned"),
    ];
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
    shell.live("2026-01-01T01:00:00Z");
    shell.boot();
    assert_eq!(
        (shell.states("once"), shell.states("often")),
        ("abandoned".to_owned(), "scheduled".to_owned())
    );
    shell.live("2026-01-01T01:00:04Z");
    assert_eq!(shell.started_names(), "often once");
    shell.live("2026-01-01T01:00:05Z");
    assert_eq!(shell.started_names(), "often once often");
    assert_eq!(shell.started[2].attempt, 2);
    let key = shell.started[2].key.clone();
    let attempts = shell.store.attempts(&key).unwrap();
    assert_eq!(
        attempts.iter().map(|attempt| attempt.state).collect::<Vec<_>>(),
        [Some(RunState::Abandoned), None]
    );
}

#[test]
fn only_what_the_retry_policy_names_leads_to_a_dead_letter() {
    // Policy, how each attempt ends (f failed, t timed out, a cut off), the state in the end, and why.
    let cases = [
        ("retry=2", "a", "abandoned", "the server died while it ran"),
        ("retry=2", "fa", "abandoned", "the server died while it ran"),
        ("retry=2,on=failed", "ft", "timed_out", ""),
        ("retry=2", "ftf", "dead", "none of its 3 attempts succeeded"),
        ("retry=1,on=abandoned", "f", "failed", ""),
        ("retry=1,on=abandoned", "aa", "dead", "none of its 2 attempts succeeded"),
        ("", "f", "failed", ""),
        ("dead-letters=always", "f", "dead", "its only attempt did not succeed"),
        ("dead-letters=always", "a", "abandoned", "the server died while it ran"),
        ("retry=1,on=failed+abandoned dead-letters=never", "fa", "abandoned", "the server died while it ran"),
    ];
    for (policies, ends, state, reason) in cases {
        let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 1 1 1 *", policies)]);
        shell.live("2026-01-01T01:00:00Z");
        for (index, end) in ends.chars().enumerate() {
            assert_eq!(shell.started.len(), index + 1, "{policies} {ends}");
            match end {
                'a' => shell.boot(),
                't' => shell.end(index, Outcome::TimedOut),
                _ => shell.end(index, failed()),
            }
            shell.live(&(shell.now + SignedDuration::from_secs(60)).to_string());
        }
        let run = shell.runs("j").remove(0);
        assert_eq!((run.state.name(), run.why().as_str()), (state, reason), "{policies} {ends}");
    }
}

#[test]
fn every_overlap_policy_does_what_its_table_says() {
    // Three occurrences while the first runs, then the first ends.
    let cases = [
        ("skip", "running skipped_overlap skipped_overlap", 0, "succeeded skipped_overlap skipped_overlap"),
        ("queue-one", "running queued skipped_overlap", 0, "succeeded running skipped_overlap"),
        ("queue-all,cap=2", "running queued queued", 0, "succeeded running queued"),
        ("queue-all,cap=1", "running queued skipped_overlap", 0, "succeeded running skipped_overlap"),
        ("replace", "running skipped_overlap queued", 0, "succeeded skipped_overlap running"),
        ("kill-old", "running skipped_overlap queued", 1, "cancelled skipped_overlap running"),
        ("allow", "running running running", 0, "succeeded running running"),
    ];
    for (policy, during, killed_count, after) in cases {
        let mut shell =
            Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", &format!("overlap={policy}"))]);
        shell.live("2026-01-01T03:00:00Z");
        assert_eq!(shell.states("j"), during, "{policy}");
        assert_eq!(shell.killed_count, killed_count, "{policy}");
        shell.end(0, if killed_count == 0 { Outcome::Succeeded } else { Outcome::Killed });
        assert_eq!(shell.states("j"), after, "{policy}");
    }
}

#[test]
fn failures_are_retried_with_growing_waits_and_then_dead_and_can_be_revived() {
    let mut shell = Shell::new(
        "2026-01-01T00:30:00Z",
        vec![job("j", "0 * * * *", "retry=2,backoff=10s,factor=3,jitter=0%")],
    );
    shell.live("2026-01-01T01:00:00Z");
    let mut dues = Vec::new();
    for index in 0..3 {
        shell.end(index, failed());
        dues.push(shell.runs("j")[0].due.to_string());
        shell.live(&(shell.now + SignedDuration::from_secs(60)).to_string());
    }
    assert_eq!(dues[..2], ["2026-01-01T01:00:10Z", "2026-01-01T01:01:30Z"]);
    assert_eq!(shell.states("j"), "dead");
    let run = Box::new(shell.runs("j")[0].clone());
    assert_eq!(shell.command(Command::RetryDead(run.clone())), Reply::Done);
    assert_eq!(shell.command(Command::RetryDead(run)), Reply::Refused(Refusal::NoSuchRun));
    shell.tell(Input::Tick);
    assert_eq!(shell.started[3].attempt, 4);
    shell.end(3, failed());
    assert_eq!(shell.states("j"), "scheduled", "it has all its retries again");
}

#[test]
fn a_dead_letter_that_is_tried_again_has_all_its_attempts_also_when_the_server_dies() {
    // How many attempts are made of the new round before the server dies.
    for dies_after in [None, Some(0), Some(1), Some(2)] {
        let jobs = vec![job("j", "0 1 1 1 *", "retry=2,backoff=10s,jitter=0%")];
        let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs);
        shell.live("2026-01-01T01:00:00Z");
        for attempt in 1..=6 {
            if attempt == 4 {
                let run = Box::new(shell.runs("j").remove(0));
                assert_eq!((run.state, run.attempt), (RunState::Dead, 3));
                assert_eq!(shell.command(Command::RetryDead(run)), Reply::Done);
            }
            if dies_after.is_some_and(|count| attempt == 4 + count) {
                shell.boot();
            }
            shell.live(&(shell.now + SignedDuration::from_secs(60)).to_string());
            assert_eq!(shell.started.len(), attempt, "{dies_after:?}");
            shell.end(attempt - 1, failed());
        }
        shell.live("2026-01-01T02:00:00Z");
        let run = shell.runs("j").remove(0);
        assert_eq!((run.state, run.attempt, shell.started.len()), (RunState::Dead, 6, 6), "{dies_after:?}");
    }
}

#[test]
fn a_job_that_fails_in_a_row_is_paused_and_what_passed_is_one_record() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "* * * * *", "pause-after=2")]);
    shell.live("2026-01-01T00:31:00Z");
    shell.end(0, failed());
    shell.live("2026-01-01T00:32:00Z");
    shell.end(1, failed());
    assert!(shell.notes.contains(&Note::PausedAfterFailures(name("j"))));
    shell.live("2026-01-01T05:00:30Z");
    shell.boot();
    assert_eq!(shell.states("j"), "failed failed");
    assert_eq!(shell.command(Command::Resume(Scope::Job(name("j")))), Reply::Done);
    let last = shell.runs("j").pop().unwrap();
    assert_eq!((last.state, last.span.unwrap().count), (RunState::SkippedPaused, 268));
    shell.live("2026-01-01T05:01:00Z");
    assert_eq!(shell.started.len(), 3);
}

#[test]
fn groups_share_a_limit_and_higher_priorities_go_first() {
    let mut jobs: Vec<Job> = ["a", "b", "c"].map(|text| job(text, "@every 1h", "")).into();
    for (job, priority) in jobs.iter_mut().zip([0, 0, 7]) {
        let work = Arc::make_mut(&mut job.work);
        (work.group, work.priority) = (Some(name("db")), priority);
    }
    let groups = vec![Group::new(name("db"), 1)];
    let mut shell = Shell::with("2026-01-01T00:30:00Z", jobs, groups, Limits::default());
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.started_names(), "c", "all three are due at once, and the highest priority goes first");
    shell.end(0, Outcome::Succeeded);
    shell.end(1, Outcome::Succeeded);
    assert_eq!(shell.started_names(), "c a b");
    let (queued, begun) = (RunState::Queued, RunState::Running);
    assert_eq!(shell.recorded_states("c"), [begun], "one record, though it stood in line for a moment");
    assert_eq!(shell.recorded_states("a"), [queued, begun]);
}

#[test]
fn jitter_is_the_same_after_a_restart_and_for_every_planner() {
    let due_times = |restart: bool| {
        let mut shell =
            Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", "jitter=30m overlap=allow")]);
        for hour in 1..6 {
            shell.live(&format!("2026-01-01T{hour:02}:00:00Z"));
            if restart {
                shell.boot();
            }
        }
        shell.live("2026-01-01T05:30:00Z");
        shell.started.iter().map(|start| start.due).collect::<Vec<_>>()
    };
    let times = due_times(false);
    assert_eq!(times.len(), 5);
    assert_eq!(times, due_times(true));
    let minutes: std::collections::BTreeSet<i64> = times.iter().map(|due| due.as_second() % 3_600).collect();
    assert_eq!(minutes.len(), 5, "each occurrence has its own");
}

#[test]
fn a_backfill_runs_each_time_once_in_order_and_never_early() {
    let mut shell = Shell::new("2026-01-01T06:30:00Z", vec![job("j", "@every 1h", "")]);
    let (from, to) = (at("2026-01-01T04:00:00Z"), at("2026-01-01T09:00:00Z"));
    let expected = [4, 5, 6].map(|hour| at(&format!("2026-01-01T{hour:02}:00:00Z")));
    assert_eq!(preview(&shell.jobs[0].timetable, from, to, shell.now), Ok(expected.to_vec()));
    let backfill = Command::Backfill { job: name("j"), from, to };
    assert_eq!(shell.command(backfill.clone()), Reply::Backfilled { count: 3, series: 1 });
    for (index, nominal) in expected.into_iter().enumerate() {
        assert_eq!(shell.started.len(), index + 1);
        let start = &shell.started[index];
        assert_eq!((start.key.nominal, start.cause), (nominal, Cause::Backfill));
        shell.end(index, Outcome::Succeeded);
    }
    assert_eq!(shell.command(backfill), Reply::Backfilled { count: 3, series: 2 });
    let endless = Command::Backfill { job: name("j"), from: at("2020-01-01T00:00:00Z"), to };
    assert_eq!(shell.command(endless), Reply::Refused(Refusal::BackfillTooLarge));
}

#[test]
fn only_near_one_shot_jobs_are_in_memory_and_all_fire_in_order() {
    let mut limits = Limits::default();
    (limits.page, limits.max_lookahead) = (10, 50);
    let mut shell = Shell::with("2026-01-01T00:00:00Z", Vec::new(), Vec::new(), limits);
    for index in 0..500_i64 {
        let due = shell.now + SignedDuration::from_secs(index * 37 % 500 * 60 + 1);
        let submission = Submission::new(due, work(""));
        assert!(matches!(shell.command(Command::Submit(submission)), Reply::Submitted { .. }));
        assert!(shell.planner.lookahead_count() <= 50);
    }
    shell.boot();
    shell.live("2026-01-01T09:00:00Z");
    assert_eq!(shell.started.len(), 500);
    assert!(shell.started.is_sorted_by_key(|start| start.due));
    let load_count = shell.load_count;
    shell.live("2026-01-11T09:00:00Z");
    assert!(
        shell.load_count - load_count <= 40,
        "an idle server reads seldom: {}",
        shell.load_count - load_count
    );
}

#[test]
fn a_submission_with_a_known_key_is_answered_with_the_first() {
    let mut shell = Shell::new("2026-01-01T00:00:00Z", Vec::new());
    let due = at("2026-01-01T00:00:10Z");
    let submission = Submission::new(due, work("")).with_key("k");
    let Reply::Submitted { id, .. } = shell.command(Command::Submit(submission.clone())) else {
        panic!("it is new")
    };
    for time in ["2026-01-01T00:00:05Z", "2026-01-01T00:00:15Z"] {
        shell.live(time);
        let Reply::Duplicate(holder) = shell.command(Command::Submit(submission.clone())) else {
            panic!("it is the first again")
        };
        assert_eq!(holder.id, Some(id));
    }
    assert_eq!(shell.started.len(), 1);
    assert_eq!(shell.command(Command::Withdraw(id)), Reply::Refused(Refusal::NoSuchOnce));
}

#[test]
fn history_is_kept_as_long_as_retention_says() {
    let mut shell =
        Shell::new("2026-01-01T00:00:30Z", vec![job("j", "* * * * *", "retention=keep=5,days=1")]);
    for minute in 1..=50 {
        shell.live(&format!("2026-01-01T00:{minute:02}:00Z"));
        shell.end(minute - 1, Outcome::Succeeded);
    }
    let count = shell.runs("j").len();
    assert!((5..5 + 16).contains(&count), "{count}");
}

#[test]
fn a_new_set_of_definitions_adds_changes_and_removes_and_running_jobs_go_on() {
    let jobs =
        vec![job("stays", "@every 1h", ""), job("goes", "@every 1h", ""), job("moves", "@every 1h", "")];
    let mut shell = Shell::new("2026-01-01T00:30:00Z", jobs.clone());
    shell.live("2026-01-01T01:00:00Z");
    let new = vec![jobs[0].clone(), job("moves", "@every 20m", ""), job("comes", "@every 1h", "")];
    let applied = shell.apply(new);
    assert_eq!(
        (applied.added, applied.changed, applied.removed),
        (vec![name("comes")], vec![name("moves")], vec![name("goes")])
    );
    assert_eq!((applied.unchanged_count, applied.refused), (1, Vec::new()));
    for index in 0..3 {
        shell.end(index, Outcome::Succeeded);
    }
    assert_eq!(shell.states("goes"), "succeeded");
    shell.live("2026-01-01T02:00:00Z");
    assert_eq!(shell.states("goes"), "succeeded");
    assert_eq!(shell.runs("moves").len(), 4);
}

#[test]
fn a_job_ends_after_its_last_run_or_at_its_end() {
    let mut limited = job("limited", "@every 1h", "overlap=allow");
    limited.max_runs = Some(2);
    let mut short = job("short", "@every 1h", "overlap=allow");
    short.timetable = short.timetable.between(None, Some(at("2026-01-01T03:00:00Z"))).unwrap();
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![limited, short]);
    shell.live("2026-01-01T12:00:00Z");
    assert_eq!(shell.started_names(), "limited short limited short");
    assert!(shell.planner.next_due().is_some_and(|due| shell.now < due), "only the store is looked at again");
}

//! Each road to a run of a job, by each rule of the job: none rebuilds the job from its parts, and none goes
//! around a rule.

use std::time::Duration;

use super::*;
use mainspring_job::{Call, Hook, Hooks, Notice, RunKey};

/// How a run of the job comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Road {
    Trigger,
    /// A run by hand, now.
    Run,
    /// The same at a later time.
    RunAt,
    /// The same under an idempotency key.
    RunAtKeyed,
    Backfill,
    CatchUp,
    Retry,
    DeadRetry,
}

const ROADS: [Road; 8] = [
    Road::Trigger,
    Road::Run,
    Road::RunAt,
    Road::RunAtKeyed,
    Road::Backfill,
    Road::CatchUp,
    Road::Retry,
    Road::DeadRetry,
];

#[derive(Debug)]
struct ReportingHook;

impl Hook for ReportingHook {
    fn calls(&self, notice: &Notice) -> Vec<Call> {
        let action = Action::new("process", format!("{} {}", notice.kind.name(), notice.job)).unwrap();
        vec![Call::new(None, Work::new(action))]
    }

    fn more(&self, _: &str) -> Option<Work> {
        None
    }

    fn silent_after(&self) -> Option<Duration> {
        None
    }

    fn text(&self) -> String {
        "tells".to_owned()
    }
}

const DUE: &str = "2026-01-01T01:00:00Z";

/// The job under test, and one that holds the one place of their group.
fn jobs(policies: &str, priority: i8) -> Vec<Job> {
    let mut tested = job("j", "0 1 1 1 *", &format!("misfire=latest,spread=0s {policies}"));
    let work = Arc::make_mut(&mut tested.work);
    (work.group, work.priority) = (Some(name("db")), priority);
    tested.hooks = Some(Hooks::new(ReportingHook));
    tested.labels = [("team".to_owned(), "ops".to_owned())].into();
    let mut holder = job("holder", "0 0 1 6 *", "");
    Arc::make_mut(&mut holder.work).group = Some(name("db"));
    let mut rival = holder.clone();
    rival.name = name("rival");
    vec![tested, holder, rival]
}

fn shell(policies: &str, priority: i8) -> Shell {
    let groups = vec![Group::new(name("db"), 1)];
    Shell::with("2026-01-01T00:30:00Z", jobs(policies, priority), groups, Limits::default())
}

/// Which start was the last of a job, among those of one-shot jobs that tell of something.
fn last_start(shell: &Shell, job: &str) -> usize {
    shell.started.iter().rposition(|start| start.key.job == name(job)).unwrap()
}

fn start_count(shell: &Shell) -> usize {
    shell.started.iter().filter(|start| start.key.job == name("j")).count()
}

fn start_by_hand(shell: &mut Shell, job: &str) -> usize {
    shell.command(Command::Trigger(RunRequest::new(name(job))));
    last_start(shell, job)
}

/// What is there before the road is taken: a failure whose retry waits, or a dead letter.
fn prepare(shell: &mut Shell, road: Road) {
    if matches!(road, Road::Retry | Road::DeadRetry) {
        shell.live(DUE);
        let index = last_start(shell, "j");
        shell.end(index, failed());
    }
}

/// Takes the road, up to the moment at which its run is due. Tells which run it is.
fn take(shell: &mut Shell, road: Road) -> RunKey {
    let later = shell.now + SignedDuration::from_mins(45);
    let request = RunRequest::new(name("j"));
    let planned = |reply: Reply| match reply {
        Reply::Planned { key } => key,
        other => panic!("{other:?}"),
    };
    match road {
        Road::Trigger => {
            shell.live(DUE);
            RunKey::new(name("j"), at(DUE))
        }
        Road::CatchUp => {
            shell.wake("2026-01-01T01:10:00Z");
            RunKey::new(name("j"), at(DUE))
        }
        Road::Run => planned(shell.command(Command::Trigger(request))),
        Road::RunAt | Road::RunAtKeyed => {
            // Not at the time that the timetable names.
            shell.wake("2026-01-01T00:30:01Z");
            let later = later.min(at("2026-01-01T00:50:00Z"));
            let mut request = request.at(later);
            request.key = (road == Road::RunAtKeyed).then(|| "one".to_owned());
            let key = planned(shell.command(Command::Trigger(request)));
            assert_eq!(shell.planner.run(&key).unwrap().state, RunState::Scheduled);
            shell.live(&later.to_string());
            key
        }
        Road::Backfill => {
            let (from, to) = (at("2025-01-01T00:00:00Z"), at("2025-01-02T00:00:00Z"));
            shell.command(Command::Backfill { job: name("j"), from, to });
            shell.planner.runs_of(&name("j")).find(|run| run.cause == Cause::Backfill).unwrap().key.clone()
        }
        Road::Retry => {
            shell.live(&(shell.now + SignedDuration::from_secs(60)).to_string());
            RunKey::new(name("j"), at(DUE))
        }
        Road::DeadRetry => {
            let dead = shell.runs("j").into_iter().find(|run| run.state == RunState::Dead).unwrap();
            let key = dead.key.clone();
            assert_eq!(shell.command(Command::RetryDead(Box::new(dead))), Reply::Done);
            shell.tell(Input::Tick);
            key
        }
    }
}

fn policies(road: Road) -> &'static str {
    match road {
        Road::Retry => "retry=1,backoff=60s,jitter=0%",
        Road::DeadRetry => "dead-letters=always",
        _ => "",
    }
}

fn state(shell: &mut Shell, key: &RunKey) -> RunState {
    shell.store.run(key).unwrap().map_or(RunState::Missed, |run| run.state)
}

#[test]
fn every_road_waits_for_a_place_of_the_group() {
    for road in ROADS {
        let mut shell = shell(policies(road), 0);
        prepare(&mut shell, road);
        let holder = start_by_hand(&mut shell, "holder");
        let key = take(&mut shell, road);
        assert_eq!(state(&mut shell, &key), RunState::Queued, "{road:?}: the group is full");
        shell.end(holder, Outcome::Succeeded);
        assert_eq!(state(&mut shell, &key), RunState::Running, "{road:?}");
    }
}

#[test]
fn every_road_but_a_run_by_hand_now_is_held_by_a_pause() {
    for road in ROADS {
        let mut shell = shell(policies(road), 0);
        prepare(&mut shell, road);
        let scope = Scope::Job(name("j"));
        shell.command(Command::Pause(scope.clone(), PauseTerms::default()));
        let before = start_count(&shell);
        let key = take(&mut shell, road);
        let expected = match road {
            Road::Run => RunState::Running,
            // A paused job plans nothing: what passes is one record when it is resumed.
            Road::Trigger | Road::CatchUp => RunState::Missed,
            _ => RunState::Queued,
        };
        assert_eq!(state(&mut shell, &key), expected, "{road:?}");
        assert_eq!(start_count(&shell) - before, usize::from(road == Road::Run), "{road:?}");
        shell.command(Command::Resume(scope));
        let expected = match road {
            Road::Trigger | Road::CatchUp => RunState::SkippedPaused,
            _ => RunState::Running,
        };
        assert_eq!(state(&mut shell, &key), expected, "{road:?}");
    }
}

#[test]
fn a_run_by_hand_that_is_tried_again_waits_while_its_job_is_paused() {
    let mut shell = shell("retry=1,backoff=60s,jitter=0%", 0);
    let scope = Scope::Job(name("j"));
    shell.command(Command::Pause(scope.clone(), PauseTerms::default()));
    let index = start_by_hand(&mut shell, "j");
    shell.end(index, failed());
    shell.live("2026-01-01T00:40:00Z");
    assert_eq!(start_count(&shell), 1, "the start was asked for, and the next attempt is not");
    shell.command(Command::Resume(scope));
    let last = last_start(&shell, "j");
    assert_eq!((start_count(&shell), shell.started[last].attempt), (2, 2));
}

#[test]
fn every_road_that_was_asked_for_waits_for_the_run_before_and_a_trigger_is_skipped() {
    for road in ROADS.into_iter().filter(|road| !matches!(road, Road::Retry | Road::DeadRetry)) {
        let mut shell = shell("", 0);
        let first = start_by_hand(&mut shell, "j");
        let key = take(&mut shell, road);
        let expected = if road == Road::Trigger { RunState::SkippedOverlap } else { RunState::Queued };
        assert_eq!(state(&mut shell, &key), expected, "{road:?}");
        shell.end(first, Outcome::Succeeded);
        let expected = if road == Road::Trigger { RunState::SkippedOverlap } else { RunState::Running };
        assert_eq!(state(&mut shell, &key), expected, "{road:?}");
    }
}

#[test]
fn every_road_has_the_priority_of_the_job() {
    for (road, priority) in ROADS.into_iter().flat_map(|road| [(road, 5), (road, -5)]) {
        let mut shell = shell(policies(road), priority);
        prepare(&mut shell, road);
        let holder = start_by_hand(&mut shell, "holder");
        shell.command(Command::Trigger(RunRequest::new(name("rival"))));
        let key = take(&mut shell, road);
        shell.end(holder, Outcome::Succeeded);
        let expected = if 0 < priority { RunState::Running } else { RunState::Queued };
        assert_eq!(state(&mut shell, &key), expected, "{road:?} {priority}");
    }
}

#[test]
fn of_every_road_a_failure_is_told_and_counted_once_under_the_job() {
    for road in ROADS {
        let mut shell = shell(policies(road), 0);
        prepare(&mut shell, road);
        let before = shell.planner.job(&name("j")).unwrap().1.failures;
        let key = take(&mut shell, road);
        let index = shell.started.iter().rposition(|start| start.key == key).unwrap();
        assert_eq!(shell.started[index].key.job, name("j"), "{road:?} is a run of the job");
        shell.operations.clear();
        shell.end(index, failed());
        let is_told = |operation: &Operation| matches!(operation, Operation::Submit(once) if once.work.action.body() == "failed j");
        assert!(shell.operations.iter().any(is_told), "{road:?}");
        let (job, mark) = shell.planner.job(&name("j")).unwrap();
        // A dead letter has counted when it became one.
        let counted = u32::from(!matches!(road, Road::DeadRetry));
        assert_eq!(mark.failures, before + counted, "{road:?}");
        assert_eq!(job.labels["team"], "ops");
        // What it does is what the definition says when it starts, and not a copy.
        assert_eq!(shell.store.run(&key).unwrap().unwrap().work, None, "{road:?}");
    }
}

/// The job with another action, in no group.
fn changed_jobs(policies: &str) -> Vec<Job> {
    let mut jobs = jobs(policies, 0);
    let work = Arc::make_mut(&mut jobs[0].work);
    (work.group, work.action) = (None, Action::new("process", "changed").unwrap());
    jobs
}

#[test]
fn by_every_road_a_run_that_waits_does_what_the_definition_says_when_it_starts() {
    for road in ROADS {
        let mut shell = shell(policies(road), 0);
        prepare(&mut shell, road);
        start_by_hand(&mut shell, "holder");
        let key = take(&mut shell, road);
        assert_eq!(state(&mut shell, &key), RunState::Queued, "{road:?}: the group is full");
        shell.apply(changed_jobs(policies(road)));
        assert_eq!(state(&mut shell, &key), RunState::Running, "{road:?}: it is in no group any more");
        assert_eq!(shell.started[last_start(&shell, "j")].work.action.body(), "changed", "{road:?}");
    }
}

#[test]
fn a_run_that_waits_for_its_time_does_what_the_definition_says_when_it_starts() {
    let policies = "retry=1,backoff=60s,jitter=0%";
    let mut shell = shell(policies, 0);
    let index = start_by_hand(&mut shell, "j");
    shell.end(index, failed());
    shell.command(Command::Trigger(RunRequest::new(name("j")).at(at("2026-01-01T00:45:00Z"))));
    shell.apply(changed_jobs(policies));
    shell.live("2026-01-01T00:40:00Z");
    let retried = last_start(&shell, "j");
    shell.end(retried, Outcome::Succeeded);
    shell.live("2026-01-01T00:50:00Z");
    let starts = shell.started.iter().filter(|start| start.key.job == name("j"));
    let found: Vec<_> = starts.map(|start| (start.attempt, start.work.action.body())).collect();
    assert_eq!(found, [(1, "true"), (2, "changed"), (1, "changed")]);
}

#[test]
fn a_run_that_waits_goes_by_the_overlap_rule_of_the_new_definition() {
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "0 1 1 1 *", "")]);
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    assert_eq!(shell.states("j"), "running queued");
    shell.apply(vec![job("j", "0 1 1 1 *", "overlap=allow")]);
    assert_eq!(shell.states("j"), "running running");
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    shell.apply(vec![job("j", "0 1 1 1 *", "overlap=skip")]);
    shell.command(Command::Trigger(RunRequest::new(name("j"))));
    assert_eq!(shell.states("j"), "running running running queued");
}

#[test]
fn a_run_for_a_later_time_survives_a_restart_and_never_starts_early() {
    let mut shell = shell("", 0);
    let due = at("2026-01-01T00:45:00Z");
    let Reply::Planned { key } = shell.command(Command::Trigger(RunRequest::new(name("j")).at(due))) else {
        panic!("it is planned")
    };
    shell.boot();
    shell.live("2026-01-01T00:44:59.999Z");
    assert!(shell.started.is_empty());
    shell.live("2026-01-01T00:45:00Z");
    assert_eq!((&shell.started[0].key, shell.started[0].cause), (&key, Cause::Request));
    assert_eq!(shell.planner.job(&name("j")).unwrap().1.runs, 0, "it is no occurrence");
}

#[test]
fn a_run_for_a_later_time_is_cancelled_alone_and_with_its_job() {
    let mut shell = shell("", 0);
    let request = RunRequest::new(name("j")).at(at("2026-01-01T00:45:00Z"));
    let mut keys = Vec::new();
    for _ in 0..2 {
        let Reply::Planned { key } = shell.command(Command::Trigger(request.clone())) else {
            panic!("it is new")
        };
        keys.push(key);
    }
    assert_eq!(shell.command(Command::Cancel(keys[0].clone())), Reply::Done);
    assert_eq!(
        (state(&mut shell, &keys[0]), state(&mut shell, &keys[1])),
        (RunState::Cancelled, RunState::Scheduled)
    );
    // Its job may come back for a day.
    shell.apply(Vec::new());
    shell.live("2026-01-01T00:50:00Z");
    assert_eq!(state(&mut shell, &keys[1]), RunState::Scheduled);
    shell.live("2026-01-03T00:00:00Z");
    assert_eq!(state(&mut shell, &keys[1]), RunState::Cancelled);
    assert!(shell.started.is_empty());
}

#[test]
fn a_key_is_that_of_one_run_of_a_job_as_long_as_the_run_is_kept() {
    let mut shell = shell("retention=keep=1,days=1", 0);
    let request = |job: &str| RunRequest::new(name(job)).with_key("ticket 7");
    let Reply::Planned { key } = shell.command(Command::Trigger(request("j"))) else { panic!("it is new") };
    let id_of = |reply: Reply| match reply {
        Reply::Duplicate(holder) => holder.due,
        other => panic!("{other:?}"),
    };
    assert_eq!(id_of(shell.command(Command::Trigger(request("j")))), key.nominal, "while it runs");
    shell.end(0, Outcome::Succeeded);
    shell.boot();
    let later = request("j").at(at("2026-01-01T00:45:00Z"));
    assert_eq!(id_of(shell.command(Command::Trigger(later))), key.nominal, "and whatever the time");
    assert_eq!((shell.runs("j").len(), start_count(&shell)), (1, 1));
    // That of another job, and of a one-shot job, are others.
    assert!(matches!(shell.command(Command::Trigger(request("rival"))), Reply::Planned { .. }));
    let rival = last_start(&shell, "rival");
    shell.end(rival, Outcome::Succeeded);
    let submission = Submission::new(at("2026-01-01T09:00:00Z"), work("")).with_key("ticket 7");
    assert!(matches!(shell.command(Command::Submit(submission)), Reply::Submitted { .. }));
    // Its history drops the run, and the key with it.
    for _ in 0..40 {
        let index = start_by_hand(&mut shell, "j");
        shell.end(index, Outcome::Succeeded);
    }
    assert!(shell.runs("j").iter().all(|run| run.key != key), "it is dropped");
    assert!(matches!(shell.command(Command::Trigger(request("j"))), Reply::Planned { .. }));
}

#[test]
fn so_many_runs_of_a_job_wait_for_later_times_and_one_more_is_refused() {
    let mut shell = shell("", 0);
    let request = RunRequest::new(name("j")).at(at("2026-01-01T09:00:00Z"));
    for _ in 0..mainspring_job::MAX_WAITING_REQUESTS {
        shell.now += SignedDuration::from_millis(1);
        assert!(matches!(shell.command(Command::Trigger(request.clone())), Reply::Planned { .. }));
    }
    let refused = Reply::Refused(Refusal::TooManyWaiting);
    assert_eq!(shell.command(Command::Trigger(request.clone())), refused);
    let mut other = request.clone();
    other.job = name("rival");
    assert!(matches!(shell.command(Command::Trigger(other)), Reply::Planned { .. }));
    assert!(matches!(shell.command(Command::Trigger(RunRequest::new(name("j")))), Reply::Planned { .. }));
    let far = RunRequest::new(name("rival")).at(Timestamp::MAX);
    assert_eq!(shell.command(Command::Trigger(far)), Reply::Refused(Refusal::DueOutOfRange));
    let long = RunRequest::new(name("rival")).with_key("x".repeat(300));
    assert_eq!(shell.command(Command::Trigger(long)), Reply::Refused(Refusal::KeyTooLong));
    let empty = RunRequest::new(name("rival")).with_key("");
    assert_eq!(shell.command(Command::Trigger(empty)), Reply::Refused(Refusal::KeyEmpty));
    let work = Work::new(Action::new("process", "{}").unwrap());
    let empty = Submission::new(shell.now, work).with_key("");
    assert_eq!(shell.command(Command::Submit(empty)), Reply::Refused(Refusal::KeyEmpty));
}

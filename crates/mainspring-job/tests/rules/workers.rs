//! Workers: where a run starts, what becomes of it when its worker is gone, and that the fall of a planner
//! ends none.

use super::*;

pub(super) fn worker(id: u64, capacity: usize, labels: &[&str]) -> Worker {
    let worker = Worker::new(WorkerId(id), format!("w{id}"), capacity);
    labels.iter().fold(worker, |worker, text| worker.with_label(text.parse().unwrap(), 0))
}

/// Workers with ids from 101 on that carry out processes, each with so many places; the planner's server
/// carries out nothing.
pub(super) fn pool(jobs: Vec<Job>, capacities: &[usize]) -> Shell {
    limited_pool(jobs, capacities, Limits::default())
}

pub(super) fn limited_pool(jobs: Vec<Job>, capacities: &[usize], limits: Limits) -> Shell {
    let mut shell = Shell::with("2026-01-01T00:30:00Z", jobs, Vec::new(), limits);
    shell.executes = |_| false;
    let mut shell = shell.of_capacity(0);
    shell.others =
        (101..).zip(capacities).map(|(id, capacity)| worker(id, *capacity, &["process"])).collect();
    for worker in shell.others.clone() {
        shell.tell(Input::Worker(WorkerEvent::Present(worker)));
    }
    shell
}

pub(super) fn gone(id: u64, how: Takeover, silent: Option<u64>) -> Input {
    let silent = silent.map(std::time::Duration::from_secs);
    Input::Worker(WorkerEvent::Gone { id: WorkerId(id), how, silent })
}

pub(super) fn places(shell: &Shell) -> Vec<u64> {
    shell.started.iter().map(|start| start.worker.0).collect()
}

#[test]
fn runs_spread_over_the_workers_and_wait_when_all_are_full() {
    let mut shell = pool(vec![job("j", "* * * * *", "overlap=allow")], &[2, 1]);
    shell.live("2026-01-01T00:35:00Z");
    assert_eq!(places(&shell), [101, 102, 101]);
    assert!(matches!(shell.holds(&name("j"))[..], [Hold::ServerFull { limit: 3, .. }]));
    shell.tell(Input::Worker(WorkerEvent::Present(worker(103, 1, &["process"]))));
    assert_eq!(places(&shell), [101, 102, 101, 103], "one that comes takes work at once");
    shell.end(1, Outcome::Succeeded);
    assert_eq!(places(&shell), [101, 102, 101, 103, 102]);
}

#[test]
fn the_limit_of_a_group_holds_over_all_workers() {
    let mut jobs = vec![job("j", "* * * * *", "overlap=allow")];
    Arc::make_mut(&mut jobs[0].work).group = Some(name("db"));
    let mut shell = pool(Vec::new(), &[5, 5]);
    shell.groups = vec![Group::new(name("db"), 3)];
    shell.apply(jobs.clone());
    shell.jobs = jobs;
    shell.live("2026-01-01T00:40:00Z");
    assert_eq!(places(&shell), [101, 102, 101]);
    // And over planners.
    shell.boot();
    assert_eq!(shell.started.len(), 3);
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.started.len(), 4);
}

#[test]
fn a_run_goes_where_what_it_needs_is_and_says_what_no_worker_has() {
    let mut shell = pool(vec![job("j", "@every 1h", "")], &[1]);
    let handler = Work::new(Action::new("handler", "{}").unwrap());
    let submission = Submission::new(at("2026-01-01T00:31:00Z"), handler).with_name(name("once"));
    assert!(matches!(shell.command(Command::Submit(submission)), Reply::Submitted { .. }));
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(places(&shell), [101], "the run that needs more is in the way of no other");
    let unserved: Vec<String> =
        shell.planner.unserved().map(|(run, needs)| format!("{} {needs}", run.key.job)).collect();
    assert_eq!(unserved, ["once handler"]);
    shell.tell(Input::Worker(WorkerEvent::Present(worker(102, 1, &["handler"]))));
    assert_eq!((places(&shell), shell.planner.unserved().count()), (vec![101, 102], 0));
    // A job's own run says so as well.
    shell.tell(gone(101, Takeover::Clean, None));
    shell.live("2026-01-01T02:00:00Z");
    let holds = shell.holds(&name("j"));
    let [hold] = &holds[..] else { panic!("{holds:?}") };
    assert_eq!(hold.to_string(), "j@2026-01-01T02:00:00Z is due, and no server has process");
    assert_eq!(hold.ends(&name("j")), "a server that has process");
}

#[test]
fn the_fall_of_a_planner_ends_no_run_and_what_a_worker_reports_counts_once() {
    let mut shell = pool(vec![job("j", "@every 1h", "retry=1,on=failed+abandoned")], &[4]);
    shell.live("2026-01-01T01:00:00Z");
    for _ in 0..3 {
        shell.boot();
    }
    assert_eq!((shell.states("j").as_str(), shell.started.len()), ("running", 1));
    let key = shell.started[0].key.clone();
    assert_eq!(shell.command(Command::Cancel(key)), Reply::Done);
    assert_eq!(shell.killed_count, 1, "it is asked to end by a planner that did not start it");
    for _ in 0..2 {
        shell.end(0, Outcome::Killed);
        shell.boot();
    }
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.states("j"), "cancelled");
    let ends = shell.operations.iter().filter(|operation| matches!(operation, Operation::End { .. }));
    assert_eq!(ends.count(), 1);
}

#[test]
fn what_workers_reported_before_planning_began_is_over_before_anything_is_planned() {
    let mut shell = pool(vec![job("j", "0,1 1 * * *", ""), job("k", "0 1 * * *", "")], &[1, 1]);
    shell.live("2026-01-01T01:00:00Z");
    let index = |job: &str| shell.started.iter().rposition(|start| start.key.job == name(job)).unwrap();
    let ends = [("j", Outcome::Succeeded), ("k", failed())].map(|(job, outcome)| {
        let Start { key, attempt, .. } = shell.started[index(job)].clone();
        AttemptEnd::new(key, attempt, outcome).into()
    });
    shell.now = at("2026-01-01T01:01:00Z");
    // The worker of one of them is gone since.
    let gone = gone(shell.started[index("k")].worker.0, Takeover::Unclean, Some(16));
    shell.early = ends.into_iter().chain([gone]).collect();
    shell.boot();
    assert_eq!((shell.states("j").as_str(), shell.states("k").as_str()), ("succeeded running", "failed"));
}

#[test]
fn what_a_person_asked_to_end_is_cancelled_and_not_tried_again_though_its_worker_is_gone() {
    let policies = "retry=2,backoff=1s,jitter=0%,on=abandoned dead-letters=always";
    let mut shell = pool(vec![job("j", "0 1 * * *", policies)], &[1, 1]);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.command(Command::Cancel(shell.started[0].key.clone())), Reply::Done);
    shell.tell(gone(101, Takeover::Unclean, Some(16)));
    shell.live("2026-01-01T01:01:00Z");
    assert_eq!(shell.states("j"), "cancelled");
    assert_eq!(shell.runs("j")[0].reason, Some(Reason::Cancelled));
}

#[test]
fn what_a_worker_had_reported_before_it_was_gone_is_over_so_whoever_had_read_it() {
    let each = "on=all overlap=allow retry=2,backoff=1s,jitter=0%,on=abandoned";
    let policies = "overlap=allow retry=2,backoff=1s,jitter=0%,on=abandoned";
    let mut shell = pool(vec![job("j", "@every 10m", policies), job("each", "0 1 * * *", each)], &[9, 9]);
    shell.live("2026-01-01T01:00:00Z");
    let lost = shell.others.remove(0).id;
    let at_lost: Vec<Start> = shell.started.iter().filter(|start| start.worker == lost).cloned().collect();
    assert_eq!(at_lost.iter().map(|start| start.key.job.as_str()).collect::<Vec<_>>(), ["j", "each", "j"]);
    // The planner before had taken the worker for lost, and fell: the last end of it alone was not reported.
    let outcomes = [Outcome::Succeeded, Outcome::Returned];
    let ends = at_lost.iter().zip(outcomes).map(|(Start { key, attempt, .. }, outcome)| {
        let mut end = AttemptEnd::new(key.clone(), *attempt, outcome);
        end.age = std::time::Duration::from_secs(1);
        end.into()
    });
    shell.early = ends.collect();
    shell.now = at("2026-01-01T01:00:02Z");
    shell.boot();
    let ended = shell.store.run(&at_lost[0].key).unwrap().unwrap();
    assert_eq!((ended.state, ended.ended), (RunState::Succeeded, Some(at("2026-01-01T01:00:01Z"))));
    let returned = shell.store.run(&at_lost[1].key).unwrap().unwrap();
    assert_eq!((returned.state, returned.reason), (RunState::Missed, Some(Reason::WorkerGone)));
    let cut_off = shell.store.run(&at_lost[2].key).unwrap().unwrap();
    assert_eq!((cut_off.state, cut_off.outcome), (RunState::Scheduled, None));
}

#[test]
fn what_ran_at_a_worker_that_is_gone_is_abandoned_once_and_tried_elsewhere() {
    let policies = "overlap=allow retry=2,backoff=1s,jitter=0%,on=abandoned";
    let mut shell = pool(vec![job("j", "@every 1h", policies)], &[1, 1]);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(places(&shell), [101]);
    shell.now = at("2026-01-01T01:30:00Z");
    shell.tell(gone(101, Takeover::Unclean, Some(16)));
    shell.tell(gone(101, Takeover::Unclean, Some(16)));
    shell.live("2026-01-01T01:31:00Z");
    assert_eq!(places(&shell), [101, 102]);
    // It lives after all, and tells how it went, which is not believed.
    shell.end(0, Outcome::Failed(Failure::Final("late".to_owned())));
    assert_eq!(shell.states("j"), "running");
    shell.end(1, Outcome::Succeeded);
    assert_eq!(shell.states("j"), "succeeded");
    let state = |operation: &Operation| match operation {
        Operation::End { attempt, state, .. } => Some((*attempt, *state)),
        _ => None,
    };
    let ends: Vec<_> = shell.operations.iter().filter_map(state).collect();
    assert_eq!(ends, [(1, RunState::Abandoned), (2, RunState::Succeeded)]);
}

#[test]
fn what_was_assigned_to_a_worker_that_has_left_runs_elsewhere_and_does_not_count() {
    // Nothing is tried again, as nothing has been tried.
    let mut shell = pool(vec![job("j", "@every 1h", "overlap=allow")], &[1, 1]);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(places(&shell), [101]);
    shell.tell(Input::Worker(WorkerEvent::Left(WorkerId(101))));
    assert_eq!((places(&shell), shell.states("j")), (vec![101, 102], "running".to_owned()));
    shell.tell(Input::Worker(WorkerEvent::Left(WorkerId(101))));
    shell.end(1, Outcome::Succeeded);
    assert_eq!(shell.states("j"), "succeeded");
    let is_end = |operation: &&Operation| matches!(operation, Operation::End { .. });
    assert_eq!(shell.operations.iter().filter(is_end).count(), 1);
}

#[test]
fn a_worker_that_was_gone_before_planning_began_has_its_runs_abandoned() {
    let mut shell = pool(vec![job("j", "@every 1h", "overlap=allow")], &[1, 1]);
    shell.live("2026-01-01T02:00:00Z");
    assert_eq!(places(&shell), [101, 102]);
    shell.others.remove(0);
    shell.boot();
    assert_eq!(shell.states("j"), "abandoned running");
}

#[test]
fn a_job_that_kills_its_workers_is_in_quarantine_and_is_paused_in_the_end() {
    let policies = "overlap=allow retry=9,backoff=1s,factor=1,jitter=0%,on=abandoned";
    let jobs = vec![job("poison", "0 1 1 1 *", policies), job("meek", "0 1 1 1 *", policies)];
    let mut shell = pool(jobs, &[4]);
    shell.live("2026-01-01T01:00:00Z");
    for id in 101..104 {
        shell.now += SignedDuration::from_secs(1);
        if id == 102 {
            let last = shell.started.iter().rposition(|start| start.key.job.as_str() == "meek");
            shell.end(last.unwrap(), Outcome::Succeeded);
        }
        shell.tell(Input::Worker(WorkerEvent::Present(worker(id + 1, 4, &["process"]))));
        shell.tell(gone(id, Takeover::Unclean, Some(0)));
        shell.live(&(shell.now + SignedDuration::from_secs(2)).to_string());
    }
    assert_eq!(shell.states("poison"), "dead");
    assert!(
        shell
            .notes
            .iter()
            .any(|note| matches!(note, Note::PausedAfterCrashes(job) if job.as_str() == "poison"))
    );
    assert_eq!(shell.planner.quarantined().count(), 0, "the other has ended well");
}

#[test]
fn a_run_that_had_started_long_before_is_not_suspected_of_its_workers_end() {
    let policies = "overlap=allow retry=9,backoff=1s,factor=1,jitter=0%,on=abandoned";
    let mut shell = pool(vec![job("j", "0 1 1 1 *", policies)], &[4]);
    shell.live("2026-01-01T01:00:00Z");
    for id in 101..108 {
        shell.now += SignedDuration::from_secs(60);
        shell.tell(Input::Worker(WorkerEvent::Present(worker(id + 1, 4, &["process"]))));
        shell.tell(gone(id, Takeover::Unclean, Some(16)));
        shell.live(&(shell.now + SignedDuration::from_secs(2)).to_string());
    }
    assert_eq!((shell.states("j").as_str(), shell.started.len()), ("running", 8));
    assert_eq!(shell.planner.quarantined().count(), 0);
}

#[test]
fn nothing_starts_at_a_worker_that_leaves_and_what_it_ends_by_itself_is_abandoned() {
    let mut shell = pool(vec![job("j", "@every 1h", "overlap=allow")], &[2, 1]);
    shell.live("2026-01-01T01:00:00Z");
    shell.tell(Input::Worker(WorkerEvent::Leaving(WorkerId(101))));
    shell.live("2026-01-01T03:00:00Z");
    assert_eq!(places(&shell), [101, 102]);
    shell.end(0, Outcome::CutOff(Reason::ServerStopped));
    shell.tell(gone(101, Takeover::Clean, None));
    assert_eq!(shell.states("j"), "abandoned running queued");
    assert_eq!(shell.runs("j")[0].reason, Some(Reason::ServerStopped));
    // A worker of an older version says no reason.
    shell.end(1, Outcome::Killed);
    assert_eq!(shell.states("j"), "abandoned abandoned running");
    assert_eq!(shell.runs("j")[1].reason, Some(Reason::ServerStopped));
}

#[test]
fn what_a_worker_that_stays_ended_by_itself_is_abandoned_whoever_plans() {
    let policies = "overlap=allow pause-after=1 retry=1,backoff=1s,jitter=0%,on=abandoned";
    let once = job("once", "@every 1h", "overlap=allow pause-after=1 retry=1,on=failed");
    let mut shell = pool(vec![job("j", "@every 1h", policies), once], &[9]);
    shell.live("2026-01-01T01:00:00Z");
    let cut_off = || Outcome::CutOff(Reason::ServerCutOff);
    shell.end(0, cut_off());
    shell.boot();
    shell.end(1, cut_off());
    assert_eq!((shell.states("j").as_str(), shell.states("once").as_str()), ("scheduled", "abandoned"));
    let run = shell.runs("once").remove(0);
    assert_eq!((run.outcome, run.reason), (Some(Outcome::Killed), Some(Reason::ServerCutOff)));
    shell.live("2026-01-01T01:00:02Z");
    assert_eq!(shell.states("j"), "running", "its policy names that end");
    // One whose end a person asked for as well.
    assert_eq!(shell.command(Command::Cancel(shell.started[2].key.clone())), Reply::Done);
    shell.end(2, cut_off());
    assert_eq!(shell.states("j"), "cancelled");
    let (records, _) = shell.store.jobs().unwrap();
    assert!(records.iter().all(|record| record.mark.pause.is_none()), "none of them is a failure");
}

#[test]
fn a_run_of_a_job_that_was_removed_goes_on_when_another_plans() {
    let mut shell = pool(vec![job("j", "@every 1h", "")], &[1]);
    shell.live("2026-01-01T01:00:00Z");
    shell.jobs.clear();
    shell.apply(Vec::new());
    shell.knows_former = false;
    shell.boot();
    assert_eq!(shell.states("j"), "running");
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.states("j"), "succeeded");
}

#[test]
fn a_worker_is_told_again_and_only_its_labels_and_its_capacity_are_others() {
    let mut shell = pool(vec![job("j", "* * * * *", "overlap=allow")], &[1]);
    shell.live("2026-01-01T00:33:00Z");
    assert_eq!(places(&shell), [101]);
    shell.tell(Input::Worker(WorkerEvent::Present(worker(101, 2, &["process"]))));
    assert_eq!(places(&shell), [101, 101]);
    shell.tell(Input::Worker(WorkerEvent::Present(worker(101, 9, &["handler"]))));
    let workers: Vec<(u64, usize)> =
        shell.planner.workers().map(|(worker, running)| (worker.id.0, running)).collect();
    assert_eq!((places(&shell), workers), (vec![101, 101], vec![(shell.lease.epoch, 0), (101, 2)]));
}

#[test]
fn a_run_starts_where_the_labels_of_its_job_are_and_waits_while_they_are_nowhere() {
    let mut shell = pool(vec![job("j", "@every 1h", "on=gpu,region=eu overlap=queue-all,cap=9")], &[5]);
    let with = |id, labels: &[&str]| Input::Worker(WorkerEvent::Present(worker(id, 5, labels)));
    shell.tell(with(102, &["process", "gpu"]));
    shell.live("2026-01-01T01:30:00Z");
    assert_eq!(places(&shell), [] as [u64; 0]);
    let holds = shell.holds(&name("j"));
    let [Hold::Unserved { needs, .. }] = &holds[..] else { panic!("{holds:?}") };
    assert_eq!(needs.to_string(), "region=eu", "the rest is there, if not together");
    shell.tell(with(103, &["process", "region=eu", "gpu"]));
    assert_eq!(places(&shell), [103]);
}

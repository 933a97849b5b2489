//! A run for each worker: `on=all`.

use super::workers::{gone, places, pool, worker};
use super::*;

fn present(id: u64, capacity: usize, labels: &[&str]) -> Input {
    Input::Worker(WorkerEvent::Present(worker(id, capacity, labels)))
}

/// The workers that runs of a job are at or for, each with the state of its run, the earliest run first.
fn records(shell: &mut Shell, job: &str) -> Vec<(u64, &'static str)> {
    let place = |run: &Run| run.worker.map_or(0, |id| id.0);
    shell.runs(job).iter().map(|run| (place(run), run.state.name())).collect()
}

#[test]
fn each_worker_that_has_the_labels_has_a_run_of_its_own_of_each_time() {
    let mut shell = pool(vec![job("j", "@every 1h", "on=all,gpu")], &[5]);
    shell.tell(present(102, 5, &["process", "gpu"]));
    shell.tell(present(103, 5, &["process", "gpu"]));
    shell.tell(present(104, 5, &["gpu"]));
    shell.tell(present(105, 5, &["process", "gpu"]));
    shell.tell(Input::Worker(WorkerEvent::Leaving(WorkerId(105))));
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(places(&shell), [102, 103], "101 has no gpu, 104 carries out no process, 105 leaves");
    let keys: Vec<String> = shell.started.iter().map(|start| start.key.to_string()).collect();
    assert_eq!(keys, ["j@2026-01-01T01:00:00Z#102", "j@2026-01-01T01:00:00Z#103"]);
    shell.tell(present(106, 5, &["process", "gpu"]));
    shell.end(0, Outcome::Succeeded);
    shell.end(1, failed());
    shell.live("2026-01-01T02:00:00Z");
    assert_eq!(places(&shell), [102, 103, 102, 103, 106], "one that comes has the next time, not the last");
    assert_eq!(shell.states("j"), "succeeded failed running running running");
}

#[test]
fn runs_of_two_workers_are_not_in_each_others_way() {
    let mut shell = pool(vec![job("j", "@every 1h", "on=all"), job("k", "@every 1h", "on=all")], &[1, 2]);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(places(&shell), [101, 102, 102], "the run of k at 101 waits there for the place");
    shell.end(1, Outcome::Succeeded);
    shell.live("2026-01-01T02:00:00Z");
    assert_eq!(places(&shell)[3..], [102], "j still runs at 101, and is over at 102");
    let load = shell.planner.load(&name("j"));
    assert_eq!((load.queued, load.running), (0, 2));
    assert_eq!(shell.states("j"), "running succeeded skipped_overlap running");
    shell.end(0, Outcome::Succeeded);
    let last = shell.started.last().unwrap();
    assert_eq!((last.key.to_string().as_str(), last.worker.0), ("k@2026-01-01T01:00:00Z#101", 101));
}

#[test]
fn what_is_for_a_worker_that_is_gone_is_missed_and_not_tried_elsewhere() {
    let policies = "on=all overlap=queue-all,cap=9 retry=3,backoff=1s,jitter=0%,on=failed+abandoned";
    let mut shell = pool(vec![job("j", "@every 1h", policies)], &[1, 1]);
    shell.live("2026-01-01T02:00:00Z");
    shell.end(1, failed());
    shell.live("2026-01-01T02:00:02Z");
    assert_eq!(places(&shell), [101, 102, 102], "the next one, while the first waits for its second attempt");
    shell.tell(gone(101, Takeover::Unclean, Some(16)));
    shell.live("2026-01-01T02:10:00Z");
    assert_eq!(shell.started.len(), 3);
    let ends = records(&mut shell, "j");
    assert_eq!(ends, [(101, "dead"), (102, "queued"), (101, "missed"), (102, "running")]);
    let reasons: Vec<String> = shell.runs("j").iter().map(Run::why).collect();
    assert_eq!(reasons[0], reasons[2]);
    assert_eq!(reasons[0], "the server that it was for is gone");
    shell.end(2, Outcome::Succeeded);
    assert_eq!(
        (places(&shell).pop(), shell.started[3].attempt),
        (Some(102), 2),
        "it is tried again where it was"
    );
}

#[test]
fn where_no_worker_has_what_is_needed_the_time_is_missed_and_a_request_is_refused() {
    let mut limited = job("j", "@every 1h", "on=all,gpu");
    limited.max_runs = Some(3);
    let mut shell = pool(vec![limited], &[5]);
    shell.live("2026-01-01T03:00:00Z");
    assert_eq!(shell.states("j"), "missed missed missed");
    assert_eq!(shell.runs("j")[0].why(), "no server had what it needs");
    let ask = |key: Option<&str>| {
        let mut request = RunRequest::new(name("j"));
        request.key = key.map(str::to_owned);
        Command::Trigger(request)
    };
    assert_eq!(shell.command(ask(None)), Reply::Refused(Refusal::NoWorker));
    let (from, to) = (at("2026-01-01T01:00:00Z"), at("2026-01-01T03:00:00Z"));
    let backfill = Command::Backfill { job: name("j"), from, to };
    assert_eq!(shell.command(backfill.clone()), Reply::Refused(Refusal::NoWorker));
    shell.tell(present(102, 9, &["process", "gpu"]));
    shell.tell(present(103, 9, &["process", "gpu"]));
    let Reply::Planned { key } = shell.command(ask(None)) else { panic!("it runs at both") };
    assert_eq!((places(&shell), key.series), (vec![102, 103], 102));
    (0..2).for_each(|index| shell.end(index, Outcome::Succeeded));
    assert_eq!(shell.command(ask(Some("k"))), Reply::Refused(Refusal::OneRun));
    let submission = Submission::new(at("2026-01-01T04:00:00Z"), work("on=all"));
    assert_eq!(shell.command(Command::Submit(submission)), Reply::Refused(Refusal::OneRun));
    // Of three runs that it may have two are over after one more time; the last time has all of its runs.
    shell.live("2026-01-01T04:00:00Z");
    (2..4).for_each(|index| shell.end(index, Outcome::Succeeded));
    shell.live("2026-01-01T09:00:00Z");
    assert_eq!(places(&shell), [102, 103, 102, 103, 102, 103]);
    (4..6).for_each(|index| shell.end(index, Outcome::Succeeded));
    // A backfill has numbers that no worker had.
    let Reply::Backfilled { count, series } = shell.command(backfill) else { panic!("two have it") };
    assert_eq!((count, series), (6, 104));
    assert_eq!(places(&shell)[6..], [102, 103]);
}

#[test]
fn another_planner_knows_for_which_worker_a_run_is() {
    let mut shell = pool(vec![job("j", "@every 1h", "on=all overlap=queue-all,cap=9 jitter=10m")], &[1, 1]);
    shell.live("2026-01-01T02:20:00Z");
    let before = records(&mut shell, "j");
    assert_eq!(before, [(101, "running"), (102, "running"), (101, "queued"), (102, "queued")]);
    shell.live("2026-01-01T03:00:00Z");
    shell.others.remove(0);
    shell.boot();
    shell.live("2026-01-01T03:20:00Z");
    let after = [
        (101, "abandoned"),
        (102, "running"),
        (101, "missed"),
        (102, "queued"),
        (101, "missed"),
        (102, "queued"),
    ];
    assert_eq!(records(&mut shell, "j"), after);
    shell.end(1, Outcome::Succeeded);
    assert_eq!(places(&shell), [101, 102, 102]);
}

#[test]
fn a_server_of_its_own_goes_on_after_a_start_with_what_waited() {
    let policies = "on=all jitter=10m retry=3,backoff=1s,jitter=0%,on=abandoned";
    let mut shell = Shell::new("2026-01-01T00:30:00Z", vec![job("j", "@every 1h", policies)]);
    shell.live("2026-01-01T01:00:00Z");
    assert_eq!(shell.states("j"), "scheduled");
    shell.boot();
    shell.live("2026-01-01T01:10:00Z");
    assert_eq!(shell.states("j"), "running");
    shell.boot();
    shell.live("2026-01-01T01:20:00Z");
    assert_eq!(shell.states("j"), "running", "it is tried again");
    assert_eq!((shell.started.len(), shell.started[1].attempt), (2, 2));
}

#[test]
fn a_definition_that_comes_to_be_for_all_or_for_any_holds_for_what_waits() {
    let mut shell = pool(vec![job("j", "@every 1h", "overlap=queue-all,cap=9")], &[1, 1]);
    shell.live("2026-01-01T02:00:00Z");
    assert_eq!(shell.states("j"), "running queued");
    shell.apply(vec![job("j", "@every 1h", "on=all overlap=queue-all,cap=9")]);
    assert_eq!(places(&shell), [101], "what was planned before is one run, for any");
    shell.live("2026-01-01T03:00:00Z");
    assert_eq!(records(&mut shell, "j")[2..], [(101, "queued"), (102, "running")]);
    shell.apply(vec![job("j", "@every 1h", "overlap=queue-all,cap=9")]);
    shell.end(0, Outcome::Succeeded);
    assert_eq!(shell.states("j"), "succeeded running queued running");
    shell.end(1, Outcome::Succeeded);
    shell.end(2, Outcome::Succeeded);
    assert_eq!(shell.started.last().unwrap().key.to_string(), "j@2026-01-01T03:00:00Z#101");
}

#[test]
fn what_follows_has_a_run_for_each_worker_after_each_end() {
    let after = mainspring_job::After::new(name("j"), mainspring_job::Ending::Succeeded);
    let follower =
        Job::new(name("k"), Timetable::new([after]).unwrap(), work("on=all overlap=queue-all,cap=9"));
    let mut shell = pool(vec![job("j", "@every 1h", ""), follower], &[9, 9]);
    shell.live("2026-01-01T01:00:00Z");
    shell.end(0, Outcome::Succeeded);
    shell.wake("2026-01-01T01:00:00Z");
    assert_eq!(shell.states("k"), "running running");
    assert_eq!(places(&shell)[1..], [101, 102]);
}

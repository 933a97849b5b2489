//! A job that goes from one shard into another: two planners, and a store of each that stands for its shard.

use mainspring_job::Batch;

use super::*;

/// The new shard has what the old one has, and its definition.
fn arrive(old: &mut Shell, new: &mut Shell, job: Job) -> ApplyReport {
    new.now = old.now;
    let (jobs, _) = old.store.jobs(Shard::WHOLE).unwrap();
    let runs = old.store.open_runs(Shard::WHOLE, None, 99).unwrap();
    let runs: Vec<Run> = runs.into_iter().filter(|run| run.state != RunState::Running).collect();
    if new.operations.iter().all(|operation| matches!(operation, Operation::Prune { .. })) {
        // As if they were in the same store, by the batch that the new owner has looked at its history with.
        let marks = jobs.iter().map(|record| Operation::Define {
            mark: record.mark.clone(),
            source: "test".to_owned(),
            text: String::new(),
        });
        let operations = marks.chain(runs.iter().cloned().map(Operation::Plan)).collect();
        assert_eq!(new.batch_sizes.len(), 1);
        new.lease = new.store.acquire(Shard::WHOLE, &Owner::new("test")).unwrap();
        new.store.commit(new.lease, &Batch::new(1, operations)).unwrap();
    }
    new.tell(Input::Arrived { jobs, former: old.former.clone(), runs });
    new.apply(vec![job])
}

fn depart(old: &mut Shell) {
    let before = old.operations.len();
    for _ in 0..2 {
        old.tell(Input::Departed { jobs: vec![name("j"), name("never-there")] });
    }
    assert_eq!(old.operations[before..], [Operation::PauseAll(None)], "it is a batch, and changes nothing");
}

fn pair(policies: &str) -> (Shell, Shell, Job) {
    let job = job("j", "@every 1h", policies);
    let old = Shell::new("2026-01-01T00:30:00Z", vec![job.clone()]);
    (old, Shell::new("2026-01-01T00:30:00Z", Vec::new()), job)
}

#[test]
fn a_job_that_comes_goes_on_from_its_watermark() {
    let (mut old, mut new, job) = pair("");
    old.live("2026-01-01T01:30:00Z");
    // The old owner has died, and the next one does not come to it.
    old.now = at("2026-01-01T02:00:10Z");
    let applied = arrive(&mut old, &mut new, job);
    assert_eq!((applied.changed, applied.added), (vec![name("j")], Vec::new()));
    new.live("2026-01-01T02:00:20Z");
    let started: Vec<_> = new.started.iter().map(|start| start.key.nominal).collect();
    assert_eq!(started, [at("2026-01-01T02:00:00Z")]);
    assert_eq!(new.planner.job(&name("j")).unwrap().1.runs, 2);
}

#[test]
fn a_job_that_comes_with_another_timetable_has_a_record_of_what_passed() {
    let (mut old, mut new, _) = pair("");
    old.now = at("2026-01-01T02:00:10Z");
    arrive(&mut old, &mut new, job("j", "@every 2h", ""));
    assert_eq!(new.states("j"), "missed");
    new.live("2026-01-01T04:30:00Z");
    assert_eq!(new.started.len(), 1);
}

#[test]
fn a_paused_job_comes_as_it_was() {
    let (mut old, mut new, job) = pair("");
    let terms = PauseTerms::new("till it is mended").until(at("2026-01-01T03:30:00Z"));
    old.command(Command::Pause(Scope::Job(name("j")), terms.clone()));
    arrive(&mut old, &mut new, job);
    assert_eq!(new.planner.job(&name("j")).unwrap().1.pause_terms, terms);
    new.live("2026-01-01T03:00:00Z");
    assert_eq!(new.started.len(), 0);
    new.live("2026-01-01T04:30:00Z");
    assert_eq!((new.started.len(), new.states("j").as_str()), (1, "skipped_paused running"));
}

#[test]
fn what_waits_of_a_job_goes_along_and_what_runs_stays() {
    let (mut old, mut new, job) = pair("overlap=queue-all retry=2,backoff=1s");
    old.live("2026-01-01T02:30:00Z");
    assert_eq!(old.states("j"), "running queued");
    arrive(&mut old, &mut new, job);
    depart(&mut old);
    let nominals = |shell: &Shell| shell.started.iter().map(|start| start.key.nominal).collect::<Vec<_>>();
    assert_eq!(nominals(&new), [at("2026-01-01T02:00:00Z")]);
    old.end(0, failed());
    old.live("2026-01-01T09:00:00Z");
    assert_eq!(nominals(&old), [at("2026-01-01T01:00:00Z")], "it is not tried again, and not planned");
    assert!(old.planner.job(&name("j")).is_none());
    assert_eq!(old.runs("j")[0].state, RunState::Failed);
}

#[test]
fn a_job_stays_where_it_is_until_another_shard_has_it() {
    let (mut old, mut new, job) = pair("");
    let set = Definitions::new("test", Vec::new()).with_prune(Prune::Remove).with_elsewhere(vec![name("j")]);
    let Reply::Applied(applied) = old.command(Command::Apply(set)) else { panic!("it is applied") };
    assert_eq!(applied, ApplyReport::default());
    old.live("2026-01-01T01:30:00Z");
    assert_eq!(old.started.len(), 1);
    // What is defined here is not taken in: it is as it was.
    let (jobs, _) = old.store.jobs(Shard::WHOLE).unwrap();
    old.live("2026-01-01T02:30:00Z");
    old.tell(Input::Arrived { jobs, former: Vec::new(), runs: Vec::new() });
    old.live("2026-01-01T02:40:00Z");
    assert_eq!(old.started.len(), 1, "it runs still, and nothing is planned again");
    // There and back.
    arrive(&mut old, &mut new, job.clone());
    depart(&mut old);
    new.live("2026-01-01T03:30:00Z");
    assert_eq!(new.started.len(), 1);
    arrive(&mut new, &mut old, job);
    old.end(0, Outcome::Succeeded);
    old.live("2026-01-01T04:30:00Z");
    assert_eq!(old.started.last().unwrap().key.nominal, at("2026-01-01T04:00:00Z"));
}

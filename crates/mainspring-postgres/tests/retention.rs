//! Retention: what goes by count and by age, of a job and of one-shot jobs, and what is counted of it.

use mainspring_job::{Answer, Batch, Cause, Operation, Outcome, Reader, Run, RunKey, RunState};

use super::database::Database;
use super::trouble::{acquired, at, opened, tried};

fn ended(job: &str, minute: i64, cause: Cause) -> Vec<Operation> {
    let key = RunKey::new(job.parse().unwrap(), at(minute * 60));
    let mut run = Run::new(key.clone(), cause, RunState::Running, at(0), at(0));
    (run.attempt, run.started) = (1, Some(at(1)));
    let (state, at) = (RunState::Succeeded, at(minute * 60 + 1));
    let end = Operation::End {
        key,
        attempt: 1,
        state,
        at,
        outcome: Some(Outcome::Succeeded),
        crashes: 0,
        reason: None,
    };
    vec![Operation::Plan(run), end]
}

fn prune(job: Option<&str>, keep: u32, before: i64) -> Operation {
    Operation::Prune { job: job.map(|job| job.parse().unwrap()), keep, before: at(before * 60) }
}

/// A name that ends in what may be a number of a one-shot job is still that of a job.
#[test]
fn what_ended_is_counted_for_its_job_whatever_its_name() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let mark = mainspring_job::Mark::new("nightly-backup".parse().unwrap(), at(0), "@daily".to_owned());
    let define = Operation::Define { mark, source: "a file".to_owned(), text: String::new() };
    let mut operations = vec![define];
    operations.extend((1..=5).flat_map(|minute| ended("nightly-backup", minute, Cause::Trigger)));
    let count = operations.len();
    assert_eq!(tried(&mut store, lease, &Batch::new(1, operations)), vec![Answer::New; count]);
    let record = &store.jobs().unwrap().0[0];
    assert_eq!(record.last_success, Some(at(301)));
    assert_eq!(record.last.as_ref().map(|last| last.nominal), Some(at(300)));
    assert_eq!(database.ask("SELECT over FROM mainspring.job"), "5");
}

#[test]
fn a_prune_drops_the_oldest_by_count_and_what_ended_too_long_ago_and_counts_what_is_left() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let mut number = 0;
    let mut commit = |store: &mut _, operations: Vec<Operation>| {
        number += 1;
        tried(store, lease, &Batch::new(number, operations))
    };
    let fill = |job: &'static str, cause| (1..=9).flat_map(move |minute| ended(job, minute, cause));
    commit(&mut store, fill("job", Cause::Trigger).chain(fill("other", Cause::Once)).collect());
    // What stands after a prune is done after it, and not one by one.
    let batch = vec![prune(Some("job"), 6, 0), prune(None, 4, 0)];
    commit(&mut store, batch.into_iter().chain(ended("job", 20, Cause::Trigger)).collect());
    let left = "SELECT string_agg(job || ' ' || nominal / 60000000000, ', ' ORDER BY job, nominal) FROM mainspring.history";
    assert_eq!(
        database.ask(left),
        "job 4, job 5, job 6, job 7, job 8, job 9, job 20, other 6, other 7, other 8, other 9"
    );
    commit(&mut store, vec![prune(Some("job"), 100, 8), prune(None, 100, 9)]);
    assert_eq!(database.ask(left), "job 8, job 9, job 20, other 9");
    assert_eq!(store.counts().unwrap().runs, 4);
    assert_eq!(database.ask("SELECT once FROM mainspring.planner"), "1");
}

/// Whatever was written, the numbers that are kept are those of the rows.
#[test]
fn the_numbers_of_rows_are_those_of_the_rows_after_dead_letters_and_withdrawals() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let key = RunKey::new("job".parse().unwrap(), at(60));
    let step = |from, to| Operation::Move { key: key.clone(), from, to, due: at(2), at: at(2), reason: None };
    let mut operations = ended("job", 1, Cause::Once);
    let Some(Operation::End { state, .. }) = operations.last_mut() else { panic!("it ends") };
    *state = RunState::Failed;
    operations.extend([
        step(RunState::Failed, RunState::Dead),
        step(RunState::Dead, RunState::Scheduled),
        step(RunState::Scheduled, RunState::Cancelled),
    ]);
    let counted = "SELECT (once, dead, runs, open) = ((SELECT count(*) FROM mainspring.history WHERE cause = 'once' AND state <> 'dead'),
        (SELECT count(*) FROM mainspring.history WHERE state = 'dead'), (SELECT count(*) FROM mainspring.run),
        (SELECT count(*) FROM mainspring.open_run)) FROM mainspring.planner";
    for (number, operation) in (1..).zip(operations) {
        assert_eq!(tried(&mut store, lease, &Batch::new(number, vec![operation])), [Answer::New], "{number}");
        assert_eq!(database.ask(counted), "t", "after {number}");
    }
    let attempts: Vec<_> = store.attempts(&key).unwrap().into_iter().map(|attempt| attempt.state).collect();
    assert_eq!(attempts, [Some(RunState::Failed)], "how it ended, and not what became of the run");
}

//! A job that another shard takes: what comes along, and what its old owner may still write.

use mainspring_job::{
    Action, Answer, Arrivals, Batch, Cause, JobName, Lease, Mark, Once, OnceId, Operation, Outcome, Pause,
    PauseTerms, Query, Reader, Run, RunKey, RunState, Shard, Store, StoreError, Work,
};
use mainspring_postgres::PostgresStore;

use super::database::Database;
use super::shards::{defined, name, owner, spread};
use super::trouble::{at, tried};

fn key(nominal: i64) -> RunKey {
    RunKey::new(name("moved"), at(nominal))
}

fn planned(nominal: i64, state: RunState) -> Operation {
    let mut run = Run::new(key(nominal), Cause::Trigger, state, at(nominal), at(nominal));
    if state == RunState::Running {
        (run.attempt, run.started) = (1, Some(at(nominal)));
    }
    Operation::Plan(run)
}

fn begun(nominal: i64) -> Operation {
    Operation::Begin { key: key(nominal), attempt: 1, at: at(nominal), worker: None }
}

fn moved(nominal: i64, to: RunState) -> Operation {
    Operation::Move {
        key: key(nominal),
        from: RunState::Queued,
        to,
        due: at(nominal),
        at: at(900),
        reason: None,
    }
}

fn ended(nominal: i64) -> Operation {
    Operation::End {
        key: key(nominal),
        attempt: 1,
        state: RunState::Succeeded,
        at: at(900),
        outcome: Some(Outcome::Succeeded),
        crashes: 0,
        reason: None,
    }
}

/// A busy database is asked again.
fn taken(store: &mut PostgresStore, lease: Lease, jobs: &[JobName]) -> Arrivals {
    loop {
        match store.take(lease, jobs) {
            Err(StoreError::Busy) => {}
            other => return other.unwrap(),
        }
    }
}

fn counted(database: &Database) -> String {
    database.ask(
        "SELECT string_agg(concat_ws(' ', shard, jobs, open, runs, dead), ', ' ORDER BY shard)
            FROM mainspring.shard WHERE shard IN (1, 2)",
    )
}

/// The job in shard 1: paused, with a run that waits, one that runs and one that is over.
fn prepared(old: &mut PostgresStore, left: Lease) -> Mark {
    let mut mark = Mark::new(name("moved"), at(500), "@daily".to_owned());
    (mark.runs, mark.failures, mark.pause) = (3, 2, Some(Pause::Asked));
    mark.pause_terms = PauseTerms::new("till it is mended").until(at(9_000));
    let first =
        Batch::new(1, vec![defined("moved", 100), defined("stays", 100), Operation::Mark(mark.clone())]);
    assert_eq!(tried(old, left, &first), [Answer::New; 3]);
    let runs = [RunState::Missed, RunState::Running, RunState::Queued];
    let runs = runs.into_iter().zip(1..).map(|(state, nominal)| planned(nominal, state)).collect();
    assert_eq!(tried(old, left, &Batch::new(2, runs)), [Answer::New; 3]);
    mark
}

#[test]
fn a_job_that_is_taken_comes_with_its_mark_its_pause_its_history_and_what_waits() {
    let Some(database) = Database::start() else { return };
    let _shards = spread(&database, 16);
    let ((mut old, left), (mut new, here)) = (owner(&database, 1), owner(&database, 2));
    let mark = prepared(&mut old, left);
    assert_eq!(counted(&database), "1 2 2 3 0, 2 0 0 0 0");
    let names = [name("moved"), name("never-there")];
    let arrivals = taken(&mut new, here, &names);
    assert_eq!((&arrivals.jobs[0].mark, arrivals.jobs.len()), (&mark, 1));
    assert_eq!(arrivals.jobs[0].source.as_deref(), Some("jobs.toml"));
    let waiting: Vec<&RunKey> = arrivals.runs.iter().map(|run| &run.key).collect();
    assert_eq!(waiting, [&key(3)], "what runs stays");
    // The answer may be lost: it is asked again, and answered alike.
    assert_eq!(taken(&mut new, here, &names), arrivals);
    assert_eq!(counted(&database), "1 1 1 1 0, 2 1 1 2 0");
    assert_eq!(new.jobs(Shard(2)).unwrap().0, arrivals.jobs);
    let mut found = |shard| new.find(shard, &Query::new(9).of(name("moved"))).unwrap().len();
    assert_eq!((found(Shard(2)), found(Shard::EVERY)), (2, 3), "but for what runs");
    // The old owner is told once, and of nothing that is there again.
    assert_eq!(old.departed(left).unwrap(), [name("moved")]);
    assert_eq!(old.departed(left).unwrap(), []);
    taken(&mut old, left, &names);
    assert_eq!(new.departed(here).unwrap(), [name("moved")]);
    taken(&mut new, here, &names);
    taken(&mut old, left, &names);
    assert_eq!(old.departed(left).unwrap(), [], "it came back");
    assert_eq!(counted(&database), "1 2 2 3 0, 2 0 0 0 0");
}

#[test]
fn of_a_history_that_is_too_long_only_dead_letters_go_along() {
    let Some(database) = Database::start() else { return };
    let _shards = spread(&database, 16);
    let ((mut old, left), (mut new, here)) = (owner(&database, 1), owner(&database, 2));
    prepared(&mut old, left);
    database.ask(
        "INSERT INTO mainspring.history
            (job, nominal, series, shard, cause, state, attempt, due, planned, reason, deaths, forgiven)
            SELECT 'moved', g, 0, 1, 'trigger', CASE WHEN g = 1000 THEN 'dead' ELSE 'succeeded' END, 1, g, g, '', 0, 0
            FROM generate_series(1000, 51000) AS g;
        UPDATE mainspring.shard SET runs = runs + 50001, dead = dead + 1 WHERE shard = 1",
    );
    let arrivals = taken(&mut new, here, &[name("moved"), name("stays")]);
    assert_eq!((arrivals.jobs.len(), arrivals.runs.len()), (2, 1));
    // What waits and the dead letter; the other has none.
    assert_eq!(counted(&database), "1 0 1 50002 0, 2 2 1 2 1");
}

#[test]
fn the_old_owner_of_a_job_that_was_taken_starts_nothing_of_it_and_ends_what_runs() {
    let Some(database) = Database::start() else { return };
    let _shards = spread(&database, 16);
    let ((mut old, left), (mut new, here)) = (owner(&database, 1), owner(&database, 2));
    let mark = prepared(&mut old, left);
    taken(&mut new, here, &[name("moved")]);
    let late = vec![
        planned(4, RunState::Running),
        begun(3),
        moved(3, RunState::Cancelled),
        Operation::Mark(Mark::new(name("moved"), at(800), "@daily".to_owned())),
        ended(2),
        Operation::Plan(Run::new(
            RunKey::new(name("stays"), at(5)),
            Cause::Trigger,
            RunState::Queued,
            at(5),
            at(5),
        )),
    ];
    let (gone, done) = (Answer::Gone, Answer::New);
    assert_eq!(tried(&mut old, left, &Batch::new(3, late)), [gone, gone, gone, done, done, done]);
    // One by one, as after a barrier.
    let singles =
        vec![Operation::PauseAll(None), planned(6, RunState::Queued), begun(3), planned(7, RunState::Missed)];
    assert_eq!(tried(&mut old, left, &Batch::new(4, singles)), [done, gone, gone, gone]);
    assert_eq!(
        tried(&mut old, left, &Batch::new(5, vec![Operation::Forget { job: name("moved"), absence: None }])),
        [done]
    );
    assert_eq!(new.jobs(Shard(2)).unwrap().0[0].mark, mark);
    // The new owner does all that.
    let starts = vec![planned(4, RunState::Running), begun(3), planned(7, RunState::Missed)];
    assert_eq!(tried(&mut new, here, &Batch::new(1, starts)), [done; 3]);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.attempt"), "3");
    // Another owner of the old shard finds nothing of it that waits.
    assert_eq!(new.open_runs(Shard(1), None, 9).unwrap().len(), 1, "that of the other job");
    for (store, shard) in [(&mut old, Shard(1)), (&mut new, Shard(2))] {
        assert_eq!(store.counts(shard).unwrap().jobs, 1);
    }
}

/// A run that is asked for under a key: the key is that of a one-shot job which fires at once.
fn keyed(lease: Lease, nominal: i64) -> [Operation; 2] {
    let id = OnceId { due: at(nominal), number: lease.epoch << 40 | nominal.unsigned_abs() };
    let mut once = Once::new(id, at(nominal), Work::new(Action::new("process", "true").unwrap()));
    (once.name, once.key) = (name("moved"), Some("ticket 7".to_owned()));
    let run = Run::new(key(nominal), Cause::Request, RunState::Queued, at(nominal), at(nominal));
    [Operation::Submit(once), Operation::Fire { id, run }]
}

#[test]
fn the_old_owner_of_a_job_plans_no_run_of_it_under_a_key_and_keeps_no_key() {
    let Some(database) = Database::start() else { return };
    let _shards = spread(&database, 16);
    let ((mut old, left), (mut new, here)) = (owner(&database, 1), owner(&database, 2));
    prepared(&mut old, left);
    taken(&mut new, here, &[name("moved")]);
    let (gone, done) = (Answer::Gone, Answer::New);
    // In a column batch, and one by one, as after a barrier.
    assert_eq!(tried(&mut old, left, &Batch::new(3, keyed(left, 11).to_vec())), [done, gone]);
    let [submitted, fired] = keyed(left, 12);
    let singles = vec![Operation::PauseAll(None), submitted, fired];
    assert_eq!(tried(&mut old, left, &Batch::new(4, singles)), [done, done, gone]);
    let count = |table: &str| database.ask(&format!("SELECT count(*) FROM mainspring.{table}"));
    assert_eq!(["pending", "once_key"].map(count), ["0", "0"]);
    assert_eq!(old.counts(Shard(1)).unwrap().pending, 0);
    // The new owner has the run, and the key with it.
    assert_eq!(tried(&mut new, here, &Batch::new(1, keyed(here, 13).to_vec())), [done; 2]);
    assert!(matches!(
        tried(&mut new, here, &Batch::new(2, keyed(here, 14).to_vec()))[..],
        [Answer::Duplicate(Some(_)), Answer::Gone]
    ));
}

#[test]
fn who_is_not_the_owner_takes_nothing_and_a_dead_owner_is_not_asked() {
    let Some(database) = Database::start() else { return };
    let _shards = spread(&database, 16);
    let ((mut old, left), (mut new, here)) = (owner(&database, 1), owner(&database, 2));
    prepared(&mut old, left);
    new.release(here).unwrap();
    assert!(matches!(new.take(here, &[name("moved")]), Err(StoreError::Fenced)));
    assert_eq!(old.jobs(Shard(1)).unwrap().0.len(), 2);
    old.release(left).unwrap();
    let (mut new, here) = owner(&database, 2);
    assert_eq!(taken(&mut new, here, &[name("moved")]).jobs.len(), 1);
    // The next owner of the old shard reads what is there.
    let (mut next, lease) = owner(&database, 1);
    assert_eq!(next.jobs(Shard(1)).unwrap().0.len(), 1);
    assert_eq!(next.departed(lease).unwrap(), []);
}

//! Large batches of one-shot jobs, which are one row until some batches later: what others see of them, and
//! what becomes of them when the owner, the answer or the session is lost.

use std::sync::Arc;

use mainspring_job::{
    Action, Answer, Batch, Lease, MemoryStore, Once, OnceId, Operation, Outcome, Owner, Query, Reader,
    RunKey, RunState, Shard, Store, StoreError, Work,
};
use mainspring_postgres::{Identity, Location, PostgresCopy, PostgresStore, Shards};
use mainspring_rows::copy::{Source, TABLES};

use super::database::Database;
use super::relay::Relay;
use super::trouble::{MAX_TRIES, acquired, at, opened, tried};

/// How many rows there are, without anybody's having asked for the write buffer to be settled.
const ROWS: &str = "SELECT format('%s journal, %s packed, %s pending, %s open, %s ended, %s attempts',
    (SELECT count(*) FROM mainspring.entry), (SELECT coalesce(sum(count), 0) FROM mainspring.pack), (SELECT count(*) FROM mainspring.pending),
    (SELECT count(*) FROM mainspring.open_run), (SELECT count(*) FROM mainspring.history),
    (SELECT count(*) FROM mainspring.attempt))";

pub(crate) const LAPSE: &str = "UPDATE mainspring.shard SET until = '-infinity'";

/// A store whose batches are all large.
pub(crate) fn eager(url: &str) -> PostgresStore {
    let location = Location::parse(&format!("{url} journal=1")).unwrap();
    PostgresStore::open(&location, Identity::default()).unwrap()
}

/// A job as the planner of this lease submits it.
pub(crate) fn once(lease: Lease, count: u64) -> Once {
    let due = at(1_000 + i64::try_from(count).unwrap());
    let id = OnceId { due, number: (lease.epoch << 40) + count };
    Once::new(id, at(0), Work::new(Action::new("mail", format!("to: ada\0{count}")).unwrap()))
}

pub(crate) fn submitted(once: &Once) -> Operation {
    Operation::Submit(once.clone())
}

pub(crate) fn fired(once: &Once) -> Operation {
    let mut run = once.run(RunState::Running, once.id.due, once.id.due);
    (run.attempt, run.started) = (1, Some(once.id.due));
    Operation::Fire { id: once.id, run }
}

pub(crate) fn ended(once: &Once, state: RunState) -> Operation {
    let (key, outcome) = (RunKey::new(once.name.clone(), once.id.due), Some(Outcome::Succeeded));
    Operation::End { key, attempt: 1, state, at: at(5_000), outcome, crashes: 0, reason: None }
}

/// Three jobs: one waits, one runs, one has ended.
fn three(lease: Lease, number: u64) -> (Batch, [Once; 3]) {
    let jobs = [1, 2, 3].map(|index| once(lease, number * 10 + index));
    let mut operations: Vec<Operation> = jobs.iter().map(submitted).collect();
    operations.extend([fired(&jobs[1]), fired(&jobs[2]), ended(&jobs[2], RunState::Succeeded)]);
    (Batch::new(number, operations), jobs)
}

pub(crate) fn all_new(store: &mut PostgresStore, lease: Lease, batch: &Batch) {
    assert_eq!(tried(store, lease, batch), vec![Answer::New; batch.operations.len()]);
}

/// So many batches. Each submits a job, starts that of the batch before, and ends that of `back` before.
fn lived(store: &mut PostgresStore, lease: Lease, count: u64, back: u64, mut after_each: impl FnMut(u64)) {
    for number in 1..=count {
        let mut operations = vec![submitted(&once(lease, number))];
        let before = |back: u64| number.checked_sub(back).filter(|number| 0 < *number);
        operations.extend(before(1).map(|number| fired(&once(lease, number))));
        operations.extend(before(back).map(|number| ended(&once(lease, number), RunState::Succeeded)));
        all_new(store, lease, &Batch::new(number, operations));
        after_each(number);
    }
}

#[test]
fn a_life_between_two_settlements_is_written_once_and_readers_see_it_at_once() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let mut reader = store.reader().unwrap();
    let lease = acquired(&mut store);
    let (batch, jobs) = three(lease, 1);
    all_new(&mut store, lease, &batch);
    assert_eq!(database.ask(ROWS), "1 journal, 0 packed, 0 pending, 0 open, 0 ended, 0 attempts");
    // Another session, as that of a page.
    let counts = reader.counts(Shard::WHOLE).unwrap();
    assert_eq!((counts.pending, counts.open, counts.runs), (1, 1, 2));
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 1 pending, 1 open, 1 ended, 2 attempts");
    // The owner's next batch touches what it took for young.
    let next = vec![fired(&jobs[0]), ended(&jobs[1], RunState::Failed), submitted(&once(lease, 15))];
    all_new(&mut store, lease, &Batch::new(2, next));
    let mut over = Query::new(9);
    over.states = vec![RunState::Failed, RunState::Succeeded];
    assert_eq!(reader.find(Shard::WHOLE, &over).unwrap().len(), 2);
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 1 pending, 1 open, 2 ended, 3 attempts");
    // A user of SQL.
    all_new(&mut store, lease, &three(lease, 3).0);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "1");
    database.ask("SELECT mainspring.settle()");
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 2 pending, 2 open, 3 ended, 5 attempts");
    // One that looks at nothing: a renewal, as of an owner that is idle, and a release.
    for (number, is_last) in [(4, false), (5, true)] {
        all_new(&mut store, lease, &three(lease, number).0);
        assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "1");
        if is_last {
            store.release(lease).unwrap();
        } else {
            store.renew(lease).unwrap();
        }
        assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "0");
    }
}

#[test]
fn a_small_batch_is_in_the_tables_at_once_and_what_was_before_it_too() {
    let Some(database) = Database::start() else { return };
    let location = Location::parse(&format!("{} journal=6", database.url())).unwrap();
    let mut store = PostgresStore::open(&location, Identity::default()).unwrap();
    let lease = acquired(&mut store);
    all_new(&mut store, lease, &three(lease, 1).0);
    assert_eq!(database.ask(ROWS), "1 journal, 0 packed, 0 pending, 0 open, 0 ended, 0 attempts");
    all_new(&mut store, lease, &Batch::new(2, vec![submitted(&once(lease, 15))]));
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 2 pending, 1 open, 1 ended, 2 attempts");
    // The write buffer is settled by itself after some batches.
    for number in 3..60 {
        all_new(&mut store, lease, &three(lease, number).0);
    }
    let left: u64 = database.ask("SELECT count(*) FROM mainspring.entry").parse().unwrap();
    assert!((1..=16).contains(&left), "{left}");
    let mut off = PostgresStore::open(
        &Location::parse(&format!("{} journal=off", database.url())).unwrap(),
        Identity::default(),
    )
    .unwrap();
    database.ask(LAPSE);
    let lease = acquired(&mut off);
    all_new(&mut off, lease, &three(lease, 1).0);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "0");
}

#[test]
fn a_batch_whose_answer_was_lost_is_in_the_journal_once_and_its_jobs_go_on() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let mut store = eager(&relay.url());
    let lease = acquired(&mut store);
    let mut waiting: Vec<Once> = Vec::new();
    for number in 1..=40 {
        let (mut batch, jobs) = three(lease, number);
        // What the batch before left goes on, whatever became of its answer.
        batch
            .operations
            .extend(waiting.drain(..).flat_map(|once| [fired(&once), ended(&once, RunState::Succeeded)]));
        for _ in 0..number % 3 {
            let before = relay.swallowed();
            relay.swallow(1);
            let answered = store.commit(lease, &batch);
            // The second time it may be that of what comes before the batch.
            assert!(
                matches!(answered, Err(StoreError::Unknown | StoreError::Busy)),
                "{number}: {answered:?}"
            );
            assert_eq!(relay.swallowed(), before + 1, "it was the answer that was lost");
        }
        all_new(&mut store, lease, &batch);
        waiting.push(jobs[0].clone());
    }
    let counts = store.counts(Shard::WHOLE).unwrap();
    assert_eq!((counts.pending, counts.open, counts.runs), (1, 40, 119));
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 1 pending, 40 open, 79 ended, 119 attempts");
}

/// A renewal has the write buffer settled, and may come before the batch is sent again: while the database
/// does not answer the lease is renewed by nothing else.
#[test]
fn a_batch_whose_answer_was_lost_or_that_never_came_is_right_after_a_renewal() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let mut store = eager(&relay.url());
    let lease = acquired(&mut store);
    let renewed = |store: &mut PostgresStore| {
        assert!((0..MAX_TRIES).any(|_| store.renew(lease).is_ok()), "the database answers again");
    };
    all_new(&mut store, lease, &three(lease, 1).0);
    // It came, and no server knows.
    let lost = three(lease, 2).0;
    relay.swallow(1);
    assert!(matches!(store.commit(lease, &lost), Err(StoreError::Unknown)));
    renewed(&mut store);
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 2 pending, 2 open, 2 ended, 4 attempts");
    all_new(&mut store, lease, &lost);
    // It did not come: nothing of it is there, though the owner has parted it.
    let (late, jobs) = three(lease, 3);
    all_new(&mut store, lease, &late);
    let ends = [ended(&jobs[1], RunState::Succeeded), submitted(&once(lease, 40)), fired(&once(lease, 40))];
    let absent = Batch::new(4, ends.to_vec());
    relay.cut();
    assert!(matches!(store.commit(lease, &absent), Err(StoreError::Busy | StoreError::Unknown)));
    relay.mend();
    renewed(&mut store);
    let counted = "SELECT format('%s %s %s', pending, open - pending, runs) FROM mainspring.shard";
    assert_eq!(database.ask(counted), "3 0 6");
    all_new(&mut store, lease, &absent);
    store.renew(lease).unwrap();
    assert_eq!(database.ask(counted), "3 0 7");
    database.ask("SELECT mainspring.settle()");
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 3 pending, 3 open, 4 ended, 7 attempts");
}

#[test]
fn who_takes_the_shard_finds_all_in_the_tables_and_the_old_owner_writes_nothing_more() {
    let Some(mut database) = Database::start() else { return };
    let mut dead = eager(&database.url());
    let old = acquired(&mut dead);
    for number in 1..=5 {
        all_new(&mut dead, old, &three(old, number).0);
    }
    database.kill();
    database.begin();
    assert_eq!(database.ask(ROWS), "5 journal, 0 packed, 0 pending, 0 open, 0 ended, 0 attempts");
    // Held off, a standby leaves it alone.
    let mut other = opened(&database);
    assert!(matches!(other.acquire(Shard::WHOLE, &Owner::new("other")), Err(StoreError::Held { .. })));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "5");
    database.ask(LAPSE);
    let lease = other.acquire(Shard::WHOLE, &Owner::new("other")).unwrap();
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 5 pending, 5 open, 5 ended, 10 attempts");
    assert_eq!(
        database.ask("SELECT count(DISTINCT epoch) || ' ' || min(epoch) FROM mainspring.attempt"),
        format!("1 {}", old.epoch)
    );
    let late = (0..MAX_TRIES).find_map(|_| match dead.commit(old, &three(old, 6).0) {
        Err(StoreError::Busy | StoreError::Unknown) => None,
        other => Some(other),
    });
    assert!(matches!(late, Some(Err(StoreError::Fenced))), "{late:?}");
    assert!(matches!(dead.renew(old), Err(StoreError::Fenced)));
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 5 pending, 5 open, 5 ended, 10 attempts");
    all_new(&mut other, lease, &Batch::new(1, vec![fired(&once(old, 11))]));
}

/// The lease may run out between the look at the rows that a program makes before it takes the shard, and the
/// taking.
#[test]
fn a_shard_that_is_taken_at_this_moment_has_all_in_the_tables() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let lease = acquired(&mut store);
    all_new(&mut store, lease, &three(lease, 1).0);
    database.ask("UPDATE mainspring.shard SET epoch = nextval('mainspring.epoch')");
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 1 pending, 1 open, 1 ended, 2 attempts");
}

#[test]
fn copies_and_other_numbers_of_shards_have_what_a_killed_owner_left() {
    let Some(database) = Database::start() else { return };
    let mut dead = eager(&database.url());
    let lease = acquired(&mut dead);
    // Without its group it would be in another shard, by its number.
    let mut grouped = once(lease, 98);
    Arc::make_mut(&mut grouped.work).group = Some("mail".parse().unwrap());
    all_new(&mut dead, lease, &Batch::new(1, vec![submitted(&grouped)]));
    database.ask(LAPSE);
    let location = Location::parse(&database.url()).unwrap();
    let held = Shards::new(&location).unwrap().spread(4, &[], |_| Shard(3)).unwrap();
    assert_eq!(held, None);
    assert_eq!(database.ask("SELECT shard || ' ' || work_group FROM mainspring.pending"), "3 mail");
    assert_eq!(
        database.ask("SELECT string_agg(pending::text, ' ' ORDER BY shard) FROM mainspring.shard"),
        "0 0 0 1"
    );
    assert_eq!(Shards::new(&location).unwrap().spread(1, &[], |_| Shard(0)).unwrap(), None);
    let mut dead = eager(&database.url());
    let lease = acquired(&mut dead);
    all_new(&mut dead, lease, &three(lease, 1).0);
    database.ask(LAPSE);
    let mut copy = PostgresCopy::open(&location).unwrap();
    assert_eq!(copy.head().unwrap().counts, [0, 2, 1, 2, 0]);
    let mut names = Vec::new();
    for table in TABLES {
        copy.each(&table, &mut |rows| {
            names.extend(rows.iter().map(|_| table.name));
            Ok(())
        })
        .unwrap();
    }
    let count = |name: &str| names.iter().filter(|found| **found == name).count();
    assert_eq!((count("pending"), count("run"), count("attempt")), (2, 2, 2));
}

#[test]
fn rows_that_somebody_has_written_by_hand_keep_no_shard() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let lease = acquired(&mut store);
    let (batch, jobs) = three(lease, 1);
    all_new(&mut store, lease, &batch);
    database.ask(&format!(
        "INSERT INTO mainspring.history (job, nominal, series, shard, cause, state, attempt, due, planned, reason, deaths, forgiven)
            VALUES ('{}', {}, 0, 0, 'once', 'cancelled', 0, 0, 0, '', 0, 0)",
        jobs[2].name,
        jobs[2].id.due.as_nanosecond()
    ));
    store.renew(lease).unwrap();
    assert_eq!(database.ask(ROWS), "0 journal, 1 packed, 1 pending, 1 open, 1 ended, 1 attempts");
    database.ask("SELECT mainspring.settle()");
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 1 pending, 1 open, 1 ended, 2 attempts");
    assert_eq!(database.ask("SELECT state FROM mainspring.history"), "cancelled");
    assert_eq!(database.ask("SELECT runs FROM mainspring.shard"), "1", "the one that is open");
    all_new(&mut store, lease, &three(lease, 2).0);
}

/// What is pruned is pruned when the rest is in the tables, however often it was asked for.
#[test]
fn a_history_that_is_pruned_with_each_batch_is_no_longer_than_it_may_be() {
    let Some(database) = Database::start() else { return };
    let (mut store, mut memory) = (eager(&database.url()), MemoryStore::new());
    let lease = acquired(&mut store);
    let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    for number in 1..=40 {
        let (mut batch, jobs) = three(lease, number);
        batch.operations.push(ended(&jobs[1], RunState::Failed));
        batch.operations.push(Operation::Prune { job: None, keep: 7, before: at(0) });
        all_new(&mut store, lease, &batch);
        memory.commit(known, &batch).unwrap();
        if number % 9 == 0 {
            let counts = memory.counts(Shard::WHOLE).unwrap();
            assert_eq!(store.counts(Shard::WHOLE).unwrap(), counts);
            assert_eq!(counts.runs, 7);
        }
    }
    let all = Query::new(100);
    assert_eq!(store.find(Shard::WHOLE, &all).unwrap(), memory.find(Shard::WHOLE, &all).unwrap());
}

/// A job that waits or runs when the write buffer is full stays there, if it was touched of late.
#[test]
fn a_life_that_goes_on_when_the_journal_is_full_is_written_once_too() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let lease = acquired(&mut store);
    let settled = || database.ask("SELECT settled FROM mainspring.shard");
    lived(&mut store, lease, 60, 3, |_| {});
    assert_eq!(settled(), "3", "by itself");
    // One of the jobs that have ended waited or ran each time.
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.open_run"), "0");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.pending"), "0");
    // One row has what was left three times, and another batch or two each.
    let (rows, last) = ("SELECT count(*) FROM mainspring.entry", "SELECT max(settled) FROM mainspring.shard");
    assert_ne!(database.ask(rows), "0");
    store.renew(lease).unwrap();
    assert_eq!((database.ask(rows), database.ask(last)), ("0".to_owned(), "4".to_owned()));
    assert_eq!(database.ask(ROWS), "0 journal, 57 packed, 1 pending, 2 open, 0 ended, 2 attempts");
    assert_eq!(database.ask("SELECT pending || ' ' || open || ' ' || runs FROM mainspring.shard"), "1 2 59");
}

/// An owner whose write buffer is full has it settled before the batch, also when the shard is another's
/// already.
#[test]
fn who_was_taken_over_settles_nothing_of_the_next_owner() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let lease = acquired(&mut store);
    lived(&mut store, lease, 16, 2, |_| {});
    database.ask(LAPSE);
    let mut other = eager(&database.url());
    let new = other.acquire(Shard::WHOLE, &Owner::new("other")).unwrap();
    all_new(&mut other, new, &three(new, 1).0);
    let held = "SELECT settled || ' ' || (SELECT count(*) FROM mainspring.entry) FROM mainspring.shard";
    let before = database.ask(held);
    assert!(before.ends_with(" 1"), "{before}");
    let late = Batch::new(17, vec![submitted(&once(lease, 17))]);
    assert!(matches!(store.commit(lease, &late), Err(StoreError::Fenced)));
    assert_eq!(database.ask(held), before);
}

/// Somebody else may have it settled just before the owner does, and what is under way is in the tables then.
#[test]
fn what_was_to_stay_in_a_journal_that_somebody_else_has_settled_goes_on_in_the_tables() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let lease = acquired(&mut store);
    // The sixteenth in a row that is kept.
    lived(&mut store, lease, 80, 2, |number| {
        if number % 16 == 0 {
            database.ask("SELECT mainspring.settle()");
        }
    });
    store.renew(lease).unwrap();
    assert_eq!(database.ask(ROWS), "0 journal, 0 packed, 1 pending, 1 open, 78 ended, 79 attempts");
}

/// Each shard has its own, and a reader has all of them settled.
#[test]
fn the_journals_of_several_shards_are_settled_apart() {
    let Some(database) = Database::start() else { return };
    let location = Location::parse(&format!("{} journal=1", database.url())).unwrap();
    drop(opened(&database));
    assert_eq!(Shards::new(&location).unwrap().spread(2, &[], |_| Shard(0)).unwrap(), None);
    let mut owners = [0, 1].map(|number| {
        let mut store = PostgresStore::open(&location, Identity::default()).unwrap().among(2);
        let lease = store.acquire(Shard(number), &Owner::new("one")).unwrap();
        all_new(&mut store, lease, &three(lease, 1).0);
        (store, lease)
    });
    let (store, lease) = &mut owners[0];
    store.renew(*lease).unwrap();
    assert_eq!(database.ask(ROWS), "1 journal, 1 packed, 1 pending, 1 open, 0 ended, 1 attempts");
    assert_eq!(
        database.ask("SELECT string_agg(settled::text, ' ' ORDER BY shard) FROM mainspring.shard"),
        "1 0"
    );
    let mut reader = store.reader().unwrap();
    let [_, (_, other)] = &owners;
    let (young, nobody) = (once(*other, 11), once(*other, 15));
    let mut shards = Shards::new(&location).unwrap();
    assert_eq!(shards.of_once(young.id.due, young.id.number).unwrap(), Some(Shard(1)));
    assert_eq!(shards.of_once(nobody.id.due, nobody.id.number).unwrap(), None);
    assert_eq!(reader.counts(Shard::EVERY).unwrap().runs, 4);
}

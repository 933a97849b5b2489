//! What becomes of a batch when the database or the way to it fails.

use std::time::Duration;

use mainspring_job::jiff::Timestamp;
use mainspring_job::{
    Action, Answer, Batch, Cause, Lease, Once, OnceId, Operation, Owner, Reader, Run, RunKey, RunState,
    Shard, Store, StoreError, Takeover, Work,
};
use mainspring_postgres::{FORMAT_VERSION, Identity, Location, PostgresStore, preview};

use super::database::Database;
use super::relay::Relay;

/// How often something is tried that the database needs a moment for. Each try takes some milliseconds at
/// least.
const MAX_TRIES: u32 = 2_000;

fn opened(database: &Database) -> PostgresStore {
    PostgresStore::open(&Location::parse(&database.url()).unwrap(), Identity::default()).unwrap()
}

fn acquired(store: &mut PostgresStore) -> Lease {
    store.acquire(Shard::WHOLE, &Owner::new("one")).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn plan(number: u64) -> Batch {
    let nominal = at(i64::try_from(number).unwrap() * 60);
    let key = RunKey::new("job".parse().unwrap(), nominal);
    let run = Run::new(key, Cause::Trigger, RunState::Queued, nominal, nominal);
    Batch::new(number, vec![Operation::Plan(run)])
}

fn tried(store: &mut PostgresStore, lease: Lease, batch: &Batch) -> Vec<Answer> {
    for _ in 0..MAX_TRIES {
        match store.commit(lease, batch) {
            Ok(committed) => return committed.answers,
            Err(StoreError::Busy | StoreError::Unknown) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the database does not come back");
}

#[test]
fn a_database_that_was_killed_has_what_it_acknowledged_and_the_owner_goes_on() {
    let Some(mut database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    for number in 1..=5 {
        assert_eq!(tried(&mut store, lease, &plan(number)), [Answer::New]);
        database.kill();
        let lost = store.commit(lease, &plan(number));
        assert!(matches!(lost, Err(StoreError::Busy | StoreError::Unknown)), "{lost:?}");
        database.begin();
        assert_eq!(tried(&mut store, lease, &plan(number)), [Answer::New], "it was sent again");
    }
    assert_eq!(store.counts(Shard::WHOLE).unwrap().runs, 5);
}

#[test]
fn a_batch_whose_session_ended_in_the_commit_is_done_once_when_it_is_sent_again() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    // The session ends while it commits, so that nothing is written. The client cannot tell that from a
    // commit whose answer was lost.
    database.ask(
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON mainspring.run DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION lose()",
    );
    let lost = store.commit(lease, &plan(1));
    assert!(matches!(lost, Err(StoreError::Unknown)), "{lost:?}");
    database.ask("DROP TRIGGER lose ON mainspring.run");
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
    assert_eq!(
        tried(&mut store, lease, &plan(1)),
        [Answer::New],
        "it is on disk: the same number, the same answers"
    );
    assert_eq!(store.counts(Shard::WHOLE).unwrap().runs, 1);
}

/// Operations of all kinds that are not the same when they are done twice.
fn cycle(number: u64) -> Batch {
    let nominal = at(i64::try_from(number).unwrap() * 60);
    let key = RunKey::new("job".parse().unwrap(), nominal);
    let id = OnceId { due: nominal, number };
    let once = Once::new(id, at(0), Work::new(Action::new("mail", "to: ada").unwrap()));
    let mut operations = plan(number).operations;
    operations.push(Operation::Begin { key, attempt: 1, at: nominal });
    operations.push(Operation::Submit(once));
    Batch::new(number, operations)
}

#[test]
fn a_batch_whose_answer_was_swallowed_is_done_once_and_answered_alike() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let mut one = PostgresStore::open(&Location::parse(&relay.url()).unwrap(), Identity::default()).unwrap();
    let lease = acquired(&mut one);
    for number in 1..=20 {
        // Of every second batch the second answer is lost too.
        for lost in 0..=number % 2 {
            let before = relay.swallowed();
            relay.swallow(1);
            let answered = one.commit(lease, &cycle(number));
            assert!(matches!(answered, Err(StoreError::Unknown)), "{number}, {lost}: {answered:?}");
            assert_eq!(relay.swallowed(), before + 1, "it was the answer that was lost");
            assert_eq!(
                database.ask("SELECT count(*) FROM mainspring.run"),
                number.to_string(),
                "it is on disk"
            );
            one.renew(lease).unwrap();
        }
        assert_eq!(tried(&mut one, lease, &cycle(number)), [Answer::New; 3], "{number}");
    }
    let counts = one.counts(Shard::WHOLE).unwrap();
    assert_eq!((counts.runs, counts.open, counts.pending), (20, 20, 20));
    assert_eq!(database.ask("SELECT count(*), max(number) FROM mainspring.attempt"), "20|1");
    // Of a renewal or a release only the answer is lost.
    relay.swallow(1);
    assert!(matches!(one.renew(lease), Err(StoreError::Unknown)));
    assert!(one.renew(lease).is_ok());
    relay.swallow(1);
    assert!(matches!(one.release(lease), Err(StoreError::Unknown)));
    assert!(matches!(one.release(lease), Err(StoreError::Fenced)), "it is given up");
}

#[test]
fn a_batch_whose_owner_was_cut_off_is_done_once_or_never_and_not_after_another_took_over() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let mut one = PostgresStore::open(&Location::parse(&relay.url()).unwrap(), Identity::default()).unwrap();
    let lease = acquired(&mut one);
    relay.swallow(1);
    assert!(matches!(one.commit(lease, &cycle(1)), Err(StoreError::Unknown)));
    relay.cut();
    assert!(matches!(one.commit(lease, &cycle(1)), Err(StoreError::Busy | StoreError::Unknown)));
    assert!(matches!(one.commit(lease, &cycle(2)), Err(StoreError::Busy | StoreError::Unknown)));
    database.ask("UPDATE mainspring.shard SET until = '-infinity'");
    let mut other = opened(&database);
    let new = other.acquire(Shard::WHOLE, &Owner::new("other")).unwrap();
    assert_eq!(other.counts(Shard::WHOLE).unwrap().runs, 1, "the first was done, the second never was");
    relay.mend();
    for number in 1..=2 {
        let fenced = (0..MAX_TRIES).find_map(|_| match one.commit(lease, &cycle(number)) {
            Err(StoreError::Busy | StoreError::Unknown) => None,
            other => Some(other),
        });
        assert!(matches!(fenced, Some(Err(StoreError::Fenced))), "{fenced:?}");
    }
    assert_eq!(tried(&mut other, new, &cycle(2)), [Answer::New; 3]);
    assert_eq!(other.counts(Shard::WHOLE).unwrap().runs, 2);
}

#[test]
fn a_commit_that_is_held_up_is_not_lost_and_nobody_takes_the_shard_meanwhile() {
    let Some(database) = Database::start() else { return };
    let (mut one, mut other) = (opened(&database), opened(&database));
    let lease = acquired(&mut one);
    database.ask(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_sleep(5); RETURN NULL; END $$;
        CREATE TRIGGER slow AFTER INSERT ON mainspring.run FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    // No answer in time, and the backend goes on with it.
    assert!(matches!(one.commit(lease, &plan(1)), Err(StoreError::Unknown)));
    let held = other.acquire(Shard::WHOLE, &Owner::new("other"));
    assert!(matches!(held, Err(StoreError::Busy | StoreError::Held { .. })), "{held:?}");
    // Sent again it finds its number, or the row held by itself.
    assert_eq!(tried(&mut one, lease, &plan(1)), [Answer::New]);
    assert_eq!(one.counts(Shard::WHOLE).unwrap().runs, 1);
}

#[test]
fn a_lease_runs_out_by_the_clock_of_the_database() {
    let Some(database) = Database::start() else { return };
    let location = Location::parse(&database.url()).unwrap();
    let lasts = Duration::from_millis(300);
    let mut one = PostgresStore::open_with_lease(&location, Identity::default(), lasts).unwrap();
    let mut other = opened(&database);
    let old = acquired(&mut one);
    let mut held_count = 0;
    let new = loop {
        match other.acquire(Shard::WHOLE, &Owner::new("other")) {
            Ok(lease) => break lease,
            Err(StoreError::Held { by, left }) => {
                assert_eq!(by, "one");
                assert!(left <= lasts + Duration::from_millis(1_001), "{left:?}");
                held_count += 1;
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(0 < held_count, "it was held at first");
    assert_eq!(new.takeover, Takeover::Unclean);
    assert!(matches!(one.renew(old), Err(StoreError::Fenced)));
    assert!(matches!(one.commit(old, &plan(1)), Err(StoreError::Fenced)));
}

#[test]
fn the_same_process_that_takes_its_shard_again_suspects_nothing() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    acquired(&mut store);
    database.ask("UPDATE mainspring.shard SET until = '-infinity'");
    assert_eq!(acquired(&mut store).takeover, Takeover::Clean);
}

#[test]
fn texts_with_characters_that_the_database_lacks_are_kept() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let id = OnceId { due: at(60), number: 1 };
    let work = Work::new(Action::new("webhook", "a\0b\u{f8ff}").unwrap());
    let mut once = Once::new(id, at(0), work);
    once.key = Some("k\0".to_owned());
    let batch = Batch::new(1, vec![Operation::Submit(once.clone()), Operation::Submit(once.clone())]);
    assert_eq!(tried(&mut store, lease, &batch), [Answer::New, Answer::Duplicate(Some(id))]);
    let found = store.load(Shard::WHOLE, OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 9).unwrap();
    assert_eq!(found, [once]);
}

#[test]
fn a_database_that_may_forget_is_refused() {
    let Some(database) = Database::start() else { return };
    database.ask("ALTER ROLE mainspring SET synchronous_commit = off");
    let location = Location::parse(&database.url()).unwrap();
    let refused = PostgresStore::open(&location, Identity::default()).unwrap_err().to_string();
    assert!(refused.contains("synchronous_commit"), "{refused}");
}

#[test]
fn a_schema_that_is_too_new_is_left_alone_and_one_that_still_serves_is_used() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    database.ask("UPDATE mainspring.meta SET version = 99");
    drop(opened(&database));
    database.ask("UPDATE mainspring.meta SET floor = 98");
    let location = Location::parse(&database.url()).unwrap();
    let refused = PostgresStore::open(&location, Identity::default());
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, known: FORMAT_VERSION })), "{refused:?}");
}

#[test]
fn what_is_previewed_makes_the_tables() {
    let Some(database) = Database::start() else { return };
    database.ask(&preview(0));
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
}

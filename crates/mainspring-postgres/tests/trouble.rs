//! A batch is done once or never when the database or the way to it fails.

use std::time::Duration;

use mainspring_job::jiff::Timestamp;
use mainspring_job::{
    Action, Answer, Batch, Cause, Lease, Once, OnceId, Operation, Owner, Reader, Run, RunKey, RunState,
    Store, StoreError, Takeover, Work,
};
use mainspring_postgres::{
    FORMAT_VERSION, Identity, Inbox, Location, PostgresReader, PostgresStore, Releases, preview,
};

use super::database::Database;
use super::relay::Relay;

/// How often something is tried that the database needs a moment for. Each try takes a few milliseconds at
/// least.
pub(crate) const MAX_TRIES: u32 = 2_000;

pub(crate) fn opened(database: &Database) -> PostgresStore {
    PostgresStore::open(&Location::parse(&database.url()).unwrap(), Identity::default()).unwrap()
}

pub(crate) fn acquired(store: &mut PostgresStore) -> Lease {
    store.acquire(&Owner::new("one")).unwrap()
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn plan(number: u64) -> Batch {
    let nominal = at(i64::try_from(number).unwrap() * 60);
    let key = RunKey::new("job".parse().unwrap(), nominal);
    let run = Run::new(key, Cause::Trigger, RunState::Queued, nominal, nominal);
    Batch::new(number, vec![Operation::Plan(run)])
}

pub(crate) fn tried(store: &mut PostgresStore, lease: Lease, batch: &Batch) -> Vec<Answer> {
    for _ in 0..MAX_TRIES {
        match store.commit(lease, batch) {
            Ok(committed) => return committed.answers,
            Err(StoreError::Busy(_) | StoreError::Unknown) => {}
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
        assert!(matches!(lost, Err(StoreError::Busy(_) | StoreError::Unknown)), "{lost:?}");
        let refused = store.commit(lease, &plan(number)).unwrap_err().to_string();
        let is_named = refused.starts_with("the store is busy: ") && refused.contains("No such file");
        assert!(is_named, "{refused}");
        database.begin();
        assert_eq!(tried(&mut store, lease, &plan(number)), [Answer::New], "it was sent again");
    }
    assert_eq!(store.counts().unwrap().runs, 5);
}

#[test]
fn what_a_planner_says_of_itself_is_read_as_it_was_written() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let [status, lines] = ["{\"file\":\"a\u{f8ff}b\"}", "{\"a\u{f8ff}\":7}"];
    store.keep_status(lease, status, Some(lines)).unwrap();
    store.keep_source(lease, "a\u{f8ff}b").unwrap();
    assert_eq!(store.planner_status().unwrap().as_deref(), Some(status));
    assert_eq!(store.planner_lines().unwrap().as_deref(), Some(lines));
    assert_eq!(store.shared_sources().unwrap(), Some(["a\u{f8ff}b".to_owned()].into()));
}

#[test]
fn a_reader_is_asked_and_dropped_in_a_task() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    let location = Location::parse(&database.url()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let batch = runtime.block_on(async { PostgresReader::new(&location).unwrap().lease().unwrap().batch });
    assert_eq!(batch, 0);
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
        CREATE CONSTRAINT TRIGGER lose AFTER INSERT ON mainspring.open_run DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION lose()",
    );
    let lost = store.commit(lease, &plan(1));
    assert!(matches!(lost, Err(StoreError::Unknown)), "{lost:?}");
    database.ask("DROP TRIGGER lose ON mainspring.open_run");
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
    assert_eq!(
        tried(&mut store, lease, &plan(1)),
        [Answer::New],
        "it is on disk: the same number, the same answers"
    );
    assert_eq!(store.counts().unwrap().runs, 1);
}

/// Operations of all kinds that are not the same when they are done twice.
pub(crate) fn cycle(number: u64) -> Batch {
    let nominal = at(i64::try_from(number).unwrap() * 60);
    let key = RunKey::new("job".parse().unwrap(), nominal);
    let id = OnceId { due: nominal, number };
    let once = Once::new(id, at(0), Work::new(Action::new("mail", "to: ada").unwrap()));
    let mut operations = plan(number).operations;
    operations.push(Operation::Begin { key, attempt: 1, at: nominal, worker: None });
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
            assert_eq!((relay.swallows(), relay.swallowed()), (false, before + 1), "the answer was lost");
            assert_eq!(
                database.ask("SELECT count(*) FROM mainspring.run"),
                number.to_string(),
                "it is on disk"
            );
            one.renew(lease).unwrap();
        }
        assert_eq!(tried(&mut one, lease, &cycle(number)), [Answer::New; 3], "{number}");
    }
    let counts = one.counts().unwrap();
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
    assert!(matches!(one.commit(lease, &cycle(1)), Err(StoreError::Busy(_) | StoreError::Unknown)));
    assert!(matches!(one.commit(lease, &cycle(2)), Err(StoreError::Busy(_) | StoreError::Unknown)));
    database.ask("UPDATE mainspring.planner SET until = '-infinity'");
    let mut other = opened(&database);
    let new = other.acquire(&Owner::new("other")).unwrap();
    assert_eq!(other.counts().unwrap().runs, 1, "the first was done, the second never was");
    relay.mend();
    for number in 1..=2 {
        let fenced = (0..MAX_TRIES).find_map(|_| match one.commit(lease, &cycle(number)) {
            Err(StoreError::Busy(_) | StoreError::Unknown) => None,
            other => Some(other),
        });
        assert!(matches!(fenced, Some(Err(StoreError::Fenced))), "{fenced:?}");
    }
    let Batch { operations, .. } = cycle(2);
    assert_eq!(tried(&mut other, new, &Batch::new(1, operations)), [Answer::New; 3]);
    assert_eq!(other.counts().unwrap().runs, 2);
}

#[test]
fn a_commit_that_is_held_up_is_not_lost_and_nobody_takes_the_lease_meanwhile() {
    let Some(database) = Database::start() else { return };
    let (mut one, mut other) = (opened(&database), opened(&database));
    let lease = acquired(&mut one);
    database.ask(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_sleep(5); RETURN NULL; END $$;
        CREATE TRIGGER slow AFTER INSERT ON mainspring.open_run FOR EACH ROW EXECUTE FUNCTION slow()",
    );
    // No answer in time, and the backend continues with it.
    assert!(matches!(one.commit(lease, &plan(1)), Err(StoreError::Unknown)));
    let held = other.acquire(&Owner::new("other"));
    assert!(matches!(held, Err(StoreError::Busy(_) | StoreError::Held { .. })), "{held:?}");
    // Sent again it finds its number, or the row held by itself.
    assert_eq!(tried(&mut one, lease, &plan(1)), [Answer::New]);
    assert_eq!(one.counts().unwrap().runs, 1);
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
        match other.acquire(&Owner::new("other")) {
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
fn an_owner_that_lost_the_answer_takes_its_lease_again_and_knows_how_it_came_to_it() {
    let Some(database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let mut dead = opened(&database);
    acquired(&mut dead);
    database.ask("UPDATE mainspring.planner SET until = '-infinity'");
    let mut one = PostgresStore::open(&Location::parse(&relay.url()).unwrap(), Identity::default()).unwrap();
    relay.swallow(1);
    let lost = one.acquire(&Owner::new("one"));
    assert!(matches!(lost, Err(StoreError::Busy(_))), "{lost:?}");
    assert_eq!(database.ask("SELECT owner FROM mainspring.planner"), "one", "it has the lease");
    let lease = acquired(&mut one);
    assert_eq!(lease.takeover, Takeover::Unclean, "the owner before it died, no matter who heard that");
    assert_eq!(tried(&mut one, lease, &plan(1)), [Answer::New]);
    let other = opened(&database).acquire(&Owner::new("other"));
    assert!(matches!(other, Err(StoreError::Held { .. })), "{other:?}");
    // It has committed: what ran it has ended itself.
    let again = acquired(&mut one);
    assert_eq!(again.takeover, Takeover::Clean);
    assert!(
        matches!(one.commit(lease, &plan(2)), Err(StoreError::Fenced)),
        "what was sent before is refused"
    );
}

#[test]
fn a_request_of_the_inbox_goes_in_the_commit_that_does_it() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let submit = |key: &str| {
        database.ask(&format!("SELECT mainspring.submit('{{\"process\": {{}}}}', key => '{key}')"));
    };
    let once = |number: u64, key: &str| {
        let id = OnceId { due: at(60), number };
        let mut once = Once::new(id, at(0), Work::new(Action::new("process", "{}").unwrap()));
        once.key = Some(key.to_owned());
        Operation::Submit(once)
    };
    submit("a");
    submit("b");
    assert_eq!(tried(&mut store, lease, &Batch::new(1, vec![once(1, "a")])), [Answer::New]);
    assert_eq!(database.ask("SELECT key FROM mainspring.inbox"), "b");
    // Of two requests under one key the second is done already, unless it has other work: the server sees
    // that.
    submit("a");
    let duplicate = tried(&mut store, lease, &Batch::new(2, vec![once(2, "a")]));
    assert_eq!(duplicate, [Answer::Duplicate(Some(OnceId { due: at(60), number: 1 }))]);
    assert_eq!(database.ask("SELECT string_agg(key, ' ' ORDER BY key) FROM mainspring.inbox"), "a b");
    // A refusal is kept for people.
    submit("c");
    database.ask("UPDATE mainspring.inbox SET refusal = 'no' WHERE key = 'c'");
    assert_eq!(tried(&mut store, lease, &Batch::new(3, vec![once(3, "c")])), [Answer::New]);
    assert_eq!(database.ask("SELECT string_agg(key, ' ' ORDER BY key) FROM mainspring.inbox"), "a b c");
}

#[test]
fn servers_takeovers_refused_writes_and_the_inbox_are_told_in_one_document() {
    let Some(database) = Database::start() else { return };
    let (mut one, mut other) = (opened(&database), opened(&database));
    let old = acquired(&mut one);
    let held = other.acquire(&Owner::new("other"));
    assert!(matches!(held, Err(StoreError::Held { .. })), "{held:?}");
    database.ask("SELECT mainspring.submit('{\"process\": {}}')");
    database.ask("UPDATE mainspring.planner SET until = '-infinity'");
    other.acquire(&Owner::new("other")).unwrap();
    assert!(matches!(one.commit(old, &plan(1)), Err(StoreError::Fenced)));
    let text = other.cluster().unwrap().unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["planner"], "other");
    assert_eq!(found["takeovers"], serde_json::json!({ "clean": 1, "unclean": 1 }));
    assert_eq!((&found["fenced"], &found["inbox_waiting"]), (&1.into(), &1.into()));
    // The planner carries nothing out, and the other is no worker.
    assert_eq!(found["servers"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&found["servers"][0]["name"], &found["servers"][0]["is_planner"]),
        (&"other".into(), &true.into())
    );
    assert_eq!(found["database"]["synchronous_commit"], "on");
    assert_eq!(
        (&found["database"]["may_migrate"], &found["database"]["is_pooled"]),
        (&true.into(), &false.into())
    );
}

/// What a test waits for that comes at once; nothing is decided by it.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_release_and_what_is_asked_through_the_database_are_heard_of_at_once() {
    let Some(database) = Database::start() else { return };
    let location = Location::parse(&database.url()).unwrap();
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let mut releases = Releases::new(&location).unwrap();
    assert!(releases.wait(Duration::ZERO), "it knows nothing of what was before");
    store.renew(lease).unwrap();
    assert!(!releases.wait(Duration::ZERO));
    store.release(lease).unwrap();
    assert!(releases.wait(PATIENCE));
    let (mut owner, mut asker) = (Inbox::of_owner(&location).unwrap(), Inbox::of_asker(&location).unwrap());
    assert_eq!(owner.waiting().unwrap(), []);
    let id = asker.ask("a request", "somebody").unwrap();
    assert!(owner.wait(PATIENCE), "its time was not over");
    assert_eq!(owner.waiting().unwrap().len(), 1);
    assert!(owner.take(id).unwrap());
    owner.reply_all(&[(id, "a reply".to_owned())]).unwrap();
    assert!(asker.wait(PATIENCE));
    assert_eq!(asker.take_replies(&[id]).unwrap(), [(id, "a reply".to_owned())]);
}

#[test]
fn through_a_pooler_in_transaction_mode_nothing_is_told_and_all_is_found() {
    let Some(mut database) = Database::start() else { return };
    let Some(url) = database.pooled() else { return };
    let location = Location::parse(&url).unwrap();
    drop(opened(&database));
    let (mut owner, mut asker) = (Inbox::of_owner(&location).unwrap(), Inbox::of_asker(&location).unwrap());
    assert_eq!(owner.waiting().unwrap(), []);
    let id = asker.ask("a request", "somebody").unwrap();
    assert!(!owner.wait(Duration::ZERO));
    assert_eq!(owner.waiting().unwrap()[0].id, id);
}

#[test]
fn the_same_process_that_takes_its_lease_again_suspects_nothing() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    acquired(&mut store);
    database.ask("UPDATE mainspring.planner SET until = '-infinity'");
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
    let found = store.load(OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 9).unwrap();
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
    database.ask("UPDATE mainspring.planner SET version = 99");
    drop(opened(&database));
    database.ask("UPDATE mainspring.planner SET floor = 98");
    let location = Location::parse(&database.url()).unwrap();
    let refused = PostgresStore::open(&location, Identity::default());
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, known: FORMAT_VERSION })), "{refused:?}");
}

#[test]
fn a_standby_that_has_become_too_old_does_not_take_the_lease() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    database.ask("UPDATE mainspring.planner SET version = 99, floor = 98");
    let refused = store.acquire(&Owner::new("one"));
    assert!(matches!(refused, Err(StoreError::TooNew { found: 99, known: FORMAT_VERSION })), "{refused:?}");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.planner WHERE owner <> ''"), "0");
    database.ask(&format!("UPDATE mainspring.planner SET floor = {FORMAT_VERSION}"));
    acquired(&mut store);
}

#[test]
fn what_is_previewed_makes_the_tables() {
    let Some(database) = Database::start() else { return };
    database.script(&preview(0));
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    assert_eq!(tried(&mut store, lease, &plan(1)), [Answer::New]);
}

#[test]
fn a_database_of_the_first_version_is_served_beside_a_server_of_that_version() {
    let Some(database) = Database::start() else { return };
    let whole = preview(0);
    let (first, _) = whole.split_once("-- From when on each job is defined").unwrap();
    let of_then = "CREATE VIEW mainspring.job_list AS SELECT * FROM mainspring.job;
        INSERT INTO mainspring.planner (version, floor) VALUES (1, 1);
        INSERT INTO mainspring.job (name, watermark, runs, failures, deaths, max_series, pause_note, timetable, source, text)
            VALUES ('old', 7000000000, 0, 0, 0, 0, '', '', 'f', ''); COMMIT;";
    database.script(&format!("{first}{of_then}"));
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let (jobs, _) = store.jobs().unwrap();
    assert_eq!(jobs[0].mark.since, at(7));
    let mut mark = jobs[0].mark.clone();
    mark.since = at(8);
    let batch = Batch::new(1, vec![Operation::Mark(mark.clone())]);
    assert_eq!(tried(&mut store, lease, &batch), [Answer::New]);
    assert_eq!(store.jobs().unwrap().0[0].mark.since, mark.since);
    // What the version before writes says nothing of it.
    let replaced = database
        .ask("SELECT prosrc LIKE '%coalesce(m.since, j.since)%' FROM pg_proc WHERE proname = 'commit_marks'");
    assert_eq!(replaced, "t");
}

/// What a session sent that its client gave up may be read by the database when others have gone on.
#[test]
fn a_batch_that_comes_after_a_later_one_changes_nothing() {
    let Some(database) = Database::start() else { return };
    let (mut early, mut late) = (opened(&database), opened(&database));
    let lease = acquired(&mut early);
    assert_eq!(tried(&mut early, lease, &cycle(1)), [Answer::New; 3]);
    assert_eq!(tried(&mut early, lease, &cycle(2)), [Answer::New; 3]);
    assert!(matches!(early.commit(lease, &cycle(1)), Err(StoreError::Fenced)));
    assert!(
        matches!(late.commit(lease, &cycle(1)), Err(StoreError::Fenced)),
        "it has no token of that lease"
    );
    assert_eq!(tried(&mut early, lease, &cycle(2)), [Answer::New; 3], "it is still the last");
    assert_eq!(database.ask("SELECT batch FROM mainspring.planner"), "2");
}

//! The store on disk keeps the contract, and names the fault when the disk does not keep it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;
use mainspring_job::{
    Action, Answer, AuditQuery, Batch, Cause, Counts, JobName, Lease, Once, OnceId, Operation, Order, Owner,
    Pause, Query, Reader, Reason, Run, RunKey, RunState, Shard, Store, StoreError, Takeover, Work, contract,
};
use rusqlite::Connection;

use super::{Directory, DirectoryError, SqliteStore, read, schema};

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("mainspring-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("mainspring.db")
    }

    fn store(&self) -> (SqliteStore, Lease) {
        let mut store = SqliteStore::open_file(&self.file()).unwrap();
        let lease = store.acquire(Shard::WHOLE, &Owner::new("test")).unwrap();
        (store, lease)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct OnDisk(Vec<Folder>);

impl contract::Ground for OnDisk {
    type Store = SqliteStore;

    fn fresh(&mut self) -> SqliteStore {
        self.0 = vec![Folder::new()];
        let store = SqliteStore::open_file(&self.0[0].file()).unwrap();
        // The suite is about what is stored; that it is flushed is for
        // `what_is_committed_is_in_the_files_at_once`.
        store.connection.pragma_update(None, "synchronous", "off").unwrap();
        store
    }

    fn reopened(&mut self, store: SqliteStore) -> SqliteStore {
        drop(store);
        SqliteStore::open_file(&self.0[0].file()).unwrap()
    }

    fn beside(&mut self, _store: &SqliteStore) -> Option<SqliteStore> {
        let store = SqliteStore::open_file(&self.0[0].file()).unwrap();
        store.connection.pragma_update(None, "synchronous", "off").unwrap();
        Some(store)
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn once(number: u64) -> Once {
    let id = OnceId { due: at(i64::try_from(number).unwrap() % 1_000), number };
    let work = Work::new(Action::new("process", "x".repeat(200)).unwrap());
    Once::new(id, at(0), work)
}

/// The batch of the number that follows those with as many jobs each.
fn submissions(numbers: std::ops::Range<u64>) -> Batch {
    let number = numbers.start / (numbers.end - numbers.start) + 1;
    Batch::new(number, numbers.map(|number| Operation::Submit(once(number))).collect())
}

fn pending_count(store: &mut SqliteStore) -> usize {
    store.load(Shard::WHOLE, OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 100_000).unwrap().len()
}

#[test]
fn the_store_keeps_the_contract() {
    assert_eq!(contract::exercise(&mut OnDisk(Vec::new()), 150), Ok(()));
}

#[test]
fn what_is_committed_is_in_the_files_at_once() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let (mut store, lease) = folder.store();
    let flushes: i64 = store.connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
    assert_eq!(flushes, 2, "FULL");
    for start in [0, 100, 200] {
        store.commit(lease, &submissions(start..start + 100)).unwrap();
        // What a machine would find after a crash at this moment: the store is open, and its log is not
        // checkpointed.
        for name in ["mainspring.db", "mainspring.db-wal"] {
            fs::copy(folder.0.join(name), copy.0.join(name)).unwrap();
        }
        let mut found = SqliteStore::open_file(&copy.file()).unwrap();
        assert_eq!(pending_count(&mut found), usize::try_from(start).unwrap() + 100);
        assert_eq!(found.integrity().unwrap(), [] as [String; 0]);
        drop(found);
        for name in ["mainspring.db", "mainspring.db-wal", "mainspring.db-shm"] {
            let _ = fs::remove_file(copy.0.join(name));
        }
    }
}

#[test]
fn a_log_that_was_cut_off_holds_whole_batches() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let (mut store, lease) = folder.store();
    for start in [0, 100, 200] {
        store.commit(lease, &submissions(start..start + 100)).unwrap();
    }
    let log = fs::read(folder.0.join("mainspring.db-wal")).unwrap();
    for part in 0..40 {
        fs::copy(folder.file(), copy.file()).unwrap();
        fs::write(copy.0.join("mainspring.db-wal"), &log[..log.len() * part / 40]).unwrap();
        if let Ok(mut found) = SqliteStore::open_file(&copy.file()) {
            assert_eq!(pending_count(&mut found) % 100, 0, "cut at {part}/40");
        }
        for name in ["mainspring.db", "mainspring.db-wal", "mainspring.db-shm"] {
            let _ = fs::remove_file(copy.0.join(name));
        }
    }
}

#[test]
fn a_file_of_version_1_is_migrated_and_keeps_its_runs() {
    let folder = Folder::new();
    let connection = Connection::open(folder.file()).unwrap();
    connection.execute_batch(schema::STEPS[0]).unwrap();
    let rows = "INSERT INTO shard VALUES (0, 1, 'a', 0, 0, '');
        INSERT INTO run (job, nominal, series, cause, state, attempt, due, planned, started, ended, outcome, reason)
            VALUES ('a', 60000000000, 0, 'trigger', 'failed', 2, 60000000000, 60000000000, 61000000000, 62000000000, 'exit 3', ''),
                ('b', 60000000000, 0, 'trigger', 'missed', 0, 60000000000, 60000000000, NULL, 61000000000, NULL, 'x');
        PRAGMA user_version = 1;";
    connection.execute_batch(rows).unwrap();
    drop(connection);
    let (mut store, _) = folder.store();
    let key = |name| RunKey::new(JobName::new(name).unwrap(), at(60));
    let attempts = store.attempts(Shard::WHOLE, &key("a")).unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].number, attempts[0].state), (2, Some(RunState::Failed)));
    assert_eq!(store.attempts(Shard::WHOLE, &key("b")).unwrap(), []);
    assert_eq!(store.counts(Shard::WHOLE).unwrap().runs, 2);
    assert_eq!(store.integrity().unwrap(), [] as [String; 0]);
}

#[test]
fn sentences_of_an_older_version_are_read_and_new_reasons_are_codes() {
    let folder = Folder::new();
    let connection = Connection::open(folder.file()).unwrap();
    schema::STEPS[..5].iter().for_each(|step| connection.execute_batch(step).unwrap());
    let rows =
        "INSERT INTO shard (shard, epoch, owner, is_paused, batch, answers) VALUES (0, 1, 'a', 0, 0, '');
        INSERT INTO run (job, nominal, series, cause, state, attempt, due, planned, reason) VALUES
            ('a', 1, 0, 'trigger', 'cancelled', 0, 1, 1, 'somebody cancelled it'),
            ('a', 2, 0, 'trigger', 'dead', 3, 2, 2, 'none of its 3 attempts succeeded'),
            ('a', 3, 0, 'trigger', 'missed', 0, 3, 3, 'a sentence that nobody writes'),
            ('a', 4, 0, 'trigger', 'succeeded', 1, 4, 4, '');
        PRAGMA user_version = 5;";
    connection.execute_batch(rows).unwrap();
    drop(connection);
    let (mut store, lease) = folder.store();
    let query = Query::new(10);
    let reasons: Vec<Option<Reason>> =
        store.find(Shard::WHOLE, &query).unwrap().into_iter().rev().map(|run| run.reason).collect();
    let strange = Reason::Other("a sentence that nobody writes".to_owned());
    assert_eq!(reasons, [Some(Reason::Cancelled), Some(Reason::AttemptsUsedUp(3)), Some(strange), None]);
    let mut run = Run::new(
        RunKey::new(JobName::new("b").unwrap(), at(9)),
        Cause::Trigger,
        RunState::Missed,
        at(9),
        at(9),
    );
    run.reason = Some(Reason::ServerDown);
    store.commit(lease, &Batch::new(1, vec![Operation::Plan(run)])).unwrap();
    let sql = "SELECT reason FROM run WHERE job = 'b'";
    let stored: String = store.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(stored, "server_down");
}

/// What a server of format 6 left that was killed.
#[test]
fn a_folder_of_format_6_is_migrated_and_keeps_all_that_it_holds() {
    let folder = Folder::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/format6/mainspring.db");
    fs::copy(old, folder.file()).unwrap();
    let mut store = SqliteStore::open_file(&folder.file()).unwrap();
    assert_eq!(store.integrity().unwrap(), [] as [String; 0]);
    let owner = Owner::new("test").with_machine_start("another");
    let lease = store.acquire(Shard::WHOLE, &owner).unwrap();
    assert_eq!((lease.takeover, lease.epoch), (Takeover::Rebooted, 2));
    let (jobs, rest) = store.jobs(Shard::WHOLE).unwrap();
    let told: Vec<_> = jobs
        .iter()
        .map(|job| {
            let last = job.last.map(|last| last.state.name());
            (job.mark.job.as_str(), job.mark.pause, last, job.last_success.is_some())
        })
        .collect();
    let expected = [
        ("bad", None, Some("dead"), false),
        ("good", Some(Pause::Asked), Some("succeeded"), true),
        ("waits", None, None, false),
    ];
    assert_eq!((told.as_slice(), rest), (expected.as_slice(), None));
    assert!(jobs.iter().all(|job| job.source.is_some() && job.text.starts_with("[jobs.")));
    let names: Vec<JobName> = jobs.iter().map(|job| job.mark.job.clone()).collect();
    assert_eq!(store.last_ended(Shard::WHOLE, &names).unwrap().len(), 2);
    let open = store.open_runs(Shard::WHOLE, None, 9).unwrap();
    let states: Vec<RunState> = open.iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Running, RunState::Queued]);
    let mut query = Query::new(9);
    query.order = Order::Ended;
    let ended = store.find(Shard::WHOLE, &query).unwrap();
    assert_eq!(ended.iter().map(|run| run.key.job.as_str()).collect::<Vec<_>>(), ["bad", "good"]);
    assert_eq!(store.attempts(Shard::WHOLE, &ended[0].key).unwrap().len(), 2);
    let counts = store.counts(Shard::WHOLE).unwrap();
    assert_eq!((counts.jobs, counts.pending, counts.open, counts.runs, counts.dead), (3, 2, 2, 4, 1));
    let later = store.pending_named(Shard::WHOLE, &JobName::new("later").unwrap()).unwrap().unwrap();
    assert_eq!(later.key.as_deref(), Some("once"));
    assert_eq!(store.audit(Shard::WHOLE, &AuditQuery::new(9)).unwrap(), []);
}

#[test]
fn a_file_without_counts_is_counted_once() {
    let folder = Folder::new();
    let connection = Connection::open(folder.file()).unwrap();
    schema::STEPS[..5].iter().for_each(|step| connection.execute_batch(step).unwrap());
    let rows = "INSERT INTO shard (shard, epoch, owner, is_paused, batch, answers) VALUES (0, 1, 'a', 0, 0, '');
        INSERT INTO run (job, nominal, series, cause, state, attempt, due, planned, reason)
            VALUES ('a', 1, 0, 'trigger', 'queued', 0, 1, 1, ''), ('a', 2, 0, 'trigger', 'dead', 1, 2, 2, ''),
                ('a', 3, 0, 'trigger', 'missed', 0, 3, 3, '');
        INSERT INTO job VALUES ('a', 0, 0, 0, 0, NULL, '', 'x', '', 0), ('b', 0, 0, 0, 0, NULL, '', NULL, '', 0);
        PRAGMA user_version = 5;";
    connection.execute_batch(rows).unwrap();
    drop(connection);
    let (mut store, lease) = folder.store();
    let mut counted = Counts::default();
    (counted.jobs, counted.open, counted.runs, counted.dead) = (1, 1, 3, 1);
    assert_eq!(store.counts(Shard::WHOLE).unwrap(), counted);
    store.commit(lease, &submissions(0..3)).unwrap();
    counted.pending = 3;
    assert_eq!(store.counts(Shard::WHOLE).unwrap(), counted);
    assert_eq!(store.integrity().unwrap(), [] as [String; 0]);
    store.connection.execute("UPDATE shard SET dead = 2", []).unwrap();
    assert_eq!(store.integrity().unwrap(), ["it keeps that it has 2 dead letters, and it has 1"]);
}

#[test]
fn the_last_run_of_a_job_is_found_without_a_walk_over_its_runs() {
    let folder = Folder::new();
    let (store, _) = folder.store();
    let sql = format!("EXPLAIN QUERY PLAN {}", read::last_ended_sql());
    let mut statement = store.connection.prepare(&sql).unwrap();
    let plan: Vec<String> =
        statement.query_map(["[]"], |row| row.get("detail")).unwrap().map(Result::unwrap).collect();
    let seeks = |what: &str| plan.iter().filter(|line| line.contains(what)).count();
    assert_eq!(seeks("SEARCH job USING PRIMARY KEY (name=?)"), 1, "{plan:#?}");
    assert_eq!(seeks("SEARCH run USING PRIMARY KEY (job=? AND nominal=? AND series=?)"), 1, "{plan:#?}");
    assert_eq!(seeks("SCAN run"), 0, "{plan:#?}");
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let folder = Folder::new();
    drop(folder.store());
    Connection::open(folder.file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open_file(&folder.file()).unwrap_err();
    assert!(matches!(error, StoreError::TooNew { found: 99, known: schema::VERSION }), "{error}");
}

#[test]
fn a_full_disk_loses_nothing_and_is_said_to_be_full() {
    let folder = Folder::new();
    let (mut store, lease) = folder.store();
    store.connection.pragma_update(None, "max_page_count", 60).unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match store.commit(lease, &submissions(acknowledged..acknowledged + 50)) {
            Ok(_) => acknowledged += 50,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(100 <= acknowledged, "{acknowledged}");
    assert_eq!(pending_count(&mut store), usize::try_from(acknowledged).unwrap());
    // When there is room again the same batch goes through.
    store.connection.pragma_update(None, "max_page_count", 10_000).unwrap();
    store.commit(lease, &submissions(acknowledged..acknowledged + 50)).unwrap();
    assert_eq!(pending_count(&mut store), usize::try_from(acknowledged + 50).unwrap());
}

#[test]
fn a_store_that_cannot_be_written_says_so_and_stays_as_it_is() {
    let folder = Folder::new();
    let (mut store, lease) = folder.store();
    store.commit(lease, &submissions(0..10)).unwrap();
    store.connection.pragma_update(None, "query_only", true).unwrap();
    let error = store.commit(lease, &submissions(10..20)).unwrap_err();
    assert!(error.to_string().contains("readonly"), "{error}");
    // After that nothing is believed until the file is opened again.
    store.connection.pragma_update(None, "query_only", false).unwrap();
    assert!(matches!(store.commit(lease, &submissions(10..20)), Err(StoreError::Io(_))));
    drop(store);
    assert_eq!(pending_count(&mut folder.store().0), 10);
}

#[test]
fn a_damaged_page_is_named_damage_wherever_it_is() {
    let folder = Folder::new();
    let (mut store, lease) = folder.store();
    for start in [0, 1_000] {
        store.commit(lease, &submissions(start..start + 1_000)).unwrap();
    }
    store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(store);
    let whole = fs::read(folder.file()).unwrap();
    let mut damaged_count = 0;
    for part in 0..20 {
        let mut bytes = whole.clone();
        let start = bytes.len() * part / 20 / 4_096 * 4_096;
        bytes[start..start + 64].iter_mut().for_each(|byte| *byte ^= 0x5a);
        fs::write(folder.file(), &bytes).unwrap();
        let found = SqliteStore::open_file(&folder.file()).and_then(|mut store| {
            store.load(Shard::WHOLE, OnceId::first_at(at(0)), at(2_000), 10_000)?;
            let problems = store.integrity()?;
            if problems.is_empty() { Ok(()) } else { Err(StoreError::Corrupt(problems.join("; "))) }
        });
        match found {
            Err(StoreError::Corrupt(_)) => damaged_count += 1,
            Err(error) => panic!("page {}: {error}", start / 4_096),
            // An unused page may hold anything.
            Ok(()) => (),
        }
    }
    assert!(15 <= damaged_count, "{damaged_count} of 20");
}

#[test]
fn a_folder_has_one_owner_and_says_who() {
    let folder = Folder::new();
    let first = Arc::new(Directory::open(&folder.0).unwrap());
    let Err(DirectoryError::Taken { holder, .. }) = Directory::open(&folder.0) else { panic!("it is taken") };
    assert_eq!(holder, format!("process {}", std::process::id()));
    assert!(SqliteStore::open(&first).is_ok());
    drop(first);
    assert!(Directory::open(&folder.0).is_ok());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    for path in ["/proc/mainspring", "/dev/null/mainspring"] {
        let error = Directory::open(Path::new(path)).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot use the data directory {path}"));
        assert!(std::error::Error::source(&error).is_some(), "the reason is the error's source");
    }
}

#[test]
fn hot_questions_are_answered_from_a_key() {
    let folder = Folder::new();
    let (store, _) = folder.store();
    let plan = |sql: &str| {
        let mut statement = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nulls = vec![rusqlite::types::Value::Null; statement.parameter_count()];
        let rows =
            statement.query_map(rusqlite::params_from_iter(nulls), |row| row.get::<_, String>(3)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let ids = "SEARCH pending USING PRIMARY KEY ((due,number)>(?,?) AND due<?)";
    assert_eq!(plan(read::load_ids_sql()), ids);
    assert_eq!(plan(&read::load_sql()), "SEARCH pending USING PRIMARY KEY ((due,number)>(?,?) AND due<?)");
    assert!(plan(&read::open_runs_sql()).starts_with("SEARCH run USING INDEX run_open"));
    let mut query = Query::new(20);
    query.order = Order::Ended;
    // In the order of the index: nothing is sorted.
    let ordered = plan(&read::find_sql(&query).0);
    assert!(ordered.contains("run USING INDEX run_ended") && !ordered.contains("TEMP B-TREE"), "{ordered}");
    query.since = Some(at(0));
    query.cursor = Some(RunKey::new(JobName::new("a").unwrap(), at(9)).into());
    for (order, index) in [(Order::Ended, "run_ended (ended>?"), (Order::Nominal, "run_nominal (nominal>?")] {
        query.order = order;
        let found = plan(&read::find_sql(&query).0);
        assert!(found.starts_with(&format!("SEARCH run USING INDEX {index}")), "{found}");
    }
    // A state that few runs are in is found without the others.
    for (states, nominal, ended) in [
        (vec![RunState::Missed], "run_other", "run_other_ended"),
        (vec![RunState::Dead, RunState::Failed], "run_other", "run_other_ended"),
        (vec![RunState::Running], "run_open", "run_open"),
    ] {
        for (order, index) in [(Order::Nominal, nominal), (Order::Ended, ended)] {
            let mut query = Query::new(20);
            (query.states, query.order) = (states.clone(), order);
            let found = plan(&read::find_sql(&query).0);
            let is_by = found.split([' ', ';']).any(|word| word == index);
            assert!(is_by && (index == "run_open" || !found.contains("TEMP B-TREE")), "{states:?}: {found}");
        }
    }
}

#[test]
fn a_run_of_every_kind_is_read_back() {
    let folder = Folder::new();
    let (mut store, lease) = folder.store();
    let mut run = Run::new(
        RunKey::new(JobName::new("j").unwrap(), at(-1)),
        Cause::Once,
        RunState::Queued,
        at(7),
        at(8),
    );
    run.work = Some(once(1).work);
    let batch = Batch::new(1, vec![Operation::Plan(run.clone())]);
    assert_eq!(store.commit(lease, &batch).unwrap().answers, [Answer::New]);
    assert_eq!(store.run(Shard::WHOLE, &run.key).unwrap(), Some(run));
}

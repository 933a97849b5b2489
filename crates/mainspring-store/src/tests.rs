//! The store on disk keeps the contract, and names the fault when the disk does not keep it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;
use mainspring_job::{
    Action, Answer, Batch, Cause, Counts, JobName, Lease, Once, OnceId, Operation, Order, Owner, Query,
    Reader, Run, RunKey, RunState, Store, StoreError, Work, contract,
};
use mainspring_rows::questions::{self, Database};
use mainspring_rows::{Columns, ReadResult};
use rusqlite::Connection;

use super::read::{self, AskedConnection, Size, Sizes};
use super::{SqliteStore, schema};

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
        let lease = store.acquire(&Owner::new("test")).unwrap();
        (store, lease)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct OnDisk(Vec<Folder>);

impl contract::StoreFixture for OnDisk {
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
    store.load(OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 100_000).unwrap().len()
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
    for pragma in ["PRAGMA fullfsync", "PRAGMA checkpoint_fullfsync"] {
        assert!(store.connection.query_row(pragma, [], |row| row.get::<_, bool>(0)).unwrap(), "{pragma}");
    }
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
fn the_kept_counts_are_compared_with_the_rows() {
    let folder = Folder::new();
    let (mut store, lease) = folder.store();
    store.commit(lease, &submissions(0..3)).unwrap();
    let mut counts = Counts::default();
    counts.pending = 3;
    assert_eq!(store.counts().unwrap(), counts);
    assert_eq!(store.integrity().unwrap(), [] as [String; 0]);
    store.connection.execute("UPDATE head SET dead = 2", []).unwrap();
    assert_eq!(store.integrity().unwrap(), ["it keeps that it has 2 dead letters, and it has 0"]);
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
fn a_file_of_an_older_version_takes_the_steps_that_it_lacks() {
    let mut connection = Connection::open_in_memory().unwrap();
    let steps = ["CREATE TABLE a (b)", "ALTER TABLE a ADD COLUMN c", "INSERT INTO a VALUES (1, 2)"];
    schema::step(&mut connection, &steps[..2]).unwrap();
    schema::step(&mut connection, &steps).unwrap();
    schema::step(&mut connection, &steps).unwrap();
    let count: u32 =
        connection.query_row("SELECT count(*) FROM a WHERE c = 2", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
    assert!(matches!(schema::step(&mut connection, &steps[..1]), Err(StoreError::TooNew { found: 3, .. })));
}

#[test]
fn a_file_of_the_first_version_is_served_and_its_jobs_are_defined_since_they_are_planned() {
    let folder = Folder::new();
    let mut connection = Connection::open(folder.file()).unwrap();
    schema::step(&mut connection, &schema::STEPS[..1]).unwrap();
    let sql = "INSERT INTO job (name, watermark, runs, failures, max_series, timetable, source, text)
        VALUES ('old', 7000000000, 0, 0, 0, '', 'f', '')";
    connection.execute_batch(sql).unwrap();
    drop(connection);
    let (mut store, _) = folder.store();
    let (jobs, _) = store.jobs().unwrap();
    assert_eq!(jobs[0].mark.since, Timestamp::from_second(7).unwrap());
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
            store.load(OnceId::first_at(at(0)), at(2_000), 10_000)?;
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
fn what_a_file_holds_beside_rows_is_not_run() {
    let folder = Folder::new();
    drop(folder.store());
    let hidden = "CREATE TRIGGER hidden AFTER INSERT ON pending BEGIN DELETE FROM pending; END;
        CREATE VIEW own AS SELECT name FROM pending";
    Connection::open(folder.file()).unwrap().execute_batch(hidden).unwrap();
    let (mut store, lease) = folder.store();
    store.commit(lease, &submissions(0..3)).unwrap();
    assert_eq!(pending_count(&mut store), 3, "no trigger is run");
    assert!(store.connection.prepare("SELECT * FROM own").is_err(), "no view is read");
    drop(store);
    let other = "ALTER TABLE job RENAME TO j; CREATE VIEW job AS SELECT * FROM j";
    Connection::open(folder.file()).unwrap().execute_batch(other).unwrap();
    let error = SqliteStore::open_file(&folder.file()).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

/// Many runs have in common what a question asks for.
const MANY: Sizes = Sizes { group: Size::Many, narrow: Size::Many };

fn plan_of(store: &SqliteStore, sql: &str) -> String {
    let mut statement = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Value::Null; statement.parameter_count()];
    let rows = statement.query_map(rusqlite::params_from_iter(nulls), |row| row.get::<_, String>(3)).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

/// Keeps how the last question would be answered.
struct Explanation<'s> {
    store: &'s SqliteStore,
    plan: String,
}

impl Database for Explanation<'_> {
    type Value = rusqlite::types::Value;
    const SCHEMA: &'static str = AskedConnection::SCHEMA;
    const HEAD: &'static str = AskedConnection::HEAD;
    const JOBS: &'static str = AskedConnection::JOBS;
    const OPEN_RUNS: &'static str = AskedConnection::OPEN_RUNS;
    const IS_NAMED: &'static str = AskedConnection::IS_NAMED;
    const OF_BATCH: &'static str = AskedConnection::OF_BATCH;

    fn rows<T>(
        &mut self,
        _: &str,
        sql: &str,
        _: Vec<Self::Value>,
        _: fn(&dyn Columns) -> ReadResult<T>,
    ) -> ReadResult<Vec<T>> {
        self.plan = plan_of(self.store, sql);
        Ok(Vec::new())
    }

    fn find_sql(&mut self, query: &Query) -> ReadResult<(String, Vec<Self::Value>)> {
        Ok(read::find_sql(query, MANY))
    }
}

#[test]
fn hot_questions_are_answered_from_a_key() {
    let folder = Folder::new();
    let (store, _) = folder.store();
    let plan = |sql: &str| plan_of(&store, sql);
    let mut explanation = Explanation { store: &store, plan: String::new() };
    let ids = "SEARCH pending USING PRIMARY KEY ((due,number)>(?,?) AND due<?)";
    let first = OnceId::first_at(at(0));
    questions::load_ids(&mut explanation, first, at(1), 1).unwrap();
    assert_eq!(explanation.plan, ids);
    questions::load(&mut explanation, first, at(1), 1).unwrap();
    assert_eq!(explanation.plan, ids);
    let name = JobName::new("a").unwrap();
    questions::has_pending_of(&mut explanation, &name).unwrap();
    let plan_of_batch = "SEARCH pending USING INDEX pending_batch (<expr>=?)";
    assert!(explanation.plan.contains(plan_of_batch), "{}", explanation.plan);
    questions::pending_named(&mut explanation, &name).unwrap();
    assert_eq!(explanation.plan, "SEARCH pending USING INDEX pending_name (name=?)");
    questions::open_runs(&mut explanation, None, 1).unwrap();
    assert!(explanation.plan.starts_with("SEARCH run USING INDEX run_open"), "{}", explanation.plan);
    let mut query = Query::new(20);
    query.order = Order::Ended;
    // In the order of the index: nothing is sorted.
    let ordered = plan(&read::find_sql(&query, MANY).0);
    assert!(ordered.contains("run USING INDEX run_ended") && !ordered.contains("TEMP B-TREE"), "{ordered}");
    query.since = Some(at(0));
    query.cursor = Some(RunKey::new(JobName::new("a").unwrap(), at(9)).into());
    for (order, index) in [(Order::Ended, "run_ended (ended>?"), (Order::Nominal, "run_nominal (nominal>?")] {
        query.order = order;
        let found = plan(&read::find_sql(&query, MANY).0);
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
            let found = plan(&read::find_sql(&query, MANY).0);
            let is_by = found.split([' ', ';']).any(|word| word == index);
            assert!(is_by && (index == "run_open" || !found.contains("TEMP B-TREE")), "{states:?}: {found}");
        }
    }
    // So are the runs of a cause that few runs have, and those of a group that has few.
    for (order, index) in [(Order::Nominal, "run_rare"), (Order::Ended, "run_rare_ended")] {
        let mut query = Query::new(20);
        (query.cause, query.order) = (Some(Cause::Request), order);
        let found = plan(&read::find_sql(&query, MANY).0);
        let is_by = found.split(' ').any(|word| word == index);
        assert!(is_by && !found.contains("TEMP B-TREE"), "{found}");
        (query.cause, query.group) = (None, Some(JobName::new("g").unwrap()));
        let few = plan(&read::find_sql(&query, Sizes { group: Size::Few, ..MANY }).0);
        assert!(
            few.contains("USING PRIMARY KEY (job=?)") && few.contains("run_group (work_group=?)"),
            "{few}"
        );
        let many = plan(&read::find_sql(&query, MANY).0);
        assert!(!many.contains("run_group") && !many.contains("TEMP B-TREE"), "{many}");
    }
}

#[test]
fn few_runs_of_a_state_or_cause_are_looked_through_for_those_of_a_job() {
    let folder = Folder::new();
    let (store, _) = folder.store();
    let plan = |sql: &str| plan_of(&store, sql);
    // Where there are many of all jobs, its own runs are read.
    for order in [Order::Nominal, Order::Ended] {
        let mut query = Query::new(20);
        (query.job, query.order) = (Some(JobName::new("a").unwrap()), order);
        let (mut by_state, mut by_cause) = (query.clone(), query);
        by_state.states = vec![RunState::Failed];
        by_cause.cause = Some(Cause::Backfill);
        for (query, index) in [(by_state, "run_other"), (by_cause, "run_rare")] {
            let few = plan(&read::find_sql(&query, Sizes { narrow: Size::Few, ..MANY }).0);
            assert!(few.contains(&format!("run USING INDEX {index}")), "{few}");
            let many = plan(&read::find_sql(&query, MANY).0);
            assert!(many.contains("(job=?"), "{many}");
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
    assert_eq!(store.run(&run.key).unwrap(), Some(run));
}

#[test]
fn the_log_gives_its_room_back_as_soon_as_none_reads_what_is_in_it() {
    let folder = Folder::new();
    let (mut store, lease) = folder.store();
    let log = folder.file().with_extension("db-wal");
    let length = || fs::metadata(&log).unwrap().len();
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("BEGIN; SELECT * FROM head").unwrap();
    store.commit(lease, &Batch::new(1, vec![Operation::PauseAll(None)])).unwrap();
    assert!(!store.fold_in() && 0 < length(), "another program reads what came before");
    other.execute_batch("COMMIT").unwrap();
    assert!(store.fold_in());
    assert_eq!(length(), 0);
}

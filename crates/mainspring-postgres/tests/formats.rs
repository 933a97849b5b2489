//! Rows stay right when a server of this version makes its steps beside one of the version before.

use mainspring_job::jiff::Timestamp;
use mainspring_job::{Action, Answer, Batch, Once, OnceId, Operation, Outcome, RunKey, RunState, Work};
use mainspring_postgres::{Identity, Location, PostgresStore};

use super::database::Database;
use super::trouble::{FORMAT_3, acquired, at, opened, tried};

/// What leads from format 3 to format 6.
const LATER: &str = concat!(
    include_str!("../sql/0006_once.sql"),
    include_str!("../sql/0007_cluster.sql"),
    include_str!("../sql/0008_waves.sql")
);

/// The tables of a format, and a role that has all rights on them and may make none.
pub(crate) fn made_for_a_role(database: &Database, steps: &str, meta: &str) {
    database.ask(&format!(
        "CREATE SCHEMA mainspring; {steps} INSERT INTO mainspring.meta {meta};
        CREATE ROLE serving; GRANT USAGE ON SCHEMA mainspring TO serving;
        GRANT ALL ON ALL TABLES IN SCHEMA mainspring TO serving;
        GRANT ALL ON ALL SEQUENCES IN SCHEMA mainspring TO serving;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mainspring TO serving"
    ));
}

// What that server sends.

fn plan(nominal: i64, state: &str) -> String {
    format!(
        r#"{{"op": "plan", "run": {{"job": "job", "nominal": {nominal}, "series": 0, "cause": "trigger", "state": "{state}",
            "attempt": 0, "due": 0, "planned": 0, "reason": "", "deaths": 0, "forgiven": 0}}}}"#
    )
}

fn begin(nominal: i64, attempt: i64) -> String {
    let from = r#"["scheduled", "queued", "dead"]"#;
    format!(
        r#"{{"op": "begin", "job": "job", "nominal": {nominal}, "series": 0, "attempt": {attempt}, "at": 1, "from": {from}}}"#
    )
}

fn end(nominal: i64, attempt: i64, state: &str) -> String {
    format!(
        r#"{{"op": "end", "job": "job", "nominal": {nominal}, "series": 0, "attempt": {attempt}, "state": "{state}",
            "is_allowed": true, "at": 2, "outcome": null, "deaths": 0, "reason": ""}}"#
    )
}

/// A server of format 6 has all runs in one table. It goes on while one of this version makes its steps: it
/// reads `run`, and what it calls writes where runs are now.
#[test]
fn runs_of_format_6_are_parted_and_a_server_of_it_goes_on() {
    let Some(database) = Database::start() else { return };
    let before = FORMAT_3.concat() + LATER;
    database.ask(&format!(
        "CREATE SCHEMA mainspring; {before} INSERT INTO mainspring.meta (version, floor) VALUES (6, 1)"
    ));
    let fence = database.ask(
        "SELECT epoch || ', ' || quote_literal(token) FROM mainspring.acquire_1(
            0, 15000, 'before', '', '00000000-0000-0000-0000-000000000001', 'm', '')",
    );
    let commit = |number: i64, operation: &str| {
        let sql = "SELECT status || ' ' || answers FROM mainspring.commit_1";
        database.ask(&format!("{sql}(0, {fence}, 15000, {number}, ARRAY['{operation}'::jsonb])"))
    };
    let states = || {
        database.ask(
            "SELECT string_agg(nominal || ' ' || state || ' ' || attempt, ', ' ORDER BY nominal) FROM mainspring.run",
        )
    };
    let counts = || database.ask("SELECT open || ' ' || runs || ' ' || dead FROM mainspring.shard");
    assert_eq!(commit(1, &plan(1, "queued")), "done N");
    assert_eq!(commit(2, &plan(2, "missed")), "done N");
    assert_eq!(commit(3, &plan(3, "queued")), "done N");
    assert_eq!(commit(4, &begin(3, 1)), "done N");
    database.ask("CREATE ROLE reader; GRANT SELECT ON mainspring.run TO reader");
    let found = states();
    let mut store = opened(&database);
    assert_eq!(states(), found, "a step loses nothing");
    let may =
        |table: &str| database.ask(&format!("SELECT has_table_privilege('reader', '{table}', 'SELECT')"));
    assert_eq!(["mainspring.run", "mainspring.open_run", "mainspring.history"].map(may), ["t"; 3]);
    // What the server of format 6 goes on with.
    assert_eq!(commit(4, &begin(3, 1)), "done N", "the last batch is answered as it was");
    assert_eq!(commit(5, &plan(1, "queued")), "done D");
    assert_eq!(commit(6, &plan(2, "queued")), "done D", "a run that is over is not planned again");
    assert_eq!(commit(7, &end(3, 1, "dead")), "done N");
    assert_eq!(commit(8, &begin(1, 1)), "done N");
    assert_eq!(counts(), "1 3 1");
    assert_eq!(commit(9, &begin(3, 2)), "done N", "a dead run begins again");
    assert_eq!(commit(10, &end(3, 2, "queued")), "done N");
    assert_eq!(states(), "1 running 1, 2 missed 0, 3 queued 2");
    assert_eq!(counts(), "2 3 0");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.open_run"), "2");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.history"), "1");
    assert_eq!(database.ask(&format!("SELECT status FROM mainspring.release_1(0, {fence})")), "done");
    // And this one with what that one left, in a column batch and one by one.
    let lease = acquired(&mut store);
    let key = |nominal: i64| {
        RunKey::new("job".parse().unwrap(), Timestamp::from_nanosecond(nominal.into()).unwrap())
    };
    let ended = Operation::End {
        key: key(1),
        attempt: 1,
        state: RunState::Succeeded,
        at: at(3),
        outcome: Some(Outcome::Succeeded),
        crashes: 0,
        reason: None,
    };
    let begun = Operation::Begin { key: key(3), attempt: 3, at: at(3), worker: None };
    let again = Operation::Begin { key: key(2), attempt: 1, at: at(3), worker: None };
    let batch = Batch::new(1, vec![ended.clone(), begun, again]);
    assert_eq!(tried(&mut store, lease, &batch), [Answer::New, Answer::New, Answer::Gone]);
    assert_eq!(tried(&mut store, lease, &Batch::new(2, vec![ended])), [Answer::Gone]);
    assert_eq!(states(), "1 succeeded 1, 2 missed 0, 3 running 3");
    assert_eq!(counts(), "1 3 0");
}

/// The role of the servers may not be the one that makes the steps. A server of format 7 that has begun
/// before calls a function that writes into a table of format 8.
#[test]
fn a_server_of_format_7_goes_on_with_its_rights_when_another_role_makes_the_step() {
    let Some(database) = Database::start() else { return };
    let before = FORMAT_3.concat() + LATER + include_str!("../sql/0009_open.sql");
    made_for_a_role(&database, &before, "(version, floor) VALUES (7, 1)");
    let fence = database.ask(
        "SELECT epoch || ', ' || quote_literal(token) FROM mainspring.acquire_1(
            0, 15000, 'before', '', '00000000-0000-0000-0000-000000000001', 'm', '')",
    );
    drop(opened(&database));
    let define = r#"{"op": "define", "job": {"name": "job", "watermark": 0, "runs": 0, "failures": 0, "backfills": 0,
        "timetable": "@daily", "source": "jobs.toml", "text": "[jobs.job]", "deaths": 0, "pause_note": ""}}"#;
    let status = database.ask(&format!(
        "SET ROLE serving; SELECT status || ' ' || answers FROM mainspring.commit_1(0, {fence}, 15000, 1, ARRAY['{define}'::jsonb])"
    ));
    assert!(status.ends_with("done N"), "{status}");
    assert_eq!(database.ask("SELECT name || shard FROM mainspring.source_part"), "jobs.toml0");
    let may = "SELECT bool_and(has_table_privilege('serving', t, 'INSERT'))
        FROM unnest(ARRAY['mainspring.output', 'mainspring.source_part']) AS t (t)";
    assert_eq!(database.ask(may), "t");
}

/// It takes a job by defining it. The owner that had it is told, and the numbers are right.
#[test]
fn a_server_of_format_8_goes_on_with_its_rights_and_takes_a_job_as_before() {
    let Some(database) = Database::start() else { return };
    let steps = concat!(include_str!("../sql/0009_open.sql"), include_str!("../sql/0010_shards.sql"));
    let before = FORMAT_3.concat() + LATER + steps;
    made_for_a_role(&database, &before, "(version, floor, shards) VALUES (8, 8, 2)");
    let fences = [0, 1].map(|shard| {
        database.ask(&format!(
            "SELECT epoch || ', ' || quote_literal(token) FROM mainspring.acquire_1(
                {shard}, 15000, 'before', '', '00000000-0000-0000-0000-000000000001', 'm', '')"
        ))
    });
    let commit = |shard: usize, number: i64, operation: &str| {
        let fence = &fences[shard];
        let told = database.ask(&format!(
            "SET ROLE serving; SELECT status || ' ' || answers FROM mainspring.commit_1(
                {shard}, {fence}, 15000, {number}, ARRAY['{operation}'::jsonb])"
        ));
        assert!(told.ends_with("done N"), "{told}");
    };
    let define = r#"{"op": "define", "job": {"name": "job", "watermark": 0, "runs": 0, "failures": 0, "backfills": 0,
        "timetable": "@daily", "source": "jobs.toml", "text": "[jobs.job]", "deaths": 0, "pause_note": ""}}"#;
    commit(0, 1, define);
    drop(opened(&database));
    commit(1, 1, define);
    commit(0, 2, r#"{"op": "forget", "job": "job"}"#);
    let jobs = "SELECT string_agg(jobs::text, ' ' ORDER BY shard) FROM mainspring.shard";
    assert_eq!(database.ask(jobs), "0 1");
    assert_eq!(database.ask("SELECT shard || ' ' || job FROM mainspring.departure"), "0 job");
    assert_eq!(database.ask("SELECT shard || ' ' || source FROM mainspring.job"), "1 jobs.toml");
    commit(1, 2, &plan(1, "queued"));
}

/// It takes a shard whose owner was of this version and was killed: what that had in the write buffer it
/// finds in the tables, though it knows nothing of a write buffer, and though another role made the step.
#[test]
fn a_server_of_format_9_takes_over_from_one_of_this_version() {
    let Some(database) = Database::start() else { return };
    let steps = concat!(
        include_str!("../sql/0009_open.sql"),
        include_str!("../sql/0010_shards.sql"),
        include_str!("../sql/0011_moves.sql")
    );
    let before = FORMAT_3.concat() + LATER + steps;
    made_for_a_role(&database, &before, "(version, floor) VALUES (9, 1)");
    let location = Location::parse(&format!("{} journal=1", database.url())).unwrap();
    let mut store = PostgresStore::open(&location, Identity::default()).unwrap();
    let lease = acquired(&mut store);
    let id = OnceId { due: at(60), number: (lease.epoch << 40) + 1 };
    let once = Once::new(id, at(0), Work::new(Action::new("mail", "to: ada").unwrap()));
    assert_eq!(tried(&mut store, lease, &Batch::new(1, vec![Operation::Submit(once)])), [Answer::New]);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.journal"), "1");
    database.ask("UPDATE mainspring.shard SET until = '-infinity'");
    let taken = database.ask(
        "SET ROLE serving; SELECT status FROM mainspring.acquire_1(
            0, 15000, 'before', '', '00000000-0000-0000-0000-000000000001', 'm', '')",
    );
    assert_eq!(taken, "done");
    assert_eq!(
        database
            .ask("SELECT number - (SELECT epoch - 1 << 40 FROM mainspring.shard) FROM mainspring.pending"),
        "1"
    );
}

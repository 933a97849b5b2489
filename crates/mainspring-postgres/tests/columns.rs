//! Columns of the write buffer and of packs whose rows are alike: what is read is what was written, whichever
//! columns they are, and beside a server of format 11, which writes each row.

use mainspring_job::{
    Batch, KeptOutput, MemoryStore, Once, OnceId, Operation, OutputKeeper, Owner, Query, Reader, RunKey,
    RunState, Shard, Store,
};
use mainspring_postgres::{Identity, Location, Outputs, PostgresStore};

use super::database::Database;
use super::formats::made_for_a_role;
use super::trouble::{acquired, at};
use super::write_buffer::{LAPSE, all_new, eager, ended, fired, once, submitted};

/// How many entries the write buffer has, and how many jobs are in packs.
const HELD: &str =
    "SELECT (SELECT count(*) FROM mainspring.entry) || ' ' || coalesce(sum(count), 0) FROM mainspring.pack";

/// All jobs are due at once, as what is put off until nine o'clock is.
#[test]
fn jobs_that_are_due_at_once_are_found_pruned_and_opened() {
    let Some(database) = Database::start() else { return };
    let (mut store, mut memory) = (eager(&database.url()), MemoryStore::new());
    let lease = acquired(&mut store);
    let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    let jobs: Vec<Once> = (1..=1_500)
        .map(|number| {
            let once = once(lease, number);
            Once::new(OnceId { due: at(60), ..once.id }, at(0), once.work)
        })
        .collect();
    for (number, some) in (1..).zip(jobs.chunks(300)) {
        let lives = some.iter().flat_map(|job| [submitted(job), fired(job), ended(job, RunState::Succeeded)]);
        let batch = Batch::new(number, lives.collect());
        all_new(&mut store, lease, &batch);
        memory.commit(known, &batch).unwrap();
    }
    store.renew(lease).unwrap();
    assert_eq!(database.ask(HELD), "0 1500");
    assert_eq!(
        database
            .ask("SELECT DISTINCT cardinality(nominal) || ' ' || cardinality(ended) FROM mainspring.pack"),
        "1 1"
    );
    let key = |once: &Once| RunKey::new(once.name.clone(), once.id.due);
    let mut outputs = Outputs::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let wrote = |once: &Once| KeptOutput::new(key(once), "a line".to_owned());
    outputs.keep(&[wrote(&jobs[700]), wrote(&jobs[1_400])]).unwrap();
    // All are too old: the pack of the first thousand goes, with what one that is not its first wrote.
    let prune = Batch::new(6, vec![Operation::Prune { job: None, keep: 9_000, before: at(5_001) }]);
    all_new(&mut store, lease, &prune);
    memory.commit(known, &prune).unwrap();
    assert_eq!(database.ask(HELD), "0 500");
    assert_eq!(database.ask("SELECT string_agg(job, ' ') FROM mainspring.output"), jobs[1_400].name.as_str());
    for number in [0, 1_100, 1_499] {
        let found = store.run(Shard::WHOLE, &key(&jobs[number])).unwrap();
        assert_eq!(found, memory.run(Shard::WHOLE, &key(&jobs[number])).unwrap(), "{number}");
    }
    assert_eq!(database.ask(HELD), "0 0", "it was opened");
    let all = Query::new(600);
    assert_eq!(store.find(Shard::WHOLE, &all).unwrap(), memory.find(Shard::WHOLE, &all).unwrap());
    assert_eq!(store.counts(Shard::WHOLE).unwrap(), memory.counts(Shard::WHOLE).unwrap());
}

/// What a server of format 11 sends with a large batch that is for the write buffer: two jobs, of which one
/// ends.
fn entry(fence: &str, batch: i64, numbers: [i64; 2], settled: i64) -> String {
    let [first, second] = numbers;
    format!(
        "WITH held AS MATERIALIZED (SELECT {batch}::int8 AS number, s.server, s.settled, s.epoch = e.epoch AND s.batch = {batch} AS is_done
            FROM mainspring.shard AS s, (SELECT {fence}) AS e (epoch, token)
            WHERE s.shard = 0 AND (s.epoch <> e.epoch OR s.batch IN ({batch} - 1, {batch})) FOR NO KEY UPDATE OF s),
        done AS MATERIALIZED (SELECT c.*, h.server, h.is_done FROM held AS h, LATERAL mainspring.commit_2(0, {fence}, 15000, h.number, 5,
            '{{}}', '{{}}', {none}) AS c WHERE h.is_done OR h.settled = {settled}),
        kept AS (INSERT INTO mainspring.entry (shard, epoch, batch, server, s_due, s_number, s_submitted, s_priority, s_name, s_kind,
            s_body, s_policies, s_work_group, r_number, r_due, r_planned, r_started, r_state, b_number, b_at, e_number, e_at,
            e_deaths, e_state, e_outcome, e_reason, m_number, m_due, m_at, m_state, m_reason, prunes)
            SELECT 0, e.epoch, {batch}, d.server, '{{60,60}}', '{{{first},{second}}}', '{{0,0}}', '{{0,0}}',
                '{{once-1-{first},once-1-{second}}}', '{{mail,mail}}', '{{one,two}}', '{{\"\",\"\"}}', '{{NULL,NULL}}',
                '{{{first},{second}}}', '{{60,60}}', '{{60,60}}', '{{61,61}}', '{{running,running}}', '{{}}', '{{}}',
                '{{{first}}}', '{{62}}', '{{0}}', '{{succeeded}}', '{{succeeded}}', '{{\"\"}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}'
            FROM done AS d, (SELECT {fence}) AS e (epoch, token) WHERE d.status = 'done' AND NOT d.is_done)
        SELECT coalesce(d.status, 'settled') || ' ' || coalesce(d.answers, '') FROM held AS h LEFT JOIN done AS d ON true",
        none = ["'{}'"; 49].join(", ")
    )
}

/// How it settles that: the first job goes into a pack, the second stays.
fn settle(fence: &str, times: i64, batch: i64, numbers: [i64; 2]) -> String {
    let [first, second] = numbers;
    format!(
        "SELECT status || ' ' || times || ' ' || kept FROM mainspring.settle_2(0, {fence}, {times}, {batch}, '{{{second}}}', 0,
            '{{60}}', '{{{first}}}', '{{60}}', '{{60}}', '{{61}}', '{{62}}', '{{0}}', '{{once-1-{first}}}', '{{mail}}', '{{one}}', '{{\"\"}}',
            '{{NULL}}', '{{succeeded}}',
            '{{60}}', '{{{second}}}', '{{0}}', '{{0}}', '{{once-1-{second}}}', '{{mail}}', '{{two}}', '{{\"\"}}', '{{NULL}}',
            '{{{second}}}', '{{60}}', '{{60}}', '{{61}}', '{{running}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}',
            '{{}}', '{{}}', '{{}}', '{{}}', '{{}}')"
    )
}

#[test]
fn a_server_of_format_11_goes_on_beside_one_of_this_version_and_is_taken_over() {
    let Some(database) = Database::start() else { return };
    let steps = mainspring_postgres::preview(0);
    let before = steps.split("-- Format 12:").next().unwrap();
    let before = before.split_once("CREATE SCHEMA IF NOT EXISTS mainspring;").unwrap().1;
    made_for_a_role(&database, before, "(version, floor) VALUES (11, 1)");
    let as_before = |sql: &str| database.ask(&format!("SET ROLE serving; {sql}"));
    let fence = as_before(
        "SELECT epoch || ', ' || quote_literal(token) FROM mainspring.acquire_1(
            0, 15000, 'before', '', '00000000-0000-0000-0000-000000000001', 'm', '')",
    );
    assert_eq!(as_before(&entry(&fence, 1, [11, 12], 0)), "done N N N N N");
    assert_eq!(as_before(&settle(&fence, 0, 1, [11, 12])), "done 1 true");
    assert_eq!(as_before(&entry(&fence, 2, [13, 14], 1)), "done N N N N N");
    assert_eq!(database.ask(HELD), "2 1");
    // A server of this version makes the step.
    let location = Location::parse(&format!("{} journal=1", database.url())).unwrap();
    let mut store = PostgresStore::open(&location, Identity::default()).unwrap();
    assert_eq!(database.ask(HELD), "2 1", "a step settles nothing");
    assert_eq!(as_before(&entry(&fence, 2, [13, 14], 1)), "done N N N N N", "it was done");
    assert_eq!(as_before(&entry(&fence, 3, [15, 16], 1)), "done N N N N N");
    assert_eq!(as_before(&entry(&fence, 4, [17, 18], 0)), "settled");
    assert_eq!(
        as_before(&settle(&fence, 0, 3, [13, 14])),
        "done 2 false",
        "of what is there, as it knows of nothing"
    );
    assert_eq!(as_before(&entry(&fence, 4, [17, 18], 2)), "done N N N N N");
    assert_eq!(as_before(&settle(&fence, 2, 4, [17, 18])), "done 3 true");
    assert_eq!(database.ask(HELD), "1 2");
    database.ask(LAPSE);
    let lease = acquired(&mut store);
    assert_eq!(database.ask(HELD), "0 2");
    let names = |states: &[RunState], store: &mut PostgresStore| {
        let mut query = Query::new(20);
        query.states = states.to_vec();
        let found = store.find(Shard::WHOLE, &query).unwrap();
        let mut names: Vec<String> = found.iter().map(|run| run.key.job.to_string()).collect();
        names.sort();
        names
    };
    let named = |numbers: [i64; 4]| numbers.map(|number| format!("once-1-{number}")).to_vec();
    assert_eq!(names(&[RunState::Running], &mut store), named([12, 14, 16, 18]));
    assert_eq!(names(&[RunState::Succeeded], &mut store), named([11, 13, 15, 17]));
    let lives = (1..=2).map(|number| once(lease, number)).flat_map(|job| [submitted(&job), fired(&job)]);
    all_new(&mut store, lease, &Batch::new(1, lives.collect()));
    // The old one reads what this one has written.
    as_before("SELECT mainspring.settle()");
    assert_eq!(as_before("SELECT count(*) FROM mainspring.run"), "10");
    assert_eq!(as_before("SELECT open || ' ' || runs FROM mainspring.shard"), "6 10");
}

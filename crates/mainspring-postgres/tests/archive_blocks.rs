//! One-shot jobs that have succeeded and are in packs: who looks for some finds them all, has no others
//! opened, and what retention does not keep goes.

use std::sync::Arc;
use std::thread;

use mainspring_job::{
    Action, Answer, Batch, Cause, Cursor, KeptOutput, Lease, MemoryStore, Once, OnceId, Operation, Order,
    OutputKeeper, Owner, Query, Reader, Run, RunKey, RunState, Shard, Store,
};
use mainspring_postgres::{Identity, Location, Outputs, PostgresCopy, PostgresStore, Shards};
use mainspring_rows::copy::{Source, TABLES};

use super::database::Database;
use super::formats::made_for_a_role;
use super::trouble::{acquired, at, opened, tried};
use super::write_buffer::{LAPSE, all_new, eager, ended, fired, once, submitted};

/// How many jobs each batch has.
const JOBS: u64 = 300;

/// How many packs there are, and how many jobs are in them.
const PACKS: &str = "SELECT count(*) || ' ' || coalesce(sum(count), 0) FROM mainspring.pack";

/// Submits, begins and ends so many jobs, of whose packs all but the last have a thousand; the memory does
/// the same. Returns the jobs.
fn packed(store: &mut PostgresStore, lease: Lease, memory: &mut MemoryStore, count: u64) -> Vec<Once> {
    let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    let jobs: Vec<Once> = (1..=count).map(|number| once(lease, number)).collect();
    for (number, some) in (1..).zip(jobs.chunks(usize::try_from(JOBS).unwrap())) {
        let lives = some.iter().flat_map(|job| [submitted(job), fired(job), ended(job, RunState::Succeeded)]);
        let batch = Batch::new(number, lives.collect());
        all_new(store, lease, &batch);
        memory.commit(known, &batch).unwrap();
    }
    store.renew(lease).unwrap();
    jobs
}

/// With 4,800 jobs, which is as many as the write buffer has room for.
fn five(database: &Database) -> (PostgresStore, Lease, MemoryStore, Vec<Once>) {
    let (mut store, mut memory) = (eager(&database.url()), MemoryStore::new());
    let lease = acquired(&mut store);
    let jobs = packed(&mut store, lease, &mut memory, 4_800);
    assert_eq!(database.ask(PACKS), "5 4800");
    assert_eq!(database.ask("SELECT runs FROM mainspring.shard"), "4800");
    (store, lease, memory, jobs)
}

fn same(reader: &mut dyn Reader, memory: &mut MemoryStore, query: &Query) -> Vec<Run> {
    let found = reader.find(Shard::WHOLE, query).unwrap();
    assert_eq!(found, memory.find(Shard::WHOLE, query).unwrap(), "{query:?}");
    found
}

/// All runs, a page after another.
fn paged(reader: &mut dyn Reader, limit: usize, order: Order) -> Vec<RunKey> {
    let (mut query, mut keys) = (Query::new(limit), Vec::new());
    query.order = order;
    loop {
        let found = reader.find(Shard::WHOLE, &query).unwrap();
        keys.extend(found.iter().map(|run| run.key.clone()));
        query.cursor = found.last().filter(|_| found.len() == limit).map(Cursor::of);
        if query.cursor.is_none() {
            return keys;
        }
    }
}

#[test]
fn a_question_opens_the_packs_that_it_needs_and_no_other() {
    let Some(database) = Database::start() else { return };
    let (store, _, mut memory, jobs) = five(&database);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.counts(Shard::WHOLE).unwrap().runs, 4_800);
    let mut none = Query::new(9);
    none.states = vec![RunState::Failed];
    assert_eq!(same(&mut reader, &mut memory, &none), []);
    none = Query::new(9);
    none.cause = Some(Cause::Trigger);
    assert_eq!(same(&mut reader, &mut memory, &none), []);
    none = Query::new(9);
    none.until = Some(jobs[0].id.due);
    assert_eq!(same(&mut reader, &mut memory, &none), []);
    none = Query::new(9);
    none.job = Some("backup".parse().unwrap());
    assert_eq!(same(&mut reader, &mut memory, &none), []);
    assert_eq!(database.ask(PACKS), "5 4800", "nobody had to look into one");
    // The ends of a page are runs of a pack where their times are.
    let (last, next) = (&jobs[999], &jobs[1_000]);
    let mut edge = Query::new(9);
    (edge.since, edge.until) = (Some(last.id.due), Some(next.id.due));
    assert_eq!(same(&mut reader, &mut memory, &edge).len(), 1);
    assert_eq!(database.ask(PACKS), "4 3800");
    edge = Query::new(1);
    let after = RunKey::new("z".parse().unwrap(), next.id.due);
    edge.cursor =
        Some(Cursor::of(&Run::new(after, Cause::Once, RunState::Succeeded, next.id.due, next.id.due)));
    assert_eq!(same(&mut reader, &mut memory, &edge)[0].key.job, next.name);
    assert_eq!(database.ask(PACKS), "3 2800");
    // The newest: the last pack has 800.
    assert_eq!(same(&mut reader, &mut memory, &Query::new(9)).len(), 9);
    assert_eq!(database.ask(PACKS), "2 2000");
    let mut newest = Query::new(800);
    newest.states = vec![RunState::Failed, RunState::Succeeded];
    assert_eq!(same(&mut reader, &mut memory, &newest).len(), 800);
    assert_eq!(database.ask(PACKS), "2 2000", "there are as many");
    newest.cause = Some(Cause::Once);
    newest.limit = 801;
    assert_eq!(same(&mut reader, &mut memory, &newest).len(), 801);
    assert_eq!(database.ask(PACKS), "1 1000");
    // One job of the pack that is left.
    let key = RunKey::new(jobs[2_017].name.clone(), jobs[2_017].id.due);
    assert_eq!(reader.run(Shard::WHOLE, &key).unwrap(), memory.run(Shard::WHOLE, &key).unwrap());
    assert_eq!(database.ask(PACKS), "0 0");
    assert_eq!(paged(&mut reader, 700, Order::Nominal), paged(&mut memory, 700, Order::Nominal));
    assert_eq!(database.ask("SELECT runs FROM mainspring.shard"), "4800");
}

/// By its name, by its key, by its attempts, and where its shard is looked for.
#[test]
fn a_question_about_one_job_opens_its_pack() {
    let Some(database) = Database::start() else { return };
    let (store, _, mut memory, jobs) = five(&database);
    let mut reader = store.reader().unwrap();
    let key = |index: usize| RunKey::new(jobs[index].name.clone(), jobs[index].id.due);
    let mut shards = Shards::new(&Location::parse(&database.url()).unwrap()).unwrap();
    assert_eq!(reader.run(Shard::WHOLE, &key(17)).unwrap(), memory.run(Shard::WHOLE, &key(17)).unwrap());
    assert_eq!(database.ask(PACKS), "4 3800");
    let attempts = reader.attempts(Shard::WHOLE, &key(1_017)).unwrap();
    assert_eq!(attempts, memory.attempts(Shard::WHOLE, &key(1_017)).unwrap());
    assert_eq!((attempts.len(), database.ask(PACKS)), (1, "3 2800".to_owned()));
    let mut one = Query::new(9);
    one.job = Some(key(2_017).job);
    assert_eq!(same(&mut reader, &mut memory, &one).len(), 1);
    assert_eq!(database.ask(PACKS), "2 1800");
    assert_eq!(shards.of_job(&key(3_017).job).unwrap(), Some(Shard(0)));
    assert_eq!(database.ask(PACKS), "1 800");
    assert_eq!(shards.of_run(&key(4_017)).unwrap(), Some(Shard(0)));
    assert_eq!(database.ask(PACKS), "0 0");
    let names = [key(5).job, "backup".parse().unwrap()];
    assert_eq!(
        reader.last_ended(Shard::WHOLE, &names).unwrap(),
        memory.last_ended(Shard::WHOLE, &names).unwrap()
    );
}

#[test]
fn two_readers_who_page_through_all_in_opposite_ways_have_all() {
    let Some(database) = Database::start() else { return };
    let (store, _, mut memory, jobs) = five(&database);
    let all = paged(&mut memory, 1_000, Order::Nominal);
    assert_eq!(all.len(), jobs.len());
    thread::scope(|scope| {
        for index in 0..4 {
            let (mut reader, all, jobs) = (store.reader().unwrap(), &all, &jobs);
            scope.spawn(move || {
                if index < 2 {
                    assert_eq!(paged(&mut reader, 250 + index, Order::Nominal), *all);
                    return;
                }
                for once in jobs.iter().skip(index).step_by(97) {
                    let key = RunKey::new(once.name.clone(), once.id.due);
                    assert!(reader.run(Shard::WHOLE, &key).unwrap().is_some());
                }
            });
        }
    });
    assert_eq!(database.ask(PACKS), "0 0");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.attempt"), "4800");
}

#[test]
fn what_is_not_kept_goes_a_pack_at_a_time_with_what_it_wrote() {
    let Some(database) = Database::start() else { return };
    let (mut store, lease, mut memory, jobs) = five(&database);
    let keys: Vec<RunKey> = jobs.iter().map(|once| RunKey::new(once.name.clone(), once.id.due)).collect();
    let mut outputs = Outputs::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let wrote = |key: &RunKey| KeptOutput::new(key.clone(), "a line".to_owned());
    let nobody = RunKey::new(once(lease, 9_999).name, at(0));
    outputs.keep(&[wrote(&keys[1]), wrote(&keys[4_700]), wrote(&nobody)]).unwrap();
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.output"), "2");
    assert_eq!(database.ask(PACKS), "5 4800", "to keep an output opens nothing");
    let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    let dropped = |store: &mut PostgresStore, memory: &mut MemoryStore, number: u64, keep: u32| {
        for extra in 0..4 {
            let prune = Operation::Prune { job: None, keep, before: at(0) };
            let batch = Batch::new(number + extra, vec![prune]);
            all_new(store, lease, &batch);
            memory.commit(known, &Batch::new(batch.number - 17, batch.operations)).unwrap();
        }
        assert_eq!(store.counts(Shard::WHOLE).unwrap(), memory.counts(Shard::WHOLE).unwrap());
    };
    // A pruning drops a thousand at most, and then opens nothing.
    all_new(
        &mut store,
        lease,
        &Batch::new(17, vec![Operation::Prune { job: None, keep: 2_800, before: at(0) }]),
    );
    assert_eq!(database.ask(PACKS), "4 3800");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.history"), "0");
    dropped(&mut store, &mut memory, 18, 2_800);
    // The two oldest have gone, and the next only where it begins.
    assert_eq!(database.ask(PACKS), "3 2800");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.history"), "0");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.output"), "1");
    dropped(&mut store, &mut memory, 22, 2_500);
    assert_eq!(database.ask(PACKS), "2 1800");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.history"), "700");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.attempt"), "700");
    // All in them is too old.
    let batch = Batch::new(26, vec![Operation::Prune { job: None, keep: 9_000, before: at(5_001) }]);
    for number in 0..3 {
        all_new(&mut store, lease, &Batch::new(batch.number + number, batch.operations.clone()));
    }
    assert_eq!(store.counts(Shard::WHOLE).unwrap().runs, 0);
    assert_eq!(database.ask(PACKS), "0 0");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.output"), "0");
}

/// Of a pack that has older and newer runs the older go.
#[test]
fn what_is_too_old_goes_and_no_more_of_its_pack() {
    let Some(database) = Database::start() else { return };
    let (mut store, mut memory) = (eager(&database.url()), MemoryStore::new());
    let lease = acquired(&mut store);
    let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    let life = |number: u64| {
        let job = once(lease, number);
        let mut end = ended(&job, RunState::Succeeded);
        if let Operation::End { at: when, .. } = &mut end {
            *when = at(i64::try_from(number * 7 % 10).unwrap());
        }
        [submitted(&job), fired(&job), end]
    };
    let prune = |before: i64| Operation::Prune { job: None, keep: 100, before: at(before) };
    let batches = [(1..=10).flat_map(life).collect(), vec![prune(0)], vec![prune(4)], vec![prune(9)]];
    for (number, (operations, left)) in (1..).zip(batches.into_iter().zip([10, 10, 6, 1])) {
        let batch = Batch::new(number, operations);
        all_new(&mut store, lease, &batch);
        memory.commit(known, &batch).unwrap();
        store.renew(lease).unwrap();
        assert_eq!(store.counts(Shard::WHOLE).unwrap().runs, left, "{number}");
        assert_eq!(database.ask(PACKS), if number < 3 { "1 10" } else { "0 0" });
    }
    same(&mut store, &mut memory, &Query::new(20));
}

/// Times that are due are in two packs by turns, and some runs are rows.
#[test]
fn of_packs_with_the_same_times_the_oldest_runs_go() {
    let Some(database) = Database::start() else { return };
    for keep in (0..=22).step_by(3) {
        database.ask("DROP SCHEMA IF EXISTS mainspring CASCADE");
        let (mut store, mut memory) = (eager(&database.url()), MemoryStore::new());
        let lease = acquired(&mut store);
        let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
        let life = |number: u64| {
            let turn = i64::try_from(number).unwrap();
            let id = OnceId { due: at(turn * 7 % 11 * 2 + turn / 10), ..once(lease, number).id };
            let job = Once::new(id, at(0), once(lease, number).work);
            let state = if number.is_multiple_of(5) { RunState::Failed } else { RunState::Succeeded };
            [submitted(&job), fired(&job), ended(&job, state)]
        };
        let prune = Operation::Prune { job: None, keep, before: at(0) };
        let batches = [(1..=10).flat_map(life).collect(), (11..=20).flat_map(life).collect(), vec![prune]];
        for (number, operations) in (1..).zip(batches) {
            let batch = Batch::new(number, operations);
            all_new(&mut store, lease, &batch);
            memory.commit(known, &batch).unwrap();
            store.renew(lease).unwrap();
            if number < 3 {
                assert_eq!(database.ask(PACKS), format!("{number} {}", 8 * number));
            }
            assert_eq!(store.counts(Shard::WHOLE).unwrap(), memory.counts(Shard::WHOLE).unwrap(), "{keep}");
        }
        same(&mut store, &mut memory, &Query::new(30));
    }
}

#[test]
fn another_owner_answers_for_what_is_in_packs() {
    let Some(database) = Database::start() else { return };
    let (_, _, _, jobs) = five(&database);
    database.ask(LAPSE);
    let mut other = eager(&database.url());
    let lease = other.acquire(Shard::WHOLE, &Owner::new("other")).unwrap();
    assert_eq!(database.ask(PACKS), "5 4800", "a takeover does not wait for them");
    let (first, second, third) = (&jobs[3], &jobs[1_003], &jobs[2_003]);
    let begun = Operation::Begin {
        key: RunKey::new(third.name.clone(), third.id.due),
        attempt: 2,
        at: at(9),
        worker: None,
    };
    let batch =
        Batch::new(1, vec![submitted(first), ended(second, RunState::Failed), begun, fired(&jobs[4_003])]);
    assert_eq!(
        tried(&mut other, lease, &batch),
        [Answer::Duplicate(None), Answer::Gone, Answer::Gone, Answer::Gone]
    );
    assert_eq!(database.ask(PACKS), "2 1800");
    assert_eq!(other.counts(Shard::WHOLE).unwrap().runs, 4_800);
}

#[test]
fn copies_and_other_numbers_of_shards_have_what_is_in_packs() {
    let Some(database) = Database::start() else { return };
    drop(five(&database));
    database.ask(LAPSE);
    let location = Location::parse(&database.url()).unwrap();
    let mut copy = PostgresCopy::open(&location).unwrap();
    assert_eq!(copy.head().unwrap().counts, [0, 0, 0, 4_800, 0]);
    let mut rows = Vec::new();
    for table in TABLES {
        copy.each(&table, &mut |some| {
            rows.extend(some.iter().map(|_| table.name));
            Ok(())
        })
        .unwrap();
    }
    let count = |name: &str| rows.iter().filter(|found| **found == name).count();
    assert_eq!((count("run"), count("attempt")), (4_800, 4_800));
    drop(copy);
    assert_eq!(database.ask(PACKS), "5 4800", "a copy that is not finished changes nothing");
    assert_eq!(Shards::new(&location).unwrap().spread(4, &[], |_| Shard(3)).unwrap(), None);
    assert_eq!(database.ask(PACKS), "0 0");
    let spread = "SELECT bool_and(0 < runs) || ' ' || sum(runs) FROM mainspring.shard";
    assert_eq!(database.ask(spread), "true 4800");
}

/// One of the format before writes into the write buffer and settles it when there is something; and so it
/// finds what this one has packed. Its role need not be that which made the tables.
#[test]
fn a_server_of_format_10_goes_on_beside_one_of_this_version() {
    let Some(database) = Database::start() else { return };
    let steps = mainspring_postgres::preview(0);
    let before = steps.split("-- Format 11:").next().unwrap();
    let before = before.split_once("CREATE SCHEMA IF NOT EXISTS mainspring;").unwrap().1;
    made_for_a_role(&database, before, "(version, floor) VALUES (10, 1)");
    let mut store = PostgresStore::open(
        &Location::parse(&format!("{} journal=1", database.url())).unwrap(),
        Identity::default(),
    )
    .unwrap();
    let lease = acquired(&mut store);
    packed(&mut store, lease, &mut MemoryStore::new(), 600);
    assert_eq!(database.ask(PACKS), "1 600");
    let as_before = |sql: &str| database.ask(&format!("SET ROLE serving; {sql}"));
    let settle = "SELECT mainspring.settle()::text WHERE EXISTS (SELECT FROM mainspring.journal)";
    as_before(settle);
    assert_eq!(database.ask(PACKS), "0 0");
    assert_eq!(as_before("SELECT count(*) FROM mainspring.run"), "600");
    as_before(
        "INSERT INTO mainspring.journal (shard, epoch, batch, server, s_due, s_number, s_submitted, s_priority, s_name, s_kind,
            s_body, s_policies, s_work_group, r_number, r_due, r_planned, r_started, r_state, b_number, b_at, e_number, e_at,
            e_deaths, e_state, e_outcome, e_reason, m_number, m_due, m_at, m_state, m_reason, prunes)
        SELECT 0, epoch, 9, server, '{60}', '{7}', '{0}', '{0}', '{once-1-1}', '{mail}', '{to: ada}', '{\"\"}', '{NULL}',
            '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'
        FROM mainspring.shard",
    );
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "1");
    as_before(settle);
    assert_eq!(as_before("SELECT name FROM mainspring.pending"), "once-1-1");
    assert_eq!(as_before("SELECT count(*) FROM mainspring.journal"), "0");
    assert_eq!(opened(&database).reader().unwrap().counts(Shard::WHOLE).unwrap().runs, 600);
}

/// Runs of another cause do not fill a page of one-shot jobs.
#[test]
fn newer_runs_of_another_cause_hide_no_pack() {
    let Some(database) = Database::start() else { return };
    let (store, _, _, jobs) = five(&database);
    let mut reader = store.reader().unwrap();
    // The newest pack becomes 800 rows, which are then those of a schedule.
    assert_eq!(reader.find(Shard::WHOLE, &Query::new(9)).unwrap().len(), 9);
    database.ask(&format!("UPDATE mainspring.history SET cause = '{}'", Cause::Trigger.name()));
    let mut once = Query::new(9);
    once.cause = Some(Cause::Once);
    let found = reader.find(Shard::WHOLE, &once).unwrap();
    let names: Vec<_> = found.iter().map(|run| &run.key.job).collect();
    assert_eq!(names, jobs[3_991..4_000].iter().rev().map(|job| &job.name).collect::<Vec<_>>());
}

/// Text that is too much to be sent twice is not packed, whichever jobs it is of.
#[test]
fn large_bodies_are_rows() {
    let Some(database) = Database::start() else { return };
    let mut store = eager(&database.url());
    let lease = acquired(&mut store);
    let life = |number: u64, bytes: usize, state: RunState| {
        let mut once = once(lease, number);
        Arc::make_mut(&mut once.work).action = Action::new("mail", "x".repeat(bytes)).unwrap();
        [submitted(&once), fired(&once), ended(&once, state)]
    };
    let large = (1..=20).flat_map(|number| life(number, 250_000, RunState::Succeeded)).collect();
    all_new(&mut store, lease, &Batch::new(1, large));
    store.renew(lease).unwrap();
    assert_eq!(database.ask(PACKS), "0 0");
    assert_eq!(store.find(Shard::WHOLE, &Query::new(50)).unwrap().len(), 20);
    let mut mixed: Vec<Operation> =
        (21..=40).flat_map(|number| life(number, 250_000, RunState::Failed)).collect();
    mixed.extend(life(41, 9, RunState::Succeeded));
    all_new(&mut store, lease, &Batch::new(2, mixed));
    store.renew(lease).unwrap();
    assert_eq!(database.ask(PACKS), "0 0");
    assert_eq!(store.find(Shard::WHOLE, &Query::new(50)).unwrap().len(), 41);
}

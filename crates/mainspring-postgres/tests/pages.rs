//! Pages of runs that are in packs: in the order of their ends, and of one group.

use std::sync::Arc;

use mainspring_job::{
    Batch, Cause, Cursor, Lease, MemoryStore, Once, Operation, Order, Owner, Query, Reader, Run, RunState,
    Shard, Store,
};
use mainspring_postgres::PostgresStore;

use super::database::Database;
use super::trouble::{acquired, at, opened};
use super::write_buffer::{all_new, eager, ended, fired, once, submitted};

/// Both stores have a lease.
struct Both {
    store: PostgresStore,
    lease: Lease,
    memory: MemoryStore,
    known: Lease,
    number: u64,
}

impl Both {
    fn begin(database: &Database) -> Both {
        let (mut store, mut memory) = (eager(&database.url()), MemoryStore::new());
        let lease = acquired(&mut store);
        let known = memory.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
        Both { store, lease, memory, known, number: 0 }
    }

    /// Submits, begins and ends jobs, each so long after it was due, and has them in packs.
    fn live(&mut self, jobs: &[Once], lasts: i64) {
        for some in jobs.chunks(300) {
            self.number += 1;
            let lives = some.iter().flat_map(|job| {
                let mut end = ended(job, RunState::Succeeded);
                if let Operation::End { at: when, .. } = &mut end {
                    *when = at(job.id.due.as_second() + lasts);
                }
                [submitted(job), fired(job), end]
            });
            let batch = Batch::new(self.number, lives.collect());
            all_new(&mut self.store, self.lease, &batch);
            self.memory.commit(self.known, &batch).unwrap();
        }
        self.store.renew(self.lease).unwrap();
    }

    fn same(&mut self, query: &Query) -> Vec<Run> {
        let found = self.store.find(Shard::WHOLE, query).unwrap();
        assert_eq!(found, self.memory.find(Shard::WHOLE, query).unwrap(), "{query:?}");
        found
    }
}

const PACKS: &str = "SELECT count(*) FROM mainspring.pack";

#[test]
fn a_page_goes_on_where_the_one_before_it_ended_by_the_time_of_an_end() {
    let Some(database) = Database::start() else { return };
    let mut both = Both::begin(&database);
    // Each of them ends after all of them were due.
    let jobs: Vec<Once> = (1..=2_400).map(|number| once(both.lease, number)).collect();
    both.live(&jobs, 50_000);
    assert_eq!(database.ask(PACKS), "3");
    let mut query = Query::new(300);
    query.order = Order::Ended;
    let mut count = 0;
    while let Some(last) = both.same(&query).last() {
        count += 1;
        query.cursor = Some(Cursor::of(last));
        // The packs are opened as their time comes: the last has 400 jobs, and the others a thousand.
        let expected = [(1, "2"), (2, "1"), (4, "1"), (5, "0")];
        if let Some((_, packs)) = expected.into_iter().find(|(page, _)| *page == count) {
            assert_eq!(database.ask(PACKS), packs, "after page {count}");
        }
    }
    assert_eq!(count, 8);
}

#[test]
fn newer_runs_of_no_group_hide_none_of_a_group() {
    let Some(database) = Database::start() else { return };
    let mut both = Both::begin(&database);
    let group = "reports".parse().unwrap();
    let mut jobs: Vec<Once> = (1..=1_500).map(|number| once(both.lease, number)).collect();
    for job in &mut jobs[..1_000] {
        Arc::make_mut(&mut job.work).group = Some(Clone::clone(&group));
    }
    both.live(&jobs, 50_000);
    assert_eq!(database.ask(PACKS), "2");
    // The newer pack becomes rows, more than a page has.
    assert_eq!(both.same(&Query::new(9)).len(), 9);
    assert_eq!(database.ask(PACKS), "1");
    let mut query = Query::new(9);
    query.group = Some(group);
    assert_eq!(both.same(&query).len(), 9);
    assert_eq!(database.ask(PACKS), "0");
}

/// Rows of histories that sessions which are over have read.
fn read_count(database: &Database) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    // A session tells what it has read when it ends, before it leaves this list.
    while database.ask(others) != "0" {}
    let sql = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'history'";
    database.ask(sql).parse().unwrap()
}

#[test]
fn a_page_of_states_or_of_a_cause_that_few_runs_have_reads_few_runs() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    database.ask(
        "INSERT INTO mainspring.history
            (job, nominal, series, shard, cause, state, attempt, due, planned, ended, reason, deaths, forgiven)
            SELECT 'many', g, 0, 0,
                CASE WHEN g IN (6, 7) THEN 'backfill' WHEN g % 2 = 0 THEN 'once' ELSE 'trigger' END,
                CASE g WHEN 3 THEN 'missed' WHEN 4 THEN 'dead' WHEN 5 THEN 'failed' ELSE 'succeeded' END,
                1, g, g, g, '', 0, 0 FROM generate_series(1, 20000) AS g;
        ANALYZE mainspring.history",
    );
    let [mut of_one, mut of_two, mut of_cause] = [(); 3].map(|()| Query::new(20));
    of_one.states = vec![RunState::Missed];
    of_two.states = vec![RunState::Dead, RunState::Failed];
    of_cause.cause = Some(Cause::Backfill);
    for (mut query, found) in [(of_one, 1), (of_two, 2), (of_cause, 2)] {
        for order in [Order::Nominal, Order::Ended] {
            let before = read_count(&database);
            query.order = order;
            let mut store = opened(&database);
            assert_eq!(store.find(Shard::WHOLE, &query).unwrap().len(), found);
            drop(store);
            let count = read_count(&database) - before;
            assert!(count < 100, "{query:?}: {count} rows are read");
        }
    }
}

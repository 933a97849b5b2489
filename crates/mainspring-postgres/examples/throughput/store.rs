//! The shared store: an owner for each shard, whose batches have what a busy server's have.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mainspring_job::jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Action, Answer, Batch, Lease, MAX_BATCH_OPERATIONS, Once, OnceId, Operation, Outcome, Owner, RunKey,
    RunState, Shard, Store, Work,
};
use mainspring_postgres::{Identity, Location, PostgresStore, Shards};

use super::database::Database;
use super::{body, rate};

/// What came out, each in jobs a second.
pub(crate) struct Figures {
    pub(crate) submissions: f64,
    pub(crate) cycles: f64,
    /// What was in packs, when somebody looks for all of it. The queue has nothing like it.
    pub(crate) opened: f64,
}

/// Measures both with so many shards, each of whose owners has a thread and a session, and checks that each
/// job ran once. What was there before is dropped.
pub(crate) fn measure(database: &Database, jobs: usize, shards: u16) -> Figures {
    let location = Location::parse(&database.url()).unwrap();
    database.ask("DROP SCHEMA IF EXISTS mainspring CASCADE");
    drop(PostgresStore::open(&location, Identity::default()).unwrap());
    let held = Shards::new(&location).unwrap().spread(shards, &[], |group| Shard::of(group, shards));
    assert_eq!(held.unwrap(), None);
    let owner = |number| {
        let store = PostgresStore::open(&location, Identity::default()).unwrap().among(shards);
        Committer::new(store, Shard(number))
    };
    let mut owners: Vec<Committer> = (0..shards).map(owner).collect();
    let part = jobs.div_ceil(usize::from(shards));
    let parts = |first: usize, owners: &[Committer]| -> Vec<Vec<Once>> {
        let starts = (0..jobs).step_by(part);
        starts
            .zip(owners)
            .map(|(start, owner)| owner.pending(part.min(jobs - start), first + start))
            .collect()
    };
    let submitted = |all: &Vec<Once>| -> Vec<Vec<Operation>> {
        let batches = all.chunks(MAX_BATCH_OPERATIONS);
        batches.map(|some| some.iter().cloned().map(Operation::Submit).collect()).collect()
    };
    let batches = parts(0, &owners).iter().map(submitted).collect();
    let submissions = rate(jobs, taken(&mut owners, batches));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.pending"), jobs.to_string());
    database.ask("TRUNCATE mainspring.pending");
    database.ask("VACUUM ANALYZE");
    let has_statements = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_stat_statements'";
    if database.ask(has_statements) == "1" {
        database.ask("SELECT pg_stat_statements_reset(), pg_stat_reset_shared('wal')");
    }
    let batches = parts(jobs, &owners).iter().map(|all| lives(all)).collect();
    database.ask("CHECKPOINT");
    let cycles = rate(jobs, taken(&mut owners, batches));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.entry"), "0", "the journal is settled");
    let packed: usize = database.ask("SELECT coalesce(sum(count), 0) FROM mainspring.pack").parse().unwrap();
    let began = Instant::now();
    database.ask("SELECT mainspring.settle()");
    let opened = rate(packed, began.elapsed());
    let ended = "SELECT count(*) || ' ' || count(DISTINCT job) FROM mainspring.run WHERE state = 'succeeded'";
    assert_eq!(database.ask(ended), format!("{jobs} {jobs}"), "each job ran once");
    let attempts = "SELECT count(*) FROM mainspring.attempt WHERE number = 1 AND state = 'succeeded'";
    assert_eq!(database.ask(attempts), jobs.to_string(), "each start has its end");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.pending"), "0");
    Figures { submissions, cycles, opened }
}

/// Has each owner commit its batches, which are made before, and returns how long that takes with the last
/// settlement.
fn taken(owners: &mut [Committer], batches: Vec<Vec<Vec<Operation>>>) -> Duration {
    let began = Instant::now();
    thread::scope(|scope| {
        for (owner, batches) in owners.iter_mut().zip(batches) {
            scope.spawn(move || {
                batches.into_iter().for_each(|operations| owner.commit(operations));
                owner.settle();
            });
        }
    });
    began.elapsed()
}

/// Of each batch a third is submitted, a third starts and a third ends.
fn lives(all: &[Once]) -> Vec<Vec<Operation>> {
    let groups: Vec<&[Once]> = all.chunks(MAX_BATCH_OPERATIONS / 3).collect();
    let batch = |index: usize| {
        let group = |back: usize| index.checked_sub(back).and_then(|index| groups.get(index)).copied();
        let mut operations = Vec::with_capacity(MAX_BATCH_OPERATIONS);
        operations.extend(group(0).unwrap_or_default().iter().cloned().map(Operation::Submit));
        operations.extend(group(1).unwrap_or_default().iter().map(started));
        operations.extend(group(2).unwrap_or_default().iter().map(ended));
        operations
    };
    (0..groups.len() + 2).map(batch).collect()
}

struct Committer {
    store: PostgresStore,
    lease: Lease,
    number: u64,
}

impl Committer {
    fn new(mut store: PostgresStore, shard: Shard) -> Committer {
        let lease = store.acquire(shard, &Owner::new("throughput")).unwrap();
        Committer { store, lease, number: 0 }
    }

    /// What was written so far is in the tables and in packs, and not in the journal.
    fn settle(&mut self) {
        self.store.renew(self.lease).unwrap();
    }

    /// Jobs with the numbers that a planner of this owner gives them.
    fn pending(&self, count: usize, first: usize) -> Vec<Once> {
        let begin: Timestamp = "2026-11-23T00:00:00Z".parse().unwrap();
        let once = |index: usize| {
            let due = begin + SignedDuration::from_micros(i64::try_from(index).unwrap());
            let number = (self.lease.epoch << 40) + 1 + index as u64;
            let work = Arc::new(Work::new(Action::new("mail", body(index)).unwrap()));
            Once::new(OnceId { due, number }, begin, work)
        };
        (first..first + count).map(once).collect()
    }

    fn commit(&mut self, operations: Vec<Operation>) {
        self.number += 1;
        let committed = self.store.commit(self.lease, &Batch::new(self.number, operations)).unwrap();
        assert!(committed.answers.iter().all(|answer| *answer == Answer::New), "each is done");
    }
}

fn started(once: &Once) -> Operation {
    let mut run = once.run(RunState::Running, once.id.due, once.id.due);
    (run.attempt, run.started) = (1, Some(once.id.due));
    Operation::Fire { id: once.id, run }
}

fn ended(once: &Once) -> Operation {
    Operation::End {
        key: RunKey::new(once.name.clone(), once.id.due),
        attempt: 1,
        state: RunState::Succeeded,
        at: once.id.due,
        outcome: Some(Outcome::Succeeded),
        crashes: 0,
        reason: None,
    }
}

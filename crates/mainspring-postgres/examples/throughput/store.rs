//! The shared store: a planner whose batches have what a busy server's have.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainspring_job::jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Action, Answer, Assignment, Batch, Lease, MAX_BATCH_OPERATIONS, Once, OnceId, Operation, Outcome, Owner,
    RunKey, RunState, Store, Work, WorkerId,
};
use mainspring_postgres::{Identity, Location, PostgresStore};

use super::database::Database;
use super::{body, rate};

/// How many lone commits are measured.
const LONE: usize = 1_000;

/// How many finished jobs are kept where retention is measured too, and after how many ends it is looked at:
/// as the planner does it.
const KEEP: u32 = 10_000;
const PRUNE_EVERY: usize = 256;

/// What came out, in jobs a second but for the last.
pub(crate) struct Figures {
    pub(crate) submissions: f64,
    pub(crate) cycles: f64,
    /// With assignments to a worker, and retention.
    pub(crate) whole: f64,
    /// The commit of one submission, in the middle.
    pub(crate) lone: Duration,
}

/// Measures all, and checks that each job ran once. What was there before is dropped.
pub(crate) fn measure(database: &Database, jobs: usize) -> Figures {
    let location = Location::parse(&database.url()).unwrap();
    database.ask("DROP SCHEMA IF EXISTS mainspring CASCADE");
    let store = PostgresStore::open(&location, Identity::default()).unwrap();
    let mut planner = Committer::new(store);
    let all = planner.pending(jobs, 0);
    let submitted = |some: &[Once]| some.iter().cloned().map(Operation::Submit).collect();
    let batches: Vec<Vec<Operation>> = all.chunks(MAX_BATCH_OPERATIONS).map(submitted).collect();
    let submissions = rate(jobs, planner.taken(batches, Vec::new));
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.pending"), jobs.to_string());
    database.ask("TRUNCATE mainspring.pending");
    database.ask("VACUUM ANALYZE");
    let has_statements = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_stat_statements'";
    if database.ask(has_statements) == "1" {
        database.ask("SELECT pg_stat_statements_reset(), pg_stat_reset_shared('wal')");
    }
    database.ask("CHECKPOINT");
    let batches = lives(&planner.pending(jobs, jobs));
    let cycles = rate(jobs, planner.taken(batches, Vec::new));
    let ended = "SELECT count(*) || ' ' || count(DISTINCT job) FROM mainspring.run WHERE state = 'succeeded'";
    assert_eq!(database.ask(ended), format!("{jobs} {jobs}"), "each job ran once");
    let attempts = "SELECT count(*) FROM mainspring.attempt WHERE number = 1 AND state = 'succeeded'";
    assert_eq!(database.ask(attempts), jobs.to_string(), "each start has its end");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.pending"), "0");
    Figures { submissions, cycles, whole: planner.whole(database, jobs), lone: planner.lone(3 * jobs) }
}

impl Committer {
    /// Has the planner commit its batches, which are made before, and returns how long that takes.
    fn taken(&mut self, batches: Vec<Vec<Operation>>, assigned: impl Fn() -> Vec<Assignment>) -> Duration {
        let began = Instant::now();
        for operations in batches {
            self.commit(operations, assigned());
        }
        began.elapsed()
    }

    /// Cycles a second of jobs that a worker carries out, of which only so many are kept.
    fn whole(&mut self, database: &Database, jobs: usize) -> f64 {
        let batches = lives(&self.pending(jobs, 2 * jobs));
        let mut ends = 0;
        let mut made: Vec<(Vec<Operation>, Vec<Assignment>)> = Vec::new();
        for mut operations in batches {
            let started = |operation: &mut Operation| match operation {
                Operation::Fire { run, .. } => {
                    run.worker = Some(WorkerId(1));
                    Some(Assignment::new(
                        WorkerId(1),
                        run.key.clone(),
                        1,
                        format!("{{\"job\":\"{}\"}}", run.key.job),
                    ))
                }
                _ => None,
            };
            let assignments = operations.iter_mut().filter_map(started).collect();
            ends += operations.iter().filter(|operation| matches!(operation, Operation::End { .. })).count();
            if PRUNE_EVERY <= ends {
                ends = 0;
                operations.push(Operation::Prune { job: None, keep: KEEP, before: Timestamp::UNIX_EPOCH });
            }
            made.push((operations, assignments));
        }
        let began = Instant::now();
        for (operations, assignments) in made {
            self.commit(operations, assignments);
        }
        let figure = rate(jobs, began.elapsed());
        assert_eq!(database.ask("SELECT count(*) FROM mainspring.open_run"), "0");
        let left: usize = database.ask("SELECT count(*) FROM mainspring.history").parse().unwrap();
        assert!(left < jobs || jobs <= KEEP as usize, "{left} are left");
        figure
    }

    /// The time of a commit with one submission, in the middle of some.
    fn lone(&mut self, first: usize) -> Duration {
        let mut took: Vec<Duration> = Vec::with_capacity(LONE);
        for once in self.pending(LONE, first) {
            let began = Instant::now();
            self.commit(vec![Operation::Submit(once)], Vec::new());
            took.push(began.elapsed());
        }
        took.sort_unstable();
        took[LONE / 2]
    }
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
    fn new(mut store: PostgresStore) -> Committer {
        let lease = store.acquire(&Owner::new("throughput")).unwrap();
        Committer { store, lease, number: 0 }
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

    fn commit(&mut self, operations: Vec<Operation>, assignments: Vec<Assignment>) {
        self.number += 1;
        let mut batch = Batch::new(self.number, operations);
        batch.assignments = assignments;
        let committed = self.store.commit(self.lease, &batch).unwrap();
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

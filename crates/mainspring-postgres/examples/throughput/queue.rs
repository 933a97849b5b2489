//! A queue table that workers poll with `FOR UPDATE SKIP LOCKED`, as River and graphile-worker have one.
//!
//! Written for this comparison. One table with an index for the next free rows; one producer for each worker;
//! rows are inserted, claimed and ended in batches. It keeps no record of attempts.
//!
//! Source: <https://riverqueue.com/docs>, <https://worker.graphile.org/docs/performance>.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use super::database::Database;
use super::store::Figures;
use super::{body, rate};

/// What becomes of a row whose job is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// As graphile-worker.
    Deleted,
    /// As River, which deletes it later.
    Marked,
}

const TABLE: &str = "DROP TABLE IF EXISTS queue;
    CREATE TABLE queue (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL DEFAULT 'available',
        priority int2 NOT NULL DEFAULT 1, due timestamptz NOT NULL DEFAULT clock_timestamp(), attempt int2 NOT NULL DEFAULT 0,
        attempted timestamptz, finished timestamptz, body text NOT NULL);
    CREATE INDEX queue_next ON queue (priority, due, id) WHERE state = 'available'";

const INSERT: &str = "INSERT INTO queue (body) SELECT unnest($1::text[])";

const CLAIM: &str = "UPDATE queue SET state = 'running', attempt = attempt + 1, attempted = clock_timestamp()
    WHERE id IN (SELECT id FROM queue WHERE state = 'available' AND due <= clock_timestamp()
        ORDER BY priority, due, id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING id, body";

const DELETE: &str = "DELETE FROM queue WHERE id = ANY($1)";

const MARK: &str = "UPDATE queue SET state = 'completed', finished = clock_timestamp() WHERE id = ANY($1) AND state = 'running'";

struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    fn new(url: &str) -> Session {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (client, session) = runtime.block_on(tokio_postgres::connect(url, NoTls)).unwrap();
        runtime.spawn(session);
        Session { runtime, client }
    }
}

/// Measures it with so many workers, each on a session of its own. Checks that each job was claimed once.
pub(crate) fn measure(database: &Database, jobs: usize, workers: usize, batch: usize, done: Done) -> Figures {
    database.ask(TABLE);
    database.ask("VACUUM ANALYZE queue");
    database.ask("CHECKPOINT");
    let url = database.url();
    let (claimed, barrier) = (AtomicUsize::new(0), Barrier::new(workers));
    let times = thread::scope(|scope| {
        let work = |index: usize| {
            let (url, claimed, barrier) = (&url, &claimed, &barrier);
            let own = jobs / workers + usize::from(index < jobs % workers);
            let bodies: Vec<String> = (0..own).map(|own| body(own * workers + index)).collect();
            scope.spawn(move || worker(&Session::new(url), &bodies, batch, done, jobs, claimed, barrier))
        };
        let threads: Vec<_> = (0..workers).map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let insert = times.iter().map(|times| times.0).max().unwrap();
    let run = times.iter().map(|times| times.1).max().unwrap();
    assert_eq!(claimed.load(Ordering::SeqCst), jobs, "each job was claimed once");
    let left =
        database.ask("SELECT count(*) || ' ' || count(*) FILTER (WHERE state = 'completed') FROM queue");
    let expected = if done == Done::Marked { jobs } else { 0 };
    assert_eq!(left, format!("{expected} {expected}"), "each job has ended");
    Figures {
        submissions: rate(jobs, insert),
        cycles: rate(jobs, insert + run),
        whole: 0.0,
        lone: Duration::ZERO,
    }
}

/// Inserts its bodies, waits for the others, and works until all is done. Returns how long each took.
fn worker(
    session: &Session,
    bodies: &[String],
    batch: usize,
    done: Done,
    jobs: usize,
    claimed: &AtomicUsize,
    barrier: &Barrier,
) -> (Duration, Duration) {
    let Session { runtime, client } = session;
    runtime.block_on(async {
        let insert = client.prepare(INSERT).await.unwrap();
        let claim = client.prepare(CLAIM).await.unwrap();
        let end = client.prepare(if done == Done::Marked { MARK } else { DELETE }).await.unwrap();
        let limit = i64::try_from(batch).unwrap();
        barrier.wait();
        let began = Instant::now();
        for some in bodies.chunks(batch) {
            client.execute(&insert, &[&some]).await.unwrap();
        }
        let inserted = began.elapsed();
        barrier.wait();
        let began = Instant::now();
        while claimed.load(Ordering::SeqCst) < jobs {
            let rows = client.query(&claim, &[&limit]).await.unwrap();
            let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
            claimed.fetch_add(ids.len(), Ordering::SeqCst);
            if !ids.is_empty() {
                assert_eq!(client.execute(&end, &[&ids]).await.unwrap(), ids.len() as u64);
            }
        }
        (inserted, began.elapsed())
    })
}

//! apalis, measured as the example says: `compare-queues-apalis apalis URL MODE COUNT`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_postgres::{Config, PgPool, PostgresStorage};
use tokio::sync::Notify;

#[derive(Clone, Default)]
struct Runs {
    count: Arc<AtomicUsize>,
    latest: Arc<Notify>,
}

async fn empty(_: usize, runs: Data<Runs>) -> Result<(), BoxDynError> {
    runs.count.fetch_add(1, Ordering::Relaxed);
    runs.latest.notify_one();
    Ok(())
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [url, mode, count] = arguments.as_slice() else { panic!("NAME URL MODE COUNT") };
    let count: usize = count.parse().unwrap();
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (bulk, submitters) = (number("BULK"), number("SUBMITTERS"));
    let options = sqlx::postgres::PgPoolOptions::new().max_connections(20);
    let pool: PgPool = options.connect(url).await.unwrap();
    PostgresStorage::setup(&pool).await.unwrap();
    let config = Config::default().queue("empty").batch_size(bulk);
    let backend = PostgresStorage::new(&pool).with_config(config).with_pubsub();
    let runs = Runs::default();
    let worker =
        WorkerBuilder::new("worker").backend(backend.clone()).data(runs.clone()).concurrency(25).build(empty);
    tokio::spawn(worker.run());
    let began = Instant::now();
    if mode == "latency" {
        let mut latencies = Vec::new();
        for number in 0..count {
            let submitted = Instant::now();
            backend.clone().push(number).await.unwrap();
            runs.latest.notified().await;
            latencies.push((submitted.elapsed().as_secs_f64() * 1e3).to_string());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        println!("{}", latencies.join(" "));
        return;
    }
    if mode == "bulk" {
        for first in (0..count).step_by(bulk) {
            backend.clone().push_bulk((first..(first + bulk).min(count)).collect()).await.unwrap();
        }
    } else {
        let submitters = (0..submitters).map(|first| {
            let mut backend = backend.clone();
            tokio::spawn(async move {
                for number in (first..count).step_by(submitters) {
                    backend.push(number).await.unwrap();
                }
            })
        });
        for submitter in submitters.collect::<Vec<_>>() {
            submitter.await.unwrap();
        }
    }
    let open = "SELECT count(*) FROM apalis.jobs WHERE status NOT IN ('Done', 'Killed')";
    while runs.count.load(Ordering::Relaxed) < count
        || sqlx::query_scalar::<_, i64>(open).fetch_one(&pool).await.unwrap() > 0
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("{}", began.elapsed().as_secs_f64());
}

//! Measures jobs inside a program: submissions, starts, lateness, and wake-ups of an idle program.
//!
//! ```text
//! submit, 1 and 32 threads ─▶ a second ─┐
//! 10,000 jobs due over a minute ────────┼─▶ a line each; every answer and every run is counted
//! 10,000 jobs due at once ──────────────┤
//!   beside a thread that sleeps ────────┤
//! nothing to do for ten seconds ────────┘
//! ```
//!
//! `cargo run --release -p mainspring-embed --example costs`, on a disk: the folder is in the current one.
//!
//! Cost: two minutes, and some megabytes.
//!
//! Does not compare: `cargo xtask bench-serve` has the same figures of the server.

#[path = "../../../mainspring-cli/examples/bench_serve/clock.rs"]
mod clock;

use std::error::Error;
use std::fs;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_embed::{HandlerError, Jobs, Options, Run};

/// How many jobs each thread submits.
const SUBMISSIONS: usize = 2_000;

/// How many jobs are due, and over how long: the workload of the server's figure.
const DUE: usize = 10_000;
const DUE_OVER: Duration = Duration::from_secs(60);

/// How long before the first of them is due: longer than it takes to submit them.
const AHEAD: Duration = Duration::from_secs(20);

/// Far enough that nothing of it runs here.
const FAR: Duration = Duration::from_secs(86_400);

const IDLE_S: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::current_dir()?.join(format!("costs-{}", std::process::id()));
    let (sender, ended) = channel();
    let jobs = Jobs::open(&folder)?
        .handler(Options::new("far"), |_: &Run, (): ()| Ok::<(), HandlerError>(()))
        .handler(Options::new("near"), move |run: &Run, (): ()| -> Result<(), HandlerError> {
            sender.send((run.due(), clock::now()))?;
            Ok(())
        })
        .start()?;
    println!("| figure | value |\n|---|---|");
    submissions(&jobs, 1)?;
    submissions(&jobs, 32)?;

    let begin = clock::now() + AHEAD;
    // The floor: what the operating system takes to wake a thread, on the same machine in the same minute.
    let floor = thread::Builder::new().name("floor".to_owned()).spawn(move || {
        let late = |index| clock::sleep_until(begin + DUE_OVER * index / DUE as u32);
        (0..DUE as u32).map(late).collect::<Vec<Duration>>()
    })?;
    for index in 0..DUE {
        let at = begin + DUE_OVER * u32::try_from(index)? / u32::try_from(DUE)?;
        jobs.once("near").at(at).payload(&()).submit()?;
    }
    let (mut late, mut first): (Vec<f64>, _) = (Vec::with_capacity(DUE), Timestamp::MAX);
    while late.len() < DUE {
        let (due, started) = ended.recv()?;
        let ms = started.duration_since(due).as_secs_f64() * 1_000.0;
        first = first.min(due);
        if ms < 0.0 {
            return Err(format!("a job due at {due} ran at {started}").into());
        }
        late.push(ms);
    }
    if first != begin {
        return Err("this machine is too slow: the first job was due before it was submitted".into());
    }
    println!("| due to handler, {DUE} due in a minute | {} |", quantiles(late));
    let floor = floor.join().map_err(|_| "the floor's thread panicked")?;
    let floor = floor.into_iter().map(|late| late.as_secs_f64() * 1_000.0).collect();
    println!("| beside it: a thread that sleeps until the same times | {} |", quantiles(floor));

    let at = clock::now() + AHEAD;
    for _ in 0..DUE {
        jobs.once("near").at(at).payload(&()).submit()?;
    }
    let started: Vec<(Timestamp, Timestamp)> = ended.iter().take(DUE).collect();
    if let Some((due, started)) = started.iter().find(|(due, started)| started < due) {
        return Err(format!("a job due at {due} ran at {started}").into());
    }
    let last = started.iter().map(|(_, started)| *started).max().unwrap_or(at);
    let rate = DUE as f64 / last.duration_since(at).as_secs_f64();
    println!("| handlers begun a second, {DUE} due at once, 8 threads | {rate:.0} |");

    // What the last ends leave to do is done by then.
    clock::sleep_ms(6_000);
    let before = switches()?;
    clock::sleep_ms(1_000 * IDLE_S);
    println!(
        "| voluntary switches of all threads in {IDLE_S} s of nothing, but for the one that waits | {} |",
        switches()? - before - 1
    );
    jobs.shutdown(Duration::from_secs(10))?;
    drop(jobs);
    fs::remove_dir_all(folder)?;
    Ok(())
}

fn quantiles(mut ms: Vec<f64>) -> String {
    ms.sort_by(f64::total_cmp);
    let (p50, p99, most) = (ms[DUE / 2], ms[DUE * 99 / 100], ms[DUE - 1]);
    format!("p50 {p50:.2} ms, p99 {p99:.2} ms, worst {most:.2} ms")
}

/// Threads that submit side by side, each after the answer to the one before.
fn submissions(jobs: &Jobs, threads: usize) -> Result<(), Box<dyn Error>> {
    let failed = Mutex::new(None);
    let ((), took) = clock::timed(|| {
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..SUBMISSIONS {
                        match jobs.once("far").after(FAR).payload(&()).submit() {
                            Ok(submitted) if submitted.is_new => {}
                            other => {
                                *failed.lock().expect("nothing panics with it") = Some(format!("{other:?}"));
                            }
                        }
                    }
                });
            }
        });
    });
    if let Some(failed) = failed.into_inner()? {
        return Err(failed.into());
    }
    let rate = (threads * SUBMISSIONS) as f64 / took.as_secs_f64();
    println!("| durable submissions a second, {threads} threads | {rate:.0} |");
    Ok(())
}

/// How often all threads of this process have waited.
fn switches() -> Result<i64, Box<dyn Error>> {
    let mut count = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count += line.unwrap_or("0").trim().parse::<i64>()?;
    }
    Ok(count)
}

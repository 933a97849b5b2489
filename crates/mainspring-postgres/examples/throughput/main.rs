//! Measures the one-shot jobs a second that the shared store takes, beside a queue table that workers poll.
//!
//! ```text
//!  store:  batch k = submissions of group k + starts of group k-1 + ends of group k-2 ─▶ PostgresStore::commit
//!  queue:  producers INSERT ─ workers UPDATE .. WHERE id IN (SELECT .. FOR UPDATE SKIP LOCKED LIMIT n) ─ done, or DELETE
//! ```
//!
//! Both are on one PostgreSQL of the run's own, over its socket, with `synchronous_commit` and `fsync` on.
//! Queues that delete or keep what is done are tried once with several worker counts and batch sizes. Then
//! the best of each are measured in turns, and the ratio in the middle counts: a machine that others use is
//! fast for some seconds, and then slow.
//!
//! With `statements` as the second argument only the store is measured. Then `pg_stat_statements` says how
//! long each statement of its functions takes, the longest first, and what WAL it writes.
//!
//! Cost: some minutes.
//!
//! Does not measure what carries the jobs out.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed, and says where")]
#![allow(clippy::disallowed_methods, reason = "it measures, and workers are threads")]

#[path = "../../tests/database.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod database;
mod queue;
mod store;

use std::process::ExitCode;
use std::time::Duration;

use database::Database;
use queue::Done;

/// How many jobs each measurement has, unless the command says so.
const JOBS: usize = 100_000;

/// What a job carries: 200 bytes, as in the measurements of the local store.
pub(crate) const BODY_BYTES: usize = 200;

/// How often the best of each are measured in turns.
const ROUNDS: usize = 7;

/// Where the time of the cycles goes.
const STATEMENTS: &str = "SELECT format('%s ms, %s calls, %s MB of WAL: %s', total_exec_time::int8, calls,
        (wal_bytes / 1000000)::int8, left(regexp_replace(query, '\\s+', ' ', 'g'), 90))
    FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 20";

/// How much of it the log of the database takes.
const LOG: &str =
    "SELECT format('%s MB of WAL, written in %s ms, flushed %s times in %s ms', (wal_bytes / 1000000)::int8,
    wal_write_time::int8, wal_sync, wal_sync_time::int8) FROM pg_stat_wal";

/// What a job carries: a document whose second half is a digest, so that it compresses as such texts do.
pub(crate) fn body(index: usize) -> String {
    let mut state = index as u64;
    let mut draw = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut body = format!(
        r#"{{"template":"welcome","to":"user{index}@example.org","language":"en","attachments":[],"digest":""#
    );
    while body.len() < BODY_BYTES - 2 {
        body.push_str(&format!("{:016x}", draw()));
    }
    body.truncate(BODY_BYTES - 2);
    body + "\"}"
}

/// Jobs a second.
pub(crate) fn rate(jobs: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(jobs).unwrap()) / took.as_secs_f64()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = |count: &String| count.parse().ok().filter(|count| (1..=10_000_000).contains(count));
    let (jobs, is_apart) = match arguments.as_slice() {
        [] => (Some(JOBS), false),
        [jobs] => (count(jobs), false),
        [jobs, word] if word == "statements" => (count(jobs), true),
        _ => (None, false),
    };
    let Some(jobs) = jobs else {
        eprintln!("usage: throughput [JOBS [statements]]");
        return ExitCode::from(2);
    };
    let mut settings = vec!["fsync=on", "synchronous_commit=on", "shared_buffers=512MB", "max_wal_size=4GB"];
    if is_apart {
        settings.extend([
            "shared_preload_libraries=pg_stat_statements",
            "pg_stat_statements.track=all",
            "track_wal_io_timing=on",
        ]);
    }
    let settings: Vec<String> = settings.into_iter().map(str::to_owned).collect();
    let Some(database) = Database::start_with(&settings) else {
        return ExitCode::SUCCESS;
    };
    for setting in ["fsync", "synchronous_commit"] {
        assert_eq!(database.ask(&format!("SHOW {setting}")), "on", "{setting}");
    }
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{jobs} jobs of {BODY_BYTES} bytes, {cores} cores for database and clients together");
    println!("| what | jobs/s |\n|---|---|");
    if is_apart {
        database.ask("CREATE EXTENSION pg_stat_statements");
    }
    print_figures(&store::measure(&database, jobs));
    if is_apart {
        println!("{}", database.ask(STATEMENTS));
        println!("{}", database.ask(LOG));
        return ExitCode::SUCCESS;
    }
    let rivals = [Done::Deleted, Done::Marked].map(|done| {
        let ways = [100, 1_000].into_iter().flat_map(|batch| [1, 2, 4, 8].map(|workers| (workers, batch)));
        let (workers, batch) = best(ways, |(workers, batch)| {
            let theirs = queue::measure(&database, jobs, workers, batch, done);
            println!(
                "| queue, {workers} workers, batches of {batch}, {done:?}: submissions, cycles | {:.0}, {:.0} |",
                theirs.submissions, theirs.cycles
            );
            theirs.cycles
        });
        (workers, batch, done)
    });
    in_turns(&database, jobs, rivals);
    ExitCode::SUCCESS
}

fn print_figures(ours: &store::Figures) {
    println!("| store: submissions | {:.0} |", ours.submissions);
    println!("| store: cycles | {:.0} |", ours.cycles);
    println!("| store: cycles, assigned to a worker and pruned | {:.0} |", ours.whole);
    println!("\na lone commit takes {:.2} ms in the middle", ours.lone.as_secs_f64() * 1_000.0);
}

/// The one with the greatest figure.
fn best<T: Copy>(all: impl IntoIterator<Item = T>, mut measure: impl FnMut(T) -> f64) -> T {
    let measured = all.into_iter().map(|one| (one, measure(one)));
    measured.max_by(|(_, one), (_, other)| one.total_cmp(other)).expect("there are some").0
}

/// Measures the store and each of the rivals one after another, again and again.
fn in_turns(database: &Database, jobs: usize, rivals: [(usize, usize, Done); 2]) {
    println!("\n| in turns: store | {:?} | ratio | {:?} | ratio |", rivals[0], rivals[1]);
    println!("|---|---|---|---|---|");
    let mut ratios = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let ours = store::measure(database, jobs).cycles;
        let mut line = format!("| {ours:.0} |");
        for ((workers, batch, done), ratios) in rivals.into_iter().zip(&mut ratios) {
            let theirs = queue::measure(database, jobs, workers, batch, done).cycles;
            ratios.push(ours / theirs);
            line.push_str(&format!(" {theirs:.0} | {:.2} |", ours / theirs));
        }
        println!("{line}");
    }
    for (mut ratios, (_, _, done)) in ratios.into_iter().zip(rivals) {
        ratios.sort_by(f64::total_cmp);
        let (least, middle, most) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
        println!(
            "cycles of the store over those of the queue, {done:?}: {middle:.2} in the middle, {least:.2} to {most:.2}"
        );
    }
}

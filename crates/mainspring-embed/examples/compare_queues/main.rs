//! Measures jobs in PostgreSQL as programs have them: through the public API, beside what they would take
//! instead.
//!
//! ```text
//!  for each round: for each queue, in turns: an empty database ─▶ a process: QUEUE URL MODE COUNT ─▶ its figures
//! ```
//!
//! | mode | measured |
//! |---|---|
//! | one | from the first of COUNT submissions, by 8 callers at a time, until all have run and that is on record |
//! | bulk | the same with submissions of 1,000 |
//! | latency | from before the submission until the handler begins, one at a time, 20 ms apart |
//! | bulk again | how many bytes the database has when more jobs have ended |
//!
//! The handler does nothing. Each queue has the settings that its own documents name for throughput, and the
//! database flushes each commit. What the ratios divide by is the middle of the rounds.
//!
//! The rivals are installed by npm, pip, cargo and apt into `target/compare-queues`.
//!
//! Cost: minutes for what is installed, then about one for each round. It needs node, python3 and
//! PostgreSQL.
//!
//! With `--processes` it measures the fastest of them in several processes: see [`processes`].

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed, and says where")]
#![allow(clippy::disallowed_methods, reason = "it measures")]

mod beanstalkd;
#[path = "../../../mainspring-postgres/tests/database.rs"]
#[allow(dead_code, reason = "the tests of the store use the rest")]
mod database;
mod ours;
mod processes;
#[path = "../../../mainspring-cli/examples/bench_serve/processor.rs"]
mod processor;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use database::Database;

/// How many jobs each measurement of throughput has, and each of latency.
const JOBS: usize = 20_000;
const LATENCY_JOBS: usize = 200;
const KEPT_JOBS: usize = 100_000;

const ROUNDS: usize = 3;

/// How many a submission in bulk has, and how many callers submit one by one. The rivals are told.
const BULK: usize = 1_000;
const SUBMITTERS: usize = 8;

/// The variable of a process that works beside others until it is killed, and says when it does and when it
/// has submitted. The rivals are told.
const MEMBER: &str = "MEMBER";

/// A queue, and the program that carries it, in the folder of what is installed.
const QUEUES: [(&str, &[&str]); 6] = [
    ("mainspring", &[]),
    ("graphile-worker", &["node", "contestant.mjs"]),
    ("pg-boss", &["node", "contestant.mjs"]),
    ("apalis", &["apalis/target/release/compare-queues-apalis"]),
    ("beanstalkd", &[]),
    ("procrastinate", &["venv/bin/python", "contestant.py"]),
];

/// What brings them there.
const INSTALL: [&[&str]; 5] = [
    &["npm", "install", "--silent", "--no-audit", "--no-fund"],
    &["python3", "-m", "venv", "venv"],
    &["venv/bin/pip", "install", "--quiet", "--requirement", "requirements.txt"],
    &[
        "cargo",
        "build",
        "--quiet",
        "--release",
        "--manifest-path",
        "apalis/Cargo.toml",
        "--target-dir",
        "apalis/target",
    ],
    &[
        "sh",
        "-c",
        "test -d beanstalkd || { apt-get download beanstalkd && dpkg -x beanstalkd_*.deb beanstalkd; }",
    ],
];

const MODES: [(&str, usize); 3] = [("one", JOBS), ("bulk", JOBS), ("latency", LATENCY_JOBS)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => compare(ROUNDS),
        ["--rounds", rounds] if is_count(rounds) => compare(rounds.parse().unwrap()),
        ["--processes"] => compare_processes(ROUNDS),
        ["--processes", "--rounds", rounds] if is_count(rounds) => compare_processes(rounds.parse().unwrap()),
        ["mainspring", url, mode, count] => match std::env::var_os(MEMBER) {
            Some(_) => ours::take_part(url, mode, count.parse().unwrap()),
            None => ours::measure(url, mode, count.parse().unwrap()),
        },
        ["beanstalkd", _, mode, count] => beanstalkd::measure(mode, count.parse().unwrap()),
        _ => {
            eprintln!("usage: compare_queues [--processes] [--rounds N]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn is_count(text: &str) -> bool {
    text.parse().is_ok_and(|count: usize| 0 < count)
}

fn compare_processes(round_count: usize) {
    let folder = installed();
    if let Some(database) = started() {
        processes::compare(&database, &folder, round_count);
    }
}

/// A database that flushes each commit.
fn started() -> Option<Database> {
    let settings = [
        "fsync=on",
        "synchronous_commit=on",
        "shared_buffers=512MB",
        "max_wal_size=4GB",
        "max_connections=100",
    ];
    let database = Database::start_with(&settings.map(str::to_owned))?;
    for setting in ["fsync", "synchronous_commit"] {
        assert_eq!(database.ask(&format!("SHOW {setting}")), "on", "{setting}");
    }
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{JOBS} jobs, {cores} cores for the database and the clients together\n");
    Some(database)
}

/// Makes the database again.
fn empty(database: &Database) {
    for sql in ["DROP DATABASE mainspring WITH (FORCE)", "CREATE DATABASE mainspring"] {
        assert!(database.psql("postgres", sql).status.success(), "{sql}");
    }
}

fn compare(round_count: usize) {
    let folder = installed();
    let Some(database) = started() else { return };
    for (mode, count) in MODES {
        let mut figures = vec![Vec::new(); QUEUES.len()];
        for _ in 0..round_count {
            for ((name, command), figures) in QUEUES.iter().zip(&mut figures) {
                figures.extend(measured(&database, &folder, name, command, mode, count));
            }
        }
        match mode {
            "latency" => print_latencies(&mut figures),
            _ => print_rates(mode, count, &figures),
        }
    }
    print_sizes(&database, &folder);
}

/// The folder with the rivals, which are installed if they are not.
fn installed() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/compare_queues");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/compare-queues");
    std::fs::create_dir_all(&folder).unwrap();
    for source in ["contestant.mjs", "contestant.py", "package.json", "requirements.txt", "apalis"] {
        let mut copy = Command::new("cp");
        assert!(copy.arg("-r").arg(sources.join(source)).arg(&folder).status().unwrap().success());
    }
    for command in INSTALL {
        let (program, arguments) = command.split_first().unwrap();
        let done = Command::new(program).args(arguments).current_dir(&folder).status();
        assert!(done.as_ref().is_ok_and(std::process::ExitStatus::success), "{program}: {done:?}");
    }
    folder
}

/// What one measurement prints, in a database of its own.
fn measured(
    database: &Database,
    folder: &Path,
    name: &str,
    command: &[&str],
    mode: &str,
    count: usize,
) -> Vec<f64> {
    empty(database);
    let output = contestant(database, folder, name, command, mode, count).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    match figures {
        Ok(figures) if output.status.success() && !figures.is_empty() => figures,
        _ => panic!("{name} {mode}: {text}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// The process of a queue.
fn contestant(
    database: &Database,
    folder: &Path,
    name: &str,
    command: &[&str],
    mode: &str,
    count: usize,
) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut process = match command {
        [] => Command::new(own),
        [program, arguments @ ..] => {
            let is_installed = folder.join(program).exists();
            let mut process =
                Command::new(if is_installed { folder.join(program) } else { PathBuf::from(program) });
            process.args(arguments);
            process
        }
    };
    process.args([name, &address(database), mode, &count.to_string()]).current_dir(folder);
    process.env("BULK", BULK.to_string()).env("SUBMITTERS", SUBMITTERS.to_string());
    process
}

/// How many bytes the database has beyond an empty one, once it is vacuumed.
fn grown(database: &Database) -> u64 {
    database.ask("VACUUM");
    let sql = "SELECT pg_database_size('mainspring') - pg_database_size('template1')";
    database.ask(sql).parse().unwrap()
}

/// As all of them read it.
fn address(database: &Database) -> String {
    let socket = database.socket();
    format!(
        "postgres://mainspring@localhost/mainspring?host={}&port=5432",
        socket.parent().unwrap().display()
    )
}

/// The value below which such a part of them is.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

fn print_rates(mode: &str, count: usize, seconds: &[Vec<f64>]) {
    let rates: Vec<Vec<f64>> = seconds
        .iter()
        .map(|seconds| seconds.iter().map(|seconds| count as f64 / seconds).collect())
        .collect();
    let middles: Vec<f64> = rates.iter().map(|rates| quantile(&mut rates.clone(), 0.5)).collect();
    println!("| {mode}: cycles/s | middle | rounds | ours is |\n|---|---|---|---|");
    for (((name, _), rates), middle) in QUEUES.iter().zip(&rates).zip(&middles) {
        let rates: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
        println!("| {name} | {middle:.0} | {} | {:.2} |", rates.join(" "), middles[0] / middle);
    }
    println!();
}

/// What a database has of many jobs that have ended. beanstalkd has none, and the last takes too long.
fn print_sizes(database: &Database, folder: &Path) {
    println!("| kept of {KEPT_JOBS} jobs that have ended, tables included | MB |\n|---|---|");
    for (name, command) in &QUEUES[..4] {
        measured(database, folder, name, command, "bulk", KEPT_JOBS);
        println!("| {name} | {:.1} |", grown(database) as f64 / 1e6);
    }
    println!();
}

fn print_latencies(latencies: &mut [Vec<f64>]) {
    println!("| submit to start, idle: ms | p50 | p99 |\n|---|---|---|");
    for ((name, _), latencies) in QUEUES.iter().zip(latencies) {
        println!("| {name} | {:.2} | {:.2} |", quantile(latencies, 0.5), quantile(latencies, 0.99));
    }
}

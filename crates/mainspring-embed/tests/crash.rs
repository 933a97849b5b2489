//! A program that is killed again and again in the middle of its handlers: nothing acknowledged is lost, and
//! no start is recorded twice.
//!
//! ```text
//! test ── starts itself as a child ─▶ submits, prints each name once submit has returned ── SIGKILL ─▶ the next child ..
//! ```
//!
//! Each call of a handler appends a line to a file, and some go on for a while then, so that a program dies
//! in the middle of several. A run that was cut off is tried again, because its handler says so.
//!
//! Every third submission is made in a transaction of a SQLite file of the program. Its commit acknowledges
//! it, and what was rolled back has no start.
//!
//! `cargo xtask crash --rounds N` runs this with `--rounds N` and a seed; the tests run [`ROUNDS`] with the
//! seed 1.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Every, Jobs, Options, Run, RunState};
use rusqlite::Connection;

/// How many programs are killed.
const ROUNDS: u64 = 12;

/// How many submissions each of them acknowledges before: at least, and at most so many more.
const ACKNOWLEDGED: (u64, u64) = (10, 90);

/// How long a program continues after that, at most.
const LINGER_MS: u64 = 60;

/// Every so manieth submission has a handler that continues for a while.
const SLOW: usize = 5;

/// How long: some times the pause between two kills, on a quiet machine.
const SLOW_FOR: Duration = Duration::from_millis(200);

/// The most runs that are read at the end: of all rounds together.
const MAX_RUNS: usize = 1_000_000;

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(120);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| Some(&arguments[arguments.iter().position(|word| word == name)? + 1..]);
    let number = |name: &str| after(name).map(|rest| rest[0].parse().unwrap());
    match after("child") {
        Some(rest) => child(Path::new(&rest[0]), &rest[1]),
        None => {
            let (rounds, seed) = (number("--rounds").unwrap_or(ROUNDS), number("--seed").unwrap_or(1));
            if catch_unwind(|| test(rounds, seed)).is_err() {
                eprintln!(
                    "again with: cargo test -p mainspring-embed --test crash -- --rounds {rounds} --seed {seed}"
                );
                std::process::exit(101);
            }
        }
    }
}

/// Random numbers below an end that a seed repeats.
///
/// Source: [SplitMix64](https://doi.org/10.1145/2714064.2660195).
fn below(seed: &mut u64, end: u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % end
}

fn open(folder: &Path) -> Jobs {
    let starts = folder.join("starts");
    let note = move |run: &Run| {
        let mut file = OpenOptions::new().append(true).create(true).open(&starts)?;
        // One write, so that lines of several threads and programs do not mix.
        file.write_all(format!("{} {}\n", run.key(), run.attempt()).as_bytes())
    };
    let noted = note.clone();
    let rules = |name: &str| {
        Options::new(name)
            .retry(1_000)
            .backoff(Duration::from_millis(1))
            .retry_abandoned()
            .retention(1_000_000, 1)
    };
    Jobs::open(folder.join("data"))
        .unwrap()
        .handler(rules("step"), move |run: &Run, number: usize| {
            note(run)?;
            if number.is_multiple_of(SLOW) {
                let (_keep, never) = channel::<()>();
                let _ = never.recv_timeout(SLOW_FOR);
            }
            Ok::<(), std::io::Error>(())
        })
        .job(rules("tick"), Every::seconds(1), move |run: &Run| noted(run))
        .outbox(folder.join("app.db"))
        .start()
        .unwrap()
}

/// Submits for ever, or waits until all that was submitted is done.
fn child(folder: &Path, round: &str) {
    let jobs = open(folder);
    let mut program = Connection::open(folder.join("app.db")).unwrap();
    program.busy_timeout(LONG).unwrap();
    if round != "last" {
        for number in 0.. {
            let name = format!("n{round}-{number}");
            if number % 3 == 0 {
                let transaction = program.transaction().unwrap();
                let submit = |name: &str| {
                    let once = jobs.once("step").name(name).key(name).payload(&number);
                    once.submit_in(|sql, document| transaction.execute(sql, [document])).unwrap().unwrap()
                };
                if number % 6 == 0 {
                    submit(&format!("r{round}-{number}"));
                    transaction.rollback().unwrap();
                } else {
                    submit(&name);
                    transaction.commit().unwrap();
                    println!("{name}");
                }
                continue;
            }
            let submitted = jobs.once("step").name(&name).key(&name).payload(&number).submit().unwrap();
            assert!(submitted.is_new, "{name}");
            println!("{name}");
        }
    }
    let (_keep, never) = channel::<()>();
    // A submission that no turn of the loop has planned yet has no run.
    let is_open = |run: &mainspring_job::Run| run.state.is_open() && run.key.job.as_str() != "tick";
    let in_outbox = || {
        let count =
            program.query_row("SELECT count(*) FROM mainspring_outbox", [], |row| row.get::<_, i64>(0));
        count.unwrap()
    };
    while 0 < in_outbox()
        || !jobs.waiting(1).unwrap().is_empty()
        || jobs.runs(MAX_RUNS).unwrap().iter().any(is_open)
    {
        let _ = never.recv_timeout(Duration::from_millis(20));
    }
    jobs.shutdown(LONG).unwrap();
}

fn test(rounds: u64, mut seed: u64) {
    let began_with = seed;
    let folder = std::env::temp_dir().join(format!("mainspring-embed-crash-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let start = |round: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child", folder.to_str().unwrap(), round]).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut acknowledged = BTreeSet::new();
    for round in 0..rounds {
        let mut program = start(&round.to_string());
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        for _ in 0..ACKNOWLEDGED.0 + below(&mut seed, ACKNOWLEDGED.1) {
            acknowledged.insert(lines.next().expect("the child continues until it is killed").unwrap());
        }
        let (_keep, never) = channel::<()>();
        let _ = never.recv_timeout(Duration::from_millis(below(&mut seed, LINGER_MS)));
        program.kill().unwrap();
        program.wait().unwrap();
        // What it printed before it was killed was on disk as well.
        acknowledged.extend(lines.map_while(Result::ok));
    }
    assert!(start("last").wait().unwrap().success());

    // Before the jobs are open again, which tick.
    let starts = fs::read_to_string(folder.join("starts")).unwrap();
    let jobs = open(&folder);
    let runs = jobs.runs(MAX_RUNS).unwrap();
    let records: BTreeMap<String, RunState> =
        runs.iter().map(|run| (run.key.job.to_string(), run.state)).collect();
    let attempts: BTreeMap<String, u32> = runs.iter().map(|run| (run.key.to_string(), run.attempt)).collect();
    assert_eq!(attempts.len(), runs.len(), "two records of one run");
    let mut seen = BTreeSet::new();
    for line in starts.lines() {
        assert!(seen.insert(line), "{line} was started twice");
        assert!(!line.starts_with('r'), "{line} was rolled back");
    }
    for name in &acknowledged {
        let state = records.get(name);
        // A run in which three programs in a row died is a dead letter: that may be its own doing.
        assert!(matches!(state, Some(RunState::Succeeded | RunState::Dead)), "{name}: {state:?}");
        let is_started = seen.iter().any(|line| line.starts_with(&format!("{name}@")));
        assert!(is_started || state == Some(&RunState::Dead), "{name} has no start");
    }
    // A start that the history does not know was made without a record.
    for line in &seen {
        let (key, attempt) = line.split_once(' ').unwrap();
        let known = attempts.get(key).copied().unwrap_or(0);
        assert!(attempt.parse::<u32>().unwrap() <= known, "{line}: the history has {known} attempts");
    }
    let again_count = seen.iter().filter(|line| !line.ends_with(" 1")).count();
    assert!(0 < again_count, "no program died in the middle of a handler");
    // A handler that ticks would write into what is being removed.
    jobs.shutdown(LONG).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    println!(
        "embedded: rounds {rounds} acknowledged {} starts {} again {again_count} (seed {began_with})",
        acknowledged.len(),
        seen.len()
    );
}

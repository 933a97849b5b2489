//! A program that is killed again and again in the middle of its handlers: nothing acknowledged is lost, and
//! no start is recorded twice.
//!
//! ```text
//! test ── starts itself as a child ─▶ submits, prints each name once submit has returned ── SIGKILL ─▶ the next child ..
//! ```
//!
//! Each call of a handler appends a line to a file. A run that was cut off is tried again, because its
//! handler says so.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use mainspring_embed::{Every, Jobs, Options, Run, RunState};

/// How many programs are killed.
const ROUNDS: usize = 12;

/// How many submissions each of them acknowledges before, at least; each round a few more than the one
/// before.
const ACKNOWLEDGED: usize = 25;

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(120);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|word| word == "child") {
        Some(at) => child(Path::new(&arguments[at + 1]), &arguments[at + 2]),
        None => test(),
    }
}

fn open(folder: &Path) -> Jobs {
    let starts = folder.join("starts");
    let note = move |run: &Run| {
        let mut file = OpenOptions::new().append(true).create(true).open(&starts)?;
        // One write, so that lines of several threads and programs do not mix.
        file.write_all(format!("{} {}\n", run.key(), run.attempt()).as_bytes())
    };
    let noted = note.clone();
    let rules =
        |name: &str| Options::new(name).retry(1_000).backoff(Duration::from_millis(1)).retry_abandoned();
    Jobs::open(folder.join("data"))
        .unwrap()
        .handler(rules("step"), move |run: &Run, _: usize| note(run))
        .job(rules("tick"), Every::seconds(1), move |run: &Run| noted(run))
        .start()
        .unwrap()
}

/// Submits for ever, or waits until all that was submitted is done.
fn child(folder: &Path, round: &str) {
    let jobs = open(folder);
    if round != "last" {
        for number in 0.. {
            let name = format!("n{round}-{number}");
            let submitted = jobs.once("step").name(&name).key(&name).payload(&number).submit().unwrap();
            assert!(submitted.is_new, "{name}");
            println!("{name}");
        }
    }
    let (_keep, never) = channel::<()>();
    // A submission that no turn of the loop has planned yet has no run.
    let is_open = |run: &mainspring_job::Run| run.state.is_open() && run.key.job.as_str() != "tick";
    while !jobs.waiting(1).unwrap().is_empty() || jobs.runs(10_000).unwrap().iter().any(is_open) {
        let _ = never.recv_timeout(Duration::from_millis(20));
    }
    jobs.shutdown(LONG).unwrap();
}

fn test() {
    let folder = std::env::temp_dir().join(format!("mainspring-embed-crash-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let start = |round: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["child", folder.to_str().unwrap(), round]).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut program = start(&round.to_string());
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        for _ in 0..ACKNOWLEDGED + 7 * round {
            acknowledged.insert(lines.next().expect("the child goes on until it is killed").unwrap());
        }
        program.kill().unwrap();
        program.wait().unwrap();
        // What it printed before it was killed was on disk as well.
        acknowledged.extend(lines.map_while(Result::ok));
    }
    assert!(start("last").wait().unwrap().success());

    let jobs = open(&folder);
    let records: BTreeMap<String, RunState> =
        jobs.runs(10_000).unwrap().iter().map(|run| (run.key.job.to_string(), run.state)).collect();
    let starts = fs::read_to_string(folder.join("starts")).unwrap();
    let mut seen = BTreeSet::new();
    for line in starts.lines() {
        assert!(seen.insert(line), "{line} was started twice");
    }
    for name in &acknowledged {
        let state = records.get(name);
        // A run in which three programs in a row died is a dead letter: that may be its own doing.
        assert!(matches!(state, Some(RunState::Succeeded | RunState::Dead)), "{name}: {state:?}");
        let is_started = seen.iter().any(|line| line.starts_with(&format!("{name}@")));
        assert!(is_started || state == Some(&RunState::Dead), "{name} has no start");
    }
    let _ = fs::remove_dir_all(&folder);
    println!("{} acknowledged, {} starts, {ROUNDS} programs killed", acknowledged.len(), seen.len());
}

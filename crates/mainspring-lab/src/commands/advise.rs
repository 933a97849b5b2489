//! `lab advise`.
//!
//! Cost: three replays of the trace a queue. It does not change the trace.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use mainspring::trace::Trace;

use crate::advise::{Features, Outcome, replay, sentences};
use crate::case::Failure;
use crate::coverage::CPU_SECONDS_MAX;
use crate::process;
use crate::subjects::{named, queues};
use crate::table::{align, group, three_digits};

/// Reads a trace.
///
/// # Errors
/// With the file's name, and the line.
fn read(path: &Path) -> Result<Trace, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.parse::<Trace>().map_err(|error| format!("{}: {error}", path.display()))
}

/// The hidden command: replays through one queue in this process and prints what came out.
///
/// # Errors
/// The trace cannot be read.
pub fn replay_here(subject: &str, path: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let trace = read(path)?;
    let queue = named(subject).filter(|subject| subject.make_queue().is_some());
    let subject = queue.ok_or_else(|| format!("{subject} is no queue of ours"))?;
    let outcome = process::confine_to(1, CPU_SECONDS_MAX)
        .and_then(|()| replay(&trace, || subject.make_queue().expect("the subject has been asked before")));
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(ExitCode::SUCCESS)
}

fn replay_apart(subject: &str, path: &Path) -> Result<Outcome, Failure> {
    let run = env::current_exe().and_then(|program| {
        Command::new(program).arg("replay").arg(subject).arg(path).stderr(Stdio::inherit()).output()
    });
    let output = run.map_err(|error| Failure::Wrong(format!("the process could not be started: {error}")))?;
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| Err(Failure::Unable(format!("ended with {}", output.status))))
}

/// `lab advise`.
///
/// # Errors
/// The trace cannot be read, or two queues disagree.
pub fn advise(path: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let trace = read(path)?;
    let mut outcomes = Vec::new();
    let mut unable = Vec::new();
    for subject in queues::subjects() {
        match replay_apart(subject.name, path) {
            Ok(outcome) => outcomes.push((subject.name.to_owned(), outcome)),
            Err(failure) => unable.push(format!("  {}: {failure}", subject.name)),
        }
    }
    outcomes.sort_by(|left, right| left.1.operation_ns.total_cmp(&right.1.operation_ns));
    let has_one_answer = outcomes.windows(2).all(|pair| {
        (pair[0].1.fired_count, pair[0].1.fingerprint) == (pair[1].1.fired_count, pair[1].1.fingerprint)
    });
    print!("{}", table(&outcomes));
    if !unable.is_empty() {
        println!("not replayed\n{}", unable.join("\n"));
    }
    if !has_one_answer {
        return Err("the queues did not fire the same timers: this is a bug in one of them".into());
    }
    println!();
    for sentence in sentences(&Features::of(&trace), trace.tick, &outcomes) {
        println!("{sentence}");
    }
    if trace.dropped_count > 0 {
        println!("The recorder had no room for {} operations more.", group(trace.dropped_count as i64));
    }
    Ok(ExitCode::SUCCESS)
}

fn table(outcomes: &[(String, Outcome)]) -> String {
    let head = ["queue", "ns/op", "worst us", "wakeups", "fired", "memory KiB"].map(str::to_owned).to_vec();
    let rows = outcomes.iter().map(|(name, outcome)| {
        vec![
            name.clone(),
            three_digits(outcome.operation_ns),
            three_digits(outcome.worst_us),
            group(outcome.wakeup_count as i64),
            group(outcome.fired_count as i64),
            memory_text(outcome.memory_bytes),
        ]
    });
    align(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// The kernel counts a process's pages in batches: below this a figure is noise.
const MEMORY_KIB_MIN: u64 = 256;

fn memory_text(bytes: u64) -> String {
    match bytes / 1_024 {
        kibibytes if kibibytes < MEMORY_KIB_MIN => format!("< {MEMORY_KIB_MIN}"),
        kibibytes => group(kibibytes as i64),
    }
}

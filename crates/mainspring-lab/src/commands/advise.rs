//! `lab advise`.
//!
//! Cost: three replays of the trace a queue. It does not change the trace.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use mainspring::trace::Trace;

use crate::advise::{Features, Outcome, replay, sentences};
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
    let make = named(subject).and_then(|subject| subject.queue);
    let make = make.ok_or_else(|| format!("{subject} is no queue of ours"))?;
    let outcome = process::confine_to(1, CPU_SECONDS_MAX).and_then(|()| replay(&trace, make));
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(ExitCode::SUCCESS)
}

/// `lab advise`.
///
/// # Errors
/// The trace cannot be read, or two queues disagree.
pub fn advise(path: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let trace = read(path)?;
    let mut outcomes: Vec<(String, Outcome)> = Vec::new();
    let mut unable = Vec::new();
    for subject in queues::subjects() {
        let arguments = [OsStr::new("replay"), OsStr::new(subject.name), path.as_os_str()];
        match process::run_apart(&arguments, CPU_SECONDS_MAX) {
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

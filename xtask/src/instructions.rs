//! Counts the instructions that the default queue takes, against the counts that are stored.
//!
//! ```text
//!   cargo build --release -p mainspring-queue --example count_instructions
//!   valgrind --tool=callgrind .. count_instructions W1
//!     ->  xtask/instructions.txt
//! ```
//!
//! A count that grew by more than a tenth fails, unless the stored one is changed in the same commit. One
//! that shrank by as much is reported, so that it can be stored.
//!
//! Cost: some seconds. It needs valgrind: without it nothing is counted, which is said by [`skips`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{program, skips};

/// Where the counts are stored, from the workspace's root.
const STORED: &str = "xtask/instructions.txt";

/// The example that does the work.
const PROGRAM: &str = "count_instructions";

/// The workloads that are counted.
const WORKLOADS: [&str; 3] = ["W1", "W2", "W3"];

/// A count may grow by one part of so many: less than that is another compiler's work.
const TOLERANCE: u64 = 10;

const _: () = assert!(1 < TOLERANCE, "a count that doubles is named");

const HEADER: &str =
    "# Instructions of the default queue, of a fixed amount of work: see crates/mainspring-queue/examples.
# Compared by `cargo xtask instructions`, written by `cargo xtask instructions --accept`.
";

/// What to do with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Fail where one grew.
    Compare,
    /// Store them.
    Accept,
}

/// Counts, and compares or stores.
///
/// # Errors
/// The counts that grew or have no stored one, a line each; or why nothing was counted or stored.
pub fn run(root: &Path, mode: Mode) -> Result<(), String> {
    if !program::is_there("valgrind") {
        skips::skip("instruction counts", "valgrind is not installed")?;
        return if mode == Mode::Accept { Err("nothing was stored".to_owned()) } else { Ok(()) };
    }
    let (path, counts) = (root.join(STORED), count_all(root)?);
    if mode == Mode::Accept {
        let lines: String = counts.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
        fs::write(&path, format!("{HEADER}{lines}")).map_err(|error| format!("{STORED}: {error}"))?;
        print!("{lines}");
        return Ok(());
    }
    assert_eq!(counts.len(), WORKLOADS.len(), "each workload is counted");
    let text = fs::read_to_string(&path).map_err(|error| format!("{STORED}: {error}"))?;
    let stored = parse(&text)?;
    let mut bad = Vec::new();
    for (name, &count) in &counts {
        match judge(name, count, stored.get(name).copied()) {
            Ok(line) => println!("{line}"),
            Err(line) => bad.push(line),
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(bad.join("\n")) }
}

/// Says what became of a count: an error is not well.
fn judge(name: &str, count: u64, stored: Option<u64>) -> Result<String, String> {
    let Some(stored) = stored else {
        return Err(format!("{name} {count}: nothing is stored; run cargo xtask instructions --accept"));
    };
    let percent = (count as f64 / stored as f64 - 1.0) * 100.0;
    let line = format!("{name} {count}, stored {stored}: {percent:+.1} %");
    if stored + stored / TOLERANCE < count {
        return Err(format!("{line}: GREW; if it must be, store it with cargo xtask instructions --accept"));
    }
    if count + count / TOLERANCE < stored {
        return Ok(format!("{line}: store it with cargo xtask instructions --accept"));
    }
    Ok(line)
}

/// Reads the stored counts.
fn parse(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(index, line)| {
            let fields = line.split_once(' ').and_then(|(name, count)| Some((name, count.parse().ok()?)));
            let (name, count) = fields
                .ok_or_else(|| format!("{STORED}:{}: this is not a name and a count: {line}", index + 1))?;
            Ok((name.to_owned(), count))
        })
        .collect()
}

fn count_all(root: &Path) -> Result<BTreeMap<String, u64>, String> {
    let build = ["build", "--quiet", "--release", "--package", "mainspring-queue", "--example", PROGRAM];
    program::succeed(&mut program::cargo(root, &build))?;
    WORKLOADS.iter().map(|name| Ok(((*name).to_owned(), count(root, name)?))).collect()
}

fn count(root: &Path, workload: &str) -> Result<u64, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let report = target.join(format!("callgrind-{workload}.out"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=count_instructions::counted_*"])
        .arg(format!("--callgrind-out-file={}", report.display()))
        .arg(target.join("release/examples").join(PROGRAM))
        .arg(workload)
        .output()
        .map_err(|error| format!("valgrind could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("valgrind failed at {workload}:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = fs::read_to_string(&report).map_err(|error| format!("{}: {error}", report.display()))?;
    total(&text).ok_or_else(|| format!("{} has no count: was nothing collected?", report.display()))
}

/// The sum in a report of callgrind; none if nothing was collected.
fn total(report: &str) -> Option<u64> {
    let line = report.lines().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok().filter(|&count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_is_let_through_and_more_than_that_is_not() {
        assert!(judge("W1", 1_100, Some(1_000)).is_ok());
        assert!(judge("W1", 1_101, Some(1_000)).is_err());
        assert!(judge("W1", 1, Some(1_000)).is_ok());
        assert!(judge("W1", 1, None).is_err());
    }

    #[test]
    fn stored_counts_are_read_and_a_bad_line_is_named() {
        let stored = parse(&format!("{HEADER}W1 12\nW2 34\n")).expect("the text is well formed");
        assert_eq!(stored, BTreeMap::from([("W1".to_owned(), 12), ("W2".to_owned(), 34)]));
        let problem = parse("# a comment\nW1 many\n").expect_err("the count is no number");
        assert!(problem.contains(":2:"), "{problem}");
    }

    #[test]
    fn a_report_without_a_count_has_none() {
        assert_eq!(total("summary: 5\n\ntotals: 5\n"), Some(5));
        assert_eq!(total("totals: 0\n"), None);
        assert_eq!(total(""), None);
    }
}

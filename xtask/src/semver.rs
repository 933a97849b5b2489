//! The libraries beside an earlier state of them: what breaks a program that was written for that is named.
//!
//! ```text
//!  testdata/api/baseline.txt ── a commit ──▶ cargo-semver-checks ◀── this tree
//! ```
//!
//! The baseline is the last release. Before the first it is the last commit that broke something on purpose:
//! the commit after that one names it, and says what it broke.
//!
//! Cost: the documentation of each library twice, five minutes of two cores.
//!
//! It does not show what is new: the texts in `testdata/api` show each change. It does not install the
//! tool, which no registry of the gate has compiled: that takes as long as half of the gate.
//!
//! Source: [cargo-semver-checks](https://github.com/obi1kenobi/cargo-semver-checks).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{is_there, succeed};
use crate::skips;

/// The crates whose surface is kept, by their folders in `crates/`.
pub const LIBRARIES: [&str; 5] =
    ["mainspring-queue", "mainspring-cron", "mainspring-job", "mainspring", "mainspring-embed"];

/// Where the commit stands that is compared with.
const BASELINE: &str = "testdata/api/baseline.txt";

const TOOL: &str = "cargo-semver-checks";

/// Compares each library.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path) -> Result<(), String> {
    if is_there(TOOL) {
        compare(root)
    } else {
        skips::skip(skips::BROKEN_CALLERS, "there is no cargo-semver-checks")
    }
}

/// The same, where nothing may be left out.
///
/// # Errors
/// A library breaks its callers, or the tool or the commit is not there.
pub fn compare(root: &Path) -> Result<(), String> {
    let text = fs::read_to_string(root.join(BASELINE)).map_err(|error| format!("{BASELINE}: {error}"))?;
    let commit = text.lines().find(|line| !line.starts_with('#'));
    let commit = commit.ok_or_else(|| format!("{BASELINE} names no commit"))?;
    let mut cargo = Command::new(TOOL);
    cargo.args(["semver-checks", "--baseline-rev", commit]).current_dir(root);
    succeed(cargo.args(LIBRARIES.iter().flat_map(|library| ["-p", library])))
}

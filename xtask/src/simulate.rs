//! More histories of jobs than the tests run: `cargo xtask simulate --histories 1000000 --from 100000`.
//!
//! It runs the test of the same name in `mainspring-job`, optimised, with the numbers in its environment. A
//! failing history prints its seed and its shortest script; `SEED=n cargo test -p mainspring-job simulation`
//! runs one again.
//!
//! Cost: half a millisecond of one core for each history; all cores share them.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs `histories` of them, from the seed `from` on.
pub fn run(root: &Path, histories: &str, from: &str) -> ExitCode {
    let arguments = ["test", "--release", "-q", "-p", "mainspring-job", "--test", "main", "--"];
    let status = Command::new("cargo")
        .args(arguments)
        .args(["simulation::no_history", "--nocapture"])
        .envs([("HISTORIES", histories), ("FROM", from)])
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}

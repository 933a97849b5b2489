//! More histories of jobs than the tests run: `cargo xtask simulate --histories 1000000 --from 100000`.
//!
//! It runs the test of the same name in `mainspring-job`, optimised, with the numbers in its environment. A
//! failing history prints its seed and its shortest script; `SEED=n cargo test -p mainspring-job simulation`
//! runs one again.
//!
//! With `--owners 100000` in the place of `--histories` they are histories of two or three servers that share
//! a store.
//!
//! Cost: half a millisecond of one core for each history, some milliseconds for one of several servers; all
//! cores share them.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// Runs `histories` of them, from the seed `from` on.
pub fn run(root: &Path, histories: &str, from: &str) -> ExitCode {
    test(root, "simulation::no_history", ("HISTORIES", histories), from)
}

/// Runs so many histories of several servers that share one store.
pub fn run_owners(root: &Path, owners: &str, from: &str) -> ExitCode {
    test(root, "simulation::owners::no_history", ("OWNERS", owners), from)
}

fn test(root: &Path, name: &str, count: (&str, &str), from: &str) -> ExitCode {
    let arguments = ["test", "--release", "-q", "-p", "mainspring-job", "--test", "main", "--"];
    let mut test = Command::new("cargo");
    test.args(arguments).args([name, "--nocapture"]);
    conclude(succeed(test.envs([count, ("FROM", from)]).current_dir(root)))
}

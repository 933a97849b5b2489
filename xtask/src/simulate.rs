//! More histories of jobs than the tests run: `cargo xtask simulate --histories 1000000 --from 100000`.
//!
//! It runs the test of the same name in `mainspring-job`, optimised, with the numbers in its environment. A
//! failing history prints its seed and its shortest script; `SEED=n cargo test -p mainspring-job simulation`
//! runs one again.
//!
//! Cost: half a millisecond of one core for each history; all cores share them.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// Runs `histories` of them, from the seed `from` on.
pub fn run(root: &Path, histories: &str, from: &str) -> ExitCode {
    let arguments = ["test", "--release", "-q", "-p", "mainspring-job", "--test", "main", "--"];
    let mut test = Command::new("cargo");
    test.args(arguments).args(["simulation::no_history", "--nocapture"]);
    conclude(succeed(test.envs([("HISTORIES", histories), ("FROM", from)]).current_dir(root)))
}

//! More histories of jobs than the tests run: `cargo xtask simulate --histories 1000000 --from 100000`.
//!
//! It runs the test of the same name in `mainspring-job`, optimised, with the numbers in its environment. A
//! failing history prints its seed; `SEED=n cargo test -p mainspring-job simulation` runs one again.
//!
//! | option | histories of |
//! |---|---|
//! | `--histories` | one server and its store |
//! | `--pools` | two to four servers: one plans, and all carry out |
//!
//! Cost: half a millisecond of one core for each of one server, a few milliseconds for one of several.

use std::path::Path;

use crate::program::{cargo, succeed};

/// Each option, its variable in the environment of the tests, and its test.
const KINDS: [(&str, &str, &str); 2] = [
    ("--histories", "HISTORIES", "simulation::no_history"),
    ("--pools", "POOLS", "simulation::pool::no_pool"),
];

/// Whether there is such an option.
pub fn knows(option: &str) -> bool {
    KINDS.iter().any(|(known, ..)| *known == option)
}

/// Runs `count` of the kind of an option, from the seed `from` on.
///
/// # Panics
/// When there is no such option.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path, option: &str, count: &str, from: &str) -> Result<(), String> {
    let kind = KINDS.iter().find(|(known, ..)| *known == option);
    let (_, variable, name) = kind.expect("an option that is not known is refused before");
    let mut test = cargo(root, &["test", "--release", "-q", "-p", "mainspring-job", "--test", "main"]);
    succeed(test.args(["--", name, "--nocapture"]).envs([(*variable, count), ("FROM", from)]))
}

//! Examples of `mainspring-cli` that put the real program to the test: each is built and run on it.
//!
//! | command | example | prints |
//! |---|---|---|
//! | `cargo xtask crash --rounds 200 --seed 1` | `crash`, and a test of `mainspring-embed` | lines as below |
//! | `cargo xtask chaos --rounds 12` | `chaos` | the same for several servers |
//! | `cargo xtask bench-serve` | `bench_serve` | a table of figures |
//! | `cargo xtask compare-queues` | `compare_queues`, of `mainspring-embed` | the same beside other queues |
//!
//! ```text
//! crash: rounds N acknowledged A lost L doubled D early E (seed S)
//! embedded: rounds N acknowledged A starts S again R (seed S)
//! ```
//!
//! With `--tested` before the other arguments it is the build of the tests, else an optimised one. The exit
//! code is that of the example: 1 if anything is wrong.
//!
//! Cost: a build; then half a second for each round of a crash, and some minutes for the figures.

use std::path::Path;
use std::process::Command;

use crate::built::Build;
use crate::program::{cargo, succeed};
use crate::publish::LIBRARIES;

/// Kills the real server, and then a program with jobs of its own, as often.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn crash(root: &Path, arguments: &[&str]) -> Result<(), String> {
    run(root, "crash", arguments)?;
    let (_, arguments) = Build::of(arguments);
    // As the gate's tests of the program are built: with other crates there would be other features, and what
    // lies below would be built again.
    let mut test = cargo(root, &["test", "--quiet", "--workspace", "--all-features"]);
    test.args(LIBRARIES.map(|library| format!("--exclude={library}")));
    succeed(test.args(["--test", "crash", "--"]).args(arguments))
}

/// Measures jobs in PostgreSQL beside other queues, which it installs.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn compare_queues(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut run = cargo(root, &["run", "--quiet", "--release", "--package", "mainspring-embed"]);
    run.args(["--features", "postgres", "--example", "compare_queues", "--"]);
    succeed(run.args(arguments))
}

/// Builds the program and `example` in `root`, and runs the example on the program with further arguments.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path, example: &str, arguments: &[&str]) -> Result<(), String> {
    let (build, arguments) = Build::of(arguments);
    let built = build.folder(root, example)?;
    let mut command = Command::new(built.join("examples").join(example));
    succeed(command.arg(built.join("mainspring")).args(arguments))
}

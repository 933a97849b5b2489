//! Examples of `mainspring-cli` that put the real program to the test: each is built, optimised, and run
//! on it.
//!
//! | command | example | prints |
//! |---|---|---|
//! | `cargo xtask crash --rounds 200 --seed 1` | `crash`, and a test of `mainspring-embed` | lines as below |
//! | `cargo xtask chaos --rounds 12` | `chaos` | the same for several servers |
//! | `cargo xtask bench-serve` | `bench_serve` | a table of figures |
//!
//! ```text
//! crash: rounds N acknowledged A lost L doubled D early E (seed S)
//! embedded: rounds N acknowledged A starts S again R (seed S)
//! ```
//!
//! The exit code is that of the example: 1 if anything is wrong.
//!
//! Cost: a build; then half a second for each round of a crash, and some minutes for the figures.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::package::LIBRARIES;
use crate::program::{conclude, succeed};

/// Kills the real server, and then a program with jobs of its own, as often.
pub fn crash(root: &Path, arguments: &[&str]) -> ExitCode {
    let ended = run(root, "crash", arguments);
    if ended != ExitCode::SUCCESS {
        return ended;
    }
    // With the same crates as the gate's tests, and so with the same features: with others, what lies below
    // would be built anew.
    let mut test = Command::new("cargo");
    test.args(["test", "--quiet", "--workspace", "--all-features"]);
    test.args(LIBRARIES.map(|library| format!("--exclude={library}")));
    conclude(succeed(test.args(["--test", "crash", "--"]).args(arguments).current_dir(root)))
}

/// Builds the program and `example` in `root`, and runs the example on the program with further arguments.
pub fn run(root: &Path, example: &str, arguments: &[&str]) -> ExitCode {
    // The default members, as `cargo build --release` takes them: chosen alone, a crate may have other
    // features, and everything below it would be built a second time.
    let build = ["build", "--quiet", "--release", "--bins", "--example", example];
    let is_built = succeed(Command::new("cargo").args(build).current_dir(root));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let built = root.join(target).join("release");
    let mut command = Command::new(built.join("examples").join(example));
    command.arg(built.join("mainspring")).args(arguments);
    conclude(is_built.and_then(|()| succeed(&mut command)))
}

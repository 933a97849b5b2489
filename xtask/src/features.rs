//! The features of the libraries, none and each alone, without a warning; and the oldest Rust that they say
//! they compile with.
//!
//! A program that takes one feature of a library builds what no test of ours does, because tests have all of
//! them. cargo-hack knows the features from the manifests; a loop of our own would have to read them too.
//!
//! `mainspring-embed` is checked with them: alone it has neither a page nor a store. So is the program
//! without its page and API.
//!
//! A library whose manifest names an older Rust than the gate's is checked by that, with all features. rustup
//! brings it.
//!
//! Cost: seconds for each feature, where clippy has looked at the workspace: what the libraries stand on is
//! taken from there. For the older Rust it is checked in a folder of its own.
//!
//! It does not try features in pairs, and no tests.
//!
//! Source: [cargo-hack](https://github.com/taiki-e/cargo-hack).

use std::path::Path;
use std::process::Command;

use crate::program::{is_there, succeed};
use crate::publish::LIBRARIES;
use crate::{skips, wheels};

/// The scheduler as a library, and the program.
const SCHEDULER: [&str; 2] = ["mainspring-embed", "mainspring-cli"];

/// Where the older Rust builds.
const FOLDER: &str = "target/features";

/// What is left out without rustup.
const OLDEST: &str = "the oldest Rust";

/// Checks each feature of each library of the workspace in `root`.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path) -> Result<(), String> {
    let program = match wheels::program(root, "cargo-hack") {
        Ok(program) => program,
        Err(problem) => return skips::skip("features", &problem),
    };
    let mut hack = Command::new(&program);
    hack.args(["hack", "clippy", "--quiet", "--each-feature", "--lib"]);
    // The tests are compiled with the first, and the second is what cargo takes by itself.
    hack.args(["--exclude-all-features", "--exclude-features", "default"]);
    hack.args(LIBRARIES.iter().chain(&SCHEDULER).flat_map(|library| ["-p", library]));
    // Flags for the compiler itself would make it begin again with the crates of others.
    succeed(hack.args(["--", "-D", "warnings"]).current_dir(root))?;
    check_oldest(root, &program)
}

fn check_oldest(root: &Path, program: &Path) -> Result<(), String> {
    // What rustup has is not asked: cargo-hack has it bring what is missing.
    if !is_there("rustup") {
        return skips::skip(OLDEST, "rustup is not installed");
    }
    let mut hack = Command::new(program);
    hack.args(["hack", "check", "--quiet", "--rust-version", "--all-features", "--lib"]);
    hack.args(LIBRARIES.iter().flat_map(|library| ["-p", library]));
    succeed(hack.env("CARGO_TARGET_DIR", root.join(FOLDER)).current_dir(root))
}

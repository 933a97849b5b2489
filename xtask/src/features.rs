//! The features of the libraries, none and each alone, without a warning; and the oldest Rust that they say
//! they compile with.
//!
//! A program that takes one feature of a library builds what no test of ours does, because tests have all of
//! them. cargo-hack knows the features from the manifests; a loop of our own would have to read them too.
//!
//! `mainspring-embed` is checked with them: alone it has neither a page nor a store. So is the program
//! without its page and API. The C that they stand on is compiled with the tests, and not here.
//!
//! A library whose manifest names an older Rust than the gate's is checked by that, with all features. rustup
//! brings it.
//!
//! Cost: a check of what the libraries stand on, in a folder of its own, then seconds for each feature and
//! for the older Rust.
//!
//! It does not try features in pairs, and no tests.
//!
//! Source: [cargo-hack](https://github.com/taiki-e/cargo-hack).

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, is_there, succeed};
use crate::publish::LIBRARIES;
use crate::{cross, skips, wheels};

/// The scheduler as a library, and the program.
const SCHEDULER: [&str; 2] = ["mainspring-embed", "mainspring-cli"];

/// Where all of it is built.
const FOLDER: &str = "target/features";

/// What is left out without rustup.
const OLDEST: &str = "the oldest Rust";

/// Checks each feature of each library of the workspace in `root`.
pub fn run(root: &Path) -> ExitCode {
    conclude(check(root))
}

fn check(root: &Path) -> Result<(), String> {
    let program = match wheels::program(root, "cargo-hack") {
        Ok(program) => program,
        Err(problem) => return skips::skip("features", &problem),
    };
    let mut hack = Command::new(&program);
    hack.args(["hack", "check", "--quiet", "--each-feature", "--lib"]);
    // The tests are compiled with the first, and the second is what cargo takes by itself.
    hack.args(["--exclude-all-features", "--exclude-features", "default"]);
    hack.args(LIBRARIES.iter().chain(&SCHEDULER).flat_map(|library| ["-p", library]));
    let folder = root.join(FOLDER);
    let compiler = cross::compiler(&folder)?;
    hack.env("RUSTFLAGS", "-D warnings").envs(["HOST_CC", "HOST_AR"].map(|name| (name, &compiler)));
    succeed(hack.env("CARGO_TARGET_DIR", folder).current_dir(root))?;
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

//! The features of the libraries: none, each alone, and all of them, each without a warning.
//!
//! A program that takes one feature of a library builds what no test of ours does, because tests have all of
//! them. cargo-hack knows the features from the manifests; a loop of our own would have to read them too.
//!
//! `mainspring-embed` and its loop are checked with them: alone they have neither a page nor a store.
//!
//! Cost: a check of what the libraries stand on, in a folder of its own, then seconds for each feature.
//!
//! It does not try features in pairs, and no tests.
//!
//! Source: [cargo-hack](https://github.com/taiki-e/cargo-hack).

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};
use crate::publish::LIBRARIES;
use crate::{skips, wheels};

/// The scheduler as a library, and its loop.
const EMBEDDED: [&str; 2] = ["mainspring-embed", "mainspring-server"];

/// Checks each feature of each library of the workspace in `root`.
pub fn run(root: &Path) -> ExitCode {
    conclude(check(root))
}

fn check(root: &Path) -> Result<(), String> {
    let program = match wheels::program(root, "cargo-hack") {
        Ok(program) => program,
        Err(problem) => return skips::skip("features", &problem),
    };
    let mut hack = Command::new(program);
    hack.args(["hack", "clippy", "--quiet", "--each-feature", "--lib"]);
    let libraries = LIBRARIES.iter().chain(&EMBEDDED);
    hack.args(libraries.flat_map(|library| ["-p", library])).args(["--", "-D", "warnings"]);
    succeed(hack.env("CARGO_TARGET_DIR", root.join("target/features")).current_dir(root))
}

//! The page in a real browser, and the HTTP API held to its description by another program.
//!
//! | command | runs | needs |
//! |---|---|---|
//! | `cargo xtask page` | `crates/mainspring-web/page/test` | node, npm, Chromium |
//! | `cargo xtask contract` | `crates/mainspring-web/contract` on the built program | python3 with venv |
//!
//! What is missing is said and skipped by both; with `CI` set it fails.
//!
//! Cost: two minutes for the page, one for the contract; both use the registries of their tools once.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// Where both lie.
const FOLDER: &str = "crates/mainspring-web";

/// Runs the tests of the page, in `root`: over the server of fixtures, and over the program.
pub fn page(root: &Path) -> ExitCode {
    let mut command = Command::new(root.join(FOLDER).join("page/test"));
    conclude(build(root).and_then(|program| succeed(command.env("MAINSPRING", program))))
}

/// Holds the program to the description of its API, with further options of schemathesis.
pub fn contract(root: &Path, options: &[&str]) -> ExitCode {
    let mut command = Command::new(root.join(FOLDER).join("contract"));
    conclude(build(root).and_then(|program| succeed(command.arg(program).args(options))))
}

/// Builds the program, as `example` does with that example, so that the gate builds it once: without an
/// example, dependencies have fewer features, and what lies on them is built anew.
fn build(root: &Path) -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--release", "--bins", "--example", "crash"];
    succeed(Command::new("cargo").args(arguments).current_dir(root))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(root.join(target).join("release/mainspring"))
}

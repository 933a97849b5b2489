//! The page in a real browser, and the HTTP API held to its description by other programs.
//!
//! | command | runs | needs |
//! |---|---|---|
//! | `cargo xtask page` | `crates/mainspring-web/page/test` | node, npm, Chromium |
//! | `cargo xtask contract` | `contract` and `clients` beside it, on the program | python3 with venv, npm |
//!
//! What is missing is skipped by both, and said as [`skips`](crate::skips) does; with `CI` set it fails. With
//! `--tested` before other options the program is the build of the tests, else an optimised one.
//!
//! Cost: two minutes for the page, one and a half for the contract, seconds for two of the clients and
//! minutes for the third. Both use the registries of their tools once.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::built::Build;
use crate::program::succeed;

/// Where both lie.
const FOLDER: &str = "crates/mainspring-web";

/// Runs the tests of the page, in `root`: over the server of fixtures, and over the program.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn page(root: &Path, build: Build) -> Result<(), String> {
    let mut command = Command::new(root.join(FOLDER).join("page/test"));
    succeed(command.env("MAINSPRING", program(root, build)?))
}

/// Runs those tests of the page in `root` that need no browser and no program: units, types, format.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn page_without_browser(root: &Path) -> Result<(), String> {
    succeed(Command::new(root.join(FOLDER).join("page/test")).arg("--without-browser"))
}

/// The clients that the gate makes: the third compiles for minutes.
const QUICK_CLIENTS: [&str; 2] = ["python", "typescript"];

/// Holds the program to the description of its API, with further options of schemathesis. Without any it is
/// also used by clients that are made of the description.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn contract(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let (build, options) = Build::of(arguments);
    let script = |name| Command::new(root.join(FOLDER).join(name));
    let program = program(root, build)?;
    succeed(script("contract").arg(&program).args(options))?;
    if !options.is_empty() {
        return Ok(());
    }
    let languages: &[&str] = if build == Build::Tested { &QUICK_CLIENTS } else { &[] };
    succeed(script("clients").arg(&program).args(languages))
}

/// Builds the program, as the chore `crash` does: without its example, dependencies have fewer features, and
/// what lies on them is built again.
fn program(root: &Path, build: Build) -> Result<PathBuf, String> {
    build.folder(root, "crash").map(|folder| folder.join("mainspring"))
}

//! Checks the dependencies: their licences and sources, and advisories against them.
//!
//! ```text
//! cargo deny check licenses bans sources      what deny.toml allows, from Cargo.lock alone
//! cargo deny fetch db                         the RustSec database, if it is to be had
//! cargo deny check advisories                 and whether it speaks of any crate
//! ```
//!
//! Without cargo-deny nothing is checked, and without the database no advisories are: a line says so and why.
//! Neither fails the gate, because a machine without a way to the registry or the database can have neither.
//!
//! Cost: some seconds.
//!
//! Does not install cargo-deny: `cargo install --locked cargo-deny` does.
//!
//! Source: <https://embarkstudios.github.io/cargo-deny/>, <https://rustsec.org/>.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, is_well, succeed};

/// Checks the dependencies of the workspace in `root`.
pub fn run(root: &Path) -> ExitCode {
    let deny = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.arg("deny").args(arguments).current_dir(root);
        command
    };
    if !is_well(&mut deny(&["--version"])) {
        return skipped("dependencies are not checked: cargo-deny is not installed");
    }
    let allowed = succeed(&mut deny(&["check", "licenses", "bans", "sources"]));
    if allowed.is_ok() && !is_well(&mut deny(&["fetch", "db"])) {
        return skipped("advisories are not checked: the RustSec database cannot be fetched");
    }
    conclude(allowed.and_then(|()| succeed(&mut deny(&["check", "advisories"]))))
}

fn skipped(why: &str) -> ExitCode {
    println!("{why}");
    ExitCode::SUCCESS
}

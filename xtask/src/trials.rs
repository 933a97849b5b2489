//! Runs the attacks of another user of the machine on a server of root's, for real: see SECURITY.md.
//!
//! Runs the tests of `crates/mainspring-cli/tests/trials` alone, and the races of `mainspring-host`, a
//! thousand tries each. As root they become the user 65534. As anybody else those that need that are skipped
//! and say so, unless `CI` is set; there they fail. Then every reader of texts that others write gets twice
//! as much, and may not take more than about twice.
//!
//! Cost: a build, and ten seconds.

use std::path::Path;

use crate::program::{cargo, succeed};

/// Runs all trials of the workspace in `root`.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path) -> Result<(), String> {
    let trials: [&[&str]; 3] = [
        &["-p", "mainspring-cli", "--test", "trials"],
        &["-p", "mainspring-host", "--lib", "socket::"],
        &["-p", "mainspring-web", "--test", "main", "growth"],
    ];
    let run = |tests: &[&str]| succeed(cargo(root, &["test"]).args(tests));
    trials.into_iter().try_for_each(run)
}

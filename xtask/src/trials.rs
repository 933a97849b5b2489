//! What another user of the machine would do to a server of root's, tried for real: see SECURITY.md.
//!
//! Runs the tests of `crates/mainspring-cli/tests/trials` alone, and the races of `mainspring-host`, a
//! thousand tries each. As root they become the user 65534. As anybody else those that need that are skipped
//! and say so, unless `CI` is set; there they fail.
//!
//! Cost: a build, and ten seconds.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// Runs all trials of the workspace in `root`.
pub fn run(root: &Path) -> ExitCode {
    let trials = [
        &["test", "-p", "mainspring-cli", "--test", "trials"][..],
        &["test", "-p", "mainspring-host", "--lib", "socket::"],
    ];
    let mut run =
        trials.iter().map(|arguments| succeed(Command::new("cargo").args(*arguments).current_dir(root)));
    conclude(run.try_for_each(|ended| ended))
}

//! The real program, built for those that put it to the test.
//!
//! | build | what | is for |
//! |---|---|---|
//! | `Optimised` | `cargo build --release` | figures, and long runs by hand |
//! | `Tested` | what `cargo test` has built of the program | the gate, which has it already, and its assertions are on |
//!
//! An optimised build takes twelve minutes of a processor: a fifth of what the gate would take with it.
//!
//! Cost: a build, unless it was built before.
//!
//! Does not run it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::package::LIBRARIES;
use crate::program::succeed;

/// Takes the build of the tests, where it stands before the other arguments of a chore.
pub const TESTED: &str = "--tested";

/// How the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As a user builds it.
    Optimised,
    /// As the tests are built.
    Tested,
}

impl Build {
    /// Which one the arguments of a chore ask for, and the rest of them.
    pub fn of<'a, 'b>(arguments: &'b [&'a str]) -> (Build, &'b [&'a str]) {
        match arguments {
            [TESTED, rest @ ..] => (Build::Tested, rest),
            rest => (Build::Optimised, rest),
        }
    }

    /// Builds the program with this example. Answers the folder in which it is, with `examples` beside it.
    pub(crate) fn folder(self, root: &Path, example: &str) -> Result<PathBuf, String> {
        let mut command = Command::new("cargo");
        match self {
            // The default members, as `cargo build --release` takes them: chosen alone, a crate may have
            // other features, and everything below it would be built a second time.
            Build::Optimised => {
                command.args(["build", "--quiet", "--release", "--bins", "--example", example]);
            }
            Build::Tested => {
                command.args(["test", "--quiet", "--no-run"]).args(OF_THE_PROGRAM);
                command.args(LIBRARIES.map(|library| format!("--exclude={library}")));
            }
        }
        succeed(command.current_dir(root))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        Ok(root.join(target).join(if self == Build::Tested { "debug" } else { "release" }))
    }
}

/// What the gate's tests of the program are built of, but for the libraries that are left out: with other
/// crates there would be other features, and what lies below would be built anew.
pub(crate) const OF_THE_PROGRAM: [&str; 2] = ["--workspace", "--all-features"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_of_the_tests_is_asked_for_before_all_else() {
        assert_eq!(Build::of(&["--tested", "--rounds", "3"]), (Build::Tested, &["--rounds", "3"][..]));
        assert_eq!(Build::of(&["--rounds", "3"]), (Build::Optimised, &["--rounds", "3"][..]));
        assert_eq!(Build::of(&[]), (Build::Optimised, &[][..]));
    }
}

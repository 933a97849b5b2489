//! The real program, built for those that put it to the test.
//!
//! | build | what | is for |
//! |---|---|---|
//! | `Optimised` | `cargo build --release` | figures, and long runs by hand |
//! | `Tested` | what the tests of all features have built, as it is | the gate, which has it; assertions are on |
//!
//! An optimised build takes twelve minutes of a processor: a fifth of what the gate would take with it.
//!
//! Cost: a build, unless it was built before.
//!
//! Does not run it.

use std::path::{Path, PathBuf};

use crate::program::{cargo, succeed};

/// What builds that.
const TESTS: &str = "cargo test --no-run --workspace --all-features";

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

    /// Builds the program with this example, or looks whether it is built. Answers the folder in which it is,
    /// with `examples` beside it.
    pub(crate) fn folder(self, root: &Path, example: &str) -> Result<PathBuf, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        let target = root.join(target);
        if self == Build::Tested {
            let folder = target.join("debug");
            // Without cargo, which would wait for the folder while another lane of the gate builds in it.
            let needed = [folder.join("mainspring"), folder.join("examples").join(example)];
            return match needed.iter().find(|path| !path.is_file()) {
                None => Ok(folder),
                Some(path) => Err(format!("{} is not there: {TESTS} builds it", path.display())),
            };
        }
        // The default members, as `cargo build --release` takes them: chosen alone, a crate may have other
        // features, and everything below it would be built a second time.
        succeed(&mut cargo(root, &["build", "--quiet", "--release", "--bins", "--example", example]))?;
        Ok(target.join("release"))
    }
}

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

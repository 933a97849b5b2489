//! The command line that repeats a random test that failed.
//!
//! ```text
//!  package (cargo), binary (its file), test (its thread) ──▶ SEED=7 cargo test -p .. --test .. -- --exact ..
//! ```
//!
//! Crates whose package must hold this file have a link to it, and others name its path.
//!
//! Cost: nothing, until a test fails. It does not know features: a test that needs some is run with them.

use std::ops::Range;
use std::string::String;
use std::{env, thread};

/// Names the only seed that is run.
const SEED: &str = "SEED";

/// Runs `test` with each seed, or with the one that `SEED` in the environment names. Where it panics, the
/// command that repeats it is printed. Answers whether all ran, so that a sum over them can be judged.
pub(crate) fn each_seed(seeds: Range<u64>, mut test: impl FnMut(u64)) -> bool {
    for seed in self::seeds(seeds) {
        let _hint = ReplayHint(seed);
        test(seed);
    }
    chosen().is_none()
}

/// These seeds, or the one that `SEED` names.
pub(crate) fn seeds(all: Range<u64>) -> Range<u64> {
    chosen().map_or(all, |seed| seed..seed + 1)
}

/// The seed that `SEED` names.
pub(crate) fn chosen() -> Option<u64> {
    env::var(SEED).ok()?.parse().ok()
}

/// The command that runs the test of this thread with this seed.
pub(crate) fn command(seed: u64) -> String {
    let binary = env::current_exe().unwrap_or_default();
    // Cargo appends a hash to the name of the binary.
    let stem = binary.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let crate_name = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name);
    let start = match env::var("CARGO_PKG_NAME") {
        Ok(package) if package.replace('-', "_") == crate_name => {
            std::format!("cargo test -p {package} --lib --")
        }
        Ok(package) => std::format!("cargo test -p {package} --test {crate_name} --"),
        Err(_) => std::format!("{}", binary.display()),
    };
    // A single test at a time runs on the main thread, whose name says nothing.
    let name = thread::current().name().filter(|name| *name != "main").map(String::from);
    let test = name.map_or_else(String::new, |name| std::format!(" --exact {name}"));
    std::format!("{SEED}={seed} {start}{test}")
}

/// Prints the command when a panic passes.
struct ReplayHint(u64);

impl Drop for ReplayHint {
    fn drop(&mut self) {
        if thread::panicking() {
            std::eprintln!("again with: {}", command(self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_the_seed_the_package_the_binary_and_the_test() {
        let command = command(7);
        assert!(command.starts_with("SEED=7 "), "{command}");
        if let Ok(package) = env::var("CARGO_PKG_NAME") {
            assert!(command.contains(&std::format!("cargo test -p {package} --")), "{command}");
        }
        if thread::current().name() != Some("main") {
            assert!(
                command.ends_with(
                    "replay::tests::the_command_names_the_seed_the_package_the_binary_and_the_test"
                )
            );
        }
    }
}

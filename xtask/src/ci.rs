//! The gate: every check that a change must pass, in the order in which failures are cheapest to learn.
//!
//! Cost: some minutes on two cores, most of it compiling. A Rust toolchain with rustfmt and clippy is all it
//! needs: [`tools`] installs the rest where it may, and says what is skipped where it may not.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::program::succeed;
use crate::tools;

struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const STEPS: [Step; 15] = [
    Step { name: "formatting", arguments: &["fmt", "--all", "--check"], environment: &[] },
    Step {
        name: "clippy",
        arguments: &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"],
        environment: &[],
    },
    Step {
        name: "the library without features",
        arguments: &["clippy", "-p", "mainspring", "-p", "mainspring-queue", "--lib", "--", "-D", "warnings"],
        environment: &[],
    },
    Step { name: "dependencies", arguments: &["xtask", "dependencies"], environment: &[] },
    Step {
        name: "documentation",
        arguments: &["doc", "--workspace", "--all-features", "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    Step {
        // Without the libraries, which are tested as packages: that takes the longest, and once is enough.
        name: "tests of the program",
        arguments: &[
            "test",
            "--workspace",
            "--all-features",
            "--no-fail-fast",
            "--exclude=mainspring-queue",
            "--exclude=mainspring-cron",
            "--exclude=mainspring-job",
            "--exclude=mainspring",
        ],
        environment: &[],
    },
    Step { name: "tests of the libraries, as packages", arguments: &["xtask", "package"], environment: &[] },
    Step { name: "no operating system", arguments: &["xtask", "bare"], environment: &[] },
    Step {
        name: "models of the threads",
        arguments: &["test", "--release", "-p", "mainspring", "--test", "loom"],
        // A folder of its own: other flags would make every later build start over.
        environment: &[("RUSTFLAGS", "--cfg mainspring_loom"), ("CARGO_TARGET_DIR", "target/loom")],
    },
    Step { name: "instruction counts", arguments: &["xtask", "instructions"], environment: &[] },
    Step { name: "the queues under AddressSanitizer", arguments: &["xtask", "address"], environment: &[] },
    Step { name: "fuzz targets, from a fixed seed", arguments: &["xtask", "fuzz"], environment: &[] },
    Step {
        // Builds the program as a user does: with the default members, whose features are then the same.
        name: "the program killed at random",
        arguments: &["xtask", "crash", "--rounds", "5"],
        environment: &[],
    },
    Step {
        name: "the HTTP API against its description",
        arguments: &["xtask", "contract"],
        environment: &[],
    },
    Step { name: "the page in a browser", arguments: &["xtask", "page"], environment: &[] },
];

/// Runs every step in `root` until one fails, and says how long each took. The time decides nothing.
pub fn run(root: &Path) -> ExitCode {
    let begun = now();
    if let Err(problem) = tools::install() {
        println!("== the tools of the tests failed: {problem}");
        return ExitCode::FAILURE;
    }
    for step in &STEPS {
        let step_begun = now();
        println!("== {}: cargo {}", step.name, step.arguments.join(" "));
        let mut command = Command::new("cargo");
        command.args(step.arguments).envs(step.environment.iter().copied()).current_dir(root);
        if let Err(problem) = succeed(&mut command) {
            println!("== {} failed: {problem}", step.name);
            return ExitCode::FAILURE;
        }
        println!("== {} took {}", step.name, minutes(now() - step_begun));
    }
    println!("== all {} steps passed in {}", STEPS.len(), minutes(now() - begun));
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "how long a step took is told, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

fn minutes(time: Duration) -> String {
    format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::LIBRARIES;

    #[test]
    fn what_the_tests_leave_out_is_what_is_tested_as_packages() {
        let tests = STEPS.iter().find(|step| step.arguments.first() == Some(&"test"));
        let excluded: Vec<&str> = tests
            .into_iter()
            .flat_map(|step| step.arguments)
            .filter_map(|argument| argument.strip_prefix("--exclude="))
            .collect();
        assert_eq!(excluded, LIBRARIES);
        assert!(STEPS.iter().any(|step| step.arguments == ["xtask", "package"]));
    }
}

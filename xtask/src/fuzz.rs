//! The two steps of the gate that need a sanitizer: the tests of the queues, and a minute of each fuzz
//! target.
//!
//! ```text
//! address   cargo test -p mainspring-queue           with -Zsanitizer=address
//! fuzz      fuzz/fuzz_targets/*.rs  ->  libFuzzer    with the flags that cargo-fuzz gives, each for its time
//! ```
//!
//! Sanitizers are not stable: `RUSTC_BOOTSTRAP` lets the compiler of the gate use them, so that nothing else
//! has to be installed. libFuzzer is compiled from C++; without a compiler for that nothing is fuzzed, and a
//! line says so. What is found anew stays in `target/fuzz/corpus`.
//!
//! Cost: two builds in folders of their own, because other flags would make every later build start
//! over; then the tests, some three times slower than elsewhere, and a minute for each target.
//!
//! It does not look for leaks: the tests of broken queues leak when they panic, on purpose.
//!
//! Source: [AddressSanitizer](https://doc.rust-lang.org/beta/unstable-book/compiler-flags/sanitizer.html);
//! [libFuzzer](https://llvm.org/docs/LibFuzzer.html).

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::program::{conclude, is_there, succeed};

/// The only target that both are run for: the one that the gate runs on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

const SANITIZER: &str = "-Zsanitizer=address";

/// What cargo-fuzz gives the compiler beside the sanitizer: counters for libFuzzer, and assertions.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// The targets, as the manifest in `fuzz/` names them.
const FUZZ_TARGETS: [&str; 2] = ["queue", "cron_parse"];

/// How long each is run in the gate, in seconds.
const FUZZ_SECONDS: &str = "60";

/// Runs the tests of the queues under AddressSanitizer.
pub fn address(root: &Path) -> ExitCode {
    let mut test = cargo(root, SANITIZER, "target/address");
    test.args(["test", "-p", "mainspring-queue", "--all-features", "--lib", "--tests", "--target", TARGET]);
    conclude(succeed(&mut test))
}

/// Runs each fuzz target for `seconds`, or as long as the gate does.
pub fn fuzz(root: &Path, seconds: Option<&str>) -> ExitCode {
    if !is_there("c++") {
        println!("nothing is fuzzed: there is no C++ compiler, which libFuzzer needs");
        return ExitCode::SUCCESS;
    }
    conclude(fuzz_all(root, seconds.unwrap_or(FUZZ_SECONDS)))
}

fn fuzz_all(root: &Path, seconds: &str) -> Result<(), String> {
    let mut build = cargo(root, &format!("{SANITIZER} {COVERAGE}"), "target/fuzz");
    succeed(build.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", TARGET]))?;
    for target in FUZZ_TARGETS {
        let corpus = root.join("target/fuzz/corpus").join(target);
        fs::create_dir_all(&corpus).map_err(|error| format!("cannot make {}: {error}", corpus.display()))?;
        let binary = root.join("target/fuzz").join(TARGET).join("release").join(target);
        let mut run = Command::new(binary);
        run.env("ASAN_OPTIONS", "detect_leaks=0").current_dir(root.join("target/fuzz"));
        succeed(run.arg(format!("-max_total_time={seconds}")).arg("-print_final_stats=1").arg(corpus))?;
    }
    Ok(())
}

/// Cargo with flags and a folder of its own.
fn cargo(root: &Path, flags: &str, folder: &str) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
    command.env("ASAN_OPTIONS", "detect_leaks=0").env("CARGO_TARGET_DIR", root.join(folder));
    command
}

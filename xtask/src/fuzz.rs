//! The two steps of the gate that need a sanitizer: the tests of the queues, and the fuzz targets.
//!
//! ```text
//! address   cargo test -p mainspring-queue           with -Zsanitizer=address, and the unit tests of mainspring alone
//! fuzz      fuzz/fuzz_targets/*.rs  ->  libFuzzer    with the flags that cargo-fuzz gives
//! ```
//!
//! The gate runs each target a fixed number of times from a fixed seed, so that its answer depends on the
//! code alone. `--seconds` is for a search: another seed each time, for as long as it says. What a search
//! finds becomes a test beside the code that was wrong.
//!
//! Sanitizers are not stable: `RUSTC_BOOTSTRAP` lets the compiler of the gate use them, so that nothing else
//! has to be installed. libFuzzer is compiled from C++; without a compiler for that nothing is fuzzed, which
//! [`skip`] says. The inputs of a search stay in `target/fuzz/corpus`.
//!
//! Cost: two builds in folders of their own, because other flags would make every later build start
//! over; then the tests, some three times slower than elsewhere, and half a minute for each target.
//!
//! It does not look for leaks: the tests of broken queues leak when they panic, on purpose.
//!
//! Source: [AddressSanitizer](https://doc.rust-lang.org/beta/unstable-book/compiler-flags/sanitizer.html);
//! [libFuzzer](https://llvm.org/docs/LibFuzzer.html).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::program::{self, is_there, succeed};
use crate::skips::skip;

/// The only target that both are run for: the one that the gate runs on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

const SANITIZER: &str = "-Zsanitizer=address";

/// Leaves out what only the other tests of mainspring need: see its manifest.
const ALONE: &str = "--cfg mainspring_alone";

/// What cargo-fuzz gives the compiler beside the sanitizer: counters for libFuzzer, and assertions.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions --cfg fuzzing";

/// The targets, as the manifest in `fuzz/` names them.
const FUZZ_TARGETS: [&str; 2] = ["queue", "cron_parse"];

/// How the gate runs each: about half a minute, always the same inputs.
const GATE: [&str; 3] = ["-runs=20000", "-seed=1", "-print_final_stats=1"];

/// Runs the tests of the queues under AddressSanitizer, and those of closures that lie in a queue's records.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn address(root: &Path) -> Result<(), String> {
    let queues: &[&str] = &["-p", "mainspring-queue", "--all-features", "--lib", "--tests"];
    let fronts: &[&str] = &["-p", "mainspring", "--features", "channel,poll", "--lib"];
    let test = |which: &&[&str]| {
        let mut test = cargo(root, &format!("{SANITIZER} {ALONE}"), "target/address");
        succeed(test.arg("test").args(*which).args(["--target", TARGET]))
    };
    [queues, fronts].iter().try_for_each(test)
}

/// Runs each fuzz target for `seconds`, or as the gate does.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn fuzz(root: &Path, seconds: Option<&str>) -> Result<(), String> {
    if !is_there("c++") {
        return skip("fuzz targets", "there is no C++ compiler, which libFuzzer needs");
    }
    let mut build = cargo(root, &format!("{SANITIZER} {COVERAGE}"), "target/fuzz");
    succeed(build.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", TARGET]))?;
    for target in FUZZ_TARGETS {
        let binary = root.join("target/fuzz").join(TARGET).join("release").join(target);
        let mut run = Command::new(binary);
        run.env("ASAN_OPTIONS", "detect_leaks=0").current_dir(root.join("target/fuzz"));
        if let Some(seconds) = seconds {
            let corpus = root.join("target/fuzz/corpus").join(target);
            fs::create_dir_all(&corpus)
                .map_err(|error| format!("cannot make {}: {error}", corpus.display()))?;
            run.arg(format!("-max_total_time={seconds}")).arg(corpus);
        } else {
            run.args(GATE);
        }
        succeed(&mut run)?;
    }
    Ok(())
}

/// Cargo with flags and a folder of its own.
fn cargo(root: &Path, flags: &str, folder: &str) -> Command {
    let mut command = program::cargo(root, &[]);
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
    command.env("ASAN_OPTIONS", "detect_leaks=0").env("CARGO_TARGET_DIR", root.join(folder));
    command
}

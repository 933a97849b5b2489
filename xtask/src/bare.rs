//! The libraries on other machines than this one: the queues without an operating system, and all of them on
//! other ones.
//!
//! | what is compiled | for | must |
//! |---|---|---|
//! | the example `no_std`, with an allocator and a panic handler | this machine | build |
//! | the same under `--cfg miri`, which selects the tables without a kernel | this machine | build |
//! | the same with the feature `contract`, which links std | this machine | fail |
//! | the queues | bare machines of 64 and of 32 bits | pass `cargo check` |
//! | the timers, with calendar and channels | Linux of 32 bits, a browser, WASI | pass `cargo check` |
//! | the same | macOS, Windows, FreeBSD | pass `cargo check` |
//! | the planner of jobs | Windows, FreeBSD | pass `cargo check` |
//! | the library of jobs, which leaves its page out there | Windows | pass `cargo check` |
//! | the library of jobs, and the program | macOS, Linux on ARM of 32 bits | pass `cargo check` |
//! | what opens prepared paths, under `--cfg mainspring_posix` | this machine | pass its tests |
//!
//! A library with a panic handler does not compile if anything below it links std, which brings one too. So
//! the first three rows need no target but the compiler's own; the third shows that the first two can fail.
//!
//! Under that cfg the calls that Linux alone has are left to the code for other systems: the walk through
//! folders is tested as macOS has it.
//!
//! Cost: some minutes of a processor, in the folder `target/bare`. Nothing runs on those machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{self, succeed};
use crate::{skips, targets};

/// What of the timers needs no operating system.
const TIMER_FEATURES: &str = "calendar,channel,report,serde";

/// What a program may ask for of the library of jobs, said beside another crate.
const LIBRARY_FEATURES: &str =
    "mainspring-embed/page,mainspring-embed/postgres,mainspring-embed/tower-03,mainspring-embed/tracing";

/// The crates that are checked together, with their features, and for which targets.
type Row = (&'static [&'static str], &'static str, &'static [&'static str]);

/// The timers, and the scheduler.
const CHECKS: [Row; 5] = [
    (&["mainspring-queue"], "", &["x86_64-unknown-none", "thumbv7em-none-eabihf"]),
    // What is for Linux of 64 bits, and for ARM, a program of `beside` is checked for.
    // The last four are the machines of people who write programs. No linker is needed, and none is here.
    (
        &["mainspring"],
        TIMER_FEATURES,
        &[
            "i686-unknown-linux-gnu",
            "wasm32-unknown-unknown",
            "wasm32-wasip1",
            "x86_64-apple-darwin",
            "aarch64-apple-darwin",
            "x86_64-pc-windows-msvc",
            "x86_64-unknown-freebsd",
        ],
    ),
    // Pure, so that jobs can be planned where the scheduler is not.
    (&["mainspring-job"], "", &["x86_64-pc-windows-msvc", "x86_64-unknown-freebsd"]),
    (&["mainspring-embed", "mainspring-cli"], LIBRARY_FEATURES, &SCHEDULER_TARGETS),
    // The other one, msvc, has a compiler of C of its own; Rust's part is the same.
    (&["mainspring-embed"], LIBRARY_FEATURES, &["x86_64-pc-windows-gnu"]),
];

const _: () = {
    let mut index = 0;
    while index < CHECKS.len() {
        assert!(!CHECKS[index].0.is_empty(), "a check of nothing is green");
        assert!(!CHECKS[index].2.is_empty(), "a check for nothing is green");
        index += 1;
    }
};

/// Where the scheduler is for, beside this machine: one of each system, and of each length of a pointer. None
/// of its code is of one kind of processor alone.
const SCHEDULER_TARGETS: [&str; 2] = ["aarch64-apple-darwin", "armv7-unknown-linux-gnueabihf"];

/// The probe.
const PROBE: &str = "xtask/probe";

/// Where the probe is built, away from the workspace, and all else.
const FOLDER: &str = "target/bare";

/// A C compiler that makes nothing.
const COMPILER: &str = "xtask/compile-nothing";

/// The variables by which the crate cc finds the compiler and the archiver for another target.
const VARIABLES: [&str; 2] = ["TARGET_CC", "TARGET_AR"];

/// What the compiler says of two panic handlers.
const DOUBLED: &str = "duplicate lang item `panic_impl`";

/// Checks the crates on this machine's own target, and for each of the others.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path) -> Result<(), String> {
    let folder = copy_probe(root)?;
    for flags in ["", "--cfg miri"] {
        succeed(probe(&folder, flags).args(["--features", "serde"]))?;
    }
    let linked = probe(&folder, "").args(["--features", "std"]).stderr(Stdio::piped()).output();
    let linked = linked.map_err(|error| format!("cargo could not be started: {error}"))?;
    if linked.status.success() || !String::from_utf8_lossy(&linked.stderr).contains(DOUBLED) {
        let stderr = String::from_utf8_lossy(&linked.stderr);
        return Err(format!(
            "the probe does not fail where std is linked, so that it shows nothing:\n{stderr}"
        ));
    }
    println!("the queues link no std, with and without the calls of Linux");
    test_elsewhere(root)?;
    CHECKS.iter().try_for_each(|row| check_row(root, row))
}

/// Copies the probe, with the versions of the workspace. Answers its folder.
fn copy_probe(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join(FOLDER);
    let describe = |error: std::io::Error| format!("{FOLDER} cannot be written: {error}");
    fs::create_dir_all(&folder).map_err(describe)?;
    for (from, name) in [("", "Cargo.lock"), (PROBE, "Cargo.toml"), (PROBE, "lib.rs")] {
        fs::copy(root.join(from).join(name), folder.join(name)).map_err(describe)?;
    }
    Ok(folder)
}

fn probe(folder: &Path, flags: &str) -> Command {
    let mut cargo = program::cargo(folder, &["build", "--quiet", "--offline"]);
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", folder.join("target"));
    cargo
}

/// Runs the tests of what opens prepared paths, as systems without Linux's calls have it.
fn test_elsewhere(root: &Path) -> Result<(), String> {
    let mut cargo = program::cargo(root, &["test", "--quiet", "-p", "mainspring-host", "--lib"]);
    cargo.env("RUSTFLAGS", "--cfg mainspring_posix");
    succeed(cargo.env("CARGO_TARGET_DIR", root.join(FOLDER).join("posix")))?;
    println!("prepared paths are walked without the calls of Linux");
    Ok(())
}

fn check_row(root: &Path, row: &Row) -> Result<(), String> {
    let (crates, features, names) = *row;
    if let Err(problem) = targets::install(names) {
        return skips::skip(targets::OMISSION, &problem);
    }
    let mut cargo = program::cargo(root, &["check", "--quiet", "--features", features]);
    cargo.args(crates.iter().flat_map(|name| ["-p", name]));
    cargo.args(names.iter().flat_map(|target| ["--target", target]));
    cargo.envs(VARIABLES.map(|variable| (variable, root.join(COMPILER))));
    succeed(cargo.env("CARGO_TARGET_DIR", root.join(FOLDER).join("target")))?;
    println!("{} compile for {}", crates.join(" and "), names.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_makes_the_files_that_are_asked_for_and_no_other() {
        let folder = std::env::temp_dir().join(format!("cross-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder of temporary files can be written");
        let compiler = crate::tidy::workspace_root().join(COMPILER);
        let run = |words: &[&str]| {
            succeed(Command::new(&compiler).args(words).current_dir(&folder)).expect("a shell runs it");
        };
        run(&["-O2", "--target=arm", "-c", "a b.c", "-o", "a b.o"]);
        run(&["cq", "libx.a", "a b.o"]);
        let found = fs::read_dir(&folder).expect("the folder is ours").flatten();
        let mut found: Vec<_> = found.map(|entry| entry.file_name()).collect();
        found.sort();
        assert_eq!(found, ["a b.o", "libx.a"]);
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}

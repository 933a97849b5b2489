//! The timer queues, checked for machines without an operating system.
//!
//! ```text
//!  rustc --print sysroot ──▶ lib/rustlib/TARGET, as far as it is there ──▶ cargo check --target TARGET
//! ```
//!
//! Cost: seconds for each target that is installed. Without one it says so and passes: that an example
//! compiles with `no_std` is a step of every build; this shows that nothing below it knows std either.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// Machines without an operating system: of 64 bits, and of 32.
const TARGETS: [&str; 5] = [
    "x86_64-unknown-none",
    "aarch64-unknown-none",
    "riscv32imac-unknown-none-elf",
    "thumbv7em-none-eabihf",
    "thumbv7m-none-eabi",
];

/// Checks the crate for each target that is installed.
pub fn run(root: &Path) -> ExitCode {
    conclude(check(root))
}

fn check(root: &Path) -> Result<(), String> {
    let installed = libraries()?;
    let mut count = 0;
    for target in TARGETS.into_iter().filter(|target| installed.join(target).join("lib").is_dir()) {
        let mut cargo = Command::new("cargo");
        cargo.args(["check", "-p", "mainspring-queue", "--lib", "--target", target]).current_dir(root);
        succeed(&mut cargo)?;
        count += 1;
    }
    if count == 0 {
        println!("no target without an operating system is installed: rustup target add {}", TARGETS[0]);
    }
    Ok(())
}

/// Where the libraries of all targets lie.
fn libraries() -> Result<PathBuf, String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("rustc could not be started: {error}"))?;
    Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("lib/rustlib"))
}

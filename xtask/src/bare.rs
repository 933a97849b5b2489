//! The timer queues, checked for machines without an operating system.
//!
//! | what is compiled | for | must |
//! |---|---|---|
//! | the example `no_std`, with an allocator and a panic handler | this machine | build |
//! | the same under `--cfg miri`, which selects the tables without a kernel | this machine | build |
//! | the same with the feature `contract`, which links std | this machine | fail |
//! | the library | each bare target that is installed | pass `cargo check` |
//!
//! A library with a panic handler does not compile if anything below it links std, which brings one too. So
//! the first three rows need no target but the compiler's own; the third shows that the first two can fail.
//!
//! Cost: seconds, in the folder `target/bare`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::program::{conclude, succeed};
use crate::skips;

/// Machines without an operating system: of 64 bits, and of 32.
const TARGETS: [&str; 5] = [
    "x86_64-unknown-none",
    "aarch64-unknown-none",
    "riscv32imac-unknown-none-elf",
    "thumbv7em-none-eabihf",
    "thumbv7m-none-eabi",
];

/// Where the probe is written and built.
const FOLDER: &str = "target/bare";

/// A static library: the compiler wants a panic handler and an allocator in it, and exactly one of each.
const MANIFEST: &str = r#"[package]
name = "probe"
edition = "2024"

[lib]
path = "lib.rs"
crate-type = ["staticlib"]

[features]
serde = ["mainspring-queue/serde"]
std = ["mainspring-queue/contract"]

[dependencies]
mainspring-queue = { path = "../../crates/mainspring-queue" }

[profile.dev]
panic = "abort"

[workspace]
"#;

/// The machine's part, around the program of the example.
const PROBE: &str = r#"#![no_std]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};

#[path = "../../crates/mainspring-queue/examples/no_std/pulse.rs"]
pub mod pulse;

struct Nowhere;

unsafe impl GlobalAlloc for Nowhere {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Nowhere = Nowhere;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
"#;

/// What the compiler says of two panic handlers.
const DOUBLED: &str = "duplicate lang item `panic_impl`";

/// Checks the crate on this machine's own target, and for each bare one that is installed.
pub fn run(root: &Path) -> ExitCode {
    conclude(check(root))
}

fn check(root: &Path) -> Result<(), String> {
    let folder = write_probe(root)?;
    for flags in ["", "--cfg miri"] {
        succeed(probe(&folder, flags).args(["--features", "serde"]))?;
    }
    let linked = probe(&folder, "").args(["--features", "std"]).stderr(Stdio::piped()).output();
    let linked = linked.map_err(|error| format!("cargo could not be started: {error}"))?;
    if linked.status.success() || !String::from_utf8_lossy(&linked.stderr).contains(DOUBLED) {
        let said = String::from_utf8_lossy(&linked.stderr);
        return Err(format!(
            "the probe does not fail where std is linked, so that it shows nothing:\n{said}"
        ));
    }
    println!("the queues link no std, with and without the calls of Linux");
    check_targets(root)
}

/// Writes the probe, with the versions of the workspace. Answers its folder.
fn write_probe(root: &Path) -> Result<PathBuf, String> {
    let folder = root.join(FOLDER);
    let told = |error: std::io::Error| format!("{FOLDER} cannot be written: {error}");
    fs::create_dir_all(&folder).map_err(told)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(told)?;
    fs::write(folder.join("Cargo.toml"), MANIFEST).map_err(told)?;
    fs::write(folder.join("lib.rs"), PROBE).map_err(told)?;
    Ok(folder)
}

fn probe(folder: &Path, flags: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--offline"]).current_dir(folder);
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", folder.join("target"));
    cargo
}

fn check_targets(root: &Path) -> Result<(), String> {
    let installed = libraries()?;
    let mut count = 0;
    for target in TARGETS.into_iter().filter(|target| installed.join(target).join("lib").is_dir()) {
        let mut cargo = Command::new("cargo");
        cargo.args(["check", "-p", "mainspring-queue", "--lib", "--target", target]).current_dir(root);
        succeed(&mut cargo)?;
        count += 1;
    }
    if count == 0 {
        return skips::skip(
            "bare targets",
            "none is installed; rustup target add x86_64-unknown-none installs one",
        );
    }
    Ok(())
}

/// Where the libraries of all targets lie.
fn libraries() -> Result<PathBuf, String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("rustc could not be started: {error}"))?;
    Ok(Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("lib/rustlib"))
}

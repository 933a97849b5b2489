//! Other targets than this machine's: the libraries that rustup has for them.
//!
//! Cost: a look; two seconds for each target that rustup brings, once on a machine.
//!
//! It installs no other version of Rust, and no linker: what is checked needs none, and WebAssembly's comes
//! with Rust.

use std::path::Path;
use std::process::Command;

use crate::program::{output, succeed};

/// What is left out where a target cannot be had, as [`skips`](crate::skips) knows it.
pub const OMISSION: &str = "other targets";

/// Has the libraries of `targets` installed.
///
/// # Errors
/// One is not there, and rustup is not or cannot bring it: the sentence says which.
pub fn install(targets: &[&str]) -> Result<(), String> {
    let root = output(Path::new("."), "rustc", &["--print", "sysroot"])?;
    let installed = Path::new(&root).join("lib/rustlib");
    for target in targets.iter().filter(|target| !installed.join(target).join("lib").is_dir()) {
        succeed(Command::new("rustup").args(["--quiet", "target", "add", target]))
            .map_err(|problem| format!("{target} is not installed: {problem}"))?;
    }
    Ok(())
}

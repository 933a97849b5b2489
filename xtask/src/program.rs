//! Other programs that a chore starts: whether they are there, whether they ended well, and what they print.
//!
//! Cost: that of the program.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use serde_json::Value;

/// Whether a program can be started at all: it is asked for its version.
pub fn is_there(program: &str) -> bool {
    is_well(Command::new(program).arg("--version"))
}

/// Whether a program ends well. What it prints is not shown.
pub fn is_well(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Cargo with these arguments, in a folder.
pub fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(folder);
    cargo
}

/// The packages of the workspace in `root`, as cargo tells them.
///
/// # Errors
/// Cargo does not tell them.
pub fn packages(root: &Path) -> Result<Vec<Value>, String> {
    let text = output(root, "cargo", &["metadata", "--no-deps", "--offline", "--format-version=1"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}

/// What a program prints.
///
/// # Errors
/// It could not be started, or did not end well.
pub fn output(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| format!("{program} could not be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{program} {} failed", arguments.join(" "))) }
}

/// Now: how long a chore takes is told, and decides nothing but what [`fast`](crate::fast) leaves out.
#[expect(clippy::disallowed_methods, reason = "no answer of a test is decided by time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Runs a program, which prints where this one prints.
///
/// # Errors
/// It could not be started, or did not end well.
pub fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    ended(&name, command.status())
}

/// Whether the program `name` ended well.
///
/// # Errors
/// It could not be started, or did not end well.
pub fn ended(name: &str, status: io::Result<ExitStatus>) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(error) => Err(format!("{name} could not be started: {error}")),
    }
}

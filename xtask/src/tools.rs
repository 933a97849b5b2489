//! Installs what the tests need beside Rust, where that is allowed, and says what they skip where it is not.
//!
//! | on this machine | then |
//! |---|---|
//! | Debian, as root | missing packages are installed with apt-get |
//! | anything else | a line for each missing tool: how to get it, and what is skipped without it |
//!
//! Each missing tool is said to the gate, by `skips`; with `CI` set it fails there.
//!
//! Cost: a look for each tool; minutes for the packages on a new machine.
//!
//! A daemon is installed if it is tried with what its package makes of a machine, and may begin to run there:
//! PostgreSQL, pgbouncer, nginx, Prometheus, Apache. Others are unpacked.
//!
//! Does not install Rust, nor the C linker that this program was built with. Changes nothing where all is
//! there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{is_there, is_well, succeed};
use crate::skips::skip;
use crate::tidy::workspace_root;

/// Alertmanager looks for its templates here alone, wherever it is unpacked itself.
const TEMPLATES: &str = "/usr/share/prometheus/alertmanager";

/// Where packages are unpacked that are not to be installed.
fn neighbours() -> PathBuf {
    workspace_root().join("target/neighbours")
}

/// The rows of all tools: the file says what a row has.
const ROWS: &str = include_str!("../packages.txt");

/// How a package comes here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Installed,
    /// Into a folder of the build, where the machine does not run it.
    Unpacked,
    /// Into the same folder, as the lock file of a folder of `testdata` says.
    FromNpm,
}

/// Something that tests need.
struct Tool {
    way: Way,
    /// The Debian packages that have it, or the folder of `testdata`.
    packages: &'static str,
    shown_by: &'static str,
    /// What is skipped without it.
    skipped: &'static str,
}

impl Tool {
    fn parse(row: &'static str) -> Option<Tool> {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [way, packages, shown_by, skipped] = cells[..] else { return None };
        let way = match way {
            "installed" => Way::Installed,
            "unpacked" => Way::Unpacked,
            "from npm" => Way::FromNpm,
            _ => return None,
        };
        Some(Tool { way, packages, shown_by, skipped })
    }

    fn is_there(&self) -> bool {
        match self.way {
            Way::FromNpm => is_from_npm(self.packages),
            Way::Installed | Way::Unpacked => {
                self.shown_by.split(" and ").all(|signs| signs.split(" or ").any(is_shown_by))
            }
        }
    }

    fn advice(&self) -> String {
        match self.way {
            Way::FromNpm => {
                format!("npm ci, with the files of testdata/{}, has what they need", self.packages)
            }
            _ => format!("apt-get install {}, as root, has what they need", self.packages),
        }
    }
}

fn tools() -> impl Iterator<Item = Tool> {
    let rows = ROWS.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| Tool::parse(row).unwrap_or_else(|| panic!("packages.txt has a row that is none: {row}")))
}

/// Whether a program ends well, or a file is there: see the rows.
fn is_shown_by(sign: &str) -> bool {
    let mut words = sign.split(' ');
    let first = words.next().unwrap_or_default();
    match first.split_once("/*/") {
        Some((folders, file)) => {
            let folders = fs::read_dir(folders).into_iter().flatten().flatten();
            folders.into_iter().any(|folder| folder.path().join(file).exists())
        }
        None if first.contains('/') => {
            ["/".into(), neighbours()].iter().any(|root| root.join(first).exists())
        }
        None => is_well(Command::new(first).args(words)),
    }
}

/// Whether what the lock file of a folder of `testdata` names is installed.
fn is_from_npm(name: &str) -> bool {
    let read = |place: &Path| fs::read(place.join(name).join("package-lock.json")).ok();
    // npm writes this file last.
    neighbours().join(name).join("node_modules/.package-lock.json").exists()
        && read(&neighbours()) == read(&workspace_root().join("testdata"))
}

/// Installs what is missing, or says what is skipped.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run() -> Result<(), String> {
    if !is_root() {
        skip("trials", "only root can become another user")?;
    }
    let missing: Vec<Tool> = tools().filter(|tool| !tool.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !may_install() {
        return missing.iter().try_for_each(|tool| skip(tool.skipped, &tool.advice()));
    }
    succeed(apt_get().args(["update", "-qq"]))?;
    let packages = |way: Way| {
        missing.iter().filter(move |tool| tool.way == way).flat_map(|tool| tool.packages.split(' '))
    };
    packages(Way::Unpacked).try_for_each(unpack)?;
    if packages(Way::Installed).next().is_some() {
        let install = ["install", "--yes", "-qq", "--no-install-recommends"];
        succeed(apt_get().args(install).args(packages(Way::Installed)))?;
    }
    packages(Way::FromNpm).try_for_each(install_from_npm)
}

fn install_from_npm(name: &str) -> Result<(), String> {
    let (wanted, folder) = (workspace_root().join("testdata").join(name), neighbours().join(name));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for file in ["package.json", "package-lock.json"] {
        let describe = |error| format!("{}: {error}", wanted.join(file).display());
        fs::copy(wanted.join(file), folder.join(file)).map_err(describe)?;
    }
    succeed(
        Command::new("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&folder),
    )
}

fn unpack(package: &str) -> Result<(), String> {
    let folder = neighbours();
    let describe = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(describe)?;
    succeed(apt_get().args(["download", "-qq", package]).current_dir(&folder))?;
    for entry in fs::read_dir(&folder).map_err(describe)?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            succeed(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(&folder))?;
        }
    }
    let templates = folder.join(TEMPLATES.trim_start_matches('/'));
    if templates.exists() && !Path::new(TEMPLATES).exists() {
        let place = Path::new(TEMPLATES).parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(place).map_err(describe)?;
        succeed(Command::new("cp").arg("-r").arg(templates).arg(place))?;
    }
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // It asks nothing, as there may be no person to answer.
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn may_install() -> bool {
    is_root() && is_there("apt-get")
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Whether a program can link libpq: its headers come with what it is linked with.
pub fn has_libpq() -> bool {
    Path::new("/usr/include/postgresql/libpq-fe.h").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_a_tool_that_says_what_is_skipped_without_it_and_how_to_get_it() {
        let rows = ROWS.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(tools().count(), rows.count());
        for tool in tools() {
            let line = tool.advice();
            assert!(line.contains(tool.packages), "{line}");
            assert!(!tool.packages.is_empty() && !tool.skipped.is_empty(), "{line}");
        }
    }

    #[test]
    fn a_tool_is_there_by_programs_and_files() {
        let root = env!("CARGO_MANIFEST_DIR");
        for sign in ["cargo --version".to_owned(), format!("{root}/Cargo.toml"), format!("{root}/*/main.rs")]
        {
            assert!(is_shown_by(&sign), "{sign}");
        }
        for sign in ["no-such-program --version", "/no/such/file", "/no/*/file", "no/such/file"] {
            assert!(!is_shown_by(sign), "{sign}");
        }
    }
}

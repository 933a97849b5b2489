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
    packages: &'static [&'static str],
    is_there: fn() -> bool,
    /// What is skipped without it.
    skipped: &'static str,
}

/// A tool that is installed.
const fn tool(packages: &'static [&'static str], is_there: fn() -> bool, skipped: &'static str) -> Tool {
    Tool { way: Way::Installed, packages, is_there, skipped }
}

impl Tool {
    /// The same, which comes another way.
    const fn comes(self, way: Way) -> Tool {
        Tool { way, ..self }
    }
}

const TOOLS: &[Tool] = &[
    tool(&["g++"], || is_there("c++"), "the fuzz targets, because libFuzzer is written in C++"),
    tool(
        &["tzdata"],
        || Path::new("/usr/share/zoneinfo/Europe/Berlin").exists(),
        "tests in which the programs of jobs show the time of a zone",
    ),
    tool(
        &["libfaketime"],
        || is_in_a_library_folder("faketime/libfaketime.so.1"),
        "two tests that set the clock of a real server",
    ),
    tool(&["btrfs-progs"], || is_there("mkfs.btrfs"), "a full disk and a full quota on btrfs"),
    tool(&["valgrind"], || is_there("valgrind"), "the counts of instructions"),
    tool(
        &["postgresql-15"],
        || Path::new("/usr/lib/postgresql/15/bin/initdb").exists(),
        "the store that several servers share, in a real database, and two programs that use one",
    ),
    tool(&["libpq-dev"], has_libpq, "a program with diesel on PostgreSQL"),
    tool(
        &["pgbouncer"],
        || Path::new("/usr/sbin/pgbouncer").exists(),
        "the same store through a pooler in transaction mode",
    ),
    tool(
        &["python3-minimal"],
        || is_there("python3"),
        "security trials that call what the kernel has no command for",
    ),
    tool(
        &["python3-venv"],
        || is_well(Command::new("python3").args(["-m", "ensurepip", "--version"])),
        "the HTTP API against its description, with schemathesis",
    ),
    tool(
        &["nodejs", "npm"],
        || is_there("node") && is_there("npm"),
        "the tests of the page, and a program in WebAssembly",
    ),
    tool(
        &["chromium-headless-shell"],
        || {
            let places = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
            places.iter().any(|place| Path::new(place).exists())
        },
        "the page in a browser",
    ),
    tool(&["systemd"], || is_there("systemd-analyze"), "the units for systemd, as systemd reads them"),
    tool(
        &["nginx-light"],
        || is_well(Command::new("nginx").arg("-v")),
        "the listener behind a proxy, and the examples for nginx",
    ),
    tool(
        &["prometheus"],
        || is_there("promtool") && is_there("prometheus"),
        "the check of the alert rules, and what alerts say",
    ),
    tool(
        &["prometheus-alertmanager"],
        || is_unpacked("usr/bin/prometheus-alertmanager") && Path::new(TEMPLATES).exists(),
        "what Alertmanager makes of alerts",
    )
    .comes(Way::Unpacked),
    tool(&["caddy"], || is_unpacked("usr/bin/caddy"), "the examples for Caddy").comes(Way::Unpacked),
    tool(&["cron"], || is_unpacked("usr/sbin/cron"), "the comparison with Debian's cron")
        .comes(Way::Unpacked),
    tool(
        &["apache2", "libapache2-mod-auth-openidc"],
        || is_there("a2enmod") && Path::new("/usr/lib/apache2/modules/mod_auth_openidc.so").exists(),
        "the example for Apache",
    ),
    tool(
        &["identity"],
        || {
            let read = |place: &Path| std::fs::read(place.join("identity/package-lock.json")).ok();
            // npm writes this file last.
            neighbours().join("identity/node_modules/.package-lock.json").exists()
                && read(&neighbours()) == read(&workspace_root().join("testdata"))
        },
        "people whom a provider of identities knows",
    )
    .comes(Way::FromNpm),
];

/// Installs what is missing, or says what is skipped.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run() -> Result<(), String> {
    if !is_root() {
        skip("trials", "only root can become another user")?;
    }
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| !(tool.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !may_install() {
        return missing.iter().try_for_each(|tool| skip(tool.skipped, &advice(tool)));
    }
    succeed(apt_get().args(["update", "-qq"]))?;
    let packages =
        |way: Way| missing.iter().filter(move |tool| tool.way == way).flat_map(|tool| tool.packages);
    packages(Way::Unpacked).try_for_each(|package| unpack(package))?;
    if packages(Way::Installed).next().is_some() {
        let install = ["install", "--yes", "-qq", "--no-install-recommends"];
        succeed(apt_get().args(install).args(packages(Way::Installed)))?;
    }
    packages(Way::FromNpm).try_for_each(|folder| install_from_npm(folder))
}

fn install_from_npm(name: &str) -> Result<(), String> {
    let (wanted, folder) = (workspace_root().join("testdata").join(name), neighbours().join(name));
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for file in ["package.json", "package-lock.json"] {
        let describe = |error| format!("{}: {error}", wanted.join(file).display());
        std::fs::copy(wanted.join(file), folder.join(file)).map_err(describe)?;
    }
    succeed(
        Command::new("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&folder),
    )
}

fn unpack(package: &str) -> Result<(), String> {
    let folder = neighbours();
    let describe = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(describe)?;
    succeed(apt_get().args(["download", "-qq", package]).current_dir(&folder))?;
    for entry in std::fs::read_dir(&folder).map_err(describe)?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            succeed(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(&folder))?;
        }
    }
    let templates = folder.join(TEMPLATES.trim_start_matches('/'));
    if templates.exists() && !Path::new(TEMPLATES).exists() {
        let place = Path::new(TEMPLATES).parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(place).map_err(describe)?;
        succeed(Command::new("cp").arg("-r").arg(templates).arg(place))?;
    }
    Ok(())
}

fn advice(tool: &Tool) -> String {
    match tool.way {
        Way::FromNpm => {
            format!("npm ci, with the files of testdata/{}, has what they need", tool.packages[0])
        }
        _ => format!("apt-get install {}, as root, has what they need", tool.packages.join(" ")),
    }
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

/// Whether a file of a package is there, installed or unpacked.
fn is_unpacked(name: &str) -> bool {
    ["/".into(), neighbours()].iter().any(|root: &PathBuf| root.join(name).exists())
}

/// Whether a program can link libpq: its headers come with what it is linked with.
pub fn has_libpq() -> bool {
    Path::new("/usr/include/postgresql/libpq-fe.h").exists()
}

/// Whether a file is in a folder of libraries of some architecture.
fn is_in_a_library_folder(name: &str) -> bool {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders.into_iter().any(|folder| folder.path().join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_says_what_is_skipped_without_it_and_how_to_get_it() {
        for tool in TOOLS {
            let line = advice(tool);
            assert!(!tool.packages.is_empty() && !tool.skipped.is_empty(), "{line}");
            assert!(line.contains(tool.packages[0]), "{line}");
        }
    }
}

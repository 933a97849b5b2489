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

const TOOLS: &[Tool] = &[
    Tool {
        way: Way::Installed,
        packages: &["g++"],
        is_there: || is_there("c++"),
        skipped: "the fuzz targets, because libFuzzer is written in C++",
    },
    Tool {
        way: Way::Installed,
        packages: &["tzdata"],
        is_there: || Path::new("/usr/share/zoneinfo/Europe/Berlin").exists(),
        skipped: "tests in which the programs of jobs show the time of a zone",
    },
    Tool {
        way: Way::Installed,
        packages: &["libfaketime"],
        is_there: || is_in_a_library_folder("faketime/libfaketime.so.1"),
        skipped: "two tests that set the clock of a real server",
    },
    Tool {
        way: Way::Installed,
        packages: &["valgrind"],
        is_there: || is_there("valgrind"),
        skipped: "the counts of instructions",
    },
    Tool {
        way: Way::Installed,
        packages: &["postgresql-15"],
        is_there: || Path::new("/usr/lib/postgresql/15/bin/initdb").exists(),
        skipped: "the store that several servers share, in a real database, and two programs that use one",
    },
    Tool {
        way: Way::Installed,
        packages: &["libpq-dev"],
        is_there: has_libpq,
        skipped: "a program with diesel on PostgreSQL",
    },
    Tool {
        way: Way::Installed,
        packages: &["pgbouncer"],
        is_there: || Path::new("/usr/sbin/pgbouncer").exists(),
        skipped: "the same store through a pooler in transaction mode",
    },
    Tool {
        way: Way::Installed,
        packages: &["python3-minimal"],
        is_there: || is_there("python3"),
        skipped: "security trials that call what the kernel has no command for",
    },
    Tool {
        way: Way::Installed,
        packages: &["python3-venv"],
        is_there: || is_well(Command::new("python3").args(["-m", "ensurepip", "--version"])),
        skipped: "the HTTP API against its description, with schemathesis",
    },
    Tool {
        way: Way::Installed,
        packages: &["nodejs", "npm"],
        is_there: || is_there("node") && is_there("npm"),
        skipped: "the tests of the page, and a program in WebAssembly",
    },
    Tool {
        way: Way::Installed,
        packages: &["chromium-headless-shell"],
        is_there: || {
            let places = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
            places.iter().any(|place| Path::new(place).exists())
        },
        skipped: "the page in a browser",
    },
    Tool {
        way: Way::Installed,
        packages: &["systemd"],
        is_there: || is_there("systemd-analyze"),
        skipped: "the units for systemd, as systemd reads them",
    },
    Tool {
        way: Way::Installed,
        packages: &["nginx-light"],
        is_there: || is_well(Command::new("nginx").arg("-v")),
        skipped: "the listener behind a proxy, and the examples for nginx",
    },
    Tool {
        way: Way::Installed,
        packages: &["prometheus"],
        is_there: || is_there("promtool") && is_there("prometheus"),
        skipped: "the check of the alert rules, and what alerts say",
    },
    Tool {
        way: Way::Unpacked,
        packages: &["prometheus-alertmanager"],
        is_there: || is_unpacked("usr/bin/prometheus-alertmanager") && Path::new(TEMPLATES).exists(),
        skipped: "what Alertmanager makes of alerts",
    },
    Tool {
        way: Way::Unpacked,
        packages: &["caddy"],
        is_there: || is_unpacked("usr/bin/caddy"),
        skipped: "the examples for Caddy",
    },
    Tool {
        way: Way::Unpacked,
        packages: &["cron"],
        is_there: || is_unpacked("usr/sbin/cron"),
        skipped: "the comparison with Debian's cron",
    },
    Tool {
        way: Way::Installed,
        packages: &["apache2", "libapache2-mod-auth-openidc"],
        is_there: || {
            is_there("a2enmod") && Path::new("/usr/lib/apache2/modules/mod_auth_openidc.so").exists()
        },
        skipped: "the example for Apache",
    },
    Tool {
        way: Way::FromNpm,
        packages: &["identity"],
        is_there: || {
            let read = |place: &Path| std::fs::read(place.join("identity/package-lock.json")).ok();
            // npm writes this file last.
            neighbours().join("identity/node_modules/.package-lock.json").exists()
                && read(&neighbours()) == read(&workspace_root().join("testdata"))
        },
        skipped: "people whom a provider of identities knows",
    },
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
    let user = Command::new("id").arg("--user").output();
    user.is_ok_and(|output| output.stdout == b"0\n")
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

//! The packages: what a registry would get, unpacked and tested away from the workspace.
//!
//! ```text
//! cargo package  ->  target/package/NAME-VERSION.crate  ->  target/packaged/NAME-VERSION/  ->  cargo test
//!                                                           target/packaged/Cargo.toml
//! ```
//!
//! The archives are unpacked into a scratch workspace, which patches the registry's versions of our own
//! crates with the unpacked ones and has the profiles of the real workspace. A test that reads a file outside
//! its package fails there, and so does an example that only compiles beside its neighbours.
//!
//! In the gate this is where the libraries are tested: their tests are compiled and run once, as those who
//! depend on them have them.
//!
//! Cost: four crates and their tests are compiled and run, some minutes on two cores. Dependencies that were
//! built with the same features are taken from the target folder of the workspace. It publishes nothing and
//! needs no network: what the workspace's lock file names has been fetched before.
//!
//! It does not test the program, which is no library, and needs `tar`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::program::{conclude, succeed};

/// The libraries, in the order in which they depend on each other.
pub(crate) const LIBRARIES: [&str; 4] =
    ["mainspring-queue", "mainspring-cron", "mainspring-job", "mainspring"];

/// What must lie in each archive besides the code. The licences ask for their text to travel with it.
const REQUIRED: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Names the repository to a test that compares a package with what the repository says, as the manual. Who
/// tests a package elsewhere has no repository, and the test is skipped.
const REPOSITORY: &str = "MAINSPRING_REPOSITORY";

/// Packs every library of the workspace in `root`, unpacks it and tests it there.
pub fn run(root: &Path) -> ExitCode {
    conclude(package(root))
}

fn package(root: &Path) -> Result<(), String> {
    let target = root.join("target");
    let scratch = target.join("packaged");
    remove(&target.join("package"))?;
    remove(&scratch)?;
    fs::create_dir_all(&scratch).map_err(|error| told("cannot be made", &scratch, &error))?;

    // Uncommitted changes are packed too: the gate is for the tree as it is.
    let mut pack = cargo(root, &["package", "--offline", "--no-verify", "--allow-dirty"]);
    pack.arg("--target-dir").arg(&target);
    succeed(pack.args(LIBRARIES.iter().flat_map(|library| ["-p", library])))?;

    let folders = LIBRARIES.map(|library| unpack(&target.join("package"), library, &scratch));
    let folders: Vec<String> = folders.into_iter().collect::<Result<_, _>>()?;
    let manifest = read(&root.join("Cargo.toml"))?;
    write(&scratch.join("Cargo.toml"), &scratch_manifest(&manifest, &folders))?;
    // The same versions of everything, without asking a registry.
    write(&scratch.join("Cargo.lock"), &read(&root.join("Cargo.lock"))?)?;

    let mut test = cargo(&scratch, &["test", "--offline", "--workspace", "--all-features"]);
    test.env(REPOSITORY, root);
    succeed(test.arg("--no-fail-fast").arg("--target-dir").arg(&target))
}

/// Unpacks the archive of a library and answers the name of its folder.
fn unpack(archives: &Path, library: &str, scratch: &Path) -> Result<String, String> {
    let entries = fs::read_dir(archives).map_err(|error| told("cannot be read", archives, &error))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let folder = names
        .filter_map(|name| name.strip_suffix(".crate").map(str::to_owned))
        .find(|name| is_version_of(name, library))
        .ok_or_else(|| format!("{} holds no archive of {library}", archives.display()))?;
    // --touch: the times in an archive are all the same, so cargo would take changed code for unchanged.
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--touch", "--file"]).arg(archives.join(format!("{folder}.crate")));
    succeed(tar.arg("--directory").arg(scratch))?;
    for name in REQUIRED {
        if !scratch.join(&folder).join(name).is_file() {
            return Err(format!("the package {folder} lacks {name}"));
        }
    }
    Ok(folder)
}

/// Whether `name` is `library` and a version: the library `mainspring` is not `mainspring-queue-0.1.0`.
fn is_version_of(name: &str, library: &str) -> bool {
    let version = name.strip_prefix(library).and_then(|rest| rest.strip_prefix('-'));
    version.is_some_and(|version| version.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// A workspace of the unpacked libraries, with the profiles of the real one.
fn scratch_manifest(manifest: &str, folders: &[String]) -> String {
    let members: Vec<String> = folders.iter().map(|folder| format!("\"{folder}\"")).collect();
    let patches: Vec<String> = LIBRARIES
        .iter()
        .zip(folders)
        .map(|(library, folder)| format!("{library} = {{ path = \"{folder}\" }}"))
        .collect();
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\n{}\n\n{}",
        members.join(", "),
        patches.join("\n"),
        profiles(manifest)
    )
}

/// The tables of a manifest whose names begin with `profile`, without those of our crates that are no
/// libraries: cargo warns of a profile of a package that is not there.
fn profiles(manifest: &str) -> String {
    let mut is_kept = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_kept = line.starts_with("[profile.") && !is_of_the_program(line);
        }
        is_kept
    });
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// Whether the head of a table names a crate of ours that is not packed.
fn is_of_the_program(head: &str) -> bool {
    let package = head.trim_end_matches(']').split_once(".package.").map_or("", |(_, package)| package);
    (package.starts_with("mainspring") || package == "xtask") && !LIBRARIES.contains(&package)
}

fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(folder);
    command
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(told("cannot be removed", folder, &error))
        }
        _ => Ok(()),
    }
}

fn read(path: &PathBuf) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| told("cannot be read", path, &error))
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| told("cannot be written", path, &error))
}

fn told(what: &str, path: &Path, error: &io::Error) -> String {
    format!("{} {what}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_of_a_library_if_a_version_follows_its_name() {
        assert!(is_version_of("mainspring-0.1.0", "mainspring"));
        assert!(is_version_of("mainspring-queue-0.1.0", "mainspring-queue"));
        assert!(!is_version_of("mainspring-queue-0.1.0", "mainspring"));
        assert!(!is_version_of("mainspring", "mainspring"));
    }

    #[test]
    fn the_scratch_workspace_patches_each_library_and_keeps_the_profiles() {
        let manifest =
            "[workspace]\nmembers = []\n\n[profile.test]\nopt-level = 1\n\n[workspace.lints]\nx = 1\n";
        let folders = LIBRARIES.map(|library| format!("{library}-1.2.3"));
        let scratch = scratch_manifest(manifest, &folders);
        assert!(scratch.contains("mainspring-cron = { path = \"mainspring-cron-1.2.3\" }"), "{scratch}");
        assert!(scratch.contains("\"mainspring-1.2.3\"]"), "{scratch}");
        assert!(scratch.ends_with("[profile.test]\nopt-level = 1\n\n"), "{scratch}");
        assert!(!scratch.contains("lints"), "{scratch}");
    }

    #[test]
    fn the_profile_of_a_crate_that_is_not_packed_is_left_out() {
        let table = |package: &str| format!("[profile.test.package.{package}]\nopt-level = 3\n");
        for package in ["mainspring", "mainspring-job", "jiff"] {
            assert_eq!(profiles(&table(package)), table(package));
        }
        for package in ["mainspring-web", "xtask"] {
            assert_eq!(profiles(&table(package)), "");
        }
    }
}

//! The packages: what a registry would get, unpacked and tried away from the workspace, then published.
//!
//! ```text
//! cargo package  ->  target/package/NAME-VERSION.crate  ->  target/packaged/NAME-VERSION/  ->  cargo test, cargo check
//!                                                           target/packaged/Cargo.toml
//! cargo publish  --dry-run, or really, if no caller breaks: in the order in which they depend on each other
//! ```
//!
//! What is published is every crate whose manifest does not forbid it. Programs depend on some of them; the
//! others are internal, and say so.
//!
//! The archives are unpacked into a scratch workspace, which patches the registry's versions of our own
//! crates with the unpacked ones and has the profiles of the real workspace. A test that reads a file outside
//! its package fails there, and so does a crate that only compiles beside its neighbours.
//!
//! In the gate this is where the libraries are tested: their tests are compiled and run once, as those who
//! depend on them have them. `mainspring-embed` and what it stands on are tested with the program, so they
//! are checked here with all features, and not tested twice.
//!
//! Cost: four crates and their tests are compiled and run, and eleven checked, some minutes on two cores.
//! Dependencies that were built with the same features are taken from the target folder of the workspace.
//! `cargo publish` asks the registry, dry too.
//!
//! It does not test the program, which is no library, and needs `tar`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::program::{cargo, packages, succeed};
use crate::semver;

/// The libraries that are tested here, in the order in which they depend on each other.
pub(crate) const LIBRARIES: [&str; 4] =
    ["mainspring-queue", "mainspring-cron", "mainspring-job", "mainspring"];

/// The README of the crates that no program should depend on.
const INTERNAL: &str = "internal.md";

/// What must lie in each archive besides the code, by one of the names of a row. The licences ask for their
/// text to travel with it.
const REQUIRED: [&[&str]; 3] = [&["LICENSE-APACHE"], &["LICENSE-MIT"], &["README.md", INTERNAL]];

/// Names the repository to a test that compares a package with what the repository says, as the manual. Who
/// tests a package elsewhere has no repository, and the test is skipped.
const REPOSITORY: &str = "MAINSPRING_REPOSITORY";

/// Whether the registry gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything but the upload.
    Dry,
    /// Crates of a clean work tree, by the token that cargo has.
    Real,
}

/// Packs every crate of the workspace in `root` that is published, unpacks and tries it there, and publishes.
///
/// # Errors
/// What went wrong, in a sentence.
pub fn run(root: &Path, mode: Mode) -> Result<(), String> {
    try_packages(root)?;
    publish(root, mode)
}

fn try_packages(root: &Path) -> Result<(), String> {
    let target = root.join("target");
    let scratch = target.join("packaged");
    remove(&target.join("package"))?;
    remove(&scratch)?;
    fs::create_dir_all(&scratch).map_err(|error| describe("cannot be made", &scratch, &error))?;

    let packages = published(root)?;
    let is_published = |library: &&str| packages.iter().any(|package| package == library);
    assert!(LIBRARIES.iter().all(is_published), "what is tested as a package is one");
    // Uncommitted changes are packed too: the gate is for the tree as it is.
    let mut pack = cargo(root, &["package", "--offline", "--no-verify", "--allow-dirty"]);
    pack.arg("--target-dir").arg(&target);
    succeed(pack.args(packages.iter().flat_map(|package| ["-p", package])))?;

    let folders = packages.iter().map(|package| unpack(&target.join("package"), package, &scratch));
    let folders: Vec<String> = folders.collect::<Result<_, _>>()?;
    let manifest = read(&root.join("Cargo.toml"))?;
    write(&scratch.join("Cargo.toml"), &scratch_manifest(&manifest, &packages, &folders))?;
    // The same versions of everything, without asking a registry.
    write(&scratch.join("Cargo.lock"), &read(&root.join("Cargo.lock"))?)?;

    let mut check = cargo(&scratch, &["check", "--offline", "--workspace", "--all-features"]);
    succeed(check.arg("--target-dir").arg(&target))?;
    let mut test = cargo(&scratch, &["test", "--offline", "--all-features", "--no-fail-fast"]);
    test.env(REPOSITORY, root).args(LIBRARIES.iter().flat_map(|library| ["-p", library]));
    succeed(test.arg("--target-dir").arg(&target))
}

/// Publishes, or does all that comes before the upload. Cargo knows the order, and what is not published.
fn publish(root: &Path, mode: Mode) -> Result<(), String> {
    // They have been verified as a whole: cargo would compile each of them, with all below it, once more.
    let mut publish = cargo(root, &["publish", "--workspace", "--no-verify"]);
    match mode {
        Mode::Dry => _ = publish.args(["--dry-run", "--allow-dirty"]),
        Mode::Real => semver::compare(root)?,
    }
    succeed(&mut publish)
}

/// The names of the crates whose manifests do not forbid to publish them.
fn published(root: &Path) -> Result<Vec<String>, String> {
    let mut packages = packages(root)?;
    packages.retain(|package| package["publish"].is_null());
    let mut names: Vec<String> =
        packages.iter().filter_map(|package| package["name"].as_str()).map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}

/// Unpacks the archive of a package and answers the name of its folder.
fn unpack(archives: &Path, package: &str, scratch: &Path) -> Result<String, String> {
    let entries = fs::read_dir(archives).map_err(|error| describe("cannot be read", archives, &error))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let folder = names
        .filter_map(|name| name.strip_suffix(".crate").map(str::to_owned))
        .find(|name| is_version_of(name, package))
        .ok_or_else(|| format!("{} holds no archive of {package}", archives.display()))?;
    // --touch: the times in an archive are all the same, so cargo would take changed code for unchanged.
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--touch", "--file"]).arg(archives.join(format!("{folder}.crate")));
    succeed(tar.arg("--directory").arg(scratch))?;
    for names in REQUIRED {
        if !names.iter().any(|name| scratch.join(&folder).join(name).is_file()) {
            return Err(format!("the package {folder} lacks {}", names[0]));
        }
    }
    Ok(folder)
}

/// Whether `name` is `library` and a version: the library `mainspring` is not `mainspring-queue-0.1.0`.
fn is_version_of(name: &str, library: &str) -> bool {
    let version = name.strip_prefix(library).and_then(|rest| rest.strip_prefix('-'));
    version.is_some_and(|version| version.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// A workspace of the unpacked packages, with the profiles of the real one.
fn scratch_manifest(manifest: &str, packages: &[String], folders: &[String]) -> String {
    let members: Vec<String> = folders.iter().map(|folder| format!("\"{folder}\"")).collect();
    let patches: Vec<String> = packages
        .iter()
        .zip(folders)
        .map(|(package, folder)| format!("{package} = {{ path = \"{folder}\" }}"))
        .collect();
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\n{}\n\n{}",
        members.join(", "),
        patches.join("\n"),
        profiles(manifest, packages)
    )
}

/// The tables of a manifest whose names begin with `profile`, without those of our crates that are not
/// packed: cargo warns of a profile of a package that is not there.
fn profiles(manifest: &str, packages: &[String]) -> String {
    let mut is_kept = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_kept = line.starts_with("[profile.") && !is_left_out(line, packages);
        }
        is_kept
    });
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// Whether the head of a table names a crate of ours that is not packed.
fn is_left_out(head: &str, packages: &[String]) -> bool {
    let name = head.trim_end_matches(']').split_once(".package.").map_or("", |(_, name)| name);
    (name.starts_with("mainspring") || name == "xtask") && !packages.iter().any(|package| package == name)
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(describe("cannot be removed", folder, &error))
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| describe("cannot be read", path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| describe("cannot be written", path, &error))
}

fn describe(what: &str, path: &Path, error: &io::Error) -> String {
    format!("{} {what}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace_root;

    #[test]
    fn an_archive_is_of_a_library_if_a_version_follows_its_name() {
        assert!(is_version_of("mainspring-0.1.0", "mainspring"));
        assert!(is_version_of("mainspring-queue-0.1.0", "mainspring-queue"));
        assert!(!is_version_of("mainspring-queue-0.1.0", "mainspring"));
        assert!(!is_version_of("mainspring", "mainspring"));
    }

    #[test]
    fn the_scratch_workspace_patches_each_package_and_keeps_the_profiles() {
        let manifest =
            "[workspace]\nmembers = []\n\n[profile.test]\nopt-level = 1\n\n[workspace.lints]\nx = 1\n";
        let packages = LIBRARIES.map(str::to_owned);
        let folders = LIBRARIES.map(|library| format!("{library}-1.2.3"));
        let scratch = scratch_manifest(manifest, &packages, &folders);
        assert!(scratch.contains("mainspring-cron = { path = \"mainspring-cron-1.2.3\" }"), "{scratch}");
        assert!(scratch.contains("\"mainspring-1.2.3\"]"), "{scratch}");
        assert!(scratch.ends_with("[profile.test]\nopt-level = 1\n\n"), "{scratch}");
        assert!(!scratch.contains("lints"), "{scratch}");
    }

    #[test]
    fn the_profile_of_a_crate_that_is_not_packed_is_left_out() {
        let packages = LIBRARIES.map(str::to_owned);
        let table = |package: &str| format!("[profile.test.package.{package}]\nopt-level = 3\n");
        for package in ["mainspring", "mainspring-job", "jiff"] {
            assert_eq!(profiles(&table(package), &packages), table(package));
        }
        for package in ["mainspring-web", "xtask"] {
            assert_eq!(profiles(&table(package), &packages), "");
        }
    }

    /// What programs depend on.
    fn is_for_programs(name: &str) -> bool {
        name == "mainspring-embed" || LIBRARIES.contains(&name)
    }

    #[test]
    fn what_is_published_and_not_for_programs_says_that_it_is_internal() {
        let root = workspace_root();
        let versions = read(&root.join("Cargo.toml")).expect("the workspace has a manifest");
        let names = published(&root).expect("the manifests can be read");
        assert!(names.iter().any(|name| !is_for_programs(name)), "{names:?}");
        for name in names {
            let manifest = root.join("crates").join(&name).join("Cargo.toml");
            let manifest = read(&manifest).expect("the manifest can be read");
            let is_internal = manifest.contains("description = \"Internal to Mainspring: ");
            assert_eq!(is_internal, !is_for_programs(&name), "the description of {name}");
            assert_eq!(
                manifest.contains(&format!("readme = \"../{INTERNAL}\"")),
                is_internal,
                "the README of {name}"
            );
            // No later version of it goes with an earlier one of what stands on it.
            let exact = format!("\n{name} = {{ path = \"crates/{name}\", version = \"=");
            assert_eq!(versions.contains(&exact), is_internal, "the version of {name} that others ask for");
        }
        let readme = read(&root.join("crates").join(INTERNAL)).expect("it is committed");
        assert!(readme.starts_with("Internal to [Mainspring]"), "{readme}");
    }
}

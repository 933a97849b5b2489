//! What installs the program: the unit for systemd, and the Debian package.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::root;
use crate::served::folder;

/// Runs a tool; `None` and a word where it is not installed.
fn tool(name: &str, args: &[&str]) -> Option<Output> {
    match Command::new(name).args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: {name}: {error}");
            None
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn systemd_has_nothing_against_the_unit() {
    let folder = folder("unit");
    let unit = fs::read_to_string(root().join("docs/mainspring.service")).unwrap();
    let unit = unit.replace("/usr/local/bin/mainspring", env!("CARGO_BIN_EXE_mainspring"));
    let path = folder.join("mainspring.service");
    fs::write(&path, unit).unwrap();
    if let Some(verified) = tool("systemd-analyze", &["verify", "--man=no", path.to_str().unwrap()]) {
        let said = text(&verified);
        let about_it: Vec<&str> = said.lines().filter(|line| line.contains("mainspring")).collect();
        assert!(verified.status.success() && about_it.is_empty(), "{said}");
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn the_package_has_the_program_its_unit_its_pages_and_its_completions() {
    if tool("dpkg-deb", &["--version"]).is_none() {
        return;
    }
    let folder = folder("deb");
    let script = root().join("packaging/deb");
    let binary = env!("CARGO_BIN_EXE_mainspring");
    let made = tool(script.to_str().unwrap(), &[binary, folder.to_str().unwrap()]).unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let package = files.find(|path| path.extension().is_some_and(|end| end == "deb")).unwrap();
    let package = package.to_str().unwrap();
    let control = text(&tool("dpkg-deb", &["--field", package]).unwrap());
    assert!(
        control.starts_with("Package: mainspring\nVersion: ") && control.contains("Depends: libc6"),
        "{control}"
    );
    let installed = folder.join("root");
    let unpacked = tool("dpkg-deb", &["-x", package, installed.to_str().unwrap()]).unwrap();
    assert!(unpacked.status.success(), "{}", text(&unpacked));
    let is_there = |path: &str| assert!(installed.join(path).is_file(), "{path}");
    is_there("usr/share/man/man1/mainspring.1.gz");
    is_there("usr/share/man/man1/mainspring-serve.1.gz");
    is_there("usr/share/bash-completion/completions/mainspring");
    is_there("usr/share/zsh/vendor-completions/_mainspring");
    is_there("usr/share/fish/vendor_completions.d/mainspring.fish");
    let unit = fs::read_to_string(installed.join("usr/lib/systemd/system/mainspring.service")).unwrap();
    assert!(unit.starts_with("[Unit]") && unit.contains("ExecStart=/usr/bin/mainspring serve"), "{unit}");
    // What it installs runs, and takes the jobs that it installs.
    let program = installed.join("usr/bin/mainspring");
    let jobs = installed.join("etc/mainspring/jobs.toml");
    let checked = Command::new(&program).arg("check").arg(&jobs).output().unwrap();
    assert!(text(&checked).contains("0 jobs, no problems"), "{}", text(&checked));
    assert!(Path::new(&program).metadata().unwrap().len() < 200 << 20);
    let _ = fs::remove_dir_all(&folder);
}

//! Omissions: each is told with its reason, so that nothing passes by doing nothing.
//!
//! ```text
//!  a chore, a script or a test leaves something out ──▶ a line in the file of GATE_SKIPS: what, and why
//!      ├─▶ the last line of the gate says all of them
//!      └─▶ with CI set the gate fails, but for what has a row in ALLOWED
//! ```
//!
//! Cost: a line in a file for each. It does not decide what is left out: each chore knows what it needs.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::targets;

/// Names the file in the environment. Scripts and tests write to it too: `WHAT: WHY`, a line each.
pub const FILE: &str = "GATE_SKIPS";

/// What is left out without cargo-semver-checks.
pub const BROKEN_CALLERS: &str = "broken callers";

/// What may be left out even with `CI` set, each with its reason.
const ALLOWED: &[(&str, &str)] = &[
    ("advisories", "the RustSec database is on github.com, which not every machine of a gate reaches"),
    ("btrfs", "a container may be forbidden to mount one, and a kernel may have none"),
    ("cgroups", "a container may have no cgroup2 that can be written; systemd delegates one elsewhere"),
    ("kernel keys", "some containers have none"),
    ("oom score", "a container may be forbidden to lower it"),
    ("precedence", "a container may be forbidden to schedule before others"),
    (BROKEN_CALLERS, "the tool is compiled in as long as half of the gate; publishing asks it in any case"),
    (
        targets::OMISSION,
        "their libraries and a C compiler are downloaded, which not every machine of a gate reaches",
    ),
];

/// Says that `what` is left out, on the terminal and to the gate.
///
/// # Errors
/// `CI` is set, and it may not be left out.
pub fn skip(what: &str, why: &str) -> Result<(), String> {
    let line = format!("{what}: {why}");
    println!("SKIPPED: {line}");
    if let Some(path) = std::env::var_os(FILE) {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // One write, so that lines of several processes do not mix.
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .map_err(|error| format!("{} cannot be written: {error}", Path::new(&path).display()))?;
    }
    if is_complete() && !is_allowed(&line) {
        Err(format!("with CI set nothing is left out: {line}"))
    } else {
        Ok(())
    }
}

/// What was left out, by the lines of the file, without doubles.
pub fn read(path: &Path) -> Vec<String> {
    let text = fs::read(path).unwrap_or_default();
    let lines: BTreeSet<String> = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    lines.into_iter().collect()
}

/// The lines of those that may not be left out here.
pub fn forbidden(lines: &[String]) -> Vec<&str> {
    if !is_complete() {
        return Vec::new();
    }
    lines.iter().map(String::as_str).filter(|line| !is_allowed(line)).collect()
}

/// Whether all must run.
fn is_complete() -> bool {
    std::env::var_os("CI").is_some()
}

fn is_allowed(line: &str) -> bool {
    ALLOWED.iter().any(|(what, _)| line.strip_prefix(what).is_some_and(|rest| rest.starts_with(": ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_told_by_its_whole_name() {
        assert!(is_allowed("advisories: the database cannot be fetched"));
        assert!(!is_allowed("advisories of last year: none"));
        assert!(!is_allowed("dependencies: no cargo-deny"));
    }

    #[test]
    fn each_allowed_row_has_its_reason() {
        for (what, reason) in ALLOWED {
            assert!(!what.contains(':') && !reason.is_empty(), "{what}: {reason}");
        }
    }

    #[test]
    fn what_was_left_out_twice_is_said_once() {
        let path = std::env::temp_dir().join(format!("mainspring-skips-{}", std::process::id()));
        fs::write(&path, "b: x\na: y\nb: x\n").expect("a temporary file can be written");
        let lines = read(&path);
        fs::remove_file(&path).expect("the file is ours");
        assert_eq!(lines, ["a: y", "b: x"]);
        assert!(read(&path).is_empty(), "nothing was left out where there is no file");
    }
}

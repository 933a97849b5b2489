//! C compilers for other targets: SQLite and ring compile C, and no machine of the gate has these compilers.
//!
//! ```text
//!  the wheel ziglang, by wheels ──▶ zig cc, with the headers of each system
//!  target/bare/cc-aarch64-apple-darwin   a script: what the crate cc says of the target, zig says in its own words
//! ```
//!
//! Cost: a script for each target. It links nothing: what is checked is not linked.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::wheels;

/// The words of rustc and of zig for a target.
const TARGETS: [(&str, &str); 5] = [
    ("x86_64-apple-darwin", "x86_64-macos"),
    ("aarch64-apple-darwin", "aarch64-macos"),
    ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu"),
    ("armv7-unknown-linux-gnueabihf", "arm-linux-gnueabihf"),
    ("x86_64-pc-windows-gnu", "x86_64-windows-gnu"),
];

/// Takes away what names the target, which zig would not understand.
const SCRIPT: &str = r#"#!/bin/sh
left=$#
while [ 0 -lt "$left" ]; do
    word=$1
    shift
    left=$((left - 1))
    case $word in
    --target=* | -m*-version-min=*) ;;
    -arch | -isysroot)
        shift
        left=$((left - 1))
        ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec 'ZIG' cc -target TARGET "$@"
"#;

/// Writes a script for each target into a folder. Answers the variables that the crate cc asks for.
///
/// # Errors
/// There is no zig, or the folder cannot be written.
pub fn compilers(root: &Path, folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let zig = wheels::program(root, "python-zig")?;
    let zig = zig.to_str().ok_or("the path of zig is no text")?;
    let archiver = write(folder, "ar", &format!("#!/bin/sh\nexec '{zig}' ar \"$@\"\n"))?;
    let mut variables = Vec::new();
    for (target, words) in TARGETS {
        let script = SCRIPT.replace("ZIG", zig).replace("TARGET", words);
        let compiler = write(folder, &format!("cc-{target}"), &script)?;
        variables.push((format!("CC_{}", target.replace('-', "_")), compiler));
        variables.push((format!("AR_{}", target.replace('-', "_")), archiver.clone()));
    }
    Ok(variables)
}

fn write(folder: &Path, name: &str, script: &str) -> Result<PathBuf, String> {
    let path = folder.join(name);
    let written =
        fs::write(&path, script).and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_script_says_the_target_once_and_in_the_words_of_zig() {
        let script = SCRIPT.replace("exec 'ZIG'", "echo").replace("TARGET", "x86_64-macos");
        let words = [
            "-O2",
            "--target=x86_64-apple-macosx10.12",
            "-arch",
            "x86_64",
            "-mmacosx-version-min=10.12",
            "-c",
            "a b.c",
        ];
        let output = Command::new("sh").args(["-c", &script, "cc"]).args(words).output();
        let output = output.expect("there is a shell");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "cc -target x86_64-macos -O2 -c a b.c\n");
    }
}

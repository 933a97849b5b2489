//! A C compiler that makes nothing: SQLite and ring compile C, and what is checked is not linked.
//!
//! Cost: a script. The C is that of others, who compile it for all systems; no machine of the gate has a
//! compiler for those that it is not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The variables by which the crate cc finds the compiler and the archiver for another target.
pub const VARIABLES: [&str; 2] = ["TARGET_CC", "TARGET_AR"];

/// Makes the file that either would, empty.
const SCRIPT: &str = r#"#!/bin/sh
before=
for word; do
    case $before:$word in -o:* | *.a) : >"$word" ;; esac
    before=$word
done
"#;

/// Writes the compiler into a folder, and answers its path.
///
/// # Errors
/// The folder cannot be written.
pub fn compiler(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join("compile-nothing");
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, SCRIPT))
        .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::succeed;
    use std::process::Command;

    #[test]
    fn the_compiler_makes_the_files_that_are_asked_for_and_no_other() {
        let folder = std::env::temp_dir().join(format!("cross-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder of temporary files can be written");
        let compiler = compiler(&folder).expect("the folder is ours");
        let run = |words: &[&str]| {
            succeed(Command::new(&compiler).args(words).current_dir(&folder)).expect("a shell runs it");
        };
        run(&["-O2", "--target=arm", "-c", "a b.c", "-o", "a b.o"]);
        run(&["cq", "libx.a", "a b.o"]);
        let found = fs::read_dir(&folder).expect("the folder is ours").flatten();
        let mut found: Vec<_> = found.map(|entry| entry.file_name()).collect();
        found.sort();
        assert_eq!(found, ["a b.o", "compile-nothing", "libx.a"]);
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}

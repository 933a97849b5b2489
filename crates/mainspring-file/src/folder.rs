//! A folder of files, as cron reads /etc/cron.d: which of its files are taken.
//!
//! | name | is |
//! |---|---|
//! | letters, digits, `_` and `-` | taken |
//! | the same with `.toml` or `.crontab` behind it | taken: a job file, or a crontab |
//! | anything else: `certbot.dpkg-old`, `jobs~`, `.jobs.swp`, `README.txt` | left out |
//!
//! What packages and editors leave behind has another name, so that nothing runs twice.
//!
//! Cost: a list of the folder.
//!
//! Does not read the files, and does not go into folders below.
//!
//! Source: the names of cron(8) and run-parts(8) of Debian.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The most files of a folder that are taken: a hundred times as many as a large server has.
pub const MAX_FILES: usize = 1_000;

/// What may stand behind a name.
const ENDINGS: [&str; 2] = [".toml", ".crontab"];

/// What is in a folder, in the order of the names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The files that are taken.
    pub taken: Vec<PathBuf>,
    /// The files that are left out, for their names or because there are [`MAX_FILES`] before them.
    pub left_out: Vec<PathBuf>,
}

/// Lists a folder.
///
/// # Errors
/// The folder is not there, or may not be read.
pub fn list(folder: &Path) -> io::Result<Listing> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A link leads to a file too, or nowhere for a moment.
        if !path.is_dir() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut listing = Listing::default();
    for path in paths {
        let is_room = listing.taken.len() < MAX_FILES;
        let list = if is_room && is_taken(&path) { &mut listing.taken } else { &mut listing.left_out };
        list.push(path);
    }
    Ok(listing)
}

/// Whether the name of a file is one that is taken.
pub fn is_taken(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a file is hidden: no note says that it is left out, because Debian has one in each such folder.
pub fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Why a file is left out, for people.
pub fn why_left_out(path: &Path) -> String {
    match is_taken(path) {
        true => format!("a folder has at most {MAX_FILES} files"),
        false => {
            "the files of a folder have names of letters, digits, _ and -, and those of job files .toml behind it".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn leftovers_of_packages_and_editors_are_left_out() {
        let folder = scratch::path("folder-list");
        fs::create_dir_all(folder.join("below")).unwrap();
        let names = [
            "certbot",
            "certbot.dpkg-old",
            "e2scrub_all",
            "jobs.toml",
            "jobs.toml~",
            ".placeholder",
            "a-b.crontab",
            "x.conf",
        ];
        for name in names {
            fs::write(folder.join(name), "").unwrap();
        }
        let listing = list(&folder).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let taken: Vec<String> = listing.taken.iter().map(name).collect();
        assert_eq!(taken, ["a-b.crontab", "certbot", "e2scrub_all", "jobs.toml"]);
        let left_out: Vec<String> = listing.left_out.iter().map(name).collect();
        assert_eq!(left_out, [".placeholder", "certbot.dpkg-old", "jobs.toml~", "x.conf"]);
        assert!(list(&folder.join("gone")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn of_too_many_files_the_first_are_taken() {
        let folder = scratch::path("folder-many");
        fs::create_dir_all(&folder).unwrap();
        for number in 0..MAX_FILES + 2 {
            fs::write(folder.join(format!("f{number:05}")), "").unwrap();
        }
        let listing = list(&folder).unwrap();
        assert_eq!((listing.taken.len(), listing.left_out.len()), (MAX_FILES, 2));
        fs::remove_dir_all(&folder).unwrap();
    }
}

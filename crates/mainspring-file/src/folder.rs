//! A folder of files, as cron reads /etc/cron.d: which of its files are taken.
//!
//! | name | is |
//! |---|---|
//! | letters, digits, `_` and `-` | taken |
//! | the same with `.toml` or `.crontab` behind it | taken: a job file, or a crontab; not in cron's own folder |
//! | anything else: `certbot.dpkg-old`, `jobs~`, `.jobs.swp`, `README.txt` | left out |
//!
//! In the folder of the users' crontabs a name is that of a user, and all are taken but hidden ones and what
//! `crontab` is writing.
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

use mainspring_host::temporary::TEMPORARY;

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

/// Which names of a folder are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Those of the table above.
    Any,
    /// The same without an ending, as cron has them.
    Cron,
    /// Names of users.
    Spool,
    /// This one. The others are none of the folder's.
    Only(&'static str),
}

impl NameRule {
    /// Whether it takes a name.
    pub fn takes(self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        match self {
            NameRule::Any => is_word(ENDINGS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)),
            NameRule::Cron => is_word(name),
            NameRule::Spool => !name.starts_with('.') && !name.starts_with(TEMPORARY),
            NameRule::Only(only) => name == only,
        }
    }

    /// Why it leaves a file out, for people.
    pub fn why_left_out(self, path: &Path) -> String {
        match self {
            _ if self.takes(path) => format!("a folder has at most {MAX_FILES} files"),
            NameRule::Any => {
                "the files of a folder have names of letters, digits, _ and -, and those of job files .toml behind it"
                    .to_owned()
            }
            _ => "cron takes files with names of letters, digits, _ and - alone".to_owned(),
        }
    }
}

/// Lists a folder by a rule for names.
///
/// # Errors
/// The folder is not there, or may not be read.
pub fn list(folder: &Path, rule: NameRule) -> io::Result<Listing> {
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
        if is_room && rule.takes(&path) {
            listing.taken.push(path);
        } else if matches!(rule, NameRule::Any | NameRule::Cron) {
            // People are told.
            listing.left_out.push(path);
        }
    }
    Ok(listing)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a file is hidden: no note says that it is left out, because Debian has one in each such folder.
pub fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
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
        let listing = list(&folder, NameRule::Any).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let taken: Vec<String> = listing.taken.iter().map(name).collect();
        assert_eq!(taken, ["a-b.crontab", "certbot", "e2scrub_all", "jobs.toml"]);
        let left_out: Vec<String> = listing.left_out.iter().map(name).collect();
        assert_eq!(left_out, [".placeholder", "certbot.dpkg-old", "jobs.toml~", "x.conf"]);
        assert!(list(&folder.join("gone"), NameRule::Any).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn crons_own_folders_have_rules_of_their_own() {
        let folder = scratch::path("folder-cron");
        fs::create_dir_all(&folder).unwrap();
        for name in ["ada.l", "crontab", "jobs.toml", "tmp.7x", ".hidden"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let counts = |rule| {
            let listing = list(&folder, rule).unwrap();
            let taken: Vec<String> =
                listing.taken.iter().map(|path| path.file_name().unwrap().to_string_lossy().into()).collect();
            (taken.join(" "), listing.left_out.len())
        };
        assert_eq!(counts(NameRule::Cron), ("crontab".into(), 4));
        assert_eq!(counts(NameRule::Spool), ("ada.l crontab jobs.toml".into(), 0));
        assert_eq!(counts(NameRule::Only("crontab")), ("crontab".into(), 0));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn of_too_many_files_the_first_are_taken() {
        let folder = scratch::path("folder-many");
        fs::create_dir_all(&folder).unwrap();
        for number in 0..MAX_FILES + 2 {
            fs::write(folder.join(format!("f{number:05}")), "").unwrap();
        }
        let listing = list(&folder, NameRule::Any).unwrap();
        assert_eq!((listing.taken.len(), listing.left_out.len()), (MAX_FILES, 2));
        fs::remove_dir_all(&folder).unwrap();
    }
}

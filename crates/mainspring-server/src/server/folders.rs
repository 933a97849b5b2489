//! The folders that are served: their files come and go.
//!
//! ```text
//!  /etc/cron.d ─▶ list ─┬─ a new file that is taken ─▶ served like one that was named
//!                       └─ a new one that is left out ─▶ told once
//! ```
//!
//! A file that goes is gone like one that was named: see [`mainspring_file::watch`]. While a folder cannot be
//! listed, its files stay given.
//!
//! Cost: a list of each folder when something has changed in a directory, and now and then.
//!
//! Does not read the files.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::message::counted;
use mainspring_file::cron_places::CronPlaces;
use mainspring_file::crontab::Format;
use mainspring_file::folder::{self, Listing, NameRule};

/// How many files that are left out are told one by one at a time.
const MAX_TOLD: usize = 20;

/// The folder whose files cron reads by their names.
const CRON_FOLDER: &str = "cron.d";

/// The served folders.
#[derive(Debug, Default)]
pub(super) struct Folders {
    folders: Vec<Folder>,
    /// What is to be told.
    notes: Vec<String>,
    /// The users without a home, and those homes, that were told.
    homeless: BTreeSet<(String, PathBuf)>,
    /// The programs that take mails, are not here, and were told.
    mailers: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    rule: NameRule,
    /// Why it cannot be listed.
    trouble: Option<String>,
    /// The files that are left out, as they were told.
    left_out: BTreeSet<PathBuf>,
}

impl Folders {
    /// Takes the folders out of what was named, and answers the names of files. Those of cron are added.
    pub(super) fn of(names: &[String], format: Format, cron: Option<&CronPlaces>) -> (Folders, Vec<String>) {
        let mut folders = Folders::default();
        let of_cron = cron.iter().flat_map(|places| places.folders());
        folders.folders.extend(of_cron.map(|(path, rule)| Folder::new(path, rule)));
        let mut files = Vec::new();
        for name in names {
            let path = std::path::absolute(name).unwrap_or_else(|_| name.into());
            if path.is_dir() {
                folders.folders.push(Folder::new(path, NameRule::Any));
                continue;
            }
            let folder = path.parent().filter(|folder| folder.ends_with(CRON_FOLDER));
            let is_system = format.of(&path) == Format::System;
            if let Some(folder) = folder.filter(|_| is_system && !NameRule::Any.takes(&path)) {
                folders.notes.push(format!(
                    "{} is served, and cron leaves files of such a name out: name the folder {} instead of its files",
                    path.display(),
                    folder.display()
                ));
            }
            files.push(name.clone());
        }
        (folders, files)
    }

    /// Lists the folders, and answers their files.
    pub(super) fn look(&mut self) -> Vec<String> {
        let mut files = Vec::new();
        for folder in &mut self.folders {
            let listed = folder::list(&folder.path, folder.rule);
            let trouble = listed.as_ref().err().map(ToString::to_string);
            // Not every machine has all folders of cron.
            let is_none = listed.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
            let is_told = trouble != folder.trouble && !(is_none && folder.rule != NameRule::Any);
            if let Some(why) = trouble.as_ref().filter(|_| is_told) {
                let path = folder.path.display();
                self.notes
                    .push(format!("the folder {path} cannot be listed, and its files stay in force: {why}"));
            }
            folder.trouble = trouble;
            let Ok(Listing { taken, left_out }) = listed else { continue };
            files.extend(taken.into_iter().map(|path| path.to_string_lossy().into_owned()));
            let left_out: BTreeSet<PathBuf> = left_out.into_iter().collect();
            let mut new = left_out.difference(&folder.left_out).filter(|path| !folder::is_hidden(path));
            for path in new.by_ref().take(MAX_TOLD) {
                self.notes.push(format!(
                    "{} is left out: {}",
                    path.display(),
                    folder.rule.why_left_out(path)
                ));
            }
            let more = new.count();
            if 0 < more {
                let path = folder.path.display();
                self.notes.push(format!("{} more of the folder {path} are left out", counted(more, "file")));
            }
            folder.left_out = left_out;
        }
        files
    }

    /// Keeps for the log who of a file that was read has no home, once for each home.
    pub(super) fn note_homeless(&mut self, homeless: BTreeSet<(String, PathBuf, PathBuf)>) {
        for (user, home, other) in homeless {
            if self.homeless.insert((user.clone(), home.clone())) {
                let (home, other) = (home.display(), other.display());
                self.notes.push(format!("there is no home {home}: commands of user {user} start in {other}"));
            }
        }
    }

    /// Keeps for the log which programs that are to take mails are not here, once for each.
    pub(super) fn note_mailers(&mut self, mailers: &BTreeSet<PathBuf>) {
        for program in mailers.iter().filter(|program| !program.exists()) {
            if self.mailers.insert(program.clone()) {
                let program = program.display();
                self.notes
                    .push(format!("no mail is sent: there is no {program} here; what jobs write is kept"));
            }
        }
    }

    /// What is to be told since the last call.
    pub(super) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// The folders.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// Whether a file is one of a folder, or was.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| folder.may_have(path))
    }

    /// Whether a file may be one of a folder that cannot be listed now.
    pub(super) fn may_have(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| folder.trouble.is_some() && folder.may_have(path))
    }
}

impl Folder {
    fn new(path: PathBuf, rule: NameRule) -> Folder {
        Folder { path, rule, trouble: None, left_out: BTreeSet::new() }
    }

    /// Whether a file is one of its own, by its path.
    fn may_have(&self, path: &Path) -> bool {
        path.parent() == Some(&self.path) && self.rule.takes(path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::Files;
    use super::super::served_file::Occasion;
    use super::*;
    use crate::scratch;
    use mainspring_exec::clock::Moment;
    use mainspring_file::loaded_file::Reader;
    use mainspring_host::accounts::Account;
    use mainspring_host::accounts::users::Users;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn files_come_and_what_is_left_out_is_told_once() {
        let root = scratch::path("served-folder");
        let folder = root.join("cron.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a"), "").unwrap();
        fs::write(folder.join("a.dpkg-old"), "").unwrap();
        fs::write(folder.join(".placeholder"), "").unwrap();
        let named = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let (mut folders, files) =
            Folders::of(&[folder.to_str().unwrap().to_owned(), "-".into()], Format::System, None);
        assert_eq!(files, ["-"]);
        assert_eq!(folders.look(), [named("a")]);
        let notes = folders.notes();
        assert!(notes.len() == 1 && notes[0].starts_with(&named("a.dpkg-old")), "{notes:?}");
        fs::write(folder.join("b"), "").unwrap();
        assert_eq!(folders.look(), [named("a"), named("b")]);
        assert_eq!(folders.notes(), [""; 0]);
        assert!(!folders.may_have(&folder.join("a")));
        fs::rename(&folder, root.join("away")).unwrap();
        assert_eq!(folders.look(), [""; 0]);
        assert_eq!((folders.notes().len(), folders.may_have(&folder.join("a"))), (1, true));
        assert_eq!((folders.look().len(), folders.notes().len()), (0, 0), "that is told once too");
        let (mut folders, files) = Folders::of(&[named("a.dpkg-old")], Format::System, None);
        assert_eq!((files.len(), folders.notes().len()), (1, 1));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn of_many_files_that_are_left_out_some_are_told_one_by_one() {
        let folder = scratch::path("left-out");
        fs::create_dir_all(&folder).unwrap();
        for number in 0..MAX_TOLD + 5 {
            fs::write(folder.join(format!("{number}~")), "").unwrap();
        }
        let (mut folders, _) = Folders::of(&[folder.to_str().unwrap().to_owned()], Format::User, None);
        folders.look();
        let notes = folders.notes();
        let last = format!("5 files more of the folder {} are left out", folder.display());
        assert_eq!((notes.len(), notes.last()), (MAX_TOLD + 1, Some(&last)));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_of_a_folder_that_is_gone_is_forgotten_when_that_is_not_told_any_more() {
        let folder = scratch::path("forgotten");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a"), "").unwrap();
        let users = Users::new(Account::ourselves().unwrap());
        let reader = Reader::new(users);
        let mut files = Files::new(&[folder.to_str().unwrap().to_owned()], reader, None);
        let begin = Moment::now();
        let at = |seconds: u64| Moment {
            wall: begin.wall + Duration::from_secs(seconds),
            monotonic: begin.monotonic + Duration::from_secs(seconds),
        };
        assert_eq!(files.due(Occasion::Requested, begin).read, [0]);
        fs::remove_file(folder.join("a")).unwrap();
        let mut due = |seconds| {
            files.compare();
            let removed = files.due(Occasion::Rested, at(seconds)).removed;
            for index in &removed {
                files.served[*index].remove(1, at(200).wall);
            }
            (removed, files.served.len())
        };
        assert_eq!(
            [due(1), due(62), due(199), due(201)],
            [(vec![], 1), (vec![0], 1), (vec![], 1), (vec![], 0)]
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}

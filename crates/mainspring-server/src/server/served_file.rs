//! One served file: how it was seen last, what of it is in force, and what is wrong with it.
//!
//! Cost: the lines of its jobs stay in memory, and not its text.
//!
//! Does not read the file: [`files`](super::files) does.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mainspring_job::JobName;

use super::looks::device_of_folder;
use crate::exit::Exit;
use crate::message::{agreeing, counted, note, say};
use mainspring_file::job_source::JobSource;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::STANDARD_INPUT;
use mainspring_file::watch::{LookResult, Stamp, UNREST, Watch};

/// Why files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// They have come to rest, and are read only as they were seen then.
    Rested,
    /// The server starts, or a person asks for it.
    Requested,
}

/// A served file.
#[derive(Debug)]
pub(super) struct ServedFile {
    /// The whole path as it was typed, or what standard input is called.
    pub(super) path: String,
    /// What its jobs say of where they come from.
    pub(super) job_source: JobSource,
    pub(super) watch: Watch,
    /// The file system of its folder, when the file was there last.
    pub(super) device: Option<u64>,
    /// When the set in force was read.
    pub(super) read: Option<Timestamp>,
    pub(super) job_count: usize,
    /// What its text and its jobs take of the budget of its folder.
    pub(super) bytes: usize,
    /// The line of each of its jobs, of the set in force.
    pub(super) lines: HashMap<JobName, usize>,
    /// The programs that take mails of its jobs.
    pub(super) mailers: BTreeSet<PathBuf>,
    /// What is wrong with it now.
    pub(super) problems: String,
    /// What that would end a server with.
    pub(super) exit: Exit,
    /// The hash of the text that was read first, or that had no problem since; `None` before.
    text_hash: Option<u64>,
    /// The last text was another one: a time or a mode alone is no change of a file.
    pub(super) has_changed: bool,
    /// It says other things than the store, whose definitions are in force.
    pub(super) is_unapplied: bool,
    /// What people who ask are told beside that, and until when.
    pub(super) notice: Option<(String, Timestamp)>,
}

/// What standard input is called among the paths.
const PATH_OF_INPUT: &str = "standard input";

impl ServedFile {
    pub(super) fn new(name: &str) -> ServedFile {
        let job_source = match name {
            STANDARD_INPUT => JobSource::Served(PATH_OF_INPUT.to_owned()),
            name => JobSource::served(name),
        };
        let path = job_source.to_string();
        ServedFile {
            path,
            job_source,
            watch: Watch::new(None),
            device: None,
            read: None,
            job_count: 0,
            bytes: 0,
            lines: HashMap::new(),
            mailers: BTreeSet::new(),
            problems: String::new(),
            exit: Exit::Ok,
            text_hash: None,
            has_changed: false,
            is_unapplied: false,
            notice: None,
        }
    }

    /// Whether it is standard input, which can be read once.
    pub(super) fn is_input(&self) -> bool {
        self.path == PATH_OF_INPUT
    }

    /// Shows what is wrong with it, if anything is.
    pub(super) fn say_problems(&self) {
        match self.exit {
            _ if self.problems.is_empty() => {}
            Exit::Ok | Exit::Invalid => say(&self.problems),
            // It could not be read at all, and its problem has no place in it.
            _ => note(self.problems.trim_end()),
        }
    }

    /// What people are told of a file that says other things than the store.
    pub(super) fn unapplied_text(&self) -> String {
        let path = &self.path;
        format!(
            "{path} differs from what the database holds, which stays in force: mainspring apply --prune {path} puts \
             the file into force"
        )
    }

    /// What is wrong with it, for people who ask.
    pub(super) fn shown_problems(&self) -> String {
        let is_good = self.problems.is_empty();
        if self.is_unapplied && is_good { self.unapplied_text() } else { self.problems.clone() }
    }

    /// Whether what was read is what was seen at rest.
    pub(super) fn is_as_seen(&mut self, stamp: Option<Stamp>, reading: Occasion) -> bool {
        let Some(stamp) = stamp else { return true };
        let is_so = reading == Occasion::Requested || self.watch.seen() == Some(LookResult::There(stamp));
        if is_so {
            self.watch.take(stamp);
            self.device = device_of_folder(Path::new(&self.path));
        }
        is_so
    }

    /// Takes in the text that was read.
    pub(super) fn take_text(&mut self, loaded: &LoadedFile) {
        let mut hasher = DefaultHasher::new();
        hasher.write(loaded.source.bytes());
        let hash = hasher.finish();
        self.has_changed = self.text_hash.is_some_and(|known| known != hash);
        if self.text_hash.is_none() || loaded.is_good() {
            self.text_hash = Some(hash);
        }
    }

    /// What is wrong with a file that cannot be looked at, or whose folder is gone: its jobs go on.
    pub(super) fn tell_absence(&mut self, seen: LookResult) {
        let why = match seen {
            LookResult::Unreadable => "cannot be looked at, or is a link that leads nowhere",
            LookResult::FolderGone => "is gone with its folder",
            LookResult::There(_) | LookResult::Gone => return,
        };
        let (count, verb) = (self.job_count, agreeing(self.job_count, "continues", "continue"));
        self.problems = format!("{} {why}: its {} {verb}\n", self.path, counted(count, "job"));
        self.exit = Exit::Failed;
    }

    /// What is reported of a file that does not come to rest, or cannot be looked at.
    pub(super) fn unrest_text(&self) -> String {
        match self.watch.seen() {
            Some(LookResult::There(_)) => {
                format!(
                    "{} has been changing for {} s, and is read when it is at rest",
                    self.path,
                    UNREST.as_secs()
                )
            }
            _ => self.problems.trim_end().to_owned(),
        }
    }

    /// So many of its jobs are removed, because it is gone. What people are told of that holds until it is
    /// there again, or `until` then. Where a command has removed them all, nothing is told.
    pub(super) fn remove(&mut self, count: usize, until: Timestamp) -> Option<String> {
        (self.job_count, self.problems, self.exit) = (0, String::new(), Exit::Ok);
        self.lines.clear();
        self.mailers.clear();
        self.bytes = 0;
        if count == 0 {
            return None;
        }
        let (jobs, are) = (counted(count, "job"), agreeing(count, "is", "are"));
        let text = format!("{} is gone: its {jobs} {are} removed", self.path);
        self.notice = Some((text.clone(), until));
        Some(match count {
            1 => format!("{text}; it is as it was if the file is there again within a day"),
            _ => format!("{text}; they are as they were if the file is there again within a day"),
        })
    }

    pub(super) fn is_forgotten(&self, now: Timestamp) -> bool {
        self.watch.is_removed() && self.notice.as_ref().is_none_or(|(_, until)| *until <= now)
    }

    /// The path without symbolic links, if it leads to a file.
    pub(super) fn target(&self) -> Option<String> {
        Some(fs::canonicalize(&self.path).ok()?.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_is_gone_what_was_removed_is_told_and_nothing_else() {
        let removal = |count| {
            let mut file = ServedFile::new("/etc/jobs.toml");
            file.job_count = 2;
            let text = file.remove(count, Timestamp::MAX);
            assert_eq!((file.job_count, file.notice.is_some()), (0, text.is_some()), "{text:?}");
            text
        };
        assert!(removal(2).unwrap().starts_with("/etc/jobs.toml is gone: its 2 jobs are removed; they are "));
        assert!(removal(1).unwrap().starts_with("/etc/jobs.toml is gone: its 1 job is removed; it is "));
        assert_eq!(removal(0), None, "a command has removed them");
    }
}

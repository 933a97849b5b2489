//! The files that say what time a zone has: when they have changed, and have come to rest.
//!
//! ```text
//!  a sign of a change, or a minute ─▶ look: a print of all stamps ─▶ same for REST ─▶ they are to be read
//! ```
//!
//! An update of tzdata replaces some hundred files within seconds. All of them are one thing here: they are
//! read when none has changed for [`REST`]. The link `/etc/localtime` is one of them, and a file that `TZ`
//! names by its path.
//!
//! Cost: a `stat` for each of some six hundred files at a sign of a change, and once in [`FALLBACK`].
//!
//! Does not read what the files say, and does not wait.
//!
//! Source: tzset(3) for `TZ`; the folders are those that jiff looks in.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::system_zone::LOCAL_TIME;
use crate::watch::{REST, Stamp};

/// How often the files are looked at where nothing tells of a change, as on a network file system.
pub const FALLBACK: Duration = Duration::from_secs(60);

const _: () = assert!(REST.as_millis() < FALLBACK.as_millis(), "they may come to rest between two looks");

/// Where zone files are, if `TZDIR` does not say it.
const FOLDERS: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

/// The same zones again, in other forms.
const FORMS: [&str; 2] = ["posix", "right"];

/// The most files that are looked at, some times those of tzdata.
const MAX_FILES: usize = 5_000;

/// The most folders in one another: `America/Argentina/Ushuaia` has two.
const MAX_DEPTH: usize = 4;

/// See the head of this file. Times are since a start of the caller's, by a clock that is never set.
#[derive(Clone, Debug, Default)]
pub struct ZoneFiles {
    folder: Option<PathBuf>,
    others: Vec<PathBuf>,
    /// The print of what was read last.
    taken: u64,
    /// The print of the last look, and since when it is the same.
    seen: (u64, Duration),
    looked: Duration,
}

impl ZoneFiles {
    /// Those of this process, as they are now.
    pub fn of_system() -> ZoneFiles {
        let given = std::env::var_os("TZDIR").map(PathBuf::from);
        let usual = FOLDERS.map(PathBuf::from).into_iter();
        let folder = given.into_iter().chain(usual).find(|folder| folder.is_dir());
        ZoneFiles::new(folder, std::env::var_os("TZ").as_deref())
    }

    /// Those of a folder, with the variable `TZ`.
    pub fn new(folder: Option<PathBuf>, variable: Option<&OsStr>) -> ZoneFiles {
        let path = variable.and_then(OsStr::to_str);
        let path =
            path.map(|text| text.strip_prefix(':').unwrap_or(text)).filter(|text| text.starts_with('/'));
        let others = path.into_iter().chain(variable.is_none().then_some(LOCAL_TIME)).map(PathBuf::from);
        let mut files = ZoneFiles { folder, others: others.collect(), ..ZoneFiles::default() };
        files.taken = files.print();
        files.seen = (files.taken, Duration::ZERO);
        files
    }

    /// The paths whose directories tell of changes.
    pub fn watched(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        if let Some(folder) = &self.folder {
            walk(folder, 0, &mut |path, is_folder| {
                if is_folder {
                    folders.push(path.join("any"));
                }
            });
            folders.push(folder.join("any"));
        }
        folders.extend(self.others.iter().cloned());
        folders
    }

    /// Whether they are to be looked at though nothing tells of a change.
    pub fn are_due(&self, at: Duration) -> bool {
        FALLBACK <= at.saturating_sub(self.looked) || self.deadline().is_some_and(|deadline| deadline <= at)
    }

    /// When to look again, whatever else tells of a change. `None`: not by itself.
    pub fn deadline(&self) -> Option<Duration> {
        if self.are_newer() { self.seen.1.checked_add(REST) } else { None }
    }

    /// Whether what is on disk is another thing than what was read.
    pub fn are_newer(&self) -> bool {
        self.seen.0 != self.taken
    }

    /// Looks. Returns whether they have changed and are at rest: then they are read.
    pub fn look(&mut self, at: Duration) -> bool {
        self.looked = at;
        let print = self.print();
        if print != self.seen.0 {
            self.seen = (print, at);
        }
        let is_at_rest = REST <= at.saturating_sub(self.seen.1);
        if !self.are_newer() || !is_at_rest {
            return false;
        }
        self.taken = print;
        true
    }

    /// One number for all stamps. What is not there has none.
    fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut add = |path: &Path| {
            let target = fs::read_link(path).ok();
            let stamp = fs::metadata(path).ok().map(|found| Stamp::of(&found));
            let stamp = stamp.map(|stamp| (stamp.place, stamp.size, stamp.modified));
            (path, target, stamp).hash(&mut hasher);
        };
        if let Some(folder) = &self.folder {
            walk(folder, 0, &mut |path, is_folder| {
                if !is_folder {
                    add(path);
                }
            });
        }
        self.others.iter().for_each(|path| add(path));
        hasher.finish()
    }
}

/// Visits the files and folders of a folder in the order of their names. Returns how many there were.
fn walk(folder: &Path, depth: usize, visit: &mut impl FnMut(&Path, bool)) -> usize {
    debug_assert!(depth <= MAX_DEPTH, "a folder in itself comes to an end");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<(PathBuf, bool)> =
        entries.map(|entry| (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()))).collect();
    paths.sort();
    let mut count = 0;
    for (path, is_folder) in paths {
        if MAX_FILES <= count {
            break;
        }
        let is_other_form = depth == 0 && FORMS.iter().any(|form| path.ends_with(form));
        if is_folder && (is_other_form || depth == MAX_DEPTH) {
            continue;
        }
        visit(&path, is_folder);
        count += if is_folder { walk(&path, depth + 1, visit) } else { 1 };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn files_that_change_are_read_once_when_none_of_them_has_changed_for_a_while() {
        let folder = scratch::path("zone-files");
        fs::create_dir_all(folder.join("Europe")).unwrap();
        fs::create_dir_all(folder.join("right")).unwrap();
        fs::write(folder.join("Europe/Berlin"), "one").unwrap();
        let mut files = ZoneFiles::new(Some(folder.clone()), Some(OsStr::new("UTC")));
        assert!(files.watched().contains(&folder.join("Europe/any")));
        let at = Duration::from_millis;
        assert!(!files.look(at(10)));
        fs::write(folder.join("right/Berlin"), "it is no other zone").unwrap();
        assert!(!files.look(at(20)) && !files.are_newer());
        fs::write(folder.join("Europe/Berlin"), "longer").unwrap();
        assert!(!files.look(at(100)) && files.are_newer());
        assert_eq!(files.deadline(), Some(at(300)));
        // Another one is replaced: the rest counts from there.
        fs::write(folder.join("Europe/new"), "x").unwrap();
        fs::rename(folder.join("Europe/new"), folder.join("Europe/Paris")).unwrap();
        assert!(!files.look(at(250)) && !files.look(at(449)));
        assert!(files.look(at(450)) && !files.are_newer());
        assert!(!files.look(at(900)) && !files.are_due(at(60_899)) && files.are_due(at(60_900)));
        fs::remove_dir_all(folder).unwrap();
    }
}

//! The watch of the zone files: what tells of a change, and what people are told of it.
//!
//! Cost: a watch for each folder of the zone files, about twenty.
//!
//! Does not read the files: `zones` beside it does.

use std::collections::HashSet;
use std::time::Duration;

use super::folder_watch::{FolderEvent, FolderId, FolderWatch};
use super::looks::directories;
use mainspring_file::zone_files::ZoneFiles;

/// Where the zone of jobs that name none comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultZone {
    /// A person gave it: it keeps its name.
    Given,
    /// It is that of `TZ` or of `/etc/localtime`.
    System,
}

/// The watched zone files.
#[derive(Debug)]
pub(super) struct ZoneWatch {
    files: ZoneFiles,
    /// Where the zone of jobs that name none comes from.
    pub(super) origin: DefaultZone,
    directories: HashSet<FolderId>,
    is_disturbed: bool,
    /// What cannot be read of the newest files.
    pub(super) trouble: Option<String>,
}

impl ZoneWatch {
    pub(super) fn new(origin: DefaultZone) -> ZoneWatch {
        let files = ZoneFiles::of_system();
        ZoneWatch { files, origin, directories: HashSet::new(), is_disturbed: true, trouble: None }
    }

    /// Has the kernel tell of changes. What it does not tell is found a minute later.
    pub(super) fn watch(&mut self, folder_watch: &FolderWatch) {
        let directories =
            self.files.watched().iter().flat_map(|path| directories(path)).collect::<HashSet<_>>();
        let added = directories.iter().filter_map(|path| folder_watch.watch(path));
        self.directories = added.collect();
    }

    pub(super) fn hear(&mut self, change: &FolderEvent) {
        self.is_disturbed |= self.directories.contains(&change.directory);
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.files.deadline()
    }

    /// Whether the files have changed and are at rest.
    pub(super) fn have_changed(&mut self, at: Duration) -> bool {
        let looks = std::mem::take(&mut self.is_disturbed) || self.files.are_due(at);
        looks && self.files.look(at)
    }

    /// What people are told while other zones are in force than those on disk.
    pub(super) fn trouble(&self) -> Option<String> {
        let newer = "the time zone files on disk are newer than what is in force";
        self.trouble.clone().or_else(|| self.files.are_newer().then(|| newer.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_newer_on_disk_is_told_until_it_is_read() {
        let mut watch = ZoneWatch::new(DefaultZone::System);
        assert_eq!((watch.trouble(), watch.deadline()), (None, None));
        assert!(!watch.have_changed(Duration::from_secs(1)), "nothing has changed");
        watch.trouble = Some("unread".to_owned());
        assert_eq!(watch.trouble().as_deref(), Some("unread"));
    }
}

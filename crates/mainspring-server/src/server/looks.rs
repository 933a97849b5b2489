//! Looks at the files that are served: what stat says of each, who has it open for writing, and which
//! directories decide what it is.
//!
//! ```text
//! changes ─▶ names that were modified and not closed ─▶ Writer ─┐
//! stat of the path, and of its folder ─▶ LookResult ──────────────────┴─▶ mainspring_file::watch
//! ```
//!
//! Cost: a system call for a look, two more if nothing is found; a wake-up for a change in a directory.
//!
//! Does not decide what becomes of a file. Does not know of a writer that opened the file before its
//! directory was watched, nor of one on another machine.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::folder_watch::{FolderEvent, FolderEventKind};
use mainspring_file::watch::{LookResult, Stamp, Writer};
use mainspring_host::sys::file_id;

/// How many symbolic links a path may lead through; the kernel follows as many.
const MAX_LINKS: usize = 40;

/// What stat says of a path. `device` is the file system of its folder when the file was seen last.
pub(super) fn look_at(path: &Path, device: Option<u64>) -> LookResult {
    match fs::metadata(path) {
        Ok(found) => LookResult::There(Stamp::of(&found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            look_for(path, device)
        }
        Err(_) => LookResult::Unreadable,
    }
}

/// Why nothing is found at a path.
fn look_for(path: &Path, device: Option<u64>) -> LookResult {
    if fs::symlink_metadata(path).is_ok() {
        // A link that leads nowhere, as between two steps of a swap.
        return LookResult::Unreadable;
    }
    match path.parent().map(fs::metadata) {
        // Where the file was is no file system mounted now, or another one.
        Some(Ok(folder)) if device.is_some_and(|device| device != file_id(&folder).0) => {
            LookResult::FolderGone
        }
        Some(Ok(folder)) if folder.is_dir() => LookResult::Gone,
        Some(Err(error)) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            LookResult::Unreadable
        }
        _ => LookResult::FolderGone,
    }
}

/// The file system of a path's folder.
pub(super) fn device_of_folder(path: &Path) -> Option<u64> {
    Some(file_id(&fs::metadata(path.parent()?).ok()?).0)
}

/// The names that a writer has modified and not closed. A name may stand for files in several directories.
#[derive(Debug, Default)]
pub(super) struct Writers {
    /// Those that are of interest.
    names: HashSet<OsString>,
    open: HashSet<OsString>,
}

impl Writers {
    /// These paths are looked at, and what they lead to.
    pub(super) fn watch<'p>(&mut self, paths: impl Iterator<Item = &'p Path>) {
        let names = paths.flat_map(|path| {
            let target = fs::canonicalize(path).ok();
            [path.file_name().map(OsString::from), target.and_then(|it| it.file_name().map(OsString::from))]
        });
        self.names = names.flatten().collect();
        self.open.retain(|name| self.names.contains(name));
    }

    /// Takes in what is reported. Returns whether it is a sign that something may have changed.
    pub(super) fn hear(&mut self, change: &FolderEvent) -> bool {
        if change.kind == FolderEventKind::Overflow {
            self.open.clear();
            return true;
        }
        let Some(name) = &change.name else { return true };
        let is_known = self.names.contains(name);
        if change.kind == FolderEventKind::Modified {
            if is_known {
                self.open.insert(name.clone());
            }
            // A file beside them, such as a log.
            return is_known;
        }
        if change.kind != FolderEventKind::Attributes {
            self.open.remove(name);
        }
        true
    }

    /// Whether a writer has a file open.
    pub(super) fn of(&self, path: &Path) -> Writer {
        debug_assert!(self.open.is_subset(&self.names), "only files of interest are waited for");
        if self.open.is_empty() {
            return Writer::None;
        }
        let target = fs::canonicalize(path).ok();
        let names = [path.file_name(), target.as_deref().and_then(Path::file_name)];
        match names.into_iter().flatten().any(|name| self.open.contains(name)) {
            true => Writer::Open,
            false => Writer::None,
        }
    }
}

/// Every directory that decides what a path leads to: those of the symbolic links on it, and that of the
/// file.
pub(super) fn directories(path: &Path) -> HashSet<PathBuf> {
    let parts = |path: &Path| -> VecDeque<PathBuf> {
        path.components().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (mut found, mut rest) = (HashSet::new(), parts(path));
    let (mut place, mut link_count) = (PathBuf::new(), 0);
    while let Some(part) = rest.pop_front() {
        let next = place.join(&part);
        match fs::read_link(&next) {
            Ok(target) if link_count < MAX_LINKS => {
                link_count += 1;
                found.insert(place.clone());
                let after = std::mem::replace(&mut rest, parts(&target));
                rest.extend(after);
            }
            _ if rest.is_empty() => drop(found.insert(place.clone())),
            _ => place = next,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_a_folder_and_a_link_that_are_not_there_are_told_apart() {
        let root = scratch::path("looks");
        fs::create_dir_all(root.join("d")).unwrap();
        fs::write(root.join("d/there"), "x").unwrap();
        symlink("nowhere", root.join("d/link")).unwrap();
        let device = device_of_folder(&root.join("d/there"));
        let look = |path: &str, device| look_at(&root.join(path), device);
        assert!(matches!(look("d/there", device), LookResult::There(stamp) if stamp.size == 1));
        assert_eq!(look("d/gone", device), LookResult::Gone);
        assert_eq!(look("d/gone", None), LookResult::Gone);
        assert_eq!(look("d/gone", device.map(|device| device + 1)), LookResult::FolderGone);
        assert_eq!(look("none/gone", device), LookResult::FolderGone);
        assert_eq!(look("d/there/gone", device), LookResult::FolderGone);
        assert_eq!(look("d/link", device), LookResult::Unreadable);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn every_directory_with_a_link_on_the_way_is_watched() {
        let root = scratch::path("links");
        fs::create_dir_all(root.join("config/..v1")).unwrap();
        fs::create_dir_all(root.join("releases/7")).unwrap();
        // As Kubernetes mounts a ConfigMap, and as deploys switch to a release.
        symlink("..v1", root.join("config/..data")).unwrap();
        symlink("..data/jobs.toml", root.join("config/jobs.toml")).unwrap();
        symlink(root.join("releases/7"), root.join("cur")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let of = |path: &str| directories(&root.join(path));
        let paths =
            |names: &[&str]| -> HashSet<PathBuf> { names.iter().map(|name| root.join(name)).collect() };
        assert_eq!(of("config/jobs.toml"), paths(&["config", "config/..v1"]));
        let root_itself: HashSet<PathBuf> = [root.clone(), root.join("releases/7")].into();
        assert_eq!(of("cur/jobs.toml"), root_itself);
        assert_eq!(of("releases/7/jobs.toml"), paths(&["releases/7"]));
        assert!(of("loop/jobs.toml").contains(&root));
        let _ = fs::remove_dir_all(&root);
    }
}

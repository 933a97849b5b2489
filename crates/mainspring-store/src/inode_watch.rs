//! Checks that the files under a store are still where they were.
//!
//! | found | is |
//! |---|---|
//! | lock, store and log where they were | [`FileState::InPlace`] |
//! | the log or its index is another file, or none | [`FileState::LogGone`]: its content must go into the store |
//! | the lock is another file, or none | [`FileState::LockGone`]: a second server may have come |
//! | the store was removed, and nothing is in its place | [`FileState::StoreGone`]: all is still in the open file |
//! | the store was removed, and another file is in its place | [`FileState::StoreReplaced`] |
//! | the store has moved elsewhere | [`FileState::StoreMoved`] |
//!
//! A file that is removed stays whole while a process has it open, so nothing is lost before the server ends.
//!
//! Cost: four system calls.
//!
//! Does not repair anything: the store does.
//!
//! Source: inode(7); the file is held by O_PATH, whose end drops none of SQLite's locks. Elsewhere it is let
//! go after the connections, which stand before it in the store.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::file_state::FileState;
use mainspring_host::sys::file_id;

/// How the file is held. Where there is no O_PATH it is opened, and the end of that drops SQLite's locks.
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
const HOLD: i32 = nix::libc::O_PATH;
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
const HOLD: i32 = 0;

/// Device and number: what makes a file this one.
type FileId = (u64, u64);

/// The files of an open store.
#[derive(Debug)]
pub(super) struct InodeWatch {
    store: PathBuf,
    /// The store's file, so that one can see whether it has a name.
    held: File,
    /// Path and number of the lock, of the log, and of the log's index.
    lock: Option<(PathBuf, FileId)>,
    logs: Vec<(PathBuf, FileId)>,
}

impl InodeWatch {
    /// Notes where the files of an open store are. `lock` is the path of its folder's lock.
    pub(super) fn take(store: &Path, lock: Option<&Path>) -> io::Result<InodeWatch> {
        let held = OpenOptions::new().read(true).custom_flags(HOLD).open(store)?;
        let noted = |path: &Path| Some((path.to_owned(), id(path)?));
        let logs = ["-wal", "-shm"].into_iter().filter_map(|end| {
            let mut path = store.as_os_str().to_owned();
            path.push(end);
            noted(Path::new(&path))
        });
        Ok(InodeWatch { store: store.to_owned(), held, lock: lock.and_then(noted), logs: logs.collect() })
    }

    /// Notes again where they are, after they were opened again.
    pub(super) fn retake(&mut self, store: &Path, lock: Option<&Path>) -> io::Result<()> {
        let before = std::mem::replace(self, InodeWatch::take(store, lock)?);
        if HOLD == 0 {
            // Never closed: it may be the file that is open again. A store is repaired a few times at most.
            let _ = before.held.into_raw_fd();
        }
        Ok(())
    }

    /// How the files are now.
    pub(super) fn look(&self) -> FileState {
        let Ok(held) = self.held.metadata() else { return FileState::StoreMoved };
        let has_name = 0 < held.nlink();
        match id(&self.store) {
            Some(found) if found == file_id(&held) => {}
            // Another file, or none, while this one is elsewhere.
            _ if has_name => return FileState::StoreMoved,
            Some(_) => return FileState::StoreReplaced,
            None => return if self.has_lock() { FileState::StoreGone } else { FileState::LockGone },
        }
        let is_there = |(path, noted): &(PathBuf, FileId)| id(path) == Some(*noted);
        match (self.has_lock(), self.logs.iter().all(is_there)) {
            (false, _) => FileState::LockGone,
            (true, false) => FileState::LogGone,
            (true, true) => FileState::InPlace,
        }
    }

    /// Notes the lock again.
    pub(super) fn relock(&mut self, lock: &Path) {
        self.lock = id(lock).map(|id| (lock.to_owned(), id));
    }

    fn has_lock(&self) -> bool {
        self.lock.as_ref().is_none_or(|(path, noted)| id(path) == Some(*noted))
    }
}

fn id(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().as_ref().map(file_id)
}

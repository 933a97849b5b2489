//! News of changes in directories.
//!
//! | | `inotify` | `silence` |
//! |---|---|---|
//! | for | Linux | systems without inotify |
//! | a change is told | by the kernel | never: the looks every few seconds find it |
//!
//! With `--cfg mainspring_posix` Linux has the second one too, so that it can be tried there.
//!
//! Cost: see each.
//!
//! Does not look at files.

use std::ffi::OsString;

#[cfg(all(target_os = "linux", not(mainspring_posix)))]
mod inotify;
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
pub(super) use inotify::{FolderId, FolderWatch};
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
mod silence;
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
pub(super) use silence::{FolderId, FolderWatch};

/// One change.
#[derive(Clone, Debug)]
pub(super) struct FolderEvent {
    /// In which directory.
    pub(super) directory: FolderId,
    /// Of which name in it; `None` for the directory itself.
    pub(super) name: Option<OsString>,
    pub(super) kind: FolderEventKind,
}

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(any(not(target_os = "linux"), mainspring_posix), expect(dead_code, reason = "nothing is told"))]
pub(super) enum FolderEventKind {
    /// More changed than could be told.
    Overflow,
    /// Somebody writes the file, and has not closed it.
    Modified,
    /// Its owner, its mode or its number of names.
    Attributes,
    /// It is another file, is none any more, or was closed by who wrote it.
    Other,
}

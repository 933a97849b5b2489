//! News of changes from the kernel.
//!
//! Cost: a watch for each directory, and a wake-up for a change in one of them.
//!
//! Source: inotify(7).

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

use super::{FolderEvent, FolderEventKind};

/// What is reported of each directory.
const WATCHED_EVENTS: AddWatchFlags = AddWatchFlags::IN_CLOSE_WRITE
    .union(AddWatchFlags::IN_MODIFY)
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_CREATE)
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_ATTRIB);

/// Names a watched directory.
pub(crate) type FolderId = WatchDescriptor;

/// The watches.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    /// `None`: the kernel gives no more of them to this user.
    inotify: Option<Inotify>,
}

impl FolderWatch {
    pub(crate) fn new() -> FolderWatch {
        FolderWatch { inotify: Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok() }
    }

    /// Watches a directory; `None` if it cannot be watched.
    pub(crate) fn watch(&self, directory: &Path) -> Option<FolderId> {
        self.inotify.as_ref()?.add_watch(directory, WATCHED_EVENTS).ok()
    }

    /// What was told since the last call, up to some dozens; empty if nothing was.
    pub(crate) fn read(&self) -> Vec<FolderEvent> {
        let events = self.inotify.as_ref().and_then(|inotify| inotify.read_events().ok());
        events.into_iter().flatten().map(change).collect()
    }

    /// Becomes readable when something is told.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }
}

fn change(event: InotifyEvent) -> FolderEvent {
    let has = |flag: AddWatchFlags| event.mask.contains(flag);
    let kind = if has(AddWatchFlags::IN_Q_OVERFLOW) {
        FolderEventKind::Overflow
    } else if has(AddWatchFlags::IN_MODIFY) {
        FolderEventKind::Modified
    } else if has(AddWatchFlags::IN_ATTRIB) {
        FolderEventKind::Attributes
    } else {
        FolderEventKind::Other
    };
    FolderEvent { directory: event.wd, name: event.name, kind }
}

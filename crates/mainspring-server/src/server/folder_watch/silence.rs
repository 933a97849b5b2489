//! No news of changes: what has changed is found by looks.
//!
//! Cost: nothing.

use mainspring_host::net::BorrowedFd;
use std::path::Path;

use super::FolderEvent;

/// Names a watched directory, of which there is none.
pub(crate) type FolderId = u32;

/// No watches.
#[derive(Debug)]
pub(crate) struct FolderWatch;

impl FolderWatch {
    pub(crate) fn new() -> FolderWatch {
        FolderWatch
    }

    /// Watches nothing.
    pub(crate) fn watch(&self, _: &Path) -> Option<FolderId> {
        None
    }

    /// Nothing is told.
    pub(crate) fn read(&self) -> Vec<FolderEvent> {
        Vec::new()
    }

    /// Nothing becomes readable.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

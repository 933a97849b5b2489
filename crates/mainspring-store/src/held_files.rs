//! The files under a store on Windows, where no program can take them away.
//!
//! SQLite opens its files so that they can be neither removed nor renamed before they are closed, and the
//! lock of the folder is opened so too. So they are always in place.
//!
//! Cost: none.
//!
//! Source: `winOpen` of SQLite, which shares a file for reading and writing and not for deletion.

use std::io;
use std::path::Path;

use super::file_state::FileState;

/// The files of an open store.
#[derive(Debug)]
pub(super) struct InodeWatch;

#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the other implementation looks")]
impl InodeWatch {
    pub(super) fn take(_: &Path, _: Option<&Path>) -> io::Result<InodeWatch> {
        Ok(InodeWatch)
    }

    pub(super) fn retake(&mut self, _: &Path, _: Option<&Path>) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn look(&self) -> FileState {
        FileState::InPlace
    }

    pub(super) fn relock(&mut self, _: &Path) {}
}

//! Files and folders as Windows makes them: for whom they are, the folder above says.
//!
//! Cost: the system call that makes or opens one.
//!
//! Does not change an access list. While a file of [`open`] is open, it can be neither removed nor renamed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

/// Others may read and write a file that is open (FILE_SHARE_READ, FILE_SHARE_WRITE), and not remove it.
const SHARED: u32 = 0x1 | 0x2;

/// How a file is opened.
pub fn file() -> OpenOptions {
    OpenOptions::new()
}

/// How a folder and those above it are made.
pub fn folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder
}

/// Nothing: the file system has a journal of names, and std opens no folder.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens a file of a folder of ours, and keeps it where it is.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.share_mode(SHARED).open(path)
}

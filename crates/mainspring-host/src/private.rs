//! Files and folders that are for their owner alone, whatever the umask is.
//!
//! Cost: the system call that makes or opens one.
//!
//! Does not judge the folders above.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use crate::doubt::denied;

/// How a file is opened that has the mode 0600 if it is made.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// How a folder and those above it are made, with the mode 0700.
pub fn folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

/// Has the names in a folder on disk.
///
/// # Errors
///
/// The operating system's.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Opens a file of a folder of ours, which is a regular one with one name: what else stands there is not
/// ours.
pub(crate) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = options.custom_flags(flags.bits()).open(path)?;
    let found = file.metadata()?;
    let is_ours = found.is_file() && found.nlink() == 1;
    let other = || denied(format!("{} is no regular file of one name", path.display()));
    is_ours.then_some(file).ok_or_else(other)
}

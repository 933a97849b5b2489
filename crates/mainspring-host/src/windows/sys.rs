//! Facts of a machine with Windows.
//!
//! Cost: a system call, or a variable of the environment.

use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::MetadataExt;
use std::os::windows::io::AsHandle;
use std::path::Path;

use crate::disk_room::DiskRoom;
use crate::net::LocalStream;

/// The user at the other end of a connection, which the system does not tell.
pub fn peer_uid(_: &LocalStream) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The name of this machine; empty if it is not known.
pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Standard output as a file of its own.
///
/// # Errors
/// The operating system's.
pub fn standard_output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// Fills it with random bytes of the operating system.
pub fn fill_randomly(bytes: &mut [u8]) -> io::Result<()> {
    Ok(getrandom::fill(bytes)?)
}

/// The room in the file system of a folder, which std does not tell.
pub fn disk_room(_: &Path) -> Option<DiskRoom> {
    None
}

/// Whether a file system copies a page that changes is not asked: SQLite maps its index here in any case.
pub fn copies_on_write(_: &Path) -> bool {
    false
}

/// Whether the operating system lets us write to a file or a folder is not asked.
pub fn may_write(_: &Path) -> bool {
    true
}

/// What tells a file from most others: when it was made, because std does not say its number.
pub fn file_id(found: &Metadata) -> (u64, u64) {
    (0, found.creation_time())
}

/// When a file was written last, in the system's own unit; when else it was changed is not known.
pub fn times(found: &Metadata) -> [(i64, i64); 2] {
    [(found.last_write_time().cast_signed(), 0), (0, 0)]
}

/// The permission bits of a file, which are its owner's here: nothing is said of others.
pub fn permission_bits(_: &Metadata) -> u32 {
    0o700
}

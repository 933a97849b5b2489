//! The room in a file system, as [`disk_room`](crate::sys::disk_room) finds it.
//!
//! Cost: none.

use std::io;

/// The room in a file system.
#[derive(Clone, Copy, Debug)]
pub struct DiskRoom {
    /// All of it.
    pub total_bytes: u64,
    /// What we may still write.
    pub free_bytes: u64,
}

/// Whether something was not written for lack of room, on the disk or within a quota.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

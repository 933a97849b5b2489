//! The room in a file system, as [`disk_room`](crate::sys::disk_room) finds it.
//!
//! Cost: none.

/// The room in a file system.
#[derive(Clone, Copy, Debug)]
pub struct DiskRoom {
    /// All of it.
    pub total_bytes: u64,
    /// What we may still write.
    pub free_bytes: u64,
}

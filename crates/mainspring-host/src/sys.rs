//! Calls of the operating system that differ, behind one seam with two implementations.
//!
//! | | `linux` | `posix` |
//! |---|---|---|
//! | an entry of a folder | held by a descriptor (`O_PATH`) | its name in the folder that is held, and what stood there |
//! | its opening as a folder, its link | by the descriptor | by the name, and refused if something else stands there now |
//! | a connection to it | by the descriptor | by its path; one to another user's server is closed without a word |
//! | its mode | by the descriptor | by the name, without following a link, in a folder that was judged |
//! | a new socket | has its mode before it has a name | gets it before it listens: no client can connect in between |
//! | a socket whose path is too long | is bound by the descriptor of its folder | refused |
//! | the groups of another user | `getgrouplist` | none, so that no process becomes another user |
//!
//! With `--cfg mainspring_posix` Linux has the second one too, but for users: so its tests run here.
//!
//! Cost: a system call or two for each.
//!
//! It judges nothing: see [`walk`](crate::walk).
//!
//! Source: open(2), `O_PATH`; unix(7), `SO_PEERCRED`; getpeereid(3) and open(2), `O_SEARCH`, of macOS.

use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::stat::FileStat;
use nix::unistd::{AccessFlags, Gid};

use crate::disk_room::DiskRoom;

#[cfg(all(target_os = "linux", not(mainspring_posix)))]
mod linux;
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
pub(crate) use linux::{Entry, FOLDER, MAX_ADDRESS_BYTES, new_socket, way_into};
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
mod posix;
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
pub(crate) use posix::{Entry, FOLDER, MAX_ADDRESS_BYTES, new_socket, way_into};

/// The number of the user at the other end of a connection, when it was made.
///
/// # Errors
/// The operating system's.
#[cfg(target_os = "linux")]
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
    Ok(getsockopt(stream, PeerCredentials)?.uid())
}

/// The number of the user at the other end of a connection, when it was made.
///
/// # Errors
/// The operating system's.
#[cfg(not(target_os = "linux"))]
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    Ok(nix::unistd::getpeereid(stream)?.0.as_raw())
}

/// The name of this machine; empty if it is not known.
pub fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().trim().to_owned()
}

/// Standard output as a file of its own.
///
/// # Errors
/// The operating system's.
pub fn standard_output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Fills it with random bytes of the operating system.
///
/// # Errors
/// When /dev/urandom cannot be read.
pub fn fill_randomly(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}

/// The room in the file system of a folder, as far as it can be told.
pub fn disk_room(folder: &Path) -> Option<DiskRoom> {
    let found = nix::sys::statvfs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(wide(found.fragment_size()));
    let (total_bytes, free_bytes) = (bytes(wide(found.blocks())), bytes(wide(found.blocks_available())));
    Some(DiskRoom { total_bytes, free_bytes })
}

/// Whether a file system copies a page that changes: then a write to a mapped page needs room.
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
pub fn copies_on_write(folder: &Path) -> bool {
    use nix::sys::statfs::{BTRFS_SUPER_MAGIC, statfs};
    statfs(folder).is_ok_and(|found| found.filesystem_type() == BTRFS_SUPER_MAGIC)
}

/// The same elsewhere, where it is not known.
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
pub fn copies_on_write(_: &Path) -> bool {
    false
}

/// Whether the operating system lets us write to a file or a folder.
pub fn may_write(path: &Path) -> bool {
    nix::unistd::access(path, AccessFlags::W_OK).is_ok()
}

/// What tells a file from every other one: its file system, and its number there.
pub fn file_id(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// When a file was written last, and when it or its owner, mode or name was: in seconds and nanoseconds.
pub fn times(found: &Metadata) -> [(i64, i64); 2] {
    [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())]
}

/// The permission bits of a file.
pub fn permission_bits(found: &Metadata) -> u32 {
    found.mode() & 0o7777
}

/// The groups of a user; `None` where no process becomes another user.
#[cfg(target_os = "linux")]
pub(crate) fn groups(name: &CStr, primary: Gid) -> Option<nix::Result<Vec<Gid>>> {
    Some(nix::unistd::getgrouplist(name, primary))
}

/// The groups of a user; `None` where no process becomes another user.
#[cfg(not(target_os = "linux"))]
pub(crate) fn groups(_: &CStr, _: Gid) -> Option<nix::Result<Vec<Gid>>> {
    None
}

/// The permission bits.
pub(crate) fn mode(found: &FileStat) -> u32 {
    wide::<u32>(found.st_mode) & 0o7777
}

/// How many names it has.
pub(crate) fn link_count(found: &FileStat) -> u64 {
    wide(found.st_nlink)
}

/// A number that is not everywhere as wide.
fn wide<N>(number: impl Into<N>) -> N {
    number.into()
}

//! Linux: an entry is held by a descriptor that opens nothing, so that no name is looked up twice.
//!
//! Cost: two system calls to find an entry, and one for each use.
//!
//! It needs /proc for the mode of an entry, and for a connection to it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat};

/// How a folder is opened to walk through it.
pub(crate) const FOLDER: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// The longest path that the address of a socket has room for, in bytes.
pub(crate) const MAX_ADDRESS_BYTES: usize = 107;

/// What has a name in a folder, whatever it is, without following it.
pub(crate) struct Entry {
    held: OwnedFd,
    /// What it is.
    pub(crate) found: FileStat,
}

impl Entry {
    pub(crate) fn at(folder: impl AsFd, name: &OsStr) -> nix::Result<Entry> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let held = openat(folder, name, flags, Mode::empty())?;
        let found = fstat(&held)?;
        Ok(Entry { held, found })
    }

    /// The folder that it is.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it is opened now")]
    pub(crate) fn into_folder(self) -> io::Result<OwnedFd> {
        Ok(self.held)
    }

    /// What the link leads to.
    pub(crate) fn target(&self) -> io::Result<OsString> {
        Ok(readlinkat(&self.held, OsStr::new(""))?)
    }

    pub(crate) fn set_mode(&self, bits: u32) -> io::Result<()> {
        fs::set_permissions(way_to(&self.held), Permissions::from_mode(bits))
    }

    /// Connects by a path to the socket that it is, and to no other; `None` where that cannot be.
    pub(crate) fn connect(
        &self,
        by: impl FnOnce(&Path) -> io::Result<UnixStream>,
    ) -> io::Result<Option<UnixStream>> {
        match by(&way_to(&self.held)) {
            // There is no /proc, as in a bare chroot.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }
}

/// A socket without a name. What is bound takes over its mode, less the umask.
pub(crate) fn new_socket(bits: u32) -> io::Result<OwnedFd> {
    let made = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    fchmod(&made, Mode::from_bits_truncate(bits))?;
    Ok(made)
}

/// A short path of a folder that is held.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(crate) fn way_into(folder: &OwnedFd) -> io::Result<PathBuf> {
    Ok(way_to(folder))
}

/// A path to what a descriptor holds, whatever its name leads to meanwhile: see proc_pid_fd(5).
fn way_to(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

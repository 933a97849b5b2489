//! Systems without `O_PATH`: an entry is its name in a folder that is held, and what stood there when it was
//! found.
//!
//! ```text
//! found: a folder  ─▶ opened by its name, no link ─▶ the same number? ─▶ held
//! found: a link    ─▶ read by its name ─▶ found again: the same number? ─▶ followed
//! ```
//!
//! Who could change the name in between is judged by the folder, which is held: a user who may do so is a
//! doubt of the walk, or is trusted. In a folder with the sticky bit an entry is changed by its owner alone,
//! who is judged by what was found; so what is used is what was found.
//!
//! Cost: two system calls to find an entry, and up to three for each use.
//!
//! It cannot pass through a folder that may be searched and not read, unless the system has `O_SEARCH`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, FdFlag, OFlag, fcntl, openat, readlinkat};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmodat, fstat, fstatat};

#[cfg(target_vendor = "apple")]
const SEARCH: OFlag = OFlag::from_bits_retain(nix::libc::O_SEARCH);
#[cfg(not(target_vendor = "apple"))]
const SEARCH: OFlag = OFlag::O_RDONLY;

/// How a folder is opened to walk through it.
pub(crate) const FOLDER: OFlag = SEARCH.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// The longest path that the address of a socket has room for, in bytes.
pub(crate) const MAX_ADDRESS_BYTES: usize = 103;

/// What has a name in a folder, whatever it is, without following it.
pub(crate) struct Entry {
    folder: OwnedFd,
    name: OsString,
    /// What it is.
    pub(crate) found: FileStat,
}

impl Entry {
    pub(crate) fn at(folder: impl AsFd, name: &OsStr) -> nix::Result<Entry> {
        let found = fstatat(&folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        let folder = folder.as_fd().try_clone_to_owned();
        let folder = folder.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
        Ok(Entry { folder, name: name.to_owned(), found })
    }

    /// The folder that it is.
    pub(crate) fn into_folder(self) -> io::Result<OwnedFd> {
        let opened = openat(&self.folder, self.name.as_os_str(), FOLDER | OFlag::O_NOFOLLOW, Mode::empty())?;
        self.same(&fstat(&opened)?)?;
        Ok(opened)
    }

    /// What the link leads to.
    pub(crate) fn target(&self) -> io::Result<OsString> {
        let target = readlinkat(&self.folder, self.name.as_os_str())?;
        self.is_still_there()?;
        Ok(target)
    }

    pub(crate) fn set_mode(&self, bits: u32) -> io::Result<()> {
        self.is_still_there()?;
        let mode = Mode::from_bits_truncate(bits as nix::libc::mode_t);
        Ok(fchmodat(&self.folder, self.name.as_os_str(), mode, FchmodatFlags::NoFollowSymlink)?)
    }

    /// Connects by a path to the socket that it is, and to no other; `None` where that cannot be.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there is no way by a descriptor")]
    pub(crate) fn connect(
        &self,
        _: impl FnOnce(&Path) -> io::Result<UnixStream>,
    ) -> io::Result<Option<UnixStream>> {
        Ok(None)
    }

    fn is_still_there(&self) -> io::Result<()> {
        self.same(&fstatat(&self.folder, self.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)
    }

    fn same(&self, now: &FileStat) -> io::Result<()> {
        match (now.st_dev, now.st_ino) == (self.found.st_dev, self.found.st_ino) {
            true => Ok(()),
            false => Err(io::Error::other("it was replaced while it was opened")),
        }
    }
}

/// A socket without a name. Its mode is given to what is bound.
pub(crate) fn new_socket(_: u32) -> io::Result<OwnedFd> {
    let made = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None)?;
    // A child of another thread, forked before this, closes what it does not know.
    fcntl(&made, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(made)
}

/// A short path of a folder that is held: there is none.
pub(crate) fn way_into(_: &OwnedFd) -> io::Result<PathBuf> {
    let text = format!("the path of a socket has at most {MAX_ADDRESS_BYTES} bytes on this system");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

//! The data folder, and the lock that makes one server its owner.
//!
//! The lock is an flock on `mainspring.lock`: the kernel drops it when its holder ends, however that happens, so a crash
//! leaves nothing to clean up. The folder is made with mode 0700, because commands and their output are nobody's business.
//!
//! Does not work between machines that share a folder over a network: that is what a shared store is for.

use std::error::Error;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

const LOCK_FILE: &str = "mainspring.lock";
const STORE_FILE: &str = "mainspring.db";

/// A data folder that this process owns until this value is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Held for as long as the folder is ours.
    _lock: Flock<File>,
}

impl Directory {
    /// Makes the folder if it is not there, and takes it.
    ///
    /// # Errors
    /// When another server holds it, or it cannot be made or written to.
    pub fn open(path: &Path) -> Result<Directory, DirectoryError> {
        Directory::lock(path, FlockArg::LockExclusiveNonblock)
    }

    /// As [`Directory::open`], but waits until the other server has ended: a standby.
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn wait(path: &Path) -> Result<Directory, DirectoryError> {
        Directory::lock(path, FlockArg::LockExclusive)
    }

    fn lock(path: &Path, how: FlockArg) -> Result<Directory, DirectoryError> {
        let failed = |source: io::Error| DirectoryError::Io { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock_path = path.join(LOCK_FILE);
        let mut options = OpenOptions::new();
        // Not truncated before it is ours: it says who holds it.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&lock_path).map_err(failed)?;
        let mut lock = match Flock::lock(file, how) {
            Ok(lock) => lock,
            Err((_, Errno::EWOULDBLOCK)) => {
                let holder = fs::read_to_string(&lock_path).unwrap_or_default();
                return Err(DirectoryError::Taken {
                    path: path.to_owned(),
                    holder: holder.trim().to_owned(),
                });
            }
            Err((_, error)) => return Err(failed(error.into())),
        };
        // Written over what is there, which needs no room; on a full disk a new file stays empty.
        let text = format!("process {}\n", std::process::id());
        match lock.write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::StorageFull => return Err(failed(error)),
            _ => lock.set_len(text.len() as u64).map_err(failed)?,
        }
        Ok(Directory { path: path.to_owned(), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file whose lock it is.
    pub(super) fn lock_path(&self) -> PathBuf {
        self.path.join(LOCK_FILE)
    }

    /// The file of the store.
    pub fn store_path(&self) -> PathBuf {
        self.path.join(STORE_FILE)
    }
}

/// Says why a data folder cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum DirectoryError {
    /// Another server holds it.
    Taken {
        /// Which folder.
        path: PathBuf,
        /// Who holds it, as far as it says; perhaps empty.
        holder: String,
    },
    /// It cannot be made, opened or written to.
    Io {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirectoryError::Taken { path, holder } if holder.is_empty() => {
                write!(f, "another server uses the data directory {}", path.display())
            }
            DirectoryError::Taken { path, holder } => {
                write!(f, "another server ({holder}) uses the data directory {}", path.display())
            }
            DirectoryError::Io { path, .. } => {
                write!(f, "cannot use the data directory {}", path.display())
            }
        }
    }
}

impl Error for DirectoryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DirectoryError::Taken { .. } => None,
            DirectoryError::Io { source, .. } => Some(source),
        }
    }
}

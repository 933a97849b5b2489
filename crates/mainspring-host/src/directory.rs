//! The data folder, and the lock that makes one server its owner.
//!
//! ```text
//! serve   lock, for itself      made if it is not there, and says who holds it
//! look    lock, with others     only opened; a folder without one has no server
//! ```
//!
//! The lock is an flock on `mainspring.lock`. The kernel drops it when its holder ends, however that happens,
//! so a crash leaves nothing to clean up.
//!
//! The folder is made with mode 0700, because it holds commands and their output. It is refused if a user
//! other than root decides what is in it: see [`folder`](crate::folder). The files in it are for
//! their owner alone in any folder. A user who may read the store or the lock can hold a lock on it, and the
//! server would wait for that lock.
//!
//! Does not work between machines that share a folder over a network: that needs a shared store.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::disk_room::is_full;
use crate::folder::{Folder, make_folder};
use crate::private;
use crate::regular::close_to_others;

const LOCK_FILE: &str = "mainspring.lock";
const STORE_FILE: &str = "mainspring.db";

/// The files that only their owner may open.
const OWN_FILES: [&str; 4] = [LOCK_FILE, STORE_FILE, "mainspring.db-wal", "mainspring.db-shm"];

/// The longest text of a lock that is shown: `process` and a number.
const MAX_HOLDER_BYTES: u64 = 64;

const _: () = assert!("process 4294967295\n".len() as u64 <= MAX_HOLDER_BYTES);

/// A data folder that this process owns, or looks at, until this value is dropped.
#[derive(Debug)]
pub struct Directory {
    /// Where it is, without links.
    path: PathBuf,
    /// Held for as long as the folder is ours. Without one no server has ever served it, or a person has
    /// copied it.
    lock: Option<Lock>,
}

impl Directory {
    /// Makes the folder if it is not there, and takes it.
    ///
    /// # Errors
    /// When another server holds it, or commands look at it, or it cannot be made, trusted or written to.
    pub fn open(path: &Path) -> Result<Directory, DirectoryError> {
        let failed = |source: io::Error| DirectoryError::Io { path: path.to_owned(), source };
        let folder = make_folder(path).map_err(failed)?;
        // Not truncated before it is ours: it says who holds it.
        let file = private::open(
            private::file().read(true).write(true).create(true).truncate(false),
            &folder.path.join(LOCK_FILE),
        );
        let mut lock = locked(path, file.map_err(failed)?, File::try_lock)?;
        // Written over what is there, which mostly needs no room; on a full disk a new file stays empty.
        let text = format!("process {}\n", std::process::id());
        match lock.0.write_all(text.as_bytes()) {
            Err(error) if !is_full(&error) => return Err(failed(error)),
            _ => lock.0.set_len(text.len() as u64).map_err(failed)?,
        }
        let directory = Directory { path: folder.path, lock: Some(lock) };
        // Whatever the umask was when they were made.
        for name in OWN_FILES {
            close_to_others(&directory.path, name).map_err(failed)?;
        }
        Ok(directory)
    }

    /// Looks at a folder that no server has, and keeps servers out meanwhile. Nothing is made or written.
    ///
    /// # Errors
    /// When a server holds it, or it cannot be read or trusted.
    pub fn look(path: &Path) -> Result<Directory, DirectoryError> {
        let failed = |source: io::Error| DirectoryError::Io { path: path.to_owned(), source };
        let folder = Folder::at(path).map_err(failed)?;
        folder.judge().map_err(failed)?;
        let lock = match private::open(private::file().read(true), &folder.path.join(LOCK_FILE)) {
            Ok(file) => Some(locked(path, file, File::try_lock_shared)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        Ok(Directory { path: folder.path, lock })
    }

    /// Makes the file of the store if it is not there, for its owner alone. SQLite gives the journal the same
    /// mode.
    ///
    /// # Errors
    /// The operating system's.
    pub fn make_store(&self) -> io::Result<()> {
        match private::open(private::file().write(true).create_new(true), &self.store_path()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Where it is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file whose lock it is.
    pub fn lock_path(&self) -> PathBuf {
        self.path.join(LOCK_FILE)
    }

    /// The file of the store.
    pub fn store_path(&self) -> PathBuf {
        self.path.join(STORE_FILE)
    }

    /// Whether a server is kept out as long as this value lives.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }
}

/// The lock of a file. Its end lets go at once, also of what a child has of it until its `exec`.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The end of the file lets go too.
        let _ = self.0.unlock();
    }
}

fn locked(
    path: &Path,
    file: File,
    lock: fn(&File) -> Result<(), TryLockError>,
) -> Result<Lock, DirectoryError> {
    match lock(&file) {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Who holds it is for people: it may be unreadable.
            let _ = (&file).take(MAX_HOLDER_BYTES).read_to_string(&mut holder);
            let is_looked_at = file.try_lock_shared().map(|()| Lock(file)).is_ok();
            let holder = (!is_looked_at).then(|| holder.trim().to_owned());
            Err(DirectoryError::Taken { path: path.to_owned(), holder })
        }
        Err(TryLockError::Error(source)) => Err(DirectoryError::Io { path: path.to_owned(), source }),
    }
}

/// Says why a data folder cannot be used.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// Another server holds it, or commands that look at it.
    #[error("{} uses the data directory {path}", holder_text(.holder.as_deref()))]
    Taken {
        /// Which folder.
        path: PathBuf,
        /// The server, as far as it says who it is; perhaps empty. `None` if commands look.
        holder: Option<String>,
    },
    /// It cannot be made, opened or written to.
    #[error("cannot use the data directory {path}")]
    Io {
        /// Which folder.
        path: PathBuf,
        /// The answer of the operating system.
        source: io::Error,
    },
}

/// Who has a folder that is taken.
fn holder_text(holder: Option<&str>) -> String {
    match holder {
        None => "a command that looks".to_owned(),
        Some("") => "another program".to_owned(),
        Some(name) => format!("another program ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_folder_has_one_owner_and_says_who() {
        let folder = scratch::path("directory-owner");
        let first = Directory::open(&folder).expect("nobody has it");
        let Err(DirectoryError::Taken { holder, .. }) = Directory::open(&folder) else {
            panic!("it is taken")
        };
        assert_eq!(holder, Some(format!("process {}", std::process::id())));
        drop(first);
        let (one, other) = (Directory::look(&folder), Directory::look(&folder));
        assert!(one.is_ok() && other.is_ok(), "any number may look");
        drop(other);
        let error = Directory::open(&folder).expect_err("one still looks");
        let text = format!("a command that looks uses the data directory {}", folder.display());
        assert_eq!(error.to_string(), text);
        drop(one);
        assert!(Directory::open(&folder).is_ok());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        for path in ["/proc/mainspring", "/dev/null/mainspring"] {
            let error = Directory::open(Path::new(path)).expect_err("no folder can be there");
            assert_eq!(error.to_string(), format!("cannot use the data directory {path}"));
            assert!(std::error::Error::source(&error).is_some(), "the reason is the error's source");
        }
    }
}

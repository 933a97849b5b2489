//! The data directory: where it is, what is in it, and that one server at a time has it.
//!
//! ```text
//! $MAINSPRING_DATA, or for root /var/lib/mainspring, or else $XDG_STATE_HOME/mainspring, $HOME/.local/state/mainspring
//!   mainspring.db      the store
//!   mainspring.sock    where the server answers, mode 0600
//!   lock               held by the server that runs; its number is in it
//!   output/JOB/RUN     what runs wrote
//! ```
//!
//! The directory is made with mode 0700, and refused if others may write it: whoever may can have commands run.
//!
//! Cost: none worth a word.
//!
//! Does not remove anything.
//!
//! Source: the XDG base directories, <https://specifications.freedesktop.org/basedir-spec/latest/>.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use crate::error::Error;

/// The variable that names the data directory.
pub const VARIABLE: &str = "MAINSPRING_DATA";

/// Who may do what with files here: the owner alone.
const PRIVATE: u32 = 0o600;

/// A data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    /// The directory that is given, or the usual one.
    pub fn find(given: Option<&Path>) -> Place {
        let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || match Uid::effective().is_root() {
            true => PathBuf::from("/var/lib/mainspring"),
            false => named("XDG_STATE_HOME")
                .or_else(|| Some(named("HOME")?.join(".local/state")))
                .unwrap_or_else(|| PathBuf::from("."))
                .join("mainspring"),
        };
        Place { directory: given.map(Path::to_owned).or_else(|| named(VARIABLE)).unwrap_or_else(usual) }
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.directory.join("mainspring.db")
    }

    /// The server's socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("mainspring.sock")
    }

    /// Where the output of runs is kept.
    pub fn output(&self) -> PathBuf {
        self.directory.join("output")
    }

    /// Makes the directory if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made, is none, or others may write it.
    pub fn make(&self) -> Result<(), Error> {
        let failed = |source| Error::Data { path: self.directory.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)?;
        let metadata = fs::metadata(self.directory.join(".")).map_err(failed)?;
        let us = Uid::effective().as_raw();
        if metadata.uid() != us && metadata.uid() != 0 {
            return Err(failed(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to another user",
            )));
        }
        if metadata.mode() & 0o022 != 0 {
            let message = "others may write it: take that away with chmod go-w";
            return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, message)));
        }
        Ok(())
    }

    /// Takes the directory for this process, or says who has it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while another server has it, or when the lock file cannot be made.
    pub fn lock(&self) -> Result<Lock, Error> {
        let mut file = self.lock_file()?;
        match file.try_lock() {
            Ok(()) => Ok(Lock::taken(file)),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                Err(Error::InUse { path: self.directory.clone(), holder: holder.trim().to_owned() })
            }
            Err(TryLockError::Error(source)) => {
                Err(Error::Data { path: self.directory.join("lock"), source })
            }
        }
    }

    /// Waits until the directory is free, and takes it.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be made.
    pub fn wait_for_lock(&self) -> Result<Lock, Error> {
        let file = self.lock_file()?;
        file.lock().map_err(|source| Error::Data { path: self.directory.join("lock"), source })?;
        Ok(Lock::taken(file))
    }

    fn lock_file(&self) -> Result<File, Error> {
        let path = self.directory.join("lock");
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(&path);
        options.map_err(|source| Error::Data { path, source })
    }
}

/// The right to a data directory, as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    fn taken(mut file: File) -> Lock {
        // For people only; the lock itself is the kernel's and ends with the process.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Lock { _file: file }
    }
}

/// Gives a file to its owner alone.
///
/// # Errors
///
/// The operating system's answer.
pub fn make_private(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(PRIVATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> Place {
        let directory = env::temp_dir().join(format!("mainspring-place-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        Place::find(Some(&directory))
    }

    #[test]
    fn one_server_at_a_time_has_the_directory() {
        let place = temporary("lock");
        place.make().unwrap();
        let lock = place.lock().unwrap();
        let refused = place.lock().unwrap_err();
        assert!(matches!(&refused, Error::InUse { holder, .. } if *holder == std::process::id().to_string()));
        drop(lock);
        place.lock().unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let place = temporary("open");
        place.make().unwrap();
        assert_eq!(fs::metadata(place.directory()).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(place.directory(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(place.make(), Err(Error::Data { .. })));
    }
}

//! The data directory: where it is, and what is in it.
//!
//! ```text
//! $MAINSPRING_DATA, or for root /var/lib/mainspring, or else $XDG_STATE_HOME/mainspring, $HOME/.local/state/mainspring,
//! that folder in the home of the user database
//!   mainspring.db      the store
//!   mainspring.sock    the socket of the server, mode 0600
//!   mainspring.lock    held by the server that runs; its process number is in it
//!   output/JOB/RUN     the output of runs
//!   reboot             the start of the machine for which @reboot jobs had their runs
//!   outbox             which rows of an outbox are this folder's: see `mainspring-embed`
//! ```
//!
//! The directory is made with mode 0700. It is refused if others may write it, or, for root, if others may
//! write a folder above it: such a user could have commands run.
//!
//! Cost: none.
//!
//! Does not remove anything, and does not lock: see [`store`](mainspring_store).
//!
//! Source: the XDG base directories, <https://specifications.freedesktop.org/basedir-spec/latest/>.

use std::path::{Path, PathBuf};
use std::{env, io};

use crate::error::Error;
use mainspring_host::accounts::{Account, ROOT, own_uid};
use mainspring_host::folder::make_folder;
use mainspring_host::sys::may_write;

/// The variable that names the data directory.
pub const VARIABLE: &str = "MAINSPRING_DATA";

/// The mode of the socket of a server: who may connect may have commands run.
pub const SOCKET_MODE: u32 = 0o600;

/// A data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDirectory {
    directory: PathBuf,
    /// Where output is kept, if not at its usual place.
    output: Option<PathBuf>,
}

impl DataDirectory {
    /// The directory that is given, or the usual one.
    pub fn find(given: Option<&Path>) -> DataDirectory {
        let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || match own_uid() == ROOT {
            true => PathBuf::from("/var/lib/mainspring"),
            false => named("XDG_STATE_HOME")
                .or_else(|| Some(named("HOME")?.join(".local/state")))
                .unwrap_or_else(|| home().join(".local/state"))
                .join("mainspring"),
        };
        let directory = given.map(Path::to_owned).or_else(|| named(VARIABLE)).unwrap_or_else(usual);
        DataDirectory { directory, output: None }
    }

    /// The same with another folder for output.
    pub fn with_output(self, output: PathBuf) -> DataDirectory {
        DataDirectory { output: Some(output), ..self }
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory for people: as it was given it means another one wherever it is read.
    pub fn shown(&self) -> String {
        let path = std::path::absolute(&self.directory).unwrap_or_else(|_| self.directory.clone());
        path.display().to_string()
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
        self.output.clone().unwrap_or_else(|| self.directory.join("output"))
    }

    /// Makes the directory if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made, is none, or another user decides what is in it.
    pub fn make(&self) -> Result<(), Error> {
        make_folder(&self.directory)
            .map(drop)
            .map_err(|source| Error::Data { path: self.directory.clone(), source: self.hinted(source) })
    }

    /// Adds which folder would do instead: a volume of a container often belongs to root and a group.
    fn hinted(&self, source: io::Error) -> io::Error {
        let directory = &self.directory;
        if source.kind() != io::ErrorKind::PermissionDenied {
            return source;
        }
        let text = match directory.is_dir() && may_write(directory) {
            true if own_uid() == ROOT => return source,
            true => format!("or have a folder made in it: --data {}", directory.join("mainspring").display()),
            false => format!("--data or ${VARIABLE} names another folder"),
        };
        io::Error::new(source.kind(), format!("{source}; {text}"))
    }
}

/// The home that the user database knows: a server in a container may have no HOME.
fn home() -> PathBuf {
    Account::ourselves().map_or_else(|_| PathBuf::from("/"), |account| account.home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn temporary(name: &str) -> DataDirectory {
        let directory = scratch::path(&format!("place-{name}"));
        DataDirectory::find(Some(&directory))
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let data = temporary("open");
        data.make().unwrap();
        assert_eq!(fs::metadata(data.directory()).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(data.directory(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(data.make(), Err(Error::Data { .. })));
    }

    #[test]
    fn a_relative_directory_is_shown_whole() {
        let shown = DataDirectory::find(Some(Path::new("d1"))).shown();
        assert_eq!(shown, env::current_dir().unwrap().join("d1").display().to_string());
    }
}

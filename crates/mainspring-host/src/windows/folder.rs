//! A folder that is made or used, on Windows.
//!
//! Cost: some system calls.
//!
//! Does not judge who else may write it: its access list says so, which it has from the folder above.

use std::path::{self, Path, PathBuf};
use std::{fs, io};

use crate::private;

/// A folder that was looked at.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
}

impl Folder {
    /// Looks at the folder at a path.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn at(path: &Path) -> io::Result<Folder> {
        let path = path::absolute(path)?;
        fs::metadata(&path)?
            .is_dir()
            .then_some(Folder { path })
            .ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }

    /// Says nothing against it.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the other implementation judges")]
    pub(crate) fn judge(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a folder if it is not there.
///
/// # Errors
///
/// The operating system's.
pub fn make_folder(path: &Path) -> io::Result<Folder> {
    private::folder().create(path)?;
    Folder::at(path)
}

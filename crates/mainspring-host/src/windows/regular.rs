//! Opens a regular file, on Windows.
//!
//! Cost: some system calls.
//!
//! Does not judge who else may have chosen or written it: its access list says who may.

use std::fs::File;
use std::io;
use std::path::{self, Path, PathBuf};

use crate::accounts::own_number;
use crate::doubt::Doubt;

/// The permission bits that every file has here.
const MODE: u32 = 0o600;

/// A regular file that was opened for reading.
#[derive(Debug)]
pub struct Regular {
    /// The file.
    pub file: File,
    /// Where it is.
    pub path: PathBuf,
    /// The number of its owner: always our own.
    pub uid: u32,
    /// Its permission bits: always the same.
    pub mode: u32,
    /// How many names it has: always one.
    pub link_count: u64,
    /// Who else could have chosen it: never known.
    pub doubt: Option<Doubt>,
}

impl Regular {
    /// Nothing: see above.
    pub fn judge(&self, _: Option<u32>) -> io::Result<()> {
        Ok(())
    }
}

/// Opens the regular file at a path, for reading.
///
/// # Errors
///
/// The operating system's, and one that says so where something else than a regular file is found.
pub fn open_regular(path: &Path) -> io::Result<Regular> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let path = path::absolute(path)?;
    Ok(Regular { file, path, uid: own_number(), mode: MODE, link_count: 1, doubt: None })
}

/// Nothing: whom a file is closed to, its access list says.
#[expect(clippy::unnecessary_wraps, reason = "the other implementation changes a mode")]
pub(crate) fn close_to_others(_: &Path, _: &str) -> io::Result<()> {
    Ok(())
}

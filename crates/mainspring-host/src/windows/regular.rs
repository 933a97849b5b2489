//! Opens a regular file, on Windows.
//!
//! Cost: some system calls.
//!
//! Does not judge who else may have chosen or written it: its access list says who may. The owner is always
//! ourselves here, the mode and the count of names are always the same, and there is no doubt.

use std::fs::File;
use std::io;
use std::path::{self, Path};

use crate::accounts::own_uid;
pub use crate::regular_file::{Ownership, Regular, read_whole};

/// The permission bits that every file has here.
const MODE: u32 = 0o600;

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
    let ownership = Ownership { uid: own_uid(), mode: MODE, link_count: 1, path, doubt: None };
    Ok(Regular { file, ownership })
}

/// Nothing: whom a file is closed to, its access list says.
#[expect(clippy::unnecessary_wraps, reason = "the other implementation changes a mode")]
pub(crate) fn close_to_others(_: &Path, _: &str) -> io::Result<()> {
    Ok(())
}

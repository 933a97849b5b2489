//! A regular file that was opened, and what is known of it.
//!
//! Cost: none but that of reading it.
//!
//! Does not judge it: [`regular`](crate::regular) does, as far as the system says who owns what.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use crate::doubt::Doubt;

/// A regular file that was opened for reading.
#[derive(Debug)]
pub struct Regular {
    /// The file.
    pub file: File,
    /// Who may have chosen and written it.
    pub ownership: Ownership,
}

/// What the file system says of a file, at the moment it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// The number of its owner.
    pub uid: u32,
    /// Its permission bits.
    pub mode: u32,
    /// How many names it has.
    pub link_count: u64,
    /// Where it is, without links.
    pub path: PathBuf,
    /// Who else could have put it there.
    pub doubt: Option<Doubt>,
}

/// All that is in a file.
///
/// # Errors
///
/// The operating system's, and one that says so where the file has more than `bytes_max` bytes.
pub fn read_whole(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= bytes_max {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("it is longer than {bytes_max} bytes"))),
    }
}

//! A regular file that was opened, and what is known of it.
//!
//! Cost: none.
//!
//! Does not judge it: [`regular`](crate::regular) does, as far as the system says who owns what.

use std::fs::File;
use std::path::PathBuf;

use crate::doubt::Doubt;

/// A regular file that was opened for reading.
#[derive(Debug)]
pub struct Regular {
    /// The file.
    pub file: File,
    /// Where it is, without links.
    pub path: PathBuf,
    /// The number of its owner.
    pub uid: u32,
    /// Its permission bits.
    pub mode: u32,
    /// How many names it has.
    pub link_count: u64,
    /// Who else could have chosen it.
    pub doubt: Option<Doubt>,
}

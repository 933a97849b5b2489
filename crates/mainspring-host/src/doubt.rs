//! A reason for which a file may be another than was meant: who else could have put it at its path.
//!
//! Cost: none.
//!
//! Does not find one: `walk` does, on Unix.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The permission bits that let others write.
pub const OTHERS_MAY_WRITE: u32 = 0o022;

/// Why a file may be another than was meant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Doubt {
    /// A folder above it belongs to another user.
    #[error("the folder {folder} belongs to user {uid}, who could put another there")]
    Owner {
        /// Which folder.
        folder: PathBuf,
        /// The number of its owner.
        uid: u32,
    },
    /// Others may write a folder above it.
    #[error(
        "the mode {mode:04o} of the folder {folder} lets others put another there: take that away with chmod go-w"
    )]
    Writable {
        /// Which folder.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another user put something of the path into a folder that everybody may write.
    #[error("{path} belongs to user {uid}, in a folder that everybody may write")]
    Entry {
        /// What the user put there.
        path: PathBuf,
        /// The number of its owner.
        uid: u32,
    },
    /// It has several names, and stands in a folder that everybody may write: any user could have given it
    /// this one.
    #[error("{path} has several names (hard links), in a folder that everybody may write")]
    Names {
        /// The file.
        path: PathBuf,
    },
}

impl From<Doubt> for io::Error {
    fn from(doubt: Doubt) -> io::Error {
        denied(doubt.to_string())
    }
}

/// That something is not trusted.
pub(crate) fn denied(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

//! A reason for which a file may be another than was meant: who else could have put it at its path.
//!
//! Cost: none.
//!
//! Does not find one: `walk` does, on Unix.

use std::path::PathBuf;
use std::{fmt, io};

/// The permission bits that let others write.
pub const OTHERS_MAY_WRITE: u32 = 0o022;

/// Why a file may be another than was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A folder above it belongs to another user.
    Owner {
        /// Which folder.
        folder: PathBuf,
        /// The number of its owner.
        uid: u32,
    },
    /// Others may write a folder above it.
    Writable {
        /// Which folder.
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another user put something of the path into a folder that everybody may write.
    Entry {
        /// What the user put there.
        path: PathBuf,
        /// The number of its owner.
        uid: u32,
    },
    /// It has several names, and stands in a folder that everybody may write: any user could have given it
    /// this one.
    Names {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Owner { folder, uid } => {
                write!(
                    f,
                    "the folder {} belongs to user {uid}, who could put another there",
                    folder.display()
                )
            }
            Doubt::Writable { folder, mode } => write!(
                f,
                "the mode {mode:04o} of the folder {} lets others put another there: take that away with chmod go-w",
                folder.display()
            ),
            Doubt::Entry { path, uid } => {
                write!(f, "{} belongs to user {uid}, in a folder that everybody may write", path.display())
            }
            Doubt::Names { path } => write!(
                f,
                "{} has several names (hard links), in a folder that everybody may write",
                path.display()
            ),
        }
    }
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

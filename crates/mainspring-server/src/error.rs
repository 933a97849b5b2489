//! What can go wrong outside of a crontab's text.
//!
//! A bad line is a [`Problem`](crate::problem::Problem), a value among others; an [`Error`] ends the command.
//!
//! Cost: none.
//!
//! Does not describe what a running command does: that is in the log.
//!
//! Source: own.

use std::{fmt, io};

use crate::source::MAX_FILE_BYTES;
use crate::trust::Distrust;

/// A cause that ends a command of the program with exit code 1.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read. Check its name and its permissions.
    Read {
        /// The file's name as it was given.
        name: String,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A file is longer than [`MAX_FILE_BYTES`]. It is probably no file of jobs.
    TooLong {
        /// The file's name as it was given.
        name: String,
    },
    /// Others than its owner could have written a file whose commands would run as another user.
    Distrusted {
        /// The file's name as it was given.
        name: String,
        /// Who.
        why: Distrust,
    },
    /// The operating system refused something that `run` needs before it can start: threads, pipes, signals.
    Setup {
        /// What was asked for.
        what: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Standard output was closed by its reader, or cannot be written.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { name, .. } => write!(f, "cannot read {name}"),
            Error::TooLong { name } => {
                write!(f, "{name} is longer than {MAX_FILE_BYTES} bytes, the limit for a file of jobs")
            }
            Error::Distrusted { name, why } => write!(f, "{name} is not safe to run: {why}"),
            Error::Setup { what, .. } => write!(f, "cannot set up {what}"),
            Error::Output(_) => write!(f, "cannot write to standard output"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } | Error::Setup { source, .. } | Error::Output(source) => Some(source),
            Error::TooLong { .. } | Error::Distrusted { .. } => None,
        }
    }
}

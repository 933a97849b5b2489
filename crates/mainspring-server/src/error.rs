//! The errors of the program, apart from the problems of a crontab's text.
//!
//! A bad line is a [`Problem`](mainspring_file::problem::Problem), a value among others; an [`Error`] ends
//! the command.
//!
//! Cost: none.
//!
//! Does not describe the actions of a running command: the log does.

use std::path::PathBuf;
use std::{fmt, io};

use mainspring_job::StoreError;

use crate::exit::Exit;
use crate::protocol::ErrorWire;
use mainspring_file::source::FileError;
use mainspring_host::directory::DirectoryError;

/// A cause that ends a command of the program with the exit code that [`exit`](Error::exit) says.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file of jobs is not read, or not believed.
    File(FileError),
    /// Files of jobs have problems, which were shown, and there is nothing else to serve.
    Files {
        /// Their names.
        names: Vec<String>,
        /// What that is.
        exit: Exit,
    },
    /// The data directory, or something in it, cannot be used.
    Data {
        /// The directory, or what is in it.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Another server has the data directory, or it cannot be taken.
    Directory(DirectoryError),
    /// The store cannot be used.
    Store(StoreError),
    /// No server answers.
    Unreachable {
        /// Where one would.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The server at an address does not answer, or something else than a server does.
    Away {
        /// Its address.
        url: String,
        /// What the network said, or what is odd about the answer.
        why: String,
    },
    /// The server said no.
    Refused(ErrorWire),
    /// What was given cannot be understood.
    Usage(String),
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
            Error::File(error) => error.fmt(f),
            Error::Files { names, .. } => {
                write!(f, "nothing was started, because of the problems of {}", names.join(", "))
            }
            Error::Data { path, .. } => write!(f, "cannot use {}", path.display()),
            Error::Directory(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            Error::Unreachable { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                write!(f, "the server at {} is not ours to ask", path.display())
            }
            Error::Unreachable { path, source } if source.kind() == io::ErrorKind::TimedOut => {
                write!(f, "the server at {} does not answer", path.display())
            }
            Error::Unreachable { path, .. } => {
                write!(f, "no server answers at {} (mainspring serve starts one)", path.display())
            }
            Error::Away { url, why } => write!(f, "no server answers at {url}: {why}"),
            Error::Refused(error) => f.write_str(&error.message),
            Error::Usage(message) => f.write_str(message),
            Error::Setup { what, .. } => write!(f, "cannot set up {what}"),
            Error::Output(_) => write!(f, "cannot write to standard output"),
        }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        Error::File(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Store(error)
    }
}

impl From<ErrorWire> for Error {
    fn from(error: ErrorWire) -> Error {
        Error::Refused(error)
    }
}

/// Whether a folder or a file system lets nothing be written.
fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

impl Error {
    /// What the operating system's refusal of this becomes.
    pub fn setup(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Setup { what, source }
    }

    /// The exit code that tells a script what kind of error it was.
    pub fn exit(&self) -> Exit {
        match self {
            Error::Data { source, .. } if is_denied(source) => Exit::Denied,
            Error::File(FileError::Distrusted { .. }) => Exit::Denied,
            Error::Files { exit, .. } => *exit,
            Error::Directory(DirectoryError::Taken { .. }) | Error::Store(StoreError::Fenced) => {
                Exit::Conflict
            }
            Error::Directory(DirectoryError::Io { source, .. }) if is_denied(source) => Exit::Denied,
            Error::Store(StoreError::Busy(_) | StoreError::Unknown | StoreError::Full(_)) => Exit::Temporary,
            Error::Unreachable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Exit::Denied
            }
            Error::Unreachable { .. } | Error::Away { .. } => Exit::Unreachable,
            Error::Refused(error) => error.kind.into(),
            Error::Usage(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Setup { source, .. }
            | Error::Data { source, .. }
            | Error::Unreachable { source, .. }
            | Error::Output(source) => Some(source),
            Error::Store(error) => error.source(),
            Error::Directory(error) => error.source(),
            Error::File(error) => error.source(),
            Error::Files { .. } | Error::Away { .. } | Error::Refused(_) | Error::Usage(_) => None,
        }
    }
}

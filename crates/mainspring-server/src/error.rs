//! The errors of the program, apart from the problems of a crontab's text.
//!
//! A bad line is a [`Problem`](mainspring_file::problem::Problem), a value among others; an [`Error`] ends
//! the command.
//!
//! Cost: none.
//!
//! Does not describe the actions of a running command: the log does.

use std::io;
use std::path::{Path, PathBuf};

use mainspring_job::StoreError;

use crate::exit::Exit;
use crate::protocol::ErrorWire;
use mainspring_file::source::FileError;
use mainspring_host::directory::DirectoryError;

/// A cause that ends a command of the program with the exit code that [`exit`](Error::exit) says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of jobs is not read, or not believed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Files of jobs have problems, which were shown, and there is nothing else to serve.
    #[error("nothing was started, because of the problems of {}", .names.join(", "))]
    Files {
        /// Their names.
        names: Vec<String>,
        /// What that is.
        exit: Exit,
    },
    /// The data directory, or something in it, cannot be used.
    #[error("cannot use {path}")]
    Data {
        /// The directory, or what is in it.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Another server has the data directory, or it cannot be taken.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No server answers.
    #[error("{}", unreachable_text(.path, .source))]
    Unreachable {
        /// Where one would.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The server at an address does not answer, or something else than a server does.
    #[error("no server answers at {url}: {why}")]
    Away {
        /// Its address.
        url: String,
        /// What the network said, or what is odd about the answer.
        why: String,
    },
    /// The server said no.
    #[error(transparent)]
    Refused(#[from] ErrorWire),
    /// What was given cannot be understood.
    #[error("{0}")]
    Usage(String),
    /// The operating system refused something that `run` needs before it can start: threads, pipes, signals.
    #[error("cannot set up {what}")]
    Setup {
        /// What was asked for.
        what: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Standard output was closed by its reader, or cannot be written.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

/// What is said of a server that a client does not reach.
fn unreachable_text(path: &Path, source: &io::Error) -> String {
    let path = path.display();
    match source.kind() {
        io::ErrorKind::PermissionDenied => format!("the server at {path} is not ours to ask"),
        io::ErrorKind::TimedOut => format!("the server at {path} does not answer"),
        _ => format!("no server answers at {path} (mainspring serve starts one)"),
    }
}

/// Whether a folder or a file system lets nothing be written.
fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

impl Error {
    /// What the operating system's refusal of this becomes.
    pub fn setup(what: &'static str) -> impl Fn(io::Error) -> Error + Copy {
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

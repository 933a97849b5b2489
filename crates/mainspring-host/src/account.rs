//! A user as a run has one, and why a user cannot be become.
//!
//! Cost: none.
//!
//! Does not look a user up: [`accounts`](crate::accounts) does, as each system has them.

use std::path::PathBuf;
use std::{fmt, io};

use crate::identity::Identity;

/// The number of the user who may do anything.
pub const ROOT: u32 = 0;

/// A user, with all that a run needs to become that user. The groups are looked up here and not between fork
/// and exec, where that would not be safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The login name: LOGNAME and USER.
    pub name: String,
    /// The home directory: HOME, and where commands start.
    pub home: PathBuf,
    /// The numbers to change to; `None`: this is who we are already.
    pub identity: Option<Identity>,
}

/// Why an entry of a system crontab cannot run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such user.
    Unknown,
    /// There is no such group.
    UnknownGroup,
    /// It is another user, and only root can become another user.
    NotRoot {
        /// Who we are.
        ourselves: String,
    },
    /// It is another user, and this system has no way for us to become another user.
    NeedsLinux,
    /// The user database did not answer.
    Lookup(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unknown => write!(f, "there is no such user"),
            Refusal::UnknownGroup => write!(f, "there is no such group"),
            Refusal::NotRoot { ourselves } => {
                write!(f, "only root can become another user, and mainspring was started by {ourselves}")
            }
            Refusal::NeedsLinux => write!(f, "mainspring can become another user on Linux alone"),
            Refusal::Lookup(error) => write!(f, "the user database does not answer: {error}"),
        }
    }
}

//! A user as a run has one, and why a user cannot be become.
//!
//! Cost: none.
//!
//! Does not look a user up: [`accounts`](crate::accounts) does, as each system has them.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

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
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such user.
    #[error("there is no such user")]
    Unknown,
    /// There is no such group.
    #[error("there is no such group")]
    UnknownGroup,
    /// It is another user, and only root can become another user.
    #[error("only root can become another user, and mainspring was started by {ourselves}")]
    NotRoot {
        /// Who we are.
        ourselves: String,
    },
    /// It is another user, and this system has no way for us to become another user.
    #[error("mainspring can become another user on Linux alone")]
    NeedsLinux,
    /// The user database did not answer.
    #[error("the user database does not answer: {0}")]
    Lookup(io::Error),
}

//! The one user of Windows that a program there knows: its own.
//!
//! Cost: a variable of the environment.
//!
//! Does not become another user.

use std::path::PathBuf;
use std::{env, fmt, io};

#[path = "../accounts/users.rs"]
pub mod users;

/// The number of a user who may do anything, which no user here has.
pub const ROOT: u32 = 0;

/// The number that each user has here.
pub fn own_number() -> u32 {
    1
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The login name.
    pub name: String,
    /// The home directory.
    pub home: PathBuf,
    /// The numbers to change to: this is who we are already.
    pub identity: Option<Identity>,
}

/// The numbers of another user, which none has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {}

/// Why a user cannot be become.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// No other user is known here.
    Unknown,
    /// The question was not answered.
    Lookup(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unknown => write!(f, "mainspring can become another user on Linux alone"),
            Refusal::Lookup(error) => write!(f, "the user is not known: {error}"),
        }
    }
}

impl Account {
    /// Who runs this program.
    pub fn ourselves() -> io::Result<Account> {
        let name = env::var("USERNAME").unwrap_or_default();
        Ok(Account { name, home: env::home_dir().unwrap_or_default(), identity: None })
    }

    /// The number of the user.
    pub fn number(&self) -> u32 {
        own_number()
    }

    /// The user of a text, who is ourselves.
    ///
    /// # Errors
    ///
    /// See [`Refusal`].
    pub fn chosen(text: &str, ourselves: &Account) -> Result<Account, Refusal> {
        (text == ourselves.name).then(|| ourselves.clone()).ok_or(Refusal::Unknown)
    }

    /// The home of another user, which is not known.
    pub fn home_of(_: &str) -> io::Result<Option<PathBuf>> {
        Ok(None)
    }

    /// Whether another user exists: none is known.
    pub fn exists(_: &str) -> io::Result<bool> {
        Ok(false)
    }
}

//! The one user of Windows that a program there knows: its own.
//!
//! Cost: a variable of the environment.
//!
//! Does not become another user.

use std::path::PathBuf;
use std::{env, io};

pub use crate::account::{Account, ROOT, Refusal};
pub use crate::identity::Identity;

#[path = "../accounts/users.rs"]
pub mod users;

/// The number that each user has here.
pub fn own_uid() -> u32 {
    1
}

impl Account {
    /// Who runs this program.
    pub fn ourselves() -> io::Result<Account> {
        let name = env::var("USERNAME").unwrap_or_default();
        Ok(Account { name, home: env::home_dir().unwrap_or_default(), identity: None })
    }

    /// The number of the user.
    pub fn uid(&self) -> u32 {
        own_uid()
    }

    /// The user of a text, who is ourselves.
    ///
    /// # Errors
    ///
    /// See [`Refusal`].
    pub fn chosen(text: &str, ourselves: &Account) -> Result<Account, Refusal> {
        (text == ourselves.name).then(|| ourselves.clone()).ok_or(Refusal::NeedsLinux)
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

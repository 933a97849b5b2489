//! The two kinds of crontab.
//!
//! ```text
//! User     m h dom mon dow command          crontab(5): one user's
//! System   m h dom mon dow user command     /etc/crontab and /etc/cron.d
//! ```
//!
//! Cost: none.
//!
//! Does not find out which of the two a file is: the command line says it.

/// Which of the two kinds of crontab a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A user's crontab: the command follows the time.
    User,
    /// The system's crontab, as `/etc/crontab` and the files in `/etc/cron.d`: a user name follows the time.
    System,
}

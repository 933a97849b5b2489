//! The two kinds of crontab, and what holds for lines of both.
//!
//! ```text
//! User     m h dom mon dow command          crontab(5): one user's
//! System   m h dom mon dow user command     /etc/crontab and /etc/cron.d
//! ```
//!
//! Cost: none.
//!
//! Does not find out which of the two a file is: the command line says it.

/// The longest line. Debian's cron cuts commands off at 999 characters without a word; the kernel takes 128
/// KiB.
pub const MAX_LINE_BYTES: usize = 16 << 10;

/// Which of the two kinds of crontab a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A user's crontab: the command follows the time.
    User,
    /// The system's crontab, as `/etc/crontab` and the files in `/etc/cron.d`: a user name follows the time.
    System,
}

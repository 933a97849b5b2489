//! The two kinds of crontab, and what holds for lines of both.
//!
//! ```text
//! User     m h dom mon dow command          crontab(5): one user's
//! System   m h dom mon dow user command     /etc/crontab and /etc/cron.d
//! ```
//!
//! Its lines are read by the [`Rules`] of this program, or by those of Debian's cron.
//!
//! Cost: none.
//!
//! Does not look into a file to find out which of the two it is: its place says it, or the command line.

use std::path::Path;

use crate::source::MAX_FILE_BYTES;

/// Where crontabs have a column of users on every machine: this file, and those in this folder.
const OF_SYSTEM: [&str; 2] = ["/etc/crontab", "/etc/cron.d"];

/// The longest line. Debian's cron cuts commands off at 999 characters without a word; the kernel takes 128
/// KiB.
pub const MAX_LINE_BYTES: usize = 16 << 10;

const _: () = assert!((MAX_LINE_BYTES as u64) < MAX_FILE_BYTES);

/// Which of the two kinds of crontab a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A user's crontab: the command follows the time.
    User,
    /// The system's crontab, as `/etc/crontab` and the files in `/etc/cron.d`: a user name follows the time.
    System,
}

/// By whose rules the lines of a crontab are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// By those of this program: each line with a fault is a problem.
    Own,
    /// By those of Debian's cron: what it takes, although it is wrong, is a minor problem.
    Crons,
}

impl Format {
    /// The format of a file where the command line says this one: the crontabs of the system have a column of
    /// users whatever it says.
    #[must_use]
    pub fn of(self, path: &Path) -> Format {
        let [table, folder] = OF_SYSTEM.map(Path::new);
        if path == table || path.parent() == Some(folder) { Format::System } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_file_says_its_format() {
        let of = |path: &str| Format::User.of(Path::new(path));
        assert_eq!([of("/etc/crontab"), of("/etc/cron.d/php")], [Format::System; 2]);
        assert_eq!([of("crontab"), of("/srv/etc/cron.d/php"), of("-")], [Format::User; 3]);
        assert_eq!(Format::System.of(Path::new("mine")), Format::System);
    }
}

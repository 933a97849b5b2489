//! A group that a program has from its file (set-group-id): taken for what needs it, put away for all else.
//!
//! ```text
//! start: real group users, effective crontab ─ put_away ─▶ effective users ─┬─ with ─▶ crontab, one call ─▶ users
//!                                                                           └─ a program that is executed: users
//! ```
//!
//! Cost: two system calls for each use.
//!
//! Does not take a user that a program has from its file: that is refused.
//!
//! Source: setegid(2), execve(2): a program that is executed keeps no group but the effective one.

use std::io;

use nix::unistd::{Gid, Uid, getegid, getgid, setegid};

/// The group of the user, and the one of the program's file.
#[derive(Clone, Copy, Debug)]
pub struct LentGroup {
    own: Gid,
    lent: Gid,
}

/// Whether this process has a user or a group from the program's file.
pub fn is_lent() -> bool {
    Uid::effective() != Uid::current() || getegid() != getgid()
}

impl LentGroup {
    /// Puts the group of the program's file away.
    ///
    /// # Errors
    ///
    /// The operating system's, or that the program has its user from its file.
    pub fn put_away() -> io::Result<LentGroup> {
        if Uid::effective() != Uid::current() {
            return Err(io::Error::other("its file is set-user-id: chmod u-s takes that away"));
        }
        let group = LentGroup { own: getgid(), lent: getegid() };
        setegid(group.own)?;
        Ok(group)
    }

    /// Whether there is one.
    pub fn is_lent(&self) -> bool {
        self.own != self.lent
    }

    /// Does something with it.
    ///
    /// # Panics
    ///
    /// Never: a process may always go back to its real group.
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        debug_assert_eq!(getegid(), self.own, "it is taken for one piece of work at a time");
        setegid(self.lent)?;
        let done = work();
        setegid(self.own).expect("a process may go back to its real group");
        done
    }
}

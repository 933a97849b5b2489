//! The numbers by which a process is a user's.
//!
//! Cost: none.

use nix::unistd::{Gid, Uid};

/// The numbers that make a process a user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub uid: Uid,
    /// The primary group: the user's own, or the one that was asked for instead.
    pub gid: Gid,
    /// All groups: the primary one, and those that the user is listed in as a member.
    pub groups: Vec<Gid>,
}

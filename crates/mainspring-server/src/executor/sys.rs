//! Becoming another user between fork and exec: the only unsafe code of this crate.
//!
//! ```text
//! setgroups, setgid        while still root
//! setuid                   gives root up for good
//! chdir                    as the user, who may be able to enter the home directory where root is not (NFS)
//! ```
//!
//! The standard library can change user and group, but not the supplementary groups: its `groups` is not stable yet.
//!
//! Cost: a fork instead of the cheaper spawn, for commands of other users only.
//!
//! Does not look anything up: groups and directory come in ready, see [`Identity`].
//!
//! Source: initgroups(3), setuid(2), signal-safety(7).

use std::ffi::CString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::{chdir, setgid, setgroups, setuid};

use crate::accounts::Identity;

/// Makes `command` run as `identity` and start in `directory`.
#[expect(unsafe_code, reason = "there is no safe way to set the supplementary groups of a child")]
pub(super) fn run_as(command: &mut Command, identity: Identity, directory: CString) {
    let become_user = move || {
        setgroups(&identity.groups)?;
        setgid(identity.gid)?;
        setuid(identity.uid)?;
        chdir(directory.as_c_str())?;
        Ok(())
    };
    // SAFETY: the closure runs in the forked child, where only async-signal-safe work is allowed. It makes four system
    // calls with values that were computed before the fork; it allocates nothing and takes no lock: `setgroups` is given
    // a slice as it is, `chdir` a C string as it is, and an error is a number. The C library's wrappers of the first
    // three calls in a process with threads reach only the threads of the child, of which there is one; the standard
    // library makes the same calls at the same place for its own `uid` and `gid`.
    unsafe {
        command.pre_exec(become_user);
    }
}

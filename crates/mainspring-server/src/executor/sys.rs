//! What a child of fork does to itself before exec: the only unsafe code of this crate.
//!
//! ```text
//! setpriority, setrlimit   while still root, who alone may raise them
//! setgroups, setgid        while still root
//! setuid                   gives root up for good
//! umask
//! chdir                    as the user, who may be able to enter the home directory where root is not (NFS)
//! ```
//!
//! The standard library can change user and group, but not the supplementary groups (its `groups` is not stable yet), and
//! knows nothing of the rest.
//!
//! Cost: a fork instead of the cheaper spawn, for commands that ask for any of it only.
//!
//! Does not look anything up: groups, limits and directory come in ready, see [`Preparation`].
//!
//! Source: initgroups(3), setuid(2), setpriority(2), signal-safety(7).

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::resource::setrlimit;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{chdir, setgid, setgroups, setuid};

use super::spec::Limit;
use crate::accounts::Identity;

/// Everything that a child changes about itself.
pub(super) struct Preparation {
    /// Another user, and the directory that is entered as that user.
    pub(super) identity: Option<(Identity, CString)>,
    /// See [`ProcessSpec`](super::spec::ProcessSpec), as are the others.
    pub(super) umask: Option<Mode>,
    pub(super) nice: Option<i32>,
    pub(super) limits: Vec<Limit>,
}

impl Preparation {
    fn is_empty(&self) -> bool {
        self.identity.is_none() && self.umask.is_none() && self.nice.is_none() && self.limits.is_empty()
    }

    /// Runs in the child, between fork and exec.
    fn carry_out(&self) -> io::Result<()> {
        if let Some(nice) = self.nice {
            set_nice(nice)?;
        }
        for limit in &self.limits {
            setrlimit(limit.resource, limit.value, limit.value)?;
        }
        if let Some((identity, _)) = &self.identity {
            setgroups(&identity.groups)?;
            setgid(identity.gid)?;
            setuid(identity.uid)?;
        }
        if let Some(mode) = self.umask {
            umask(mode);
        }
        if let Some((_, directory)) = &self.identity {
            chdir(directory.as_c_str())?;
        }
        Ok(())
    }
}

#[expect(unsafe_code, reason = "neither std nor nix wraps setpriority")]
fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: setpriority takes three numbers and touches no memory of ours; 0 names the calling process.
    let answer = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if answer == 0 { Ok(()) } else { Err(Errno::last().into()) }
}

/// Makes the child of `command` do what `preparation` says.
#[expect(unsafe_code, reason = "there is no safe way to change a child after fork")]
pub(super) fn prepare(command: &mut Command, preparation: Preparation) {
    if preparation.is_empty() {
        return;
    }
    // SAFETY: the closure runs in the forked child, where only async-signal-safe work is allowed. It makes system calls
    // with values that were computed before the fork; it allocates nothing and takes no lock: `setgroups` is given a slice
    // as it is, `chdir` a C string as it is, the limits are read from a vector, and an error is a number. setpriority,
    // setrlimit and umask are plain system calls. The C library's wrappers of setgroups, setgid and setuid in a process
    // with threads reach only the threads of the child, of which there is one; the standard library makes the same calls
    // at the same place for its own `uid` and `gid`. Nothing is dropped in the child: exec or _exit follows.
    unsafe {
        command.pre_exec(move || preparation.carry_out());
    }
}

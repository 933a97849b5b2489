//! What a child of fork does to itself before exec: the only unsafe code of this crate.
//!
//! ```text
//! setpriority, setrlimit   while still root, who alone may raise them
//! setgroups, setgid        while still root
//! setuid                   gives root up for good
//! umask
//! chdir                    as the user, who may be able to enter the home directory where root is not (NFS)
//! prctl                    dies with the server, if that is wanted; a change of user would take it back
//! sigaction, sigprocmask   no signal is ignored or held back that this process ignores or holds back
//! ```
//!
//! The standard library can change user and group, but not the supplementary groups (its `groups` is not stable yet), and
//! knows nothing of the rest. A signal that is handled here has its default action again after exec; one that is ignored,
//! as `nohup` and shells arrange it for what they start in the background, would stay ignored, and a shell cannot even trap
//! it then.
//!
//! Cost: a fork instead of the cheaper spawn, for commands that ask for any of it, and where signals are ignored, only; and
//! a system call per signal to see whether any is.
//!
//! Does not look anything up: groups, limits and directory come in ready, see [`Preparation`].
//!
//! Source: initgroups(3), setuid(2), setpriority(2), PR_SET_PDEATHSIG(2const), sigaction(2), signal-safety(7).

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::setrlimit;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, chdir, getpid, getppid, setgid, setgroups, setuid};

use super::spec::Limit;
use crate::accounts::Identity;
use crate::action::names::OnServerDeath;

/// Everything that a child changes about itself.
pub(super) struct Preparation {
    /// Another user, and the directory that is entered as that user.
    pub(super) identity: Option<(Identity, CString)>,
    /// See [`ProcessSpec`](super::spec::ProcessSpec), as are the others.
    pub(super) umask: Option<Mode>,
    pub(super) nice: Option<i32>,
    pub(super) limits: Vec<Limit>,
    pub(super) on_server_death: OnServerDeath,
}

impl Preparation {
    fn is_empty(&self) -> bool {
        let Preparation { identity, umask, nice, limits, on_server_death } = self;
        let is_usual = umask.is_none() && nice.is_none() && limits.is_empty();
        is_usual && identity.is_none() && *on_server_death == OnServerDeath::Leave
    }

    /// Runs in the child, between fork and exec.
    fn carry_out(&self, server: Pid) -> io::Result<()> {
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
        if self.on_server_death == OnServerDeath::Kill {
            set_pdeathsig(Signal::SIGKILL)?;
            // The server may have died before that.
            if getppid() != server {
                return Err(Errno::ESRCH.into());
            }
        }
        Ok(())
    }
}

/// The signals that this process ignores.
fn ignored() -> Vec<libc::c_int> {
    (1..=libc::SIGRTMAX()).filter(|&signal| is_ignored(signal)).collect()
}

#[expect(unsafe_code, reason = "nix can read an action only by replacing it")]
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zeroes is a valid action, the default one. Without a new action nothing is changed; the old one is written
    // to memory of ours of the right type, which stays as it is if the C library keeps that signal for itself.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// Gives signals their default actions again, and holds none back. Runs in the child, between fork and exec.
#[expect(
    unsafe_code,
    reason = "changing the action of a signal is unsafe, because a handler could be anything"
)]
fn hear(signals: &[libc::c_int]) -> io::Result<()> {
    for &signal in signals {
        // SAFETY: as above; the default action runs no code of ours.
        let answer = unsafe {
            let usual: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &raw const usual, std::ptr::null_mut())
        };
        if answer != 0 {
            return Err(Errno::last().into());
        }
    }
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
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
    let ignored = ignored();
    // The standard library empties the mask by itself.
    if preparation.is_empty() && ignored.is_empty() {
        return;
    }
    let server = getpid();
    // SAFETY: the closure runs in the forked child, where only async-signal-safe work is allowed. It makes system calls
    // with values that were computed before the fork; it allocates nothing and takes no lock: `setgroups` is given a slice
    // as it is, `chdir` a C string as it is, the limits are read from a vector, and an error is a number. setpriority,
    // setrlimit, umask, prctl, getppid, sigaction and sigprocmask are plain system calls. The C library's wrappers of setgroups, setgid and setuid in a process
    // with threads reach only the threads of the child, of which there is one; the standard library makes the same calls
    // at the same place for its own `uid` and `gid`. Nothing is dropped in the child: exec or _exit follows.
    unsafe {
        command.pre_exec(move || {
            preparation.carry_out(server)?;
            hear(&ignored)
        });
    }
}

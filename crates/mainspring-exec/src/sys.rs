//! What a child of fork does to itself before exec: the only unsafe code of this crate.
//!
//! ```text
//! setsid                   no terminal, and a process group of its own
//! keyctl                   for another user a session keyring of its own, which is empty
//! setrlimit                the limit of open files is what it was before the server raised it
//! setpriority, setrlimit   while still root, who alone may raise them
//! setgroups, setgid        while still root
//! setuid                   gives root up for good
//! umask
//! chdir                    as the user, who may be able to enter the home directory where root is not (NFS)
//! prctl                    dies with the server, if that is wanted; a change of user would take it back
//! prctl                    no program takes on rights when it is executed, if that is wanted
//! close_range              no descriptor goes on but the first three, whoever opened it
//! sigaction, sigprocmask   no signal is ignored or held back that this process ignores or holds back
//! ```
//!
//! A process with the server's terminal could put characters into its input (TIOCSTI), which the server's shell would execute
//! after its end, and write escape sequences to it. So each run is a session of its own, for which a terminal is never opened.
//!
//! The standard library can change user and group, but not the supplementary groups and the session (its `groups` and `setsid` are
//! not stable yet), and knows nothing of the rest. A signal that is handled here has its default action again after exec; one that is ignored,
//! as `nohup` and shells arrange it for what they start in the background, would stay ignored, and a shell cannot even trap
//! it then.
//!
//! Cost: a fork instead of the cheaper spawn, some system calls, and one per signal to see whether any is ignored.
//!
//! Does not look anything up: groups, limits and directory come in ready, see [`Preparation`].
//!
//! Source: setsid(2), TIOCSTI(2const), initgroups(3), setuid(2), setpriority(2), PR_SET_PDEATHSIG(2const),
//! KEYCTL_JOIN_SESSION_KEYRING(2const), close_range(2), sigaction(2), signal-safety(7).

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::{set_no_new_privs, set_pdeathsig};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, chdir, getpid, getppid, setgid, setgroups, setsid, setuid};

use crate::spec::Limit;
use mainspring_action::names::OnServerDeath;
use mainspring_host::accounts::Identity;

/// Everything that a child changes about itself.
pub(crate) struct Preparation {
    /// Another user, and the directory that is entered as that user.
    pub(crate) identity: Option<(Identity, CString)>,
    /// See [`ProcessSpec`](crate::spec::ProcessSpec), as are the others.
    pub(crate) umask: Option<Mode>,
    pub(crate) nice: Option<i32>,
    /// The limit of open files, soft and hard, if the server has raised its own.
    pub(crate) files: Option<(u64, u64)>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) on_server_death: OnServerDeath,
    pub(crate) no_new_privileges: bool,
}

impl Preparation {
    /// Runs in the child, between fork and exec.
    fn carry_out(&self, server: Pid) -> io::Result<()> {
        setsid()?;
        if self.identity.is_some() {
            // While still root: its keyring counts against no quota of the user's.
            leave_keyring()?;
        }
        if let Some((soft, hard)) = self.files {
            setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        }
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
        if self.no_new_privileges {
            set_no_new_privs()?;
        }
        Ok(())
    }
}

/// Leaves the session keyring of whoever started the server for a new one. Runs in the child, between fork and exec.
#[expect(unsafe_code, reason = "neither std nor nix wraps keyctl")]
fn leave_keyring() -> io::Result<()> {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_ulong = 1;
    let no_name: *const libc::c_char = std::ptr::null();
    // SAFETY: keyctl is given an operation that reads a name where there is one, and a null pointer for none.
    let answer = unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, no_name) };
    match Errno::last() {
        _ if answer != -1 => Ok(()),
        // There are no keys in this kernel, or in this container: the job cannot read any either.
        Errno::ENOSYS | Errno::EPERM => Ok(()),
        error => Err(error.into()),
    }
}

/// Lets no descriptor but the first three outlive exec. Runs in the child, between fork and exec.
#[expect(unsafe_code, reason = "neither std nor nix wraps close_range")]
fn keep_descriptors_back(files_max: libc::c_int) {
    const FIRST: libc::c_uint = 3;
    // SAFETY: both calls take numbers and set a flag of descriptors of this child; nothing is closed before exec, so that std's
    // own pipe, by which it learns that exec failed, goes on working.
    unsafe {
        let flag = libc::CLOSE_RANGE_CLOEXEC;
        if libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, flag) == 0 {
            return;
        }
        // A kernel before 5.11: one by one.
        for descriptor in FIRST.cast_signed()..files_max {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        }
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
pub(crate) fn prepare(command: &mut Command, preparation: Preparation) {
    let ignored = ignored();
    let server = getpid();
    let files_max = getrlimit(Resource::RLIMIT_NOFILE).map_or(libc::rlim_t::MAX, |(soft, _)| soft);
    let files_max = libc::c_int::try_from(files_max).unwrap_or(libc::c_int::MAX);
    // SAFETY: the closure runs in the forked child, where only async-signal-safe work is allowed. It makes system calls
    // with values that were computed before the fork; it allocates nothing and takes no lock: `setgroups` is given a slice
    // as it is, `chdir` a C string as it is, the limits are read from a vector, and an error is a number. setsid, keyctl,
    // close_range, fcntl, setpriority, setrlimit, umask, prctl, getppid, sigaction and sigprocmask are plain system calls. The C library's wrappers of setgroups,
    // setgid and setuid in a process with threads reach only the threads of the child, of which there is one; the standard library makes the same calls
    // at the same place for its own `uid` and `gid`. Nothing is dropped in the child: exec or _exit follows.
    unsafe {
        command.pre_exec(move || {
            preparation.carry_out(server)?;
            keep_descriptors_back(files_max);
            hear(&ignored)
        });
    }
}

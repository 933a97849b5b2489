//! Linux. What says so runs in a child between fork and exec: it allocates nothing and takes no lock.
//!
//! Cost: a system call for each, and for another user some ten.
//!
//! Source: close_range(2), pidfd_open(2), PR_SET_PDEATHSIG(2const), random(4) on the boot id.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::ptr::null;
use std::sync::atomic::AtomicI32;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::prctl::{get_child_subreaper, set_dumpable, set_pdeathsig};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::time::ClockId;
use nix::unistd::{Pid, getppid, setgid, setgroups, setuid, write};

use mainspring_host::accounts::Identity;

use super::inherited;

pub(crate) use super::inherited::drop_shield;
pub(crate) use nix::sys::prctl::set_no_new_privs;

/// Whether a process can have every key of its job.
pub(crate) const KEEPS_ALL: bool = true;

/// Whether a child may have this process's memory until it executes a program.
pub(crate) const LENDS_MEMORY: bool = true;

/// Clones a child that has this process's memory until it executes its program or ends; this thread stands
/// still until then. Its number is in `pid` before.
///
/// # Safety
/// - `begin` does not return, is async-signal-safe, and changes nothing of this memory but its own stack,
///   what `argument` points to, and the error number of this thread.
#[expect(unsafe_code, reason = "there is no safe clone")]
pub(crate) unsafe fn clone_lending(
    stack: &mut [u8],
    pid: &AtomicI32,
    begin: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
) -> io::Result<Pid> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
    // SAFETY: the stack grows down from its end, and is the child's alone; the caller answers for what runs
    // on it. The kernel writes the number to memory of ours.
    let cloned = unsafe {
        let top = stack.as_mut_ptr_range().end;
        libc::clone(begin, top.sub(top.addr() % STACK_ALIGNMENT).cast(), flags, argument, pid.as_ptr())
    };
    if cloned < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(cloned)) }
}

/// What stacks are aligned to on all machines that Linux has.
const STACK_ALIGNMENT: usize = 16;

/// The clock that counts the sleep of the machine.
pub(crate) const BOOT_CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;

/// The limit of processes, and that of bytes that stay in memory.
pub(crate) const PROCESSES: Option<Resource> = Some(Resource::RLIMIT_NPROC);
pub(crate) const LOCKED_BYTES: Option<Resource> = Some(Resource::RLIMIT_MEMLOCK);

/// A number that the kernel draws when it starts; empty where it cannot be read.
pub(crate) fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The file of this program, also if another has its name by now.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may not be known")]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Whether this process has asked for the orphans of its children.
pub(crate) fn is_subreaper() -> bool {
    get_child_subreaper().unwrap_or(false)
}

pub(crate) fn last_signal() -> libc::c_int {
    libc::SIGRTMAX()
}

/// One more than the highest descriptor that there can be.
pub(crate) fn descriptors_max() -> libc::c_int {
    getrlimit(Resource::RLIMIT_NOFILE)
        .map_or(libc::c_int::MAX, |(soft, _)| libc::c_int::try_from(soft).unwrap_or(libc::c_int::MAX))
}

/// Closes the descriptors of a range, and says whether there is a call for it. Runs in the child.
///
/// # Safety
/// - Nothing that runs after this uses one of them.
#[expect(unsafe_code, reason = "nix has no close_range")]
pub(crate) unsafe fn close_range(first: RawFd, last: RawFd) -> bool {
    // SAFETY: the call takes numbers; the caller answers for what they name.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
}

/// Gives the real-time signals that the C library keeps for its threads, and lets no program ask for, their
/// default actions. The child has no thread that one of them could be for, but may have them ignored since
/// before the server. Runs in the child.
#[expect(unsafe_code, reason = "the C library refuses these signals")]
pub(crate) fn hear_the_librarys() {
    /// The first real-time signal of the kernel.
    const FIRST: libc::c_int = 32;
    // At least as long as the kernel's structure, of which all zeroes is the default action.
    let usual: [u64; 4] = [0; 4];
    for signal in FIRST..libc::SIGRTMIN() {
        // SAFETY: the kernel reads an action from memory of ours, and writes none. This child has one thread,
        // which executes another program or ends.
        unsafe {
            let no_action: *const u64 = null();
            libc::syscall(libc::SYS_rt_sigaction, signal, usual.as_ptr(), no_action, size_of::<u64>());
        }
    }
}

/// Leaves what the child of another user is not to inherit, while it is root. Runs in the child.
pub(crate) fn leave_server() -> Result<(), Errno> {
    // While still root: its keyring counts against no quota of the user's.
    inherited::leave_keyring()?;
    inherited::drop_precedence();
    inherited::drop_habits();
    Ok(())
}

/// Becomes another user for good. Runs in the child.
pub(crate) fn become_user(identity: &Identity) -> Result<(), Errno> {
    setgroups(&identity.groups)?;
    setgid(identity.gid)?;
    setuid(identity.uid)?;
    inherited::drop_capabilities()?;
    // Its memory is the server's until the program is executed, and its user can make that last.
    set_dumpable(false)
}

/// How much sooner the kernel ends it when memory is short. Runs in the child.
pub(crate) fn set_oom_score(text: &str) -> Result<(), Errno> {
    let file = open(c"/proc/self/oom_score_adj", OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    write(&file, text.as_bytes()).map(drop)
}

/// Has the kernel end it with the server. Runs in the child.
pub(crate) fn die_with(server: Pid) -> Result<(), Errno> {
    set_pdeathsig(Signal::SIGKILL)?;
    // The server may have died before that.
    if getppid() == server { Ok(()) } else { Err(Errno::ESRCH) }
}

/// What tells of the end of a child.
#[derive(Debug)]
pub(crate) struct EndWatch {
    held: OwnedFd,
}

impl EndWatch {
    /// That of a child; `None` on a kernel before 5.3.
    pub(crate) fn of(child: Pid) -> Option<EndWatch> {
        let pid = rustix::process::Pid::from_raw(child.as_raw())?;
        let held = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
        Some(EndWatch { held })
    }

    /// Becomes readable when the child has ended. Where there is none, it is to be asked now and then.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.held.as_fd())
    }

    /// Frees the number of a child that has ended. Returns whether there is nothing left to do.
    pub(crate) fn reap(&self) -> bool {
        // It has ended, so this does not wait. Where it was reaped by others there is nothing to do.
        let _ = waitid(Id::PIDFd(self.held.as_fd()), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG);
        true
    }
}

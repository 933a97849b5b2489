//! Systems without Linux's own calls. A child inherits nothing there that another user's job would have to
//! lose, because no process becomes another user.
//!
//! Cost: a close for each descriptor that could be open, at each start.
//!
//! Does not do what has no call here: a job that asks for it is refused before anything is forked.
//!
//! Source: getdtablesize(2), sysctl(3) on `kern.bootsessionuuid`, and clock_gettime(3), of macOS.

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::sync::atomic::AtomicI32;

use nix::errno::Errno;
use nix::sys::resource::Resource;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::time::ClockId;
use nix::unistd::Pid;

use mainspring_host::accounts::Identity;

/// Whether a process can have every key of its job.
pub(crate) const KEEPS_ALL: bool = false;

/// Whether a child may have this process's memory until it executes a program.
pub(crate) const LENDS_MEMORY: bool = false;

/// Refused: there is no such call.
///
/// # Safety
/// - None: nothing is called.
#[expect(unsafe_code, reason = "the other implementation is unsafe")]
pub(crate) unsafe fn clone_lending(
    _: &mut [u8],
    _: &AtomicI32,
    _: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    _: *mut libc::c_void,
) -> io::Result<Pid> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The clock that counts the sleep of the machine. `CLOCK_MONOTONIC` of macOS counts it too, but goes by the
/// wall clock, and has been seen to go back.
#[cfg(target_vendor = "apple")]
pub(crate) const BOOT_CLOCK: ClockId = ClockId::from_raw(libc::CLOCK_MONOTONIC_RAW);
#[cfg(not(target_vendor = "apple"))]
pub(crate) const BOOT_CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// The limit of processes, and that of bytes that stay in memory: nix has neither here.
pub(crate) const PROCESSES: Option<Resource> = None;
pub(crate) const LOCKED_BYTES: Option<Resource> = None;

/// What the kernel drew when it started; empty where it is not known.
#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "neither std nor nix has sysctlbyname")]
pub(crate) fn boot_id() -> String {
    /// A number of 36 characters, and a NUL.
    const MAX_BYTES: usize = 64;
    let mut text = [0_u8; MAX_BYTES];
    let mut count = text.len();
    // SAFETY: the name is a C string; the kernel writes at most `count` bytes to an array of ours, and how
    // many it wrote to `count`; it sets nothing.
    let answer = unsafe {
        let name = c"kern.bootsessionuuid".as_ptr();
        libc::sysctlbyname(name, text.as_mut_ptr().cast(), &raw mut count, std::ptr::null_mut(), 0)
    };
    let known = if answer == 0 { text.split(|&byte| byte == 0).next() } else { None };
    known.map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default()
}

/// What the kernel drew when it started; empty where it is not known.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn boot_id() -> String {
    String::new()
}

/// The file of this program.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Whether this process has asked for the orphans of its children, which it cannot here.
pub(crate) fn is_subreaper() -> bool {
    false
}

pub(crate) fn last_signal() -> libc::c_int {
    // As many as macOS and FreeBSD number below the real-time signals.
    31
}

/// One more than the highest descriptor that there can be. The limit of files may be infinite here.
#[expect(unsafe_code, reason = "neither std nor nix has getdtablesize")]
pub(crate) fn descriptors_max() -> libc::c_int {
    // SAFETY: it takes nothing and returns a number.
    unsafe { libc::getdtablesize() }
}

/// Closes the descriptors of a range, and says whether there is a call for it.
///
/// # Safety
/// - None: there is no such call.
#[expect(unsafe_code, reason = "the other implementation is unsafe")]
pub(crate) unsafe fn close_range(_: RawFd, _: RawFd) -> bool {
    false
}

/// Hears the signals that the C library keeps for itself, of which there are none.
pub(crate) fn hear_the_librarys() {}

/// Refused: see [`become_user`].
pub(crate) fn leave_server() -> Result<(), Errno> {
    Err(Errno::EPERM)
}

/// There is no shield.
pub(crate) fn drop_shield() {}

/// Refused. The user database says so before.
pub(crate) fn become_user(_: &Identity) -> Result<(), Errno> {
    Err(Errno::EPERM)
}

/// Refused: see [`KEEPS_ALL`].
pub(crate) fn set_oom_score(_: &str) -> Result<(), Errno> {
    Err(Errno::ENOTSUP)
}

/// Refused: see [`KEEPS_ALL`].
pub(crate) fn set_no_new_privs() -> Result<(), Errno> {
    Err(Errno::ENOTSUP)
}

/// Refused: see [`KEEPS_ALL`].
pub(crate) fn die_with(_: Pid) -> Result<(), Errno> {
    Err(Errno::ENOTSUP)
}

/// What tells of the end of a child.
#[derive(Debug)]
pub(crate) struct EndWatch {
    child: Pid,
}

impl EndWatch {
    /// That of a child.
    #[expect(clippy::unnecessary_wraps, reason = "the other implementation may have none")]
    pub(crate) fn of(child: Pid) -> Option<EndWatch> {
        Some(EndWatch { child })
    }

    /// Nothing becomes readable when the child has ended: it is to be asked now and then.
    #[expect(clippy::unused_self, reason = "the other implementation has one")]
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Frees the number of a child that has ended. Returns whether there is nothing left to do.
    pub(crate) fn reap(&self) -> bool {
        !matches!(waitpid(self.child, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive))
    }
}

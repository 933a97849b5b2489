//! Drops attributes that the child of another user would inherit from the server's process. Each step runs in
//! the child, between fork and exec: none allocates or takes a lock.
//!
//! | left | why |
//! |---|---|
//! | session keyring | its keys are of who started the server |
//! | shield from the lack of memory | other processes would be ended in its place |
//! | real-time scheduling, niceness below zero | it would go before all others |
//! | capabilities, ambient and inheritable | programs with capabilities of their own would get them |
//! | KEEP_CAPS, NO_SETUID_FIXUP | a change of user would leave capabilities |
//! | a layout of memory without chance | programs could be attacked by addresses that are known |
//!
//! Kept is what only restricts: the bounding set, other securebits, seccomp filters, limits. Without the
//! bounding set no `sudo` of a job would work.
//!
//! Cost: some system calls.
//!
//! Does not change a job of the server's own user: that could have all of it again.
//!
//! Source: KEYCTL_JOIN_SESSION_KEYRING(2const), capabilities(7), personality(2); CVE-2022-24769, by which
//! containers had inheritable capabilities that were not asked for.

use std::ptr::null;

use nix::errno::Errno;

/// Leaves the session keyring of the user who started the server for a new one.
#[expect(unsafe_code, reason = "neither std nor nix wraps keyctl")]
pub(super) fn leave_keyring() -> Result<(), Errno> {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_ulong = 1;
    let no_name: *const libc::c_char = null();
    // SAFETY: keyctl is given an operation that reads a name where there is one, and a null pointer for none.
    let answer = unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, no_name) };
    match Errno::result(answer) {
        // There are no keys in this kernel, or in this container: the job cannot read any either.
        Ok(_) | Err(Errno::ENOSYS | Errno::EPERM) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes the kernel choose this process as it would any other when memory is short.
#[expect(unsafe_code, reason = "what std has for files allocates")]
pub(crate) fn drop_shield() {
    // SAFETY: open and write read strings of this program; what fails leaves things as they are.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if 0 <= file {
            libc::write(file, c"0".as_ptr().cast(), 1);
            libc::close(file);
        }
    }
}

/// Leaves real-time scheduling, a niceness below zero and the first class of input and output.
#[expect(unsafe_code, reason = "neither std nor nix wraps these")]
pub(super) fn drop_precedence() {
    const PROCESS: libc::c_int = 1;
    // What getpriority answers is 20 - niceness, so that no answer is an error.
    const USUAL: libc::c_long = 20;
    let usual = libc::sched_param { sched_priority: 0 };
    // SAFETY: the calls take numbers and the address of a number of ours, and 0 names the calling process;
    // what fails leaves things as they are.
    unsafe {
        if ![libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&libc::sched_getscheduler(0)) {
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const usual);
        }
        if USUAL < libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) {
            libc::setpriority(libc::PRIO_PROCESS, 0, 0);
        }
        libc::syscall(libc::SYS_ioprio_set, PROCESS, 0, 0);
    }
}

/// Leaves what would let a program keep capabilities when it changes its user, and what would lay out its
/// memory where others know it. Only root may change the former.
#[expect(unsafe_code, reason = "neither std nor nix wraps these")]
pub(super) fn drop_habits() {
    const ASK: libc::c_ulong = 0xFFFF_FFFF;
    const KEEPING: libc::c_int = libc::SECBIT_KEEP_CAPS | libc::SECBIT_NO_SETUID_FIXUP;
    const KNOWN_LAYOUTS: libc::c_int =
        libc::ADDR_NO_RANDOMIZE | libc::READ_IMPLIES_EXEC | libc::MMAP_PAGE_ZERO | libc::ADDR_COMPAT_LAYOUT;
    let number = |bits: libc::c_int| libc::c_ulong::from(bits.unsigned_abs());
    // SAFETY: the calls take numbers; what fails leaves things as they are.
    unsafe {
        let bits = libc::prctl(libc::PR_GET_SECUREBITS);
        if 0 < bits & KEEPING {
            libc::prctl(libc::PR_SET_SECUREBITS, number(bits & !KEEPING));
        }
        let layout = libc::personality(ASK);
        if 0 < layout & KNOWN_LAYOUTS {
            libc::personality(number(layout & !KNOWN_LAYOUTS));
        }
    }
}

/// Gives up every capability, also those that a program would inherit.
#[expect(unsafe_code, reason = "neither std nor nix wraps these")]
pub(super) fn drop_capabilities() -> Result<(), Errno> {
    /// The third layout of capset(2): two of each set.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let none: [[u32; 3]; 2] = [[0; 3]; 2];
    // SAFETY: prctl takes numbers. capset reads a header of two numbers, of which 0 names the calling
    // process, and two times three numbers, from memory of ours.
    Errno::result(unsafe {
        // A kernel before 4.3 has none of these.
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr())
    })
    .map(drop)
}

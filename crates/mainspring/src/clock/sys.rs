//! Two calls of Linux that std does not have: the time of a clock by its number, and a thread's timer slack.
//!
//! nix has both as safe calls. It takes as long to compile as all of this crate, which a program of one timer
//! would wait for.
//!
//! Cost: a system call each; the kernel answers for a clock without one (vdso(7)).
//!
//! It knows no origin and no ticks.
//!
//! Source: clock_gettime(2), and prctl(2), PR_SET_TIMERSLACK.

use std::ffi::c_ulong;
use std::mem::MaybeUninit;

/// The time of a clock in nanoseconds since it began: 584 years fit.
///
/// # Panics
/// If the kernel does not know the clock.
#[inline]
#[expect(unsafe_code, reason = "std reads one clock of the kernel and has no call for the others")]
pub(super) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is to a local, in which the kernel writes a `timespec` and which it forgets.
    let answer = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    assert_eq!(answer, 0, "the kernel has this clock");
    // SAFETY: the call succeeded, so that all of it was written.
    let time = unsafe { time.assume_init() };
    // Neither is negative: these clocks begin at 0.
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Sets the calling thread's timer slack; zero means the kernel's default. A kernel that refuses, in a
/// sandbox say, leaves sleeps as they were: late by 50 us, which is no error.
#[expect(unsafe_code, reason = "std has no call for it")]
pub(super) fn set_timer_slack(slack_ns: c_ulong) {
    // SAFETY: this option takes a number, and no memory of ours.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}

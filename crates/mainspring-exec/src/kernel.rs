//! Calls of the operating system that differ, behind one seam with two implementations.
//!
//! | | `linux` | `posix` |
//! |---|---|---|
//! | another user's child | loses what it would inherit, see `inherited` | is refused: no process becomes another user |
//! | descriptors that a child closes | a range in one call | one by one, up to the most that there can be |
//! | a child until it executes its program | has this process's memory where it may, see `sys` | is a fork |
//! | the end of a child that was left | a descriptor of the process | asked about each second |
//! | `oom_score_adj`, `no_new_privileges`, `on_server_death` | the kernel does it | refused, see `KEEPS_ALL` |
//! | the start of the machine | the kernel's boot id | on macOS its boot session, elsewhere not known |
//! | the time since then | `CLOCK_BOOTTIME` | on macOS `CLOCK_MONOTONIC_RAW`, which counts its sleep too |
//!
//! Windows, where no process is started, has the last two in `windows`.
//!
//! With `--cfg mainspring_posix` Linux has the second one too, so that it can be tried there.
//!
//! Cost: a system call for each.
//!
//! It decides nothing: see [`sys`](crate::sys) and [`attributes`](crate::attributes).

#[cfg(all(target_os = "linux", not(mainspring_posix)))]
mod inherited;
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
mod linux;
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
pub(crate) use linux::*;
#[cfg(all(unix, any(not(target_os = "linux"), mainspring_posix)))]
mod posix;
#[cfg(all(unix, any(not(target_os = "linux"), mainspring_posix)))]
pub(crate) use posix::*;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

/// The time since the start of the machine.
#[cfg(unix)]
pub(crate) fn boot_time() -> std::time::Duration {
    nix::time::clock_gettime(BOOT_CLOCK).map_or(std::time::Duration::ZERO, std::time::Duration::from)
}

//! The calling thread's timer slack: by how much the kernel may prolong its sleeps.
//!
//! Linux keeps one per thread, 50 us unless told otherwise, and gives it to the threads that a thread starts.
//! The last one that was asked for is remembered, so that asking again before each sleep costs nothing.
//!
//! Cost: a system call when it changes. On other systems it does nothing.

use std::cell::Cell;
use std::time::Duration;

std::thread_local! {
    static CURRENT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Sets the slack. The kernel's least is a nanosecond: zero would mean its default.
pub(super) fn set(slack: Duration) {
    if CURRENT.get() == Some(slack) {
        return;
    }
    CURRENT.set(Some(slack));
    tell(slack.max(Duration::from_nanos(1)));
}

#[cfg(target_os = "linux")]
fn tell(slack: Duration) {
    super::sys::set_timer_slack(slack.as_nanos().try_into().unwrap_or(std::ffi::c_ulong::MAX));
}

#[cfg(not(target_os = "linux"))]
fn tell(_slack: Duration) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_hears_of_it() {
        set(Duration::from_micros(7));
        assert_eq!(nix::sys::prctl::get_timerslack().expect("linux keeps one"), 7_000);
        set(Duration::ZERO);
        assert_eq!(nix::sys::prctl::get_timerslack().expect("linux keeps one"), 1);
    }
}

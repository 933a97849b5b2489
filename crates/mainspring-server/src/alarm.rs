//! An alarm on the wall clock for a loop that polls.
//!
//! | | `timer` | `glance` |
//! |---|---|---|
//! | for | Linux | systems without timerfd |
//! | rings by | a descriptor, at the time | a wait of at most a second, after which the loop looks at the clock |
//! | when the clock is set, or the machine wakes | rings at once | within a second |
//!
//! With `--cfg mainspring_posix` Linux has the second one too, so that it can be tried there.
//!
//! Cost: see each.
//!
//! Does not say why it rang: the loop looks at the clock.

#[cfg(any(not(target_os = "linux"), mainspring_posix))]
mod glance;
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
pub use glance::Alarm;
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
mod timer;
#[cfg(all(target_os = "linux", not(mainspring_posix)))]
pub use timer::Alarm;

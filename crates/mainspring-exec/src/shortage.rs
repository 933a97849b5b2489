//! Recognizes errors of the operating system for lack of a resource that others may soon release.
//!
//! Cost: none.
//!
//! Does not wait for it.

use std::io;

/// Whether an error says that there are no descriptors, processes or memory now.
#[cfg(unix)]
pub fn is_shortage(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let known = [Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN, Errno::ENOMEM];
    error.raw_os_error().is_some_and(|code| known.contains(&Errno::from_raw(code)))
}

/// Whether an error says so: where nothing is started and no client comes, none does.
#[cfg(not(unix))]
pub fn is_shortage(_: &io::Error) -> bool {
    false
}

//! Recognizes errors of the operating system for lack of a resource that others may soon release.
//!
//! Cost: none.
//!
//! Does not wait for it.

use std::io;

use nix::errno::Errno;

/// Whether an error says that there are no descriptors, processes or memory now.
pub fn is_shortage(error: &io::Error) -> bool {
    let known = [Errno::EMFILE, Errno::ENFILE, Errno::EAGAIN, Errno::ENOMEM];
    error.raw_os_error().is_some_and(|code| known.contains(&Errno::from_raw(code)))
}

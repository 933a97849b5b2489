//! Connections within this machine, and waiting for them, on Unix and on Windows.
//!
//! | | Unix | Windows |
//! |---|---|---|
//! | what is waited for | descriptors | sockets, which are called descriptors here |
//! | a stream and a listener | sockets of Unix | TCP over the loopback, and a listener that no client can find |
//! | a wait for nothing | poll | a sleep, because poll refuses it |
//!
//! Cost: that of the system call.
//!
//! Does not read or write.
//!
//! Source: [WSAPoll](https://learn.microsoft.com/windows/win32/api/winsock2/nf-winsock2-wsapoll).

use std::io;
use std::time::Duration;

use rustix::event::Timespec;
pub use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

#[cfg_attr(unix, path = "net/unix.rs")]
#[cfg_attr(windows, path = "net/windows.rs")]
mod streams;

pub use streams::{AsFd, AsRawFd, BorrowedFd, LocalListener, LocalStream, PollSource, RawFd, pair};

/// The longest wait that is asked for: a system may refuse a time that it cannot count, and a turn in vain
/// costs nothing.
const LONGEST: Duration = Duration::from_hours(24);

/// Waits until something that is polled is ready, or the time is over, and says how many are. A signal ends
/// the wait too: then none is.
///
/// # Errors
///
/// When the operating system has no memory left.
pub fn poll(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> io::Result<usize> {
    let wait = wait.map(|wait| wait.min(LONGEST));
    let wait = wait.map(|wait| Timespec::try_from(wait).expect("a day is a time that every system has"));
    match streams::poll(fds, wait.as_ref()) {
        Err(Errno::INTR) => Ok(0),
        other => Ok(other?),
    }
}

//! Sockets of Unix.
//!
//! Cost: none of its own.

use std::io;
pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
pub use std::os::unix::net::{UnixListener as LocalListener, UnixStream as LocalStream};

pub(super) use rustix::event::poll;

/// What is written to, and may be waited for until it takes more.
pub trait PollSource {
    /// What to poll; `None` for what always takes more, or blocks.
    fn polled(&self) -> Option<BorrowedFd<'_>>;
}

impl<W: AsFd> PollSource for W {
    fn polled(&self) -> Option<BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}

/// Makes two streams that are connected with each other.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn pair() -> io::Result<(LocalStream, LocalStream)> {
    LocalStream::pair()
}

//! Sockets of Windows, which poll knows; it knows no pipes.
//!
//! Cost: a listener for a moment, for each pair.
//!
//! Another program can connect to that listener before the pair does. Such a connection is closed unread: the
//! other end of the pair is known by its address, which no other socket has meanwhile.

use std::io::{self, Write};
pub use std::net::TcpStream as LocalStream;
use std::net::{Ipv4Addr, TcpListener};
use std::os::windows::io::{AsSocket, BorrowedSocket};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, Timespec};
pub use rustix::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use rustix::io::Errno;

/// What is written to, and may be waited for until it takes more.
pub trait PollSource {
    /// What to poll; `None` for what always takes more, or blocks.
    fn polled(&self) -> Option<BorrowedFd<'_>>;
}

/// A file or a console, of which poll knows nothing.
impl<W: Write> PollSource for W {
    fn polled(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A listener that no client can find.
#[derive(Debug)]
pub struct LocalListener {
    silent: LocalStream,
    /// Held: a stream whose other end is closed is always readable.
    _other: LocalStream,
}

impl LocalListener {
    pub(crate) fn new() -> io::Result<LocalListener> {
        let (silent, _other) = pair()?;
        Ok(LocalListener { silent, _other })
    }

    /// A client, of whom there is none.
    pub fn accept(&self) -> io::Result<(LocalStream, ())> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// It never blocks.
    pub fn set_nonblocking(&self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

impl AsSocket for LocalListener {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.silent.as_socket()
    }
}

/// Makes two streams that are connected with each other.
///
/// # Errors
///
/// When the operating system gives no sockets.
pub fn pair() -> io::Result<(LocalStream, LocalStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = LocalStream::connect(listener.local_addr()?)?;
    loop {
        let (other, address) = listener.accept()?;
        if address == one.local_addr()? {
            one.set_nodelay(true)?;
            other.set_nodelay(true)?;
            return Ok((one, other));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "it is a wait for time alone")]
pub(super) fn poll(fds: &mut [PollFd<'_>], wait: Option<&Timespec>) -> Result<usize, Errno> {
    if !fds.is_empty() {
        return rustix::event::poll(fds, wait);
    }
    let wait = wait.and_then(|wait| Duration::try_from(*wait).ok());
    thread::sleep(wait.unwrap_or_default());
    Ok(0)
}

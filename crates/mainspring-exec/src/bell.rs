//! Wakes a loop that polls, from any thread: one byte on a socket pair.
//!
//! ```text
//! other threads: ring ── a byte, unless the socket is full ──▶ bell: polls as readable until it is quieted
//! ```
//!
//! Cost: a system call per ring; `quiet` is one more than the rings in it, of 64 at a time.
//!
//! Does not say why it was rung: that is in a channel beside it.
//!
//! Source: the "self-pipe trick" of D. J. Bernstein, <https://cr.yp.to/docs/selfpipe.html>.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The end for the loop.
#[derive(Debug)]
pub struct Bell {
    stream: UnixStream,
}

/// An end for another thread.
#[derive(Clone, Debug)]
pub struct Ring {
    stream: Arc<UnixStream>,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn bell() -> io::Result<(Ring, Bell)> {
    let (ring, bell) = UnixStream::pair()?;
    ring.set_nonblocking(true)?;
    bell.set_nonblocking(true)?;
    Ok((Ring { stream: Arc::new(ring) }, Bell { stream: bell }))
}

impl Ring {
    /// Wakes the loop. Never blocks; after the loop has ended it does nothing.
    pub fn ring(&self) {
        // A full socket means that the loop will wake anyway, and a closed one that it has ended.
        let _ = (&*self.stream).write(&[0]);
    }

    /// The stream itself: for who can write to nothing else, such as a handler of signals.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

impl Bell {
    /// Forgets the rings so far, and says how many there were; those that come faster than they fit may count
    /// as one.
    pub fn quiet(&self) -> usize {
        let mut bytes = [0; 64];
        let mut count = 0;
        while let Ok(read @ 1..) = (&self.stream).read(&mut bytes) {
            count += read;
        }
        count
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_counted_until_quiet_and_never_block() {
        let (ring, bell) = bell().unwrap();
        assert_eq!(bell.quiet(), 0);
        ring.ring();
        ring.clone().ring();
        assert_eq!((bell.quiet(), bell.quiet()), (2, 0));
        (0..1_000_000).for_each(|_| ring.ring());
        drop(bell);
        ring.ring();
    }
}

//! Wakes a loop that polls, from any thread: one byte on a socket pair.
//!
//! ```text
//! other threads: notify ── a byte, unless the socket is full ──▶ the loop: readable until it clears them
//! ```
//!
//! Cost: a system call per notification; `clear` is one more than the notifications in it, of 64 at a time.
//!
//! Does not say why: that is in a channel beside it.
//!
//! Source: the "self-pipe trick" of D. J. Bernstein, <https://cr.yp.to/docs/selfpipe.html>.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The end for the loop.
#[derive(Debug)]
pub struct Notifications {
    stream: UnixStream,
}

/// An end for another thread.
#[derive(Clone, Debug)]
pub struct Notifier {
    stream: Arc<UnixStream>,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn pair() -> io::Result<(Notifier, Notifications)> {
    let (notifier, notifications) = UnixStream::pair()?;
    notifier.set_nonblocking(true)?;
    notifications.set_nonblocking(true)?;
    Ok((Notifier { stream: Arc::new(notifier) }, Notifications { stream: notifications }))
}

impl Notifier {
    /// Wakes the loop. Never blocks; after the loop has ended it does nothing.
    pub fn notify(&self) {
        // A full socket means that the loop will wake anyway, and a closed one that it has ended.
        let _ = (&*self.stream).write(&[0]);
    }

    /// The stream itself: for who can write to nothing else, such as a handler of signals.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

impl Notifications {
    /// Clears the notifications so far, and says how many there were; those that come faster than they fit
    /// may count as one.
    pub fn clear(&self) -> usize {
        let mut bytes = [0; 64];
        let mut count = 0;
        while let Ok(read @ 1..) = (&self.stream).read(&mut bytes) {
            count += read;
        }
        count
    }
}

impl AsFd for Notifications {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_counted_until_cleared_and_never_block() {
        let (notifier, notifications) = pair().unwrap();
        assert_eq!(notifications.clear(), 0);
        notifier.notify();
        notifier.clone().notify();
        assert_eq!((notifications.clear(), notifications.clear()), (2, 0));
        (0..1_000_000).for_each(|_| notifier.notify());
        drop(notifications);
        notifier.notify();
    }
}

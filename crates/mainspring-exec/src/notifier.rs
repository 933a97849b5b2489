//! Wakes a loop that polls, from any thread: one byte on a socket pair.
//!
//! ```text
//! other threads: notify ── a byte, unless one is there ──▶ the loop: readable until it clears it
//! ```
//!
//! | field | ordering | why |
//! |---|---|---|
//! | `is_raised` | acquire and release | who finds it raised writes no byte: the loop lowers it after it has read the bytes, and sees then what the other did before |
//!
//! Cost: a system call for the first notification after a `clear`, and none for those that follow it; `clear`
//! is one or two.
//!
//! Does not say why: that is in a channel beside it, which the loop looks into after `clear`.
//!
//! Source: the "self-pipe trick" of D. J. Bernstein, <https://cr.yp.to/docs/selfpipe.html>.

use mainspring_host::net::{self, AsFd, BorrowedFd, LocalStream};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The end for the loop.
#[derive(Debug)]
pub struct Notifications {
    stream: LocalStream,
    /// See [`Notifier`].
    is_raised: Arc<AtomicBool>,
}

/// An end for another thread.
#[derive(Clone, Debug)]
pub struct Notifier {
    stream: Arc<LocalStream>,
    /// A byte was written, or is being written, that the loop has not cleared.
    is_raised: Arc<AtomicBool>,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn pair() -> io::Result<(Notifier, Notifications)> {
    let (notifier, notifications) = net::pair()?;
    notifier.set_nonblocking(true)?;
    notifications.set_nonblocking(true)?;
    let is_raised = Arc::new(AtomicBool::new(false));
    let of_loop = Notifications { stream: notifications, is_raised: Arc::clone(&is_raised) };
    Ok((Notifier { stream: Arc::new(notifier), is_raised }, of_loop))
}

impl Notifier {
    /// Wakes the loop. Never blocks; after the loop has ended it does nothing.
    pub fn notify(&self) {
        if self.is_raised.swap(true, Ordering::AcqRel) {
            return;
        }
        // A full socket means that the loop will wake anyway, and a closed one that it has ended.
        let _ = (&*self.stream).write(&[0]);
    }

    /// The stream itself: for who can write to nothing else, such as a handler of signals.
    pub fn stream(&self) -> &LocalStream {
        &self.stream
    }
}

impl Notifications {
    /// Clears the notifications so far, and says how many bytes there were: one for all of
    /// [`notify`](Notifier::notify), and each that was written to the [stream](Notifier::stream) itself.
    pub fn clear(&self) -> usize {
        let mut bytes = [0; 64];
        let mut count = 0;
        while let Ok(read @ 1..) = (&self.stream).read(&mut bytes) {
            count += read;
            if read < bytes.len() {
                break;
            }
        }
        self.is_raised.swap(false, Ordering::AcqRel);
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
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn notifications_are_one_until_cleared_and_never_block() {
        let (notifier, notifications) = pair().unwrap();
        assert_eq!(notifications.clear(), 0);
        notifier.notify();
        notifier.clone().notify();
        assert_eq!((notifications.clear(), notifications.clear()), (1, 0));
        notifier.stream().write_all(&[0; 70]).unwrap();
        notifier.notify();
        assert_eq!(notifications.clear(), 71, "what a handler of signals writes is counted");
        (0..1_000_000).for_each(|_| notifier.notify());
        drop(notifications);
        notifier.notify();
    }

    #[test]
    fn a_loop_that_sleeps_until_it_is_notified_finds_all_that_was_sent_before() {
        const COUNT: usize = 20_000;
        let (notifier, notifications) = pair().unwrap();
        notifications.stream.set_nonblocking(false).unwrap();
        let (sender, receiver) = channel();
        let send = move || {
            for number in 0..COUNT {
                sender.send(number).unwrap();
                notifier.notify();
            }
            notifier
        };
        let thread = std::thread::Builder::new().spawn(send).unwrap();
        let mut found = 0;
        while found < COUNT {
            // It returns only when there is a byte: were one missing, the test would not end.
            assert!(0 < notifications.clear());
            found += receiver.try_iter().count();
        }
        drop(thread.join().unwrap());
    }
}

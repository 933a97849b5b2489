//! Waiting for streams and for time to pass.
//!
//! Cost: one system call.
//!
//! Does not say which stream is ready: the loops of this program look at all of theirs, of which there are few.
//!
//! Source: poll(2).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Waits until one of the streams is ready, a signal comes, or the time is over; any of them may be in vain.
///
/// # Errors
///
/// When the operating system has no memory left.
pub fn wait_for(
    readable: &[BorrowedFd<'_>],
    writable: &[BorrowedFd<'_>],
    wait: Option<Duration>,
) -> io::Result<()> {
    let readable = readable.iter().map(|&fd| PollFd::new(fd, PollFlags::POLLIN));
    let writable = writable.iter().map(|&fd| PollFd::new(fd, PollFlags::POLLOUT));
    let mut fds: Vec<PollFd<'_>> = readable.chain(writable).collect();
    match poll(&mut fds, timeout(wait)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A wait as poll takes it: in milliseconds, rounded up, so that the loop does not turn idly before a deadline.
fn timeout(wait: Option<Duration>) -> PollTimeout {
    let Some(wait) = wait else { return PollTimeout::NONE };
    let rounded = wait.saturating_add(Duration::from_nanos(999_999)).as_millis();
    i32::try_from(rounded)
        .map_or(PollTimeout::MAX, |ms| PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_rounded_up_to_milliseconds() {
        assert_eq!(timeout(None), PollTimeout::NONE);
        assert_eq!(timeout(Some(Duration::ZERO)), PollTimeout::ZERO);
        assert_eq!(timeout(Some(Duration::from_nanos(1_000_001))), PollTimeout::from(2_u8));
        assert_eq!(timeout(Some(Duration::MAX)), PollTimeout::MAX);
    }
}

//! Waiting for streams and for time to pass.
//!
//! Cost: one system call.
//!
//! Does not read or write.
//!
//! Source: poll(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
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
    wait_for_any(readable, writable, &[], wait).map(|_| ())
}

/// The same, and until one of the streams in `left` has been left by its other side altogether. Returns the
/// descriptors of the streams that are ready, in no order; one may stand there twice.
///
/// # Errors
///
/// When the operating system has no memory left.
pub fn wait_for_any(
    readable: &[BorrowedFd<'_>],
    writable: &[BorrowedFd<'_>],
    left: &[BorrowedFd<'_>],
    wait: Option<Duration>,
) -> io::Result<Vec<RawFd>> {
    let readable = readable.iter().map(|&fd| PollFd::new(fd, PollFlags::POLLIN));
    let writable = writable.iter().map(|&fd| PollFd::new(fd, PollFlags::POLLOUT));
    // That is told without being asked for.
    let left = left.iter().map(|&fd| PollFd::new(fd, PollFlags::empty()));
    let mut fds: Vec<PollFd<'_>> = readable.chain(writable).chain(left).collect();
    match poll(&mut fds, timeout(wait)) {
        Ok(0) | Err(Errno::EINTR) => Ok(Vec::new()),
        Ok(_) => {
            Ok(fds.iter().filter(|fd| fd.any() != Some(false)).map(|fd| fd.as_fd().as_raw_fd()).collect())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether something can be read from a stream now, or taken from a listener.
pub fn is_readable(stream: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|count| 0 < count)
}

/// Whether the other side of a stream has closed both directions of it, and not only what it writes.
pub fn is_left(stream: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::empty())];
    let is_told = poll(&mut fds, PollTimeout::ZERO).is_ok_and(|count| 0 < count);
    is_told && fds[0].revents().is_some_and(|found| found.intersects(PollFlags::POLLHUP | PollFlags::POLLERR))
}

/// A wait as poll takes it: in milliseconds, rounded up, so that the loop does not turn idly before a
/// deadline.
fn timeout(wait: Option<Duration>) -> PollTimeout {
    let Some(wait) = wait else { return PollTimeout::NONE };
    let rounded = wait.saturating_add(Duration::from_nanos(999_999)).as_millis();
    i32::try_from(rounded)
        .map_or(PollTimeout::MAX, |ms| PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_stream_is_left_when_both_directions_are_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert!(!is_left(ours.as_fd()));
        theirs.shutdown(Shutdown::Write).unwrap();
        assert!(!is_left(ours.as_fd()));
        drop(theirs);
        assert!(is_left(ours.as_fd()));
        let ready = wait_for_any(&[], &[], &[ours.as_fd()], None).unwrap();
        assert_eq!(ready, [ours.as_fd().as_raw_fd()]);
    }

    #[test]
    fn a_wait_says_which_streams_are_ready() {
        let (quiet, _other) = UnixStream::pair().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let fds = [quiet.as_fd(), ours.as_fd()];
        assert!(wait_for_any(&fds, &[], &[], Some(Duration::ZERO)).unwrap().is_empty());
        theirs.write_all(b"x").unwrap();
        assert_eq!(wait_for_any(&fds, &[], &[], None).unwrap(), [ours.as_fd().as_raw_fd()]);
    }

    #[test]
    fn waits_are_rounded_up_to_milliseconds() {
        assert_eq!(timeout(None), PollTimeout::NONE);
        assert_eq!(timeout(Some(Duration::ZERO)), PollTimeout::ZERO);
        assert_eq!(timeout(Some(Duration::from_nanos(1_000_001))), PollTimeout::from(2_u8));
        assert_eq!(timeout(Some(Duration::MAX)), PollTimeout::MAX);
    }
}

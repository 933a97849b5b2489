//! Waiting for streams and for time to pass.
//!
//! Cost: one system call.
//!
//! Does not read or write.
//!
//! Source: ppoll(2), whose time is in nanoseconds.

use std::io;
use std::time::Duration;

use mainspring_host::net::{AsRawFd, BorrowedFd, PollFd, PollFlags, RawFd, poll};

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
    // That a stream was left is told without being asked for.
    let interests = [(readable, PollFlags::IN), (writable, PollFlags::OUT), (left, PollFlags::empty())];
    let all = || interests.iter().flat_map(|(fds, flags)| fds.iter().map(|&fd| (fd, *flags)));
    let mut fds: Vec<PollFd<'_>> = all().map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
    if poll(&mut fds, wait)? == 0 {
        return Ok(Vec::new());
    }
    let found = fds.iter().zip(all()).filter(|(found, _)| !found.revents().is_empty());
    Ok(found.map(|(_, (fd, _))| fd.as_raw_fd()).collect())
}

/// Whether something can be read from a stream now, or taken from a listener.
pub fn is_readable(stream: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(stream, PollFlags::IN)];
    poll(&mut fds, Some(Duration::ZERO)).is_ok_and(|count| 0 < count)
}

/// Whether the other side of a stream has closed both directions of it, and not only what it writes.
pub fn is_left(stream: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(stream, PollFlags::empty())];
    let is_told = poll(&mut fds, Some(Duration::ZERO)).is_ok_and(|count| 0 < count);
    is_told && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_exec::clock::Moment;
    use mainspring_host::net::{AsFd, pair};
    use std::io::Write;
    use std::net::Shutdown;

    #[test]
    fn a_stream_is_left_when_both_directions_are_closed() {
        let (ours, theirs) = pair().unwrap();
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
        let (quiet, _other) = pair().unwrap();
        let (ours, mut theirs) = pair().unwrap();
        let fds = [quiet.as_fd(), ours.as_fd()];
        assert!(wait_for_any(&fds, &[], &[], Some(Duration::ZERO)).unwrap().is_empty());
        theirs.write_all(b"x").unwrap();
        assert_eq!(wait_for_any(&fds, &[], &[], None).unwrap(), [ours.as_fd().as_raw_fd()]);
    }

    #[test]
    fn a_wait_is_not_over_too_early_and_the_longest_is_taken() {
        let (quiet, _other) = pair().unwrap();
        for nanoseconds in [0, 1, 999_999, 1_000_001] {
            let (wait, began) = (Duration::from_nanos(nanoseconds), Moment::now());
            wait_for(&[quiet.as_fd()], &[], Some(wait)).unwrap();
            assert!(wait <= Moment::now().since(began));
        }
        let (ours, mut theirs) = pair().unwrap();
        theirs.write_all(b"x").unwrap();
        wait_for(&[ours.as_fd()], &[], Some(Duration::MAX)).unwrap();
    }
}

//! Waiting for streams and for time to pass.
//!
//! Cost: one system call.
//!
//! Does not read or write.
//!
//! Source: ppoll(2), whose time is in nanoseconds.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The longest wait that is asked for: a system may refuse a time that it cannot count, and a turn in vain
/// costs nothing.
const LONGEST: Duration = Duration::from_hours(24);

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
    match poll_for(&mut fds, wait.map(|wait| wait.min(LONGEST))) {
        Ok(0) | Err(Errno::EINTR) => Ok(Vec::new()),
        Ok(_) => {
            Ok(fds.iter().filter(|fd| fd.any() != Some(false)).map(|fd| fd.as_fd().as_raw_fd()).collect())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(target_os = "linux", not(mainspring_posix)))]
fn poll_for(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> nix::Result<nix::libc::c_int> {
    nix::poll::ppoll(fds, wait.map(nix::sys::time::TimeSpec::from), None)
}

/// The same in milliseconds, where there is no ppoll: a wait is up to one longer.
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
fn poll_for(fds: &mut [PollFd<'_>], wait: Option<Duration>) -> nix::Result<nix::libc::c_int> {
    let whole = wait.map(|wait| wait.as_nanos().div_ceil(1_000_000));
    poll(fds, whole.map_or(PollTimeout::NONE, |ms| PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_exec::clock::Moment;
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
    fn a_wait_is_not_over_too_early_and_the_longest_is_taken() {
        let (quiet, _other) = UnixStream::pair().unwrap();
        for nanoseconds in [0, 1, 999_999, 1_000_001] {
            let (wait, began) = (Duration::from_nanos(nanoseconds), Moment::now());
            wait_for(&[quiet.as_fd()], &[], Some(wait)).unwrap();
            assert!(wait <= Moment::now().since(began));
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"x").unwrap();
        wait_for(&[ours.as_fd()], &[], Some(Duration::MAX)).unwrap();
    }
}

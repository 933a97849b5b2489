//! The socket of systemd-journald, which takes the fields of a line and not its text alone.
//!
//! A line is one datagram, sent at once: nothing waits here. What the socket does not take (it is full, it is
//! gone, the datagram is too large) is left to the stream, which the same journald reads.
//!
//! Cost: one system call for each line, which does not block.
//!
//! Does not pass a file for a large line: a text is cut at
//! [`MAX_JOURNAL_TEXT_BYTES`](super::forms::MAX_JOURNAL_TEXT_BYTES). No crate was found that sends without
//! blocking and to a socket of a test; the protocol is a line for each field.
//!
//! Source: <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>; `JOURNAL_STREAM` is in systemd.exec(5).

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use nix::sys::stat::fstat;

/// Where journald listens.
pub(super) const SOCKET: &str = "/run/systemd/journal/socket";

/// The variable in which systemd names the stream that journald reads, as `device:inode`.
const STREAM_VARIABLE: &str = "JOURNAL_STREAM";

/// A way to journald.
#[derive(Debug)]
pub(super) struct Journal {
    /// Not connected: a journald that was started again listens at the same path.
    socket: UnixDatagram,
    path: PathBuf,
}

impl Journal {
    /// A way to the socket at a path.
    ///
    /// # Errors
    /// When the operating system gives no socket.
    pub(super) fn at(path: &Path) -> io::Result<Journal> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Journal { socket, path: path.to_owned() })
    }

    /// Whether journald took it.
    pub(super) fn takes(&self, datagram: &[u8]) -> bool {
        self.socket.send_to(datagram, &self.path).is_ok()
    }
}

/// Whether journald reads this stream, as the environment of the program says. Another stream of the program
/// does not count: a log that goes into a file stays there.
pub fn reads(stream: &dyn AsFd) -> bool {
    std::env::var(STREAM_VARIABLE).is_ok_and(|variable| is_stream(&variable, stream))
}

fn is_stream(variable: &str, stream: &dyn AsFd) -> bool {
    let Some((device, inode)) = variable.split_once(':') else { return false };
    fstat(stream.as_fd()).is_ok_and(|stat| is_number(device, &stat.st_dev) && is_number(inode, &stat.st_ino))
}

/// Whether a text is this number, of whatever width.
fn is_number<N: FromStr + PartialEq>(text: &str, number: &N) -> bool {
    text.parse::<N>().is_ok_and(|named| named == *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::pipe;

    #[test]
    fn the_stream_is_known_by_its_device_and_inode() {
        let (reader, writer) = pipe().unwrap();
        let stat = fstat(&writer).unwrap();
        let variable = format!("{}:{}", stat.st_dev, stat.st_ino);
        assert!(is_stream(&variable, &writer));
        assert!(!is_stream(&variable, &std::fs::File::open("/").unwrap()));
        for other in ["", "8", "8:", "a:b", &format!("{variable} "), &format!("{}:0", stat.st_dev)] {
            assert!(!is_stream(other, &reader), "{other:?}");
        }
    }
}

//! Systems without systemd-journald: all lines go to the stream.
//!
//! Cost: none.

use std::io;
use std::path::Path;

/// Where journald would listen.
pub(super) const SOCKET: &str = "";

/// A way to journald, which there is none of.
#[derive(Debug)]
pub(super) enum Journal {}

impl Journal {
    pub(super) fn at(_: &Path) -> io::Result<Journal> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn takes(&self, _: &[u8]) -> bool {
        match *self {}
    }
}

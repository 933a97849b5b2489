//! The control socket, which there is none of on Windows: no other program asks the loop for anything.
//!
//! ```text
//! connect ─▶ refused        listen ─▶ a listener that no client can find
//! ```
//!
//! Cost: a socket pair for each listener.

use std::io;
use std::path::Path;

use crate::net::{LocalListener, LocalStream};
pub use crate::stale_socket::StaleSocket;

/// Refuses every path.
pub fn connect(_: &Path) -> io::Result<LocalStream> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes a listener that no client can find.
///
/// # Errors
///
/// The operating system's.
pub fn listen(_: &Path, _: u32, _: StaleSocket) -> io::Result<LocalListener> {
    LocalListener::new()
}

/// What tells the socket at a path from another: there is always the same one.
pub fn file_id(_: &Path) -> Option<(u64, u64)> {
    Some((0, 0))
}

/// The kernel's room between both ends is left as it is.
pub fn widen(_: &LocalStream, _: usize) {}

//! Signals as readable streams.
//!
//! | signal | is |
//! |---|---|
//! | SIGTERM, SIGINT | a request to stop |
//! | SIGCHLD | a reason to look which command has ended |
//! | SIGHUP, for the durable server | a request to read the files again |
//!
//! Cost: one byte through a socket pair per signal.
//!
//! Does not change SIGHUP for a crontab in the foreground: a closed terminal ends the program as it ends others.
//!
//! Source: the "self-pipe trick" of D. J. Bernstein, <https://cr.yp.to/docs/selfpipe.html>.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::bell::{Bell, bell};

/// The streams on which signals arrive.
#[derive(Debug)]
pub struct Signals {
    stop: Bell,
    child: Bell,
    reload: Option<Bell>,
}

impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGCHLD for the whole process.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair or refuses a handler.
    pub fn register() -> io::Result<Signals> {
        Ok(Signals { stop: stream_of(&[SIGTERM, SIGINT])?, child: stream_of(&[SIGCHLD])?, reload: None })
    }

    /// Takes over SIGHUP as well.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn register_with_reload() -> io::Result<Signals> {
        Ok(Signals { reload: Some(stream_of(&[SIGHUP])?), ..Signals::register()? })
    }

    /// Whether somebody asked to read the files again.
    pub fn is_reload_asked(&mut self) -> bool {
        self.reload.as_ref().is_some_and(|reload| 0 < reload.quiet())
    }

    /// What to poll for requests to read again.
    pub fn reload_fd(&self) -> Option<BorrowedFd<'_>> {
        self.reload.as_ref().map(AsFd::as_fd)
    }

    /// The number of requests to stop since the last call. Requests that come faster than they can be delivered may
    /// count as one.
    pub fn stop_requests(&mut self) -> usize {
        self.stop.quiet()
    }

    /// Forgets the SIGCHLD signals so far, and says how many there were; call it before looking for ended commands.
    pub fn clear_child(&mut self) -> usize {
        self.child.quiet()
    }

    /// What to poll.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.stop.as_fd(), self.child.as_fd()]
    }
}

fn stream_of(signals: &[i32]) -> io::Result<Bell> {
    let (ring, bell) = bell()?;
    for &signal in signals {
        pipe::register(signal, ring.stream().try_clone()?)?;
    }
    Ok(bell)
}

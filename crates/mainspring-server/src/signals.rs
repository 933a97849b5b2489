//! Signals as readable streams.
//!
//! | signal | is |
//! |---|---|
//! | SIGTERM, SIGINT | a request to stop |
//! | SIGCHLD | a reason to look which command has ended |
//! | SIGHUP | a request to read the files again |
//! | SIGXFSZ | nothing: a write beyond the limit of the size of files fails, as on a full disk |
//!
//! A program may register them again, as a server does that stood by, was the owner and stands by again. A
//! request to stop is for the program: who registers after it came hears it too.
//!
//! Cost: one byte through a socket pair per signal.
//!
//! Does not tell which process sent one.
//!
//! Source: the "self-pipe trick" of D. J. Bernstein, <https://cr.yp.to/docs/selfpipe.html>.

use std::io;

use mainspring_exec::notifier::{Notifications, Notifier};
use mainspring_host::net::{AsFd, BorrowedFd};

#[cfg_attr(unix, path = "signals/registration.rs")]
#[cfg_attr(windows, path = "signals/no_registration.rs")]
mod registration;

pub use registration::outlive_file_limit;
use registration::{Registration, at_ends_of_processes, register};

/// Has a thread woken at the end of each process that was started here, until this value is dropped.
#[derive(Debug)]
pub struct ProcessEnds {
    _registered: Registration,
}

impl ProcessEnds {
    /// Has `notifier` notify at each SIGCHLD, beside who has registered that before.
    ///
    /// # Errors
    ///
    /// When the operating system refuses a handler.
    pub fn wake(notifier: &Notifier) -> io::Result<ProcessEnds> {
        Ok(ProcessEnds { _registered: at_ends_of_processes(notifier)? })
    }
}

/// The streams on which signals arrive; none by default, where the signals belong to the program around the
/// loop.
#[derive(Debug, Default)]
pub struct Signals {
    /// What is let go of first at the end. The signals have no effect then, unless another hears them.
    _registered: Registration,
    stop: Option<Notifications>,
    child: Option<Notifications>,
    reload: Option<Notifications>,
}

impl Signals {
    /// Takes over SIGTERM, SIGINT, SIGCHLD and SIGHUP for the whole process. If SIGTERM or SIGINT came after
    /// an earlier call, that is a request to stop here too.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair or refuses a handler.
    pub fn register() -> io::Result<Signals> {
        let (streams, registered) = register()?;
        let [stop, child, reload] = streams.map(Some);
        Ok(Signals { _registered: registered, stop, child, reload })
    }

    /// Whether SIGHUP asked to read the files again.
    pub fn is_reload_asked(&mut self) -> bool {
        0 < clear(&self.reload)
    }

    /// The number of requests to stop since the last call. Requests that come faster than they can be
    /// delivered may count as one.
    pub fn stop_requests(&mut self) -> usize {
        clear(&self.stop)
    }

    /// Whether a request to stop has come. All other signals so far are forgotten: they are for a server that
    /// plans.
    pub fn take_stop_request(&mut self) -> bool {
        self.clear_child();
        let _ = self.is_reload_asked();
        0 < self.stop_requests()
    }

    /// Forgets the SIGCHLD signals so far, and says how many there were; call it before looking for ended
    /// commands.
    pub fn clear_child(&mut self) -> usize {
        clear(&self.child)
    }

    /// What to poll.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        [&self.stop, &self.child, &self.reload].into_iter().flatten().map(AsFd::as_fd).collect()
    }
}

fn clear(stream: &Option<Notifications>) -> usize {
    stream.as_ref().map_or(0, Notifications::clear)
}

#[cfg(all(test, unix))]
mod tests {
    use mainspring_exec::notifier::pair;

    use super::*;

    #[test]
    fn the_end_of_a_process_wakes_beside_other_registrations() {
        let (notifier, notifications) = pair().unwrap();
        let signals = Signals::register().unwrap();
        let ends = ProcessEnds::wake(&notifier).unwrap();
        std::process::Command::new("true").status().unwrap();
        crate::waiting::wait_for(&[notifications.as_fd()], &[], None).unwrap();
        assert!(0 < notifications.clear());
        drop((ends, signals));
    }
}

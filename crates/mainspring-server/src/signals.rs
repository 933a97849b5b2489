//! Signals as readable streams.
//!
//! | signal | is |
//! |---|---|
//! | SIGTERM, SIGINT | a request to stop |
//! | SIGCHLD | a reason to look which command has ended |
//! | SIGHUP | a request to read the files again |
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
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::{pipe, unregister};

use mainspring_exec::notifier::{Notifications, Notifier, pair};

/// The signals that ask to stop.
const STOPS: [i32; 2] = [SIGTERM, SIGINT];

/// Whether one of them has come since the first registration.
static IS_STOP_ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The streams on which signals arrive.
#[derive(Debug)]
pub struct Signals {
    stop: Notifications,
    child: Notifications,
    reload: Notifications,
    /// Held where nothing else holds the other ends: one whose other end is closed is always readable.
    _unnotified: Vec<Notifier>,
    /// What is let go of at the end. The signals have no effect then, unless another hears them.
    registered: Vec<SigId>,
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}

impl Signals {
    /// Takes over SIGTERM, SIGINT, SIGCHLD and SIGHUP for the whole process. If SIGTERM or SIGINT came after
    /// an earlier call, that is a request to stop here too.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair or refuses a handler.
    pub fn register() -> io::Result<Signals> {
        let mut registered = Vec::new();
        let is_asked = is_stop_asked()?;
        let (notifier, stop) = pair()?;
        for signal in STOPS {
            registered.push(pipe::register(signal, notifier.stream().try_clone()?)?);
        }
        // One that comes in between notifies twice, and both are cleared at once.
        if is_asked.load(Ordering::SeqCst) {
            notifier.notify();
        }
        let child = stream_of(&[SIGCHLD], &mut registered)?;
        let reload = stream_of(&[SIGHUP], &mut registered)?;
        Ok(Signals { stop, child, reload, _unnotified: Vec::new(), registered })
    }

    /// Streams on which nothing arrives: the signals belong to the program around the loop.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair.
    pub fn none() -> io::Result<Signals> {
        let [(one, stop), (two, child), (three, reload)] = [pair()?, pair()?, pair()?];
        Ok(Signals { stop, child, reload, _unnotified: vec![one, two, three], registered: Vec::new() })
    }

    /// Whether SIGHUP asked to read the files again.
    pub fn is_reload_asked(&mut self) -> bool {
        0 < self.reload.clear()
    }

    /// The number of requests to stop since the last call. Requests that come faster than they can be
    /// delivered may count as one.
    pub fn stop_requests(&mut self) -> usize {
        self.stop.clear()
    }

    /// Forgets the SIGCHLD signals so far, and says how many there were; call it before looking for ended
    /// commands.
    pub fn clear_child(&mut self) -> usize {
        self.child.clear()
    }

    /// What to poll.
    pub fn fds(&self) -> [BorrowedFd<'_>; 3] {
        [self.stop.as_fd(), self.child.as_fd(), self.reload.as_fd()]
    }
}

/// Registers what notes a request to stop, once for the life of the program.
fn is_stop_asked() -> io::Result<&'static AtomicBool> {
    if let Some(is_asked) = IS_STOP_ASKED.get() {
        return Ok(is_asked);
    }
    let is_asked = Arc::new(AtomicBool::new(false));
    for signal in STOPS {
        flag::register(signal, Arc::clone(&is_asked))?;
    }
    Ok(IS_STOP_ASKED.get_or_init(|| is_asked))
}

fn stream_of(signals: &[i32], registered: &mut Vec<SigId>) -> io::Result<Notifications> {
    let (notifier, notifications) = pair()?;
    for &signal in signals {
        registered.push(pipe::register(signal, notifier.stream().try_clone()?)?);
    }
    Ok(notifications)
}

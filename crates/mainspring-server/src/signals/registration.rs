//! The signals of Unix, taken over for the whole process.
//!
//! Cost: some system calls.
//!
//! Does not read the streams: see [`signals`](super).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::{pipe, unregister};

use mainspring_exec::notifier::{Notifications, Notifier, pair};

/// The signals that ask to stop.
const STOPS: [i32; 2] = [SIGTERM, SIGINT];

/// Whether one of them has come since the first registration.
static IS_STOP_ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// What is registered, until this value is dropped.
#[derive(Debug, Default)]
pub(super) struct Registration(Vec<SigId>);

impl Drop for Registration {
    fn drop(&mut self) {
        for id in self.0.drain(..) {
            unregister(id);
        }
    }
}

/// The streams of requests to stop, of children that ended and of requests to read again, and what holds
/// them open.
pub(super) fn register() -> io::Result<([Notifications; 3], Registration)> {
    let mut registered = Registration::default();
    let is_asked = is_stop_asked()?;
    let stop = stream_of(&STOPS, &mut registered)?;
    // One that comes in between notifies twice, and both are cleared at once.
    if is_asked.load(Ordering::SeqCst) {
        stop.0.notify();
    }
    let child = stream_of(&[SIGCHLD], &mut registered)?;
    let reload = stream_of(&[SIGHUP], &mut registered)?;
    Ok(([stop.1, child.1, reload.1], registered))
}

/// Has a write beyond the limit of the size of files fail from now on, instead of ending this process. Its
/// children have the default action of the signal.
///
/// # Errors
///
/// When the operating system refuses a handler.
pub fn outlive_file_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Notifies at the end of each process.
pub(super) fn at_ends_of_processes(notifier: &Notifier) -> io::Result<Registration> {
    Ok(Registration(vec![pipe::register(SIGCHLD, notifier.stream().try_clone()?)?]))
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

fn stream_of(signals: &[i32], registered: &mut Registration) -> io::Result<(Notifier, Notifications)> {
    let (notifier, notifications) = pair()?;
    for &signal in signals {
        registered.0.push(pipe::register(signal, notifier.stream().try_clone()?)?);
    }
    Ok((notifier, notifications))
}

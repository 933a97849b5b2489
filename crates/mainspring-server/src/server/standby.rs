//! A server that stands by: it waits for the lease, or for the data directory.
//!
//! ```text
//!  acquire ── Held ──▶ hand clients over while it lasts, or until notified ──▶ acquire ── a lease ──▶ the loop
//! ```
//!
//! Cost: a question to the store each time that the lease may have run out, or four tries of a lock each
//! second.
//!
//! Does not read files, and answers no client itself.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use mainspring_job::{Lease, StoreError};

use crate::data_directory::{DataDirectory, SOCKET_MODE};
use crate::error::Error;
use crate::log::{Line, Log, Style};
use crate::signals::Signals;
use crate::supervisor::{self, ALIVE, READY, STOPPING};
use crate::waiting::{wait_for, wait_for_any};
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_exec::notifier::Notifications;
use mainspring_exec::shortage::is_shortage;
use mainspring_host::directory::{Directory, DirectoryError};
use mainspring_host::net::{AsFd, AsRawFd, BorrowedFd, LocalListener, LocalStream, PollSource};
use mainspring_host::socket::{StaleSocket, listen as listen_at};

/// How often the lease is asked for where nothing says when it may be free.
pub const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time between two questions, however long the lease of the other lasts.
const ASK_MAX: Duration = Duration::from_secs(5);
const _: () = assert!(ASK_INTERVAL.as_nanos() <= ASK_MAX.as_nanos(), "a held one is not asked more often");

/// How much later than it may be free it is asked for: of several that ask, each a little later.
const ASK_DELAY: Duration = Duration::from_millis(20);

/// How often the data directory is tried. A wait for its lock would not hear signals.
const FOLDER_INTERVAL: Duration = Duration::from_millis(250);

/// How long a client waits that came when there was no descriptor for it. Signals wait as long.
const SHORTAGE_REST: Duration = Duration::from_millis(250);

/// Waits until `acquire` gives a lease, and hands clients to `answer` with the reason why there is none yet.
/// When a notification comes the lease may be free. `control` is the control socket, if the service manager
/// made it. Returns the lease with the boot time before it was asked for, and the signals, in which one may
/// have come meanwhile; `None` if a signal asked to stop.
///
/// # Errors
/// When the operating system refuses something, or the store cannot be used.
pub fn wait(
    data: &DataDirectory,
    style: Style,
    control: Option<LocalListener>,
    notifications: &Notifications,
    mut acquire: impl FnMut() -> Result<Lease, StoreError>,
    answer: impl Fn(LocalStream, &str),
) -> Result<Option<(Lease, Duration, Signals)>, Error> {
    let mut signals = Signals::register().map_err(Error::setup("signals"))?;
    let (is_own, mut listener) = (control.is_none(), control);
    if let Some(listener) = &listener {
        listener.set_nonblocking(true).map_err(Error::setup("the control socket"))?;
    }
    let remove_socket = || {
        if is_own {
            let _ = std::fs::remove_file(data.socket());
        }
    };
    let (mut last_text, mut is_stopped) = (String::new(), false);
    loop {
        if is_stopped || 0 < signals.stop_requests() {
            supervisor::tell(STOPPING);
            remove_socket();
            note(style, "stopped");
            return Ok(None);
        }
        notifications.clear();
        let asked_at = boot_time();
        let (text, pause) = match acquire() {
            Ok(lease) => {
                if listener.is_some() {
                    remove_socket();
                }
                return Ok(Some((lease, asked_at, signals)));
            }
            Err(error) if passes(&error) => (reason(&error), pause_after(&error)),
            Err(error) => return Err(Error::Store(error)),
        };
        if listener.is_none() {
            listener = Some(listen(data)?);
        }
        if text != last_text {
            note(style, &format!("standing by: {text}"));
            supervisor::tell(&format!("{READY}\nSTATUS=standing by: {text}"));
            last_text.clone_from(&text);
        }
        supervisor::tell(ALIVE);
        let until = Moment::now();
        while !is_stopped {
            let left = pause.saturating_sub(Moment::now().since(until));
            if left.is_zero()
                || answer_clients(&signals, listener.as_ref(), notifications, left, |client| {
                    answer(client, &text);
                })?
            {
                break;
            }
            is_stopped = signals.take_stop_request();
        }
    }
}

/// Waits for a client, a signal or a notification, at most so long. Returns whether a notification came.
fn answer_clients(
    signals: &Signals,
    listener: Option<&LocalListener>,
    notifications: &Notifications,
    longest: Duration,
    answer: impl Fn(LocalStream),
) -> Result<bool, Error> {
    let of_clients = listener.map(AsFd::as_fd);
    let readable: Vec<BorrowedFd<'_>> =
        signals.fds().into_iter().chain(of_clients).chain([notifications.as_fd()]).collect();
    let ready = wait_for_any(&readable, &[], &[], Some(longest)).map_err(Error::setup("polling"))?;
    if let Some(stream) = listener.and_then(accept) {
        answer(stream);
    }
    Ok(ready.contains(&notifications.as_fd().as_raw_fd()))
}

/// The next client, if one waits and there is a descriptor for it. Without one this rests a while, because
/// the listener stays readable as long as the client waits.
pub fn accept(listener: &LocalListener) -> Option<LocalStream> {
    let error = match listener.accept() {
        Ok((stream, _)) => return Some(stream),
        Err(error) => error,
    };
    if error.kind() != ErrorKind::WouldBlock && is_shortage(&error) {
        let _ = wait_for(&[], &[], Some(SHORTAGE_REST));
    }
    None
}

/// After how long the lease is asked for again, unless it is known to be free before.
pub fn pause_after(error: &StoreError) -> Duration {
    match error {
        StoreError::Held { left, .. } => (*left + ASK_DELAY).min(ASK_MAX),
        _ => ASK_INTERVAL,
    }
}

/// Whether what a store says may be over when it is asked again. One that is too new has the jobs of later
/// versions of a program, which this one is replaced by.
pub fn passes(error: &StoreError) -> bool {
    use StoreError::{Busy, Full, Held, TooNew, Unknown};
    matches!(error, Held { .. } | TooNew { .. } | Busy(_) | Unknown | Full(_))
}

/// Why a server stands by whose store has said that.
pub fn reason(error: &StoreError) -> String {
    match error {
        StoreError::Held { by, .. } => format!("{by} owns the jobs"),
        StoreError::TooNew { .. } => format!("{error}: install the version that the other servers have"),
        error => error.to_string(),
    }
}

/// Waits until the data directory is free, and takes it. Returns it with the signals, in which one may have
/// come meanwhile; `None` if a signal asked to stop.
///
/// # Errors
/// When the operating system refuses something, or the directory cannot be used.
pub fn wait_for_folder(data: &DataDirectory, style: Style) -> Result<Option<(Directory, Signals)>, Error> {
    let mut signals = Signals::register().map_err(Error::setup("signals"))?;
    let mut is_said = false;
    loop {
        match Directory::open(data.directory()) {
            Err(error @ DirectoryError::Taken { .. }) if !is_said => {
                note(style, &format!("standing by: {error}"));
                is_said = true;
            }
            Err(DirectoryError::Taken { .. }) => {}
            other => return other.map(|directory| Some((directory, signals))).map_err(Error::Directory),
        }
        wait_for(&signals.fds(), &[], Some(FOLDER_INTERVAL)).map_err(Error::setup("polling"))?;
        if signals.take_stop_request() {
            note(style, "stopped");
            return Ok(None);
        }
    }
}

/// Writes a line of the log of a server that does not run yet, to standard output as the server does.
pub fn note(style: Style, text: &str) {
    note_to(std::io::stdout(), style, text);
}

/// The same to the log of a program.
pub fn note_to(log: impl Write + PollSource, style: Style, text: &str) {
    let now = Moment::now().wall;
    let mut log = Log::new(log).in_style(style);
    log.line(Line::note(now, text));
    log.flush(now);
}

/// Makes the socket of a data directory whose lock is held.
///
/// # Errors
/// When it cannot be made.
pub fn listen(data: &DataDirectory) -> Result<LocalListener, Error> {
    let path = data.socket();
    let listener = listen_at(&path, SOCKET_MODE, StaleSocket::Ours);
    listener
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|source| Error::Data { path, source })
}

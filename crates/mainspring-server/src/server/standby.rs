//! A server that stands by: it waits for the shard.
//!
//! ```text
//!  acquire ── Held ──▶ hand clients over for ASK_INTERVAL ──▶ acquire ── a lease ──▶ the loop
//! ```
//!
//! Cost: a question to the store each second.
//!
//! Does not read files, and answers no client itself.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use mainspring_job::{Lease, StoreError};

use super::boot::SUBJECT_WIDTH;
use crate::error::Error;
use crate::log::{Kind, Log, Style};
use crate::message::PROGRAM;
use crate::place::Place;
use crate::signals::Signals;
use crate::waiting::wait_for;
use mainspring_exec::clock::{Moment, boot_time};

/// How often the shard is asked for.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until `acquire` gives a lease, and hands clients to `answer` with the reason why there is none yet.
/// Returns it with the boot time before it was asked for, and the signals, in which one may have come
/// meanwhile; `None` if a signal asked to stop.
///
/// # Errors
/// When the operating system refuses something, or the store cannot be used.
pub fn wait(
    place: &Place,
    style: Style,
    mut acquire: impl FnMut() -> Result<Lease, StoreError>,
    answer: impl Fn(UnixStream, &str),
) -> Result<Option<(Lease, Duration, Signals)>, Error> {
    let setup = |what| move |source| Error::Setup { what, source };
    let mut signals = Signals::register().map_err(setup("signals"))?;
    let mut listener: Option<UnixListener> = None;
    let mut said = String::new();
    loop {
        let asked = boot_time();
        let text = match acquire() {
            Ok(lease) => {
                if listener.is_some() {
                    let _ = std::fs::remove_file(place.socket());
                }
                return Ok(Some((lease, asked, signals)));
            }
            Err(StoreError::Held { by, .. }) => format!("{by} owns the jobs"),
            Err(error @ (StoreError::Busy | StoreError::Unknown | StoreError::Full(_))) => error.to_string(),
            Err(error) => return Err(Error::Store(error)),
        };
        if text != said {
            note(style, &format!("standing by: {text}"));
            said.clone_from(&text);
        }
        if listener.is_none() {
            listener = Some(listen(place)?);
        }
        let until = Moment::now();
        loop {
            let left = ASK_INTERVAL.saturating_sub(Moment::now().since(until));
            if left.is_zero() {
                break;
            }
            let readable: Vec<BorrowedFd<'_>> =
                signals.fds().into_iter().chain(listener.as_ref().map(AsFd::as_fd)).collect();
            wait_for(&readable, &[], Some(left)).map_err(setup("polling"))?;
            signals.clear_child();
            let _ = signals.is_reload_asked();
            if 0 < signals.stop_requests() {
                let _ = std::fs::remove_file(place.socket());
                return Ok(None);
            }
            if let Some((stream, _)) = listener.as_ref().and_then(|listener| listener.accept().ok()) {
                answer(stream, &text);
            }
        }
    }
}

/// Writes a line of the log of a server that does not run yet, to standard output as the server does.
pub fn note(style: Style, text: &str) {
    let now = Moment::now().wall;
    let mut log = Log::new(std::io::stdout(), SUBJECT_WIDTH).in_style(style);
    log.line(now, &PROGRAM, Kind::Note, text);
    log.flush(now);
}

fn listen(place: &Place) -> Result<UnixListener, Error> {
    let path = place.socket();
    let failed = |source| Error::Data { path: path.clone(), source };
    // The folder is locked by this server, so that what is there was left behind.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

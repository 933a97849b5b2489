//! A server that stands by: it waits for the shard, and tells clients who has it.
//!
//! ```text
//!  acquire ── Held ──▶ answer clients for ASK_INTERVAL ──▶ acquire ── a lease ──▶ the loop
//! ```
//!
//! Cost: a question to the store each second.
//!
//! Does not read files, and answers no question but with the name of the owner.

use std::io::{BufRead, BufReader, Read, Write};
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
use crate::protocol::{Answered, Asked, ErrorKind, ErrorWire};
use crate::signals::Signals;
use crate::waiting::wait_for;
use mainspring_exec::clock::{Moment, boot_time};

/// How often the shard is asked for.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a client has for its request.
const CLIENT_WAIT: Duration = Duration::from_millis(200);

/// The longest request that is read: it is not obeyed, and only its number is used.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Waits until `acquire` gives a lease. Returns it with the boot time before it was asked for; `None` if a
/// signal asked to stop.
///
/// # Errors
/// When the operating system refuses something, or the store cannot be used.
pub fn wait(
    place: &Place,
    style: Style,
    mut acquire: impl FnMut() -> Result<Lease, StoreError>,
) -> Result<Option<(Lease, Duration)>, Error> {
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
                return Ok(Some((lease, asked)));
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
                // A client that has gone is told nothing.
                let _ = answer(&stream, &text);
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

/// Tells a client who owns the jobs.
fn answer(stream: &UnixStream, text: &str) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(CLIENT_WAIT))?;
    stream.set_write_timeout(Some(CLIENT_WAIT))?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_REQUEST_BYTES)).read_line(&mut line)?;
    let id = serde_json::from_str::<Asked>(&line).map_or(0, |asked| asked.id);
    let message = format!("this server stands by: {text}");
    let answered = Answered { id, response: ErrorWire::response(ErrorKind::Temporary, message) };
    let text = serde_json::to_string(&answered).map_err(std::io::Error::other)?;
    let mut stream = stream;
    writeln!(stream, "{text}")
}

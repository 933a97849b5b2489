//! The owner's side of the inbox: it takes requests from the database and writes the replies.
//!
//! ```text
//!  RequestProxy of a standby ─▶ inbox ─▶ owner: work ─▶ its own socket ─▶ the loop
//!                         ◀── reply ◀──────────────
//! ```
//!
//! The owner's thread is a client of its own server, so that the loop knows nothing of this.
//!
//! Cost: a question to the database each second, four where users of SQL submit, and one when a standby tells
//! that it has asked.
//!
//! Does not know what has several answers, such as the output of a run: [`streaming_requests`] does.

use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use mainspring_job::StoreError;
use mainspring_postgres::{Entry, Inbox, Location};

use super::streaming_requests::{self, temporary};
use crate::client::{Address, Client};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::log::Style;
use mainspring_server::protocol::{ErrorKind, ErrorWire, IdentifiedRequest, Request, Response};
use mainspring_server::server::standby;

/// How long the owner's server has for an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// Does what is in the inbox until the sender is dropped.
///
/// # Errors
/// When the operating system gives no thread.
pub(super) fn work(location: &Location, data: &DataDirectory, style: Style) -> Result<Sender<()>, Error> {
    let setup = |source| Error::Setup { what: "a thread for the inbox", source };
    let (ends, ended) = channel();
    let mut inbox = Inbox::of_owner(location).map_err(Error::Store)?;
    let data = data.clone();
    let work = move || {
        let is_ended = || ended.try_recv() == Err(TryRecvError::Disconnected);
        while !is_ended() {
            // Whatever the database says passes, or the loop is told it too.
            let _ = turn(&mut inbox, &data, style, is_ended);
            inbox.wait_for_requests();
        }
    };
    thread::Builder::new().name("inbox".to_owned()).spawn(work).map_err(setup)?;
    Ok(ends)
}

/// Does the first requests, until the end.
fn turn(
    inbox: &mut Inbox,
    data: &DataDirectory,
    style: Style,
    is_ended: impl Fn() -> bool,
) -> Result<(), StoreError> {
    let entries = inbox.waiting()?;
    // Nothing is taken out before there is somebody to do it.
    let Some(mut client) = (!entries.is_empty()).then(|| connect(data)).flatten() else { return Ok(()) };
    for entry in entries {
        if is_ended() {
            break;
        }
        if entry.waits {
            // Taken out first: a command is never done twice.
            if inbox.take(entry.id)? {
                let text = reply(&mut client, &entry);
                inbox.reply(entry.id, &text)?;
            }
            continue;
        }
        match done(&mut client, &entry) {
            // A duplicate was done before, and not taken out then.
            Response::Submitted { .. } | Response::Duplicate { .. } => drop(inbox.take(entry.id)?),
            // It waits, and so does what comes after it.
            Response::Error(error) if error.kind == ErrorKind::Temporary => break,
            Response::Error(error) => {
                let (id, message) = (entry.id, &error.message);
                standby::note(style, &format!("request {id} of {} cannot be done: {message}", entry.actor));
                inbox.refuse(id, message)?;
            }
            _ => inbox.refuse(entry.id, "only submissions come without somebody who waits")?,
        }
    }
    Ok(())
}

fn connect(data: &DataDirectory) -> Option<Client> {
    let mut client = Client::connect(&Address::Here(data.clone())).ok()?;
    client.answers_within(ANSWER_WAIT);
    Some(client)
}

/// What this process's own server says to somebody who waits.
fn reply(client: &mut Client, entry: &Entry) -> String {
    let asked = IdentifiedRequest::read(entry.request.as_bytes());
    let response = match asked.map(|asked| asked.request) {
        Ok(Request::Logs { of, .. }) => match streaming_requests::logs(client, &of) {
            Ok(text) => return text,
            Err(Error::Refused(error)) => Response::Error(error),
            Err(error) => temporary(error.to_string()),
        },
        _ => done(client, entry),
    };
    serde_json::to_string(&response).unwrap_or_default()
}

/// Asks this process's own server.
fn done(client: &mut Client, entry: &Entry) -> Response {
    let request = match IdentifiedRequest::read(entry.request.as_bytes()) {
        Ok(IdentifiedRequest { request, .. }) => request,
        Err(error) => return Response::Error(error),
    };
    // In a transaction only submissions are asked for.
    if !request.row().power.is_remote()
        || streaming_requests::has_several(&request)
        || !(entry.waits || matches!(request, Request::Submit(_)))
    {
        return ErrorWire::response(ErrorKind::Usage, "this does not come through the database");
    }
    let comment = Some(format!("asked for by {}", entry.actor));
    match client.ask_with(request, comment) {
        Ok(response) => response,
        Err(Error::Refused(error)) => Response::Error(error),
        Err(error) => ErrorWire::response(ErrorKind::Temporary, error.to_string()),
    }
}

//! The thread that does, at the planner, what is in the inbox.
//!
//! ```text
//!  inbox ─ programs' commands of one look ─▶ the loop: one batch ─▶ replies, and out of the inbox: one statement
//!        ─ what no client waits for ──────▶ the loop: one batch, which takes it out
//!        ─ what has no key ─ taken out first ─▶ the loop ─▶ reply
//!        ─ servers' requests ─ taken out first ─▶ the loop, by its socket ─▶ reply
//! ```
//!
//! A submission has a key, or an id: it is done before it is taken out, so that it is done also if the owner
//! dies between, and is done once. Any other command is taken out first, and is done at most once.
//!
//! The loop may be a server's or a program's: a pool may have both, and asks in both ways.
//!
//! Cost: a question to the database each second, four where users of SQL submit, and one when another program
//! or server tells that it has asked.
//!
//! Does not read for others what the database has: each server does.

use std::sync::mpsc::{Receiver, TryRecvError};

use mainspring_job::{MAX_NOTE_BYTES, StoreError, Submission};
use mainspring_postgres::{Entry, Inbox};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::polling::wait_for;
use mainspring_server::protocol::{Answers, ErrorKind, ErrorWire, IdentifiedRequest, Request, Response};
use mainspring_server::server::program_calls::{CallRefusal, Caller, Promise};
use mainspring_server::server::submission;
use mainspring_server::server::unawaited::{SubmissionFate, UnawaitedSubmission};

use crate::forwarded_command::{ForwardedCommand, ForwardedReply};
use crate::own_server::OwnServer;

/// The planner, as this thread knows it.
#[derive(Debug)]
struct Planner<'p> {
    caller: &'p Caller,
    /// Where its socket is.
    data: &'p DataDirectory,
    /// While there are servers' requests.
    server: Option<OwnServer>,
}

/// Works until the other end is dropped. `caller` is that of the loop whose socket is in `data`. What cannot
/// be done is told to `note`, if no client waits for it.
pub(crate) fn work(
    inbox: &mut Inbox,
    caller: &Caller,
    data: &DataDirectory,
    ended: &Receiver<()>,
    note: &dyn Fn(&str),
) {
    let is_ended = || ended.try_recv() == Err(TryRecvError::Disconnected);
    let mut planner = Planner { caller, data, server: None };
    while !is_ended() {
        // Whatever the database says passes, or the loop is told it too.
        if matches!(turn(inbox, &mut planner, &is_ended, note), Ok(0) | Err(_)) {
            planner.server = None;
            inbox.wait_for_requests();
        }
    }
}

/// Does the first requests, and returns how many were done.
fn turn(
    inbox: &mut Inbox,
    planner: &mut Planner<'_>,
    is_ended: &dyn Fn() -> bool,
    note: &dyn Fn(&str),
) -> Result<usize, StoreError> {
    let caller = planner.caller;
    let mut promised: Vec<(i64, Promise)> = Vec::new();
    let (mut replies, mut submissions, mut of_servers) = (Vec::new(), Vec::new(), Vec::new());
    for entry in inbox.waiting()? {
        if !entry.waits {
            match submitted(&entry) {
                Ok(submission) => submissions.push((entry, UnawaitedSubmission::ask(caller, submission))),
                Err(why) => refuse(inbox, &entry, &why.message, note)?,
            }
            continue;
        }
        let Ok(forwarded) = serde_json::from_str::<ForwardedCommand>(&entry.request) else {
            of_servers.push(entry);
            continue;
        };
        if !forwarded.is_repeatable() && !inbox.take(entry.id)? {
            continue;
        }
        match forwarded.command() {
            Ok(command) => promised.push((entry.id, caller.command(command))),
            Err(why) => replies.push((entry.id, text_of(&ForwardedReply::Temporary { why }))),
        }
    }
    let mut is_left = false;
    for (id, promise) in promised {
        let answered = wait_for(promise);
        if matches!(answered, Err(CallRefusal::Stopping | CallRefusal::Lost(_))) {
            // The next owner does it, if it is there still.
            is_left = true;
            continue;
        }
        replies.push((id, text_of(&ForwardedReply::of(&answered))));
    }
    inbox.reply_all(&replies)?;
    let mut done_count = replies.len() + submissions.len();
    for (entry, unawaited) in submissions {
        match unawaited.wait() {
            // The commit that has the job took it out.
            SubmissionFate::Done => {}
            SubmissionFate::Known => drop(inbox.take(entry.id)?),
            SubmissionFate::Refused(why) => refuse(inbox, &entry, &why, note)?,
            SubmissionFate::Deferred | SubmissionFate::Stopping => is_left = true,
        }
    }
    for entry in of_servers {
        // Nothing is taken out before there is somebody to do it.
        if is_ended() || !planner.is_at_its_socket() {
            is_left = true;
            break;
        }
        // Taken out first: a command is never done twice.
        if inbox.take(entry.id)? {
            inbox.reply_all(&[(entry.id, planner.reply(&entry))])?;
        }
        done_count += 1;
    }
    Ok(if is_left { 0 } else { done_count })
}

/// Keeps why a submission cannot be done, and tells it.
fn refuse(inbox: &mut Inbox, entry: &Entry, why: &str, note: &dyn Fn(&str)) -> Result<(), StoreError> {
    note(&format!("request {} of {} cannot be done: {why}", entry.id, entry.actor));
    inbox.refuse(entry.id, why)
}

fn text_of(replied: &ForwardedReply) -> String {
    serde_json::to_string(replied).unwrap_or_default()
}

/// What a program or a user of SQL left: work of any kind, which a server or a program carries out.
fn submitted(entry: &Entry) -> Result<Submission, ErrorWire> {
    match IdentifiedRequest::read(entry.request.as_bytes())?.request {
        Request::Submit(wire) => submission(*wire),
        _ => {
            let text = "only submissions come without somebody who waits";
            Err(ErrorWire::new(ErrorKind::Usage, text))
        }
    }
}

/// What the audit has of a change: who asked for it at another server, and what was said about it.
fn remote_note(actor: &str, wire: &IdentifiedRequest) -> String {
    let note = wire.comment.as_deref().unwrap_or(wire.request.row().note);
    let mut text = format!("asked for by {actor}{}{note}", if note.is_empty() { "" } else { ": " });
    text.truncate(text.floor_char_boundary(MAX_NOTE_BYTES));
    text
}

impl Planner<'_> {
    /// Whether its server can be asked.
    fn is_at_its_socket(&mut self) -> bool {
        if self.server.is_none() {
            self.server = OwnServer::connect(self.data).ok();
        }
        self.server.is_some()
    }

    /// What its server says to a request of another.
    fn reply(&mut self, entry: &Entry) -> String {
        let Some(server) = &mut self.server else { return String::new() };
        let response = match IdentifiedRequest::read(entry.request.as_bytes()) {
            Err(error) => Response::Error(error),
            Ok(wire)
                if !wire.request.row().power.is_remote() || wire.request.row().answers != Answers::One =>
            {
                ErrorWire::response(ErrorKind::Usage, "this does not come through the database")
            }
            Ok(wire) => {
                let note = remote_note(&entry.actor, &wire);
                server.ask(wire.request, Some(note))
            }
        };
        if matches!(&response, Response::Error(error) if error.kind == ErrorKind::Temporary) {
            // What it says later would be taken for the answer to the next request.
            self.server = None;
        }
        serde_json::to_string(&response).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_stands_behind_who_asked_and_fits_into_a_row() {
        let note = |fields: &str| {
            let text = format!("{{\"command\": \"pause\", \"job\": \"backup\"{fields}}}");
            remote_note("token ops at b", &IdentifiedRequest::read(text.as_bytes()).unwrap())
        };
        assert_eq!(note(""), "asked for by token ops at b");
        assert_eq!(note(", \"comment\": \"too loud\""), "asked for by token ops at b: too loud");
        assert_eq!(note(", \"note\": \"a new disk\""), "asked for by token ops at b: a new disk");
        let long = note(&format!(", \"note\": \"{}\"", "é".repeat(MAX_NOTE_BYTES / 2)));
        assert!(
            long.len() <= MAX_NOTE_BYTES && long.starts_with("asked for by token ops at b: éé"),
            "{long}"
        );
    }
}

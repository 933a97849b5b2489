//! The thread that does, at the owner, what other programs ask through the database.
//!
//! ```text
//!  inbox ─ commands of one look ─▶ the loop: one batch ─▶ replies, and out of the inbox: one statement
//!  what nobody waits for ─────────▶ the loop: one batch, which takes it out
//!  what has no key ─ taken out first ─▶ the loop ─▶ reply
//! ```
//!
//! A submission has a key, or an id: it is done before it is taken out, so that it is done also if the owner
//! dies between, and is done once. Any other command is taken out first, and is done at most once.
//!
//! Cost: a question to the database each second, four where users of SQL submit, and one when another program
//! tells that it has asked.
//!
//! Does not do what servers ask for: the jobs here are functions of a program, which alone defines them.

use std::sync::mpsc::{Receiver, TryRecvError};

use mainspring_job::{StoreError, Submission};
use mainspring_postgres::{Entry, Inbox};
use mainspring_server::protocol::{ErrorKind, ErrorWire, IdentifiedRequest, Request, Response};
use mainspring_server::server::program_calls::{CallRefusal, Caller, Promise};
use mainspring_server::server::submission;

use crate::forwarded_command::{ForwardedCommand, ForwardedReply};
use crate::unawaited::{SubmissionFate, UnawaitedSubmission};

/// What is said to servers.
const NOT_HERE: &str = "the jobs here are functions of a program, which alone defines them";

/// Works until the other end is dropped. What cannot be done is told to `note`, if no program waits for it.
pub(crate) fn work(inbox: &mut Inbox, caller: &Caller, ended: &Receiver<()>, note: &dyn Fn(&str)) {
    while ended.try_recv() != Err(TryRecvError::Disconnected) {
        // Whatever the database says passes, or the loop is told it too.
        if matches!(turn(inbox, caller, note), Ok(0) | Err(_)) {
            inbox.wait_for_requests();
        }
    }
}

/// Does the first requests, and returns how many were done.
fn turn(inbox: &mut Inbox, caller: &Caller, note: &dyn Fn(&str)) -> Result<usize, StoreError> {
    let mut promised: Vec<(i64, Promise)> = Vec::new();
    let (mut replies, mut submissions) = (Vec::new(), Vec::new());
    for entry in inbox.waiting()? {
        let asked = entry.waits.then(|| serde_json::from_str::<ForwardedCommand>(&entry.request));
        let Some(Ok(forwarded)) = asked else {
            match submitted(&entry) {
                Ok(submission) => submissions.push((entry, UnawaitedSubmission::ask(caller, submission))),
                Err(why) if entry.waits => replies.push((entry.id, text_of_error(&why))),
                Err(why) => refuse(inbox, &entry, &why.message, note)?,
            }
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
        let answered = promise.wait();
        if matches!(answered, Err(CallRefusal::Stopping | CallRefusal::Lost(_))) {
            // The next owner does it, if it is there still.
            is_left = true;
            continue;
        }
        replies.push((id, text_of(&ForwardedReply::of(&answered))));
    }
    inbox.reply_all(&replies)?;
    let done_count = replies.len() + submissions.len();
    for (entry, unawaited) in submissions {
        match unawaited.wait() {
            // The commit that has the job took it out.
            SubmissionFate::Done => {}
            SubmissionFate::Known => drop(inbox.take(entry.id)?),
            SubmissionFate::Refused(why) => refuse(inbox, &entry, &why, note)?,
            SubmissionFate::Kept | SubmissionFate::Stopping => is_left = true,
        }
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

/// What a program or a user of SQL left: a call of a handler, or what a server carries out that shares the
/// database.
fn submitted(entry: &Entry) -> Result<Submission, ErrorWire> {
    let asked = IdentifiedRequest::read(entry.request.as_bytes())?;
    match asked.request {
        Request::Submit(wire) if !entry.waits => submission(*wire),
        _ => Err(ErrorWire::new(ErrorKind::Conflict, NOT_HERE)),
    }
}

fn text_of_error(error: &ErrorWire) -> String {
    serde_json::to_string(&Response::Error(error.clone())).unwrap_or_default()
}

//! The thread that does, at the owner, what other programs ask through the database.
//!
//! ```text
//!  inbox ─ commands of one look ─▶ the loop: one batch ─▶ replies, and out of the inbox: one statement
//!  what has no key ─ taken out first ─▶ the loop ─▶ reply
//! ```
//!
//! A submission has a key: it is done first and taken out afterwards, so that it is done also if the owner
//! dies between, and is done once. Any other command is taken out first, and is done at most once.
//!
//! Cost: a question to the database each second, four where users of SQL submit, and one when another program
//! tells that it has asked.
//!
//! Does not do what servers ask for: the jobs here are functions of a program, which alone defines them.

use std::sync::mpsc::{Receiver, TryRecvError};

use mainspring_job::{Command, Reply, StoreError};
use mainspring_postgres::{Entry, Inbox};
use mainspring_server::protocol::{ErrorKind, ErrorWire, IdentifiedRequest, Request, Response};
use mainspring_server::server::program_calls::{CallRefusal, Caller, Promise};
use mainspring_server::server::submission;

use crate::forwarded_command::{ForwardedCommand, ForwardedReply};

/// What is said to servers.
const NOT_HERE: &str = "the jobs here are functions of a program, which alone defines them";

/// Works until the other end is dropped.
pub(crate) fn work(inbox: &mut Inbox, caller: &Caller, ended: &Receiver<()>) {
    while ended.try_recv() != Err(TryRecvError::Disconnected) {
        // Whatever the database says passes, or the loop is told it too.
        if matches!(turn(inbox, caller), Ok(0) | Err(_)) {
            inbox.wait_for_requests();
        }
    }
}

/// Does the first requests, and returns how many were done.
fn turn(inbox: &mut Inbox, caller: &Caller) -> Result<usize, StoreError> {
    let mut promised: Vec<(i64, Promise)> = Vec::new();
    let (mut replies, mut submissions) = (Vec::new(), Vec::<(i64, Promise)>::new());
    for entry in inbox.waiting()? {
        let asked = serde_json::from_str::<ForwardedCommand>(&entry.request);
        let Some(forwarded) = asked.ok().filter(|_| entry.waits) else {
            match submitted(&entry) {
                Ok(command) => submissions.push((entry.id, caller.command(command))),
                Err(why) if entry.waits => replies.push((entry.id, text_of_error(&why))),
                Err(why) => inbox.refuse(entry.id, &why.message)?,
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
    let mut is_stopping = false;
    for (id, promise) in promised {
        let answered = promise.wait();
        if answered == Err(CallRefusal::Stopping) {
            // The next owner does it, if it is there still.
            is_stopping = true;
            continue;
        }
        replies.push((id, text_of(&ForwardedReply::of(&answered))));
    }
    inbox.reply_all(&replies)?;
    let done_count = replies.len() + submissions.len();
    for (id, promise) in submissions {
        match promise.wait() {
            // It was taken out with the commit that has the job, or is one that was done before.
            Ok(Reply::Submitted { .. } | Reply::Duplicate(_)) => drop(inbox.take(id)?),
            Ok(Reply::Refused(refusal)) => inbox.refuse(id, &refusal.to_string())?,
            Ok(_) | Err(_) => is_stopping = true,
        }
    }
    Ok(if is_stopping { 0 } else { done_count })
}

fn text_of(replied: &ForwardedReply) -> String {
    serde_json::to_string(replied).unwrap_or_default()
}

/// What a user of SQL submits: a call of a handler, or what a server carries out that shares the database.
fn submitted(entry: &Entry) -> Result<Command, ErrorWire> {
    let asked = IdentifiedRequest::read(entry.request.as_bytes())?;
    match asked.request {
        Request::Submit(wire) if !entry.waits => submission(*wire),
        _ => Err(ErrorWire::new(ErrorKind::Conflict, NOT_HERE)),
    }
}

fn text_of_error(error: &ErrorWire) -> String {
    serde_json::to_string(&Response::Error(error.clone())).unwrap_or_default()
}

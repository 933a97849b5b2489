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
//! Cost: a question to the database each [`INTERVAL`], and one when another program tells that it has asked.
//!
//! Does not do what servers and SQL users ask for: those are processes and webhooks, which a program has not.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use mainspring_job::StoreError;
use mainspring_postgres::{Entry, Inbox};
use mainspring_server::protocol::{ErrorKind, ErrorWire};
use mainspring_server::server::program_calls::{CallRefusal, Caller, Promise};

use crate::forwarded_command::{ForwardedCommand, ForwardedReply};

/// How often the owner looks for requests that it was not told of: those of SQL users, and all of them where
/// a pooler lets no client listen. The delay of those, against the cost of an idle database.
const INTERVAL: Duration = Duration::from_millis(250);

/// What is said to those who ask for a process or a webhook.
const NOT_HERE: &str = "the jobs here are functions of a program, which alone defines and submits them";

/// Works until the other end is dropped.
pub(crate) fn work(inbox: &mut Inbox, caller: &Caller, ended: &Receiver<()>) {
    while ended.try_recv() != Err(TryRecvError::Disconnected) {
        // Whatever the database says passes, or the loop is told it too.
        if matches!(turn(inbox, caller), Ok(0) | Err(_)) {
            inbox.wait(INTERVAL);
        }
    }
}

/// Does the first requests, and returns how many were done.
fn turn(inbox: &mut Inbox, caller: &Caller) -> Result<usize, StoreError> {
    let mut promised: Vec<(i64, Promise)> = Vec::new();
    let mut replies = Vec::new();
    for entry in inbox.waiting()? {
        let asked = serde_json::from_str::<ForwardedCommand>(&entry.request);
        let Some(forwarded) = asked.ok().filter(|_| entry.waits) else {
            refuse(inbox, &entry, &mut replies)?;
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
    Ok(if is_stopping { 0 } else { replies.len() })
}

fn text_of(replied: &ForwardedReply) -> String {
    serde_json::to_string(replied).unwrap_or_default()
}

/// What a server or a user of SQL asks for.
fn refuse(inbox: &mut Inbox, entry: &Entry, replies: &mut Vec<(i64, String)>) -> Result<(), StoreError> {
    if !entry.waits {
        return inbox.refuse(entry.id, NOT_HERE);
    }
    let response = ErrorWire::response(ErrorKind::Conflict, NOT_HERE);
    replies.push((entry.id, serde_json::to_string(&response).unwrap_or_default()));
    Ok(())
}

//! The thread that asks the owner for a program that stands by.
//!
//! ```text
//!  commands ─▶ one INSERT for all that wait ─▶ inbox ─▶ owner ─▶ reply ─▶ one DELETE for all that wait ─▶ answers
//! ```
//!
//! A submission has a key, and is asked for again where it is not known whether that arrived. Any other
//! command is asked for once. At most a batch of the store is asked for at once; the rest waits here.
//!
//! Cost: none while nothing waits; then a question to the database each [`INTERVAL`], and one each time that
//! the owner tells of replies.
//!
//! Does not know who the owner is.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_job::{MAX_BATCH_OPERATIONS, StoreError};
use mainspring_postgres::Inbox;
use mainspring_server::server::program_calls::{Answer, CallRefusal};

use crate::forwarded_command::{ForwardedCommand, ForwardedReply};
use crate::member::{ToOwner, UNCERTAIN};

/// How often replies are looked for that nothing was told of: where a pooler lets no client listen.
const INTERVAL: Duration = Duration::from_millis(20);

/// How long a reply is waited for: a takeover, and the start of the next owner.
const PATIENCE: Duration = Duration::from_secs(30);

struct Waiting {
    text: String,
    is_repeatable: bool,
    /// Its number in the inbox.
    id: Option<i64>,
    /// It may be in the inbox, or done.
    may_be_asked: bool,
    since: Moment,
    answer: Answer,
}

/// Forwards until the end is asked for. The sender of a command notifies the inbox.
pub(crate) fn forward(mut inbox: Inbox, actor: &str, commands: &Receiver<ToOwner>) {
    let mut waiting: Vec<Waiting> = Vec::new();
    loop {
        let next = match waiting.len() {
            0 => commands.recv().map_err(|_| TryRecvError::Disconnected),
            1..MAX_BATCH_OPERATIONS => commands.try_recv(),
            _ => Err(TryRecvError::Empty),
        };
        let mut next = match next {
            Ok(next) => Some(next),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => return,
        };
        while let Some(ToOwner::Command(command, answer)) = next {
            match ForwardedCommand::of(&command) {
                Some(forwarded) => waiting.push(Waiting {
                    text: serde_json::to_string(&forwarded).unwrap_or_default(),
                    is_repeatable: forwarded.is_repeatable(),
                    id: None,
                    may_be_asked: false,
                    since: Moment::now(),
                    answer,
                }),
                None => answer.give(Err(CallRefusal::Now("only the owner can do this".to_owned()))),
            }
            // What is beyond waits in the channel.
            next = (waiting.len() < MAX_BATCH_OPERATIONS).then(|| commands.try_recv().ok()).flatten();
        }
        if let Some(ToOwner::End) = next {
            return;
        }
        ask(&mut inbox, actor, &mut waiting);
        if !waiting.is_empty() {
            // It also ends when another command comes. A reply that comes meanwhile is heard by the next.
            inbox.wait(INTERVAL);
            take_replies(&mut inbox, &mut waiting);
            give_up(&mut inbox, &mut waiting);
        }
    }
}

/// Asks for what has not been asked for.
fn ask(inbox: &mut Inbox, actor: &str, waiting: &mut Vec<Waiting>) {
    let unasked = |waiting: &&mut Waiting| waiting.id.is_none();
    let texts: Vec<&str> =
        waiting.iter().filter(|waiting| waiting.id.is_none()).map(|waiting| &*waiting.text).collect();
    if texts.is_empty() {
        return;
    }
    match inbox.ask_all(&texts, actor) {
        Ok(ids) => {
            for (waiting, id) in waiting.iter_mut().filter(unasked).zip(ids) {
                (waiting.id, waiting.may_be_asked) = (Some(id), true);
            }
        }
        // Nothing was asked: the next turn tries again.
        Err(StoreError::Busy) => {}
        Err(StoreError::Unknown) => {
            waiting.iter_mut().filter(unasked).for_each(|waiting| waiting.may_be_asked = true);
            refuse(waiting, |waiting| waiting.id.is_none() && !waiting.is_repeatable, UNCERTAIN);
        }
        Err(error) => refuse(waiting, |waiting| waiting.id.is_none(), &error.to_string()),
    }
}

/// Gives the answers that have come.
fn take_replies(inbox: &mut Inbox, waiting: &mut Vec<Waiting>) {
    let ids: Vec<i64> = waiting.iter().filter_map(|waiting| waiting.id).collect();
    if ids.is_empty() {
        return;
    }
    match inbox.take_replies(&ids) {
        Ok(replies) => {
            let mut replies: HashMap<i64, String> = replies.into_iter().collect();
            let is_answered = |waiting: &mut Waiting| waiting.id.is_some_and(|id| replies.contains_key(&id));
            for answered in waiting.extract_if(.., is_answered).collect::<Vec<_>>() {
                let text = answered.id.and_then(|id| replies.remove(&id)).unwrap_or_default();
                answered.answer.give(match serde_json::from_str::<ForwardedReply>(&text) {
                    Ok(replied) => replied.answered(),
                    Err(_) => Err(CallRefusal::Now(format!("the owner is no program with handlers: {text}"))),
                });
            }
        }
        Err(error) => {
            if matches!(error, StoreError::Unknown) {
                // They may have been taken, and are lost then.
                refuse(waiting, |waiting| waiting.id.is_some() && !waiting.is_repeatable, UNCERTAIN);
            }
            // A database that crashed may have forgotten what it was asked. What may be asked again is.
            let repeatable = waiting.iter_mut().filter(|waiting| waiting.is_repeatable);
            repeatable.for_each(|waiting| waiting.id = None);
        }
    }
}

/// What has waited for too long is taken back.
fn give_up(inbox: &mut Inbox, waiting: &mut Vec<Waiting>) {
    let now = Moment::now();
    for late in waiting.extract_if(.., |waiting| PATIENCE <= now.since(waiting.since)).collect::<Vec<_>>() {
        let is_back = match late.id {
            None => !late.may_be_asked,
            // The owner does a submission before it takes it out.
            Some(id) => matches!(inbox.take(id), Ok(true)) && !late.is_repeatable,
        };
        let text = if is_back { "no owner took it, so that it is not done" } else { UNCERTAIN };
        late.answer.give(Err(CallRefusal::Now(text.to_owned())));
    }
}

fn refuse(waiting: &mut Vec<Waiting>, which: impl Fn(&Waiting) -> bool, why: &str) {
    for refused in waiting.extract_if(.., |waiting| which(waiting)).collect::<Vec<_>>() {
        refused.answer.give(Err(CallRefusal::Now(why.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use mainspring_postgres::Location;
    use mainspring_server::server::program_calls::promise;

    use super::*;

    #[test]
    fn what_may_have_been_asked_before_is_not_told_as_not_done() {
        let location = Location::parse("postgres://nobody@127.0.0.1:1/none").unwrap();
        let mut inbox = Inbox::of_asker(&location).unwrap();
        for (may_be_asked, told) in [(false, "no owner took it"), (true, UNCERTAIN)] {
            let (answer, promise) = promise();
            let mut since = Moment::now();
            since.monotonic -= PATIENCE;
            let late =
                Waiting { text: String::new(), is_repeatable: true, id: None, may_be_asked, since, answer };
            give_up(&mut inbox, &mut vec![late]);
            let answered = promise.wait();
            assert!(
                matches!(&answered, Err(CallRefusal::Now(text)) if text.starts_with(told)),
                "{answered:?}"
            );
        }
    }
}

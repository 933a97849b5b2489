//! The thread that asks the owner for a program that stands by.
//!
//! ```text
//!  commands ─▶ one INSERT for all that wait ─▶ inbox ─▶ owner ─▶ reply ─▶ one DELETE for all that wait ─▶ answers
//!  submissions ─▶ one INSERT for all that wait, on disk ─▶ answers
//! ```
//!
//! A submission without a key and without a name is left in the inbox, and is answered when it is there. Any
//! other command is asked for, and the owner answers. What has a key or an id is left or asked for again
//! where it is not known whether it arrived; the rest is asked for once. At most a batch of the store is
//! asked for at once; the rest waits here.
//!
//! Cost: none while nothing waits; a statement for what is left; while an answer is waited for a question to
//! the database each [`INTERVAL`], and one each time that the owner tells of replies.
//!
//! Does not know who the owner is.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use mainspring_cluster::forwarded_command::{ForwardedCommand, ForwardedReply};
use mainspring_exec::clock::Moment;
use mainspring_job::{Command, MAX_BATCH_OPERATIONS, OnceId, Reply, StoreError, Submission};
use mainspring_postgres::Inbox;
use mainspring_server::protocol::Request;
use mainspring_server::server::program_calls::{Answer, CallRefusal};

use crate::document::Document;
use crate::member::{ToOwner, UNCERTAIN};

/// How often replies are looked for that nothing was told of: where a pooler lets no client listen.
const INTERVAL: Duration = Duration::from_millis(20);

/// How long a reply is waited for: a takeover, and the start of the next owner.
const PATIENCE: Duration = Duration::from_secs(30);
const _: () = assert!(INTERVAL.as_millis() < PATIENCE.as_millis());

struct Waiting {
    text: String,
    is_repeatable: bool,
    /// Under which id it is left. `None`: it is asked for.
    left: Option<OnceId>,
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
        while waiting.len() < MAX_BATCH_OPERATIONS {
            let next = match waiting.is_empty() {
                true => commands.recv().map_err(|_| TryRecvError::Disconnected),
                false => commands.try_recv(),
            };
            match next {
                Ok(ToOwner::Command(command, answer)) => waiting.extend(Waiting::of(&command, answer)),
                Err(TryRecvError::Empty) => break,
                Ok(ToOwner::End) | Err(TryRecvError::Disconnected) => return,
            }
        }
        debug_assert!(waiting.len() <= MAX_BATCH_OPERATIONS, "the rest waits in the channel");
        leave(&mut inbox, actor, &mut waiting);
        ask(&mut inbox, actor, &mut waiting);
        if !waiting.is_empty() {
            // It also ends when another command comes. A reply that comes meanwhile is heard by the next.
            inbox.wait(INTERVAL);
            take_replies(&mut inbox, &mut waiting);
            give_up(&mut inbox, &mut waiting);
        }
    }
}

impl Waiting {
    /// `None` for what no program asks for: that is answered.
    fn of(command: &Command, answer: Answer) -> Option<Waiting> {
        let left = match command {
            Command::Submit(submission) if submission.key.is_none() && submission.name.is_none() => {
                submission.earlier.map(|id| (left_in_inbox(submission), id))
            }
            _ => None,
        };
        let (text, is_repeatable, left) = match (left, ForwardedCommand::of(command)) {
            (Some((text, id)), _) => (text, true, Some(id)),
            (None, Some(request)) => {
                (serde_json::to_string(&request).unwrap_or_default(), request.is_repeatable(), None)
            }
            (None, None) => {
                answer.give(Err(CallRefusal::Now("only the owner can do this".to_owned())));
                return None;
            }
        };
        let since = Moment::now();
        Some(Waiting { text, is_repeatable, left, id: None, may_be_asked: false, since, answer })
    }

    fn is_unasked(&self) -> bool {
        self.id.is_none() && self.left.is_none()
    }
}

/// A submission as it is left in the inbox, with its id.
fn left_in_inbox(submission: &Submission) -> String {
    let document = Document { command: Some("submit"), ..Document::of(submission) };
    let text = serde_json::to_string(&document).expect("texts and numbers are written");
    debug_assert!(matches!(serde_json::from_str(&text), Ok(Request::Submit(_))), "the owner can read it");
    text
}

/// Leaves what is to be left, and answers it.
fn leave(inbox: &mut Inbox, actor: &str, waiting: &mut Vec<Waiting>) {
    let left = waiting.iter().filter_map(|waiting| Some((&*waiting.text, waiting.left?.to_string())));
    let left: Vec<(&str, String)> = left.collect();
    if left.is_empty() {
        return;
    }
    match inbox.leave_all(&left, actor) {
        Ok(()) => {
            for Waiting { left, answer, .. } in waiting.extract_if(.., |waiting| waiting.left.is_some()) {
                let id = left.expect("it was looked for");
                answer.give(Ok(Reply::Submitted { id, name: id.name() }));
            }
            // An owner that is not told looks within a second.
            let _ = inbox.tell();
        }
        Err(error) => keep_or_refuse(waiting, &error, |waiting| waiting.left.is_some()),
    }
}

/// Asks for what has not been asked for.
fn ask(inbox: &mut Inbox, actor: &str, waiting: &mut Vec<Waiting>) {
    let unasked = waiting.iter().filter(|waiting| waiting.is_unasked());
    let texts: Vec<&str> = unasked.map(|waiting| &*waiting.text).collect();
    if texts.is_empty() {
        return;
    }
    match inbox.ask_all(&texts, actor) {
        Ok(ids) => {
            for (waiting, id) in waiting.iter_mut().filter(|waiting| waiting.is_unasked()).zip(ids) {
                (waiting.id, waiting.may_be_asked) = (Some(id), true);
            }
        }
        Err(error) => keep_or_refuse(waiting, &error, Waiting::is_unasked),
    }
}

/// What could not be written waits for the next turn, or is refused.
fn keep_or_refuse(waiting: &mut Vec<Waiting>, error: &StoreError, which: impl Fn(&Waiting) -> bool) {
    match error {
        // Nothing was written.
        StoreError::Busy(_) => {}
        StoreError::Unknown => {
            waiting
                .iter_mut()
                .filter(|waiting| which(waiting))
                .for_each(|waiting| waiting.may_be_asked = true);
            refuse(waiting, |waiting| which(waiting) && !waiting.is_repeatable, UNCERTAIN);
        }
        error => {
            refuse(waiting, |waiting| which(waiting) && waiting.may_be_asked, UNCERTAIN);
            refuse(waiting, which, &error.to_string());
        }
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
                    Err(_) => Err(CallRefusal::Now(format!(
                        "the planner is of another version, and answered {text}"
                    ))),
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
        debug_assert!(late.id.is_none() || late.may_be_asked, "what has a number was asked for");
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
    use mainspring_job::{PauseTerms, Scope};
    use mainspring_postgres::Location;
    use mainspring_server::polling::wait_for;
    use mainspring_server::server::program_calls::promise;

    use super::*;

    #[test]
    fn what_may_have_been_asked_before_is_not_told_as_not_done() {
        let location = Location::parse("postgres://nobody@127.0.0.1:1/none").unwrap();
        let mut inbox = Inbox::of_asker(&location).unwrap();
        for (may_be_asked, expected) in [(false, "no owner took it"), (true, UNCERTAIN)] {
            let (answer, promise) = promise();
            let mut since = Moment::now();
            since.monotonic -= PATIENCE;
            let command = Command::Pause(Scope::Job("tick".parse().unwrap()), PauseTerms::default());
            let late = Waiting { may_be_asked, since, ..Waiting::of(&command, answer).unwrap() };
            give_up(&mut inbox, &mut vec![late]);
            let answered = wait_for(promise);
            assert!(
                matches!(&answered, Err(CallRefusal::Now(text)) if text.starts_with(expected)),
                "{answered:?}"
            );
        }
    }
}

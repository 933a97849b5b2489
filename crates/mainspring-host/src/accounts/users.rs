//! The users of the system as a server asks for them again and again: a user database that hangs holds up
//! only a look at a user that was never asked for before.
//!
//! ```text
//! account("backup") ─▶ a thread of its own asks the database ─ within ANSWER_WAIT ─▶ its answer
//!                                                            └ later, or an error ─▶ the last answer, if there was one
//! ```
//!
//! The database may be a directory service over the network (LDAP, sssd), and the server's loop has other
//! jobs to start meanwhile. While a question hangs no other is asked, and none is waited for.
//!
//! Cost: a message to a thread and back, besides what the database takes. An answer is kept for each name
//! that was ever asked for, of which there are as many as jobs name.
//!
//! Does not forget an answer before there is a newer one, and does not ask for who we are: that is known.
//!
//! Source: nsswitch.conf(5); getpwnam(3) has no timeout.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Account, Refusal};

/// How long an answer is waited for: a directory service answers within a few milliseconds, and a loop that
/// stands still for longer would be noticed.
const ANSWER_WAIT: Duration = Duration::from_millis(500);

/// How a user database is asked: [`Account::chosen`].
type Ask = fn(&str, &Account) -> Result<Account, Refusal>;

/// The users of the system, for a server. Clones share what they have heard.
#[derive(Clone, Debug)]
pub struct Users {
    ourselves: Account,
    cache: Arc<Mutex<CachedAnswer>>,
}

#[derive(Debug)]
struct CachedAnswer {
    ask: Ask,
    thread: Option<Thread>,
    /// Whether a question has not been answered yet.
    is_asking: bool,
    answers: BTreeMap<String, Account>,
}

#[derive(Debug)]
struct Thread {
    questions: Sender<String>,
    answers: Receiver<(String, Result<Account, Refusal>)>,
}

impl Users {
    /// For a server that runs as `ourselves`.
    pub fn new(ourselves: Account) -> Users {
        Users::asking(ourselves, Account::chosen)
    }

    fn asking(ourselves: Account, ask: Ask) -> Users {
        let cache = CachedAnswer { ask, thread: None, is_asking: false, answers: BTreeMap::new() };
        Users { ourselves, cache: Arc::new(Mutex::new(cache)) }
    }

    /// Who runs the server.
    pub fn ourselves(&self) -> &Account {
        &self.ourselves
    }

    /// The user of a text `USER` or `USER:GROUP`, as [`Account::chosen`] knows it.
    ///
    /// # Errors
    ///
    /// See [`Refusal`]; a database that does not answer is one only for a user that was never asked for.
    pub fn account(&self, text: &str) -> Result<Account, Refusal> {
        if text == self.ourselves.name {
            return Ok(self.ourselves.clone());
        }
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = match cache.answer(text, &self.ourselves) {
            Err(Refusal::Lookup(error)) => Refusal::Lookup(error),
            answer => return answer,
        };
        cache.answers.get(text).cloned().ok_or(refusal)
    }
}

impl CachedAnswer {
    fn answer(&mut self, text: &str, ourselves: &Account) -> Result<Account, Refusal> {
        self.wait_for(None, Duration::ZERO);
        let silent = || Refusal::Lookup(io::ErrorKind::TimedOut.into());
        if self.is_asking {
            return Err(silent());
        }
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None => Thread::start(self.ask, ourselves.clone()).map_err(Refusal::Lookup)?,
        };
        self.is_asking = thread.questions.send(text.to_owned()).is_ok();
        debug_assert!(self.is_asking, "a thread that owes no answer waits for a question");
        self.thread = Some(thread);
        self.wait_for(Some(text), ANSWER_WAIT).unwrap_or_else(|| Err(silent()))
    }

    /// Waits so long for the answer to the question that was asked, and keeps it. It is returned if it is
    /// about `text`.
    fn wait_for(&mut self, text: Option<&str>, wait: Duration) -> Option<Result<Account, Refusal>> {
        debug_assert!(!self.is_asking || self.thread.is_some(), "who was asked can answer");
        let thread = self.thread.as_ref().filter(|_| self.is_asking)?;
        let (name, answer) = match thread.answers.recv_timeout(wait) {
            Ok(answered) => answered,
            Err(RecvTimeoutError::Timeout) => return None,
            // It panicked, and another is started for the next question.
            Err(RecvTimeoutError::Disconnected) => {
                self.thread = None;
                self.is_asking = false;
                return None;
            }
        };
        self.is_asking = false;
        match &answer {
            Ok(account) => drop(self.answers.insert(name.clone(), account.clone())),
            Err(Refusal::Lookup(_)) => {}
            Err(_) => drop(self.answers.remove(&name)),
        }
        (text == Some(name.as_str())).then_some(answer)
    }
}

impl Thread {
    fn start(ask: Ask, ourselves: Account) -> io::Result<Thread> {
        let (questions, names) = channel::<String>();
        let (answer, answers) = channel();
        let work = move || {
            for text in names {
                let found = ask(&text, &ourselves);
                if answer.send((text, found)).is_err() {
                    break;
                }
            }
        };
        // It ends with the server, or when the last question has been answered.
        thread::Builder::new().name("users".to_owned()).spawn(work)?;
        Ok(Thread { questions, answers })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::MutexGuard;

    use super::*;

    /// What the database of the test answers. While the one test here holds it, the database hangs.
    static IS_KNOWN: Mutex<bool> = Mutex::new(true);

    fn ask(text: &str, _: &Account) -> Result<Account, Refusal> {
        let is_known = *IS_KNOWN.lock().unwrap();
        let account = Account { name: text.into(), home: "/".into(), identity: None };
        is_known.then_some(account).ok_or(Refusal::Unknown)
    }

    #[test]
    fn who_was_heard_of_is_known_while_the_database_hangs() {
        let ourselves = Account { name: "us".into(), home: "/".into(), identity: None };
        let users = Users::asking(ourselves.clone(), ask);
        assert_eq!(users.account("us").unwrap(), ourselves);
        let alice = users.account("alice").unwrap();
        let mut hang: MutexGuard<'_, bool> = IS_KNOWN.lock().unwrap();
        for _ in 0..100 {
            assert_eq!(users.account("alice").unwrap(), alice);
            assert!(matches!(users.account("bob"), Err(Refusal::Lookup(_))));
        }
        *hang = false;
        drop(hang);
        // The question that hung is answered at last, and the next ones are asked.
        while !matches!(users.account("alice"), Err(Refusal::Unknown)) {}
        while !matches!(users.account("bob"), Err(Refusal::Unknown)) {}
        *IS_KNOWN.lock().unwrap() = true;
        while users.account("bob").is_err() {}
    }
}

//! One of several programs that share a database: the owner's commands go to its own loop, those of the
//! others through the database.
//!
//! ```text
//!  command ─▶ owner? ─ yes ─▶ the loop in this program
//!                    └─ no ──▶ forward ─▶ inbox ─▶ the loop of another
//! ```
//!
//! A submission without a key that is forwarded gets an id here; or a key, if it has a name, which may be
//! taken. So one of which it is not known whether it arrived is asked for again, and is done once. One that
//! has an id, no key and no name cannot be refused by what else there is: it is done when it is in the inbox,
//! and no caller waits for the owner. If this program is the owner and is lost, it says under which id a
//! submission would be on record, and the next owner is asked for it under that id.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `role` | its mutex; `changed` tells of it | it is changed by the thread that owns, and by the end |
//! | `patience` | its mutex | it is written by the end, and read by the thread that ends the worker |
//! | `numbers` | atomic, relaxed | only that no two are alike |
//!
//! Cost: at the owner a lock; elsewhere a row that is on disk, or a request and a reply through the database.
//!
//! Does not ask for the lease: see [`joined`](crate::joined).

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use mainspring_job::{Command, OnceId, Reply};
use mainspring_server::server::program_calls::{Answer, CallRefusal, CallResult, Caller, Promise, promise};

use crate::client::{CommandTarget, PendingReply};
use crate::document::check;
use crate::error::Error;

/// What became of a command is not known.
pub(crate) const UNCERTAIN: &str = "the owner of the jobs was lost before it answered, and may have done it";

/// What this program is to the others.
#[derive(Debug)]
enum Role {
    StandsBy {
        /// The lease may be free.
        is_free: bool,
    },
    Owns(Caller),
    Ended,
}

/// What the thread is given that forwards.
#[derive(Debug)]
pub(crate) enum ToOwner {
    Command(Command, Answer),
    End,
}

/// A command as the owner gets it.
#[derive(Debug)]
struct OwnedCommand {
    command: Command,
    is_keyed_here: bool,
    /// The owner is this program.
    is_own: bool,
}

/// What follows an answer.
#[derive(Debug)]
enum Sequel {
    Reply(Reply),
    Again(OwnedCommand),
}

struct Inner {
    role: Mutex<Role>,
    changed: Condvar,
    /// How long what runs here has when the end is asked for.
    patience: Mutex<Duration>,
    forward: Sender<ToOwner>,
    /// Tells the thread that forwards of what it was sent.
    notify: Box<dyn Fn() + Send + Sync>,
    /// What no other program has.
    identity: String,
    /// Of ids and keys. It begins anywhere: a program draws few of 2^62 numbers, and others no one of them.
    numbers: AtomicU64,
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Member {
    inner: Arc<Inner>,
}

impl Member {
    /// A program that stands by. `notify` tells the thread that forwards of what it was sent.
    pub(crate) fn new(
        identity: String,
        forward: Sender<ToOwner>,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Member {
        let (role, changed, notify) =
            (Mutex::new(Role::StandsBy { is_free: false }), Condvar::new(), Box::new(notify));
        Member {
            inner: Arc::new(Inner {
                role,
                changed,
                patience: Mutex::default(),
                forward,
                notify,
                numbers: AtomicU64::new(RandomState::new().hash_one(&identity)),
                identity,
            }),
        }
    }

    fn role(&self) -> MutexGuard<'_, Role> {
        self.inner.role.lock().expect("nothing panics while it holds this lock")
    }

    /// The loop in this program, if it owns the jobs.
    ///
    /// # Errors
    /// When the jobs are shut down.
    pub(crate) fn owner(&self) -> Result<Option<Caller>, Error> {
        match &*self.role() {
            Role::StandsBy { .. } => Ok(None),
            Role::Owns(caller) => Ok(Some(caller.clone())),
            Role::Ended => Err(Error::Stopped),
        }
    }

    /// From now on the loop of this caller has the jobs.
    pub(crate) fn owns(&self, caller: Caller) {
        let mut role = self.role();
        debug_assert!(!matches!(*role, Role::Owns(_)), "one loop at a time has the jobs");
        match &*role {
            // The end came while the loop was made ready.
            Role::Ended => caller.stop(Duration::ZERO),
            _ => *role = Role::Owns(caller),
        }
    }

    /// From now on another may have the jobs.
    pub(crate) fn stands_by(&self) {
        let mut role = self.role();
        if !matches!(*role, Role::Ended) {
            *role = Role::StandsBy { is_free: false };
        }
    }

    /// The lease may be free.
    pub(crate) fn notify_free(&self) {
        if let Role::StandsBy { is_free } = &mut *self.role() {
            *is_free = true;
            self.inner.changed.notify_all();
        }
    }

    /// Waits for so long, for a lease that may be free, or for the end. Says whether that has come.
    pub(crate) fn waits(&self, wait: Duration) -> bool {
        let waits = |role: &mut Role| matches!(role, Role::StandsBy { is_free: false });
        let waited = self.inner.changed.wait_timeout_while(self.role(), wait, waits);
        let (mut role, _) = waited.expect("nothing panics while it holds this lock");
        debug_assert!(!matches!(*role, Role::Owns(_)), "who has the jobs does not wait for them");
        if let Role::StandsBy { is_free } = &mut *role {
            *is_free = false;
        }
        matches!(*role, Role::Ended)
    }

    fn lock_patience<T>(&self, act: impl FnOnce(&mut Duration) -> T) -> T {
        act(&mut self.inner.patience.lock().expect("nothing panics while it holds this lock"))
    }

    /// How long what runs here has when the end is asked for.
    pub(crate) fn patience(&self) -> Duration {
        self.lock_patience(|patience| *patience)
    }

    /// A command for another owner: a submission gets an id or a key, unless it has one.
    fn identified(&self, command: Command) -> OwnedCommand {
        let mut begun = OwnedCommand { command, is_keyed_here: false, is_own: false };
        if let Command::Submit(submission) = &mut begun.command
            && submission.key.is_none()
            && submission.earlier.is_none()
        {
            let number = self.inner.numbers.fetch_add(1, Ordering::Relaxed);
            begun.is_keyed_here = submission.name.is_some();
            match begun.is_keyed_here {
                true => submission.key = Some(format!("{}-{number}", self.inner.identity)),
                false => submission.earlier = Some(OnceId::drawn(submission.due, number)),
            }
        }
        begun
    }

    /// What was answered; or, if the loop in this program lost the jobs, what the next owner is asked.
    fn follow(&self, begun: OwnedCommand, answered: CallResult) -> Result<Sequel, Error> {
        let (is_told, earlier) = match answered {
            Err(CallRefusal::Stopping) if begun.is_own => (false, None),
            Err(CallRefusal::Lost(id)) if begun.is_own => (true, id),
            answered => {
                let reply = answered.map_err(Error::call)?;
                return Ok(Sequel::Reply(if begun.is_own { reply } else { begun.first_reply(reply) }));
            }
        };
        // The jobs may be shut down.
        self.owner()?;
        match begun.command {
            Command::Submit(mut submission) if !is_told || earlier.is_some() || submission.key.is_some() => {
                // The owner may have taken it for due a moment earlier, by its own clock.
                submission.due = earlier.map_or(submission.due, |id| id.due);
                submission.earlier = earlier;
                Ok(Sequel::Again(self.identified(Command::Submit(submission))))
            }
            _ => Err(Error::Temporary(UNCERTAIN.to_owned())),
        }
    }

    fn forward(&self, command: Command) -> Promise {
        let (answer, promise) = promise();
        self.send(ToOwner::Command(command, answer));
        promise
    }

    fn send(&self, to_owner: ToOwner) {
        // It fails only after that thread has ended. A command's answer is dropped then, which says so.
        let _ = self.inner.forward.send(to_owner);
        (self.inner.notify)();
    }
}

impl CommandTarget for Member {
    fn begin(&self, command: Command) -> Result<PendingReply, Error> {
        let owner = self.owner()?;
        let begun = match &owner {
            Some(_) => OwnedCommand { command, is_keyed_here: false, is_own: true },
            None => self.identified(command),
        };
        if let (None, Command::Submit(submission)) = (&owner, &begun.command) {
            check(submission, None)?;
        }
        let promise = match &owner {
            Some(caller) => caller.command(begun.command.clone()),
            None => self.forward(begun.command.clone()),
        };
        let member = self.clone();
        Ok(Box::pin(async move {
            match member.follow(begun, promise.await)? {
                Sequel::Reply(reply) => Ok(reply),
                Sequel::Again(next) => {
                    let answered = member.forward(next.command.clone()).await;
                    Ok(next.first_reply(answered.map_err(Error::call)?))
                }
            }
        }))
    }

    /// Nothing is taken any more. What runs here is told to stop, and has so long.
    fn stop(&self, patience: Duration) {
        self.lock_patience(|current| *current = patience);
        let before = std::mem::replace(&mut *self.role(), Role::Ended);
        if let Role::Owns(caller) = before {
            caller.stop(patience);
        }
        self.send(ToOwner::End);
        self.inner.changed.notify_all();
    }

    fn outbox_folder(&self) -> Result<Option<&str>, &'static str> {
        Ok(None)
    }
}

impl OwnedCommand {
    /// A submission that got its key or its id from here is no other caller's: one that is there already is
    /// this one.
    fn first_reply(&self, reply: Reply) -> Reply {
        let (Reply::Duplicate(holder), Command::Submit(submission)) = (&reply, &self.command) else {
            return reply;
        };
        let own = match submission.earlier {
            // That of a run has no id, and is of its name and time.
            Some(id) if holder.id == Some(id) || holder.id.is_none() && submission.key.is_none() => Some(id),
            _ => holder.id.filter(|_| self.is_keyed_here),
        };
        own.map_or(reply.clone(), |id| Reply::Submitted { id, name: holder.name.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use mainspring_job::{Action, Holder, Submission, Work};
    use mainspring_server::server::program_calls::calls;

    use super::*;

    #[test]
    fn what_a_lost_owner_may_have_done_is_asked_for_again_under_its_id_and_else_under_a_key() {
        let (sender, _commands) = channel();
        let member = Member::new("me".to_owned(), sender, || ());
        let (caller, _calls) = calls().unwrap();
        member.owns(caller);
        let id = OnceId { due: "2026-11-21T08:00:00Z".parse().unwrap(), number: 7 };
        let work = Work::new(Action::new("handler", "{}").unwrap());
        let plain = Submission::new("2026-11-21T08:00:00.004Z".parse().unwrap(), work);
        let begun = |command: Command| OwnedCommand { command, is_keyed_here: false, is_own: true };
        let next = |submission: &Submission, refused| match member
            .follow(begun(Command::Submit(submission.clone())), Err(refused))
            .unwrap()
        {
            Sequel::Again(next) => next,
            followed @ Sequel::Reply(_) => panic!("{followed:?}"),
        };
        let terms = |next: &OwnedCommand| match &next.command {
            Command::Submit(submission) => (submission.due, submission.earlier, submission.key.clone()),
            other => panic!("{other:?}"),
        };
        let again = next(&plain, CallRefusal::Lost(Some(id)));
        assert_eq!(terms(&again), (id.due, Some(id), None));
        let known = |holder: Option<OnceId>| {
            let mut held = Holder::new(id.name(), id.due);
            held.id = holder;
            Reply::Duplicate(Box::new(held))
        };
        let submitted = Reply::Submitted { id, name: id.name() };
        assert_eq!(again.first_reply(known(None)), submitted, "its run is there");
        assert_eq!(again.first_reply(known(Some(id))), submitted, "it waits");
        let other = known(Some(OnceId { number: 8, ..id }));
        assert_eq!(again.first_reply(other.clone()), other, "that is another's");
        let (due, drawn, key) = terms(&next(&plain, CallRefusal::Stopping));
        assert!(
            due == plain.due && drawn.is_some_and(OnceId::is_drawn) && key.is_none(),
            "{drawn:?} {key:?}"
        );
        let named = plain.clone().with_name("mail".parse().unwrap());
        let (_, drawn, key) = terms(&next(&named, CallRefusal::Stopping));
        assert!(drawn.is_none() && key.as_ref().is_some_and(|key| key.starts_with("me-")), "{key:?}");
        let keyed = plain.clone().with_key("k");
        assert_eq!(terms(&next(&keyed, CallRefusal::Lost(None))), (keyed.due, None, Some("k".to_owned())));
        let uncertain = member.follow(begun(Command::Submit(plain)), Err(CallRefusal::Lost(None)));
        assert!(matches!(uncertain, Err(Error::Temporary(_))), "{uncertain:?}");
        let cancel = begun(Command::Withdraw(id));
        assert!(matches!(member.follow(cancel, Err(CallRefusal::Stopping)), Err(Error::Temporary(_))));
    }
}

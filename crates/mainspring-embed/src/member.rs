//! One of several programs that share a database: the owner's commands go to its own loop, those of the
//! others through the database.
//!
//! ```text
//!  command ─▶ owner? ─ yes ─▶ the loop in this program
//!                    └─ no ──▶ forward ─▶ inbox ─▶ the loop of another
//! ```
//!
//! A submission without a key gets one here, and a name with it. So one whose owner is lost before it answers
//! is asked for again under its key, and is done once.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `role` | its mutex; `changed` tells of it | it is changed by the thread that owns, and by the end |
//! | `patience` | its mutex | it is written by the end, and read by the thread that ends the worker |
//! | `keys` | atomic, relaxed | only that no two are alike |
//!
//! Cost: at the owner a lock; elsewhere a request and a reply through the database.
//!
//! Does not ask for the lease: see [`joined`](crate::joined).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use mainspring_job::{Command, Holder, JobName, Reply};
use mainspring_server::server::program_calls::{Answer, CallRefusal, CallResult, Caller, Promise, promise};

use crate::error::Error;

/// What became of a command is not known.
pub(crate) const UNCERTAIN: &str = "the owner of the jobs was lost before it answered, and may have done it";

/// What this program is to the others.
#[derive(Debug)]
enum Role {
    StandsBy,
    Owns(Caller),
    Ended,
}

/// What the thread is given that forwards.
#[derive(Debug)]
pub(crate) enum ToOwner {
    Command(Command, Answer),
    End,
}

/// A command of which the owner has been told.
#[derive(Debug)]
pub(crate) struct OwnerCommand {
    member: Member,
    command: KeyedCommand,
    promise: Promise,
}

/// A command as the owner gets it.
#[derive(Debug)]
struct KeyedCommand {
    command: Command,
    is_keyed_here: bool,
    /// The owner is this program.
    is_own: bool,
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
    keys: AtomicU64,
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Member {
    inner: Arc<Inner>,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("identity", &self.inner.identity).finish_non_exhaustive()
    }
}

impl Member {
    /// A program that stands by. `notify` tells the thread that forwards of what it was sent.
    pub(crate) fn new(
        identity: String,
        forward: Sender<ToOwner>,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Member {
        let (role, changed, notify) = (Mutex::new(Role::StandsBy), Condvar::new(), Box::new(notify));
        Member {
            inner: Arc::new(Inner {
                role,
                changed,
                patience: Mutex::default(),
                forward,
                notify,
                identity,
                keys: AtomicU64::new(0),
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
            Role::StandsBy => Ok(None),
            Role::Owns(caller) => Ok(Some(caller.clone())),
            Role::Ended => Err(Error::Stopped),
        }
    }

    /// From now on the loop of this caller has the jobs.
    pub(crate) fn owns(&self, caller: Caller) {
        let mut role = self.role();
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
            *role = Role::StandsBy;
        }
    }

    /// Waits for so long, or for the end. Says whether that has come.
    pub(crate) fn waits(&self, wait: Duration) -> bool {
        let stands_by = |role: &mut Role| matches!(role, Role::StandsBy);
        let waited = self.inner.changed.wait_timeout_while(self.role(), wait, stands_by);
        let (role, _) = waited.expect("nothing panics while it holds this lock");
        matches!(*role, Role::Ended)
    }

    fn lock_patience<T>(&self, act: impl FnOnce(&mut Duration) -> T) -> T {
        act(&mut self.inner.patience.lock().expect("nothing panics while it holds this lock"))
    }

    /// How long what runs here has when the end is asked for.
    pub(crate) fn patience(&self) -> Duration {
        self.lock_patience(|kept| *kept)
    }

    /// Nothing is taken any more. What runs here is told to stop, and has so long.
    pub(crate) fn stop(&self, patience: Duration) {
        self.lock_patience(|kept| *kept = patience);
        let before = std::mem::replace(&mut *self.role(), Role::Ended);
        if let Role::Owns(caller) = before {
            caller.stop(patience);
        }
        self.send(ToOwner::End);
        self.inner.changed.notify_all();
    }

    /// Tells the owner of a command, and does not wait.
    pub(crate) fn begin(&self, command: Command) -> Result<OwnerCommand, Error> {
        let (command, is_keyed_here) = self.keyed(command);
        let owner = self.owner()?;
        let promise = match &owner {
            Some(caller) => caller.command(command.clone()),
            None => self.forward(command.clone()),
        };
        let command = KeyedCommand { command, is_keyed_here, is_own: owner.is_some() };
        Ok(OwnerCommand { member: self.clone(), command, promise })
    }

    /// A submission gets a key, and says whether it was given one.
    fn keyed(&self, command: Command) -> (Command, bool) {
        let Command::Submit(mut submission) = command else { return (command, false) };
        if submission.key.is_some() {
            return (Command::Submit(submission), false);
        }
        let number = self.inner.keys.fetch_add(1, Ordering::Relaxed);
        let key = format!("{}-{number}", self.inner.identity);
        if submission.name.is_none() {
            submission.name = JobName::new(&format!("sent-{key}")).ok();
        }
        submission.key = Some(key);
        (Command::Submit(submission), true)
    }

    /// What was answered; `None` if the loop in this program lost the jobs, and the next owner may be asked.
    fn reply(&self, begun: &KeyedCommand, answered: CallResult) -> Result<Option<Reply>, Error> {
        match answered {
            Err(CallRefusal::Stopping) if begun.is_own => {
                // The jobs may be shut down.
                self.owner()?;
                let is_repeatable = matches!(begun.command, Command::Submit(_));
                if is_repeatable { Ok(None) } else { Err(Error::Temporary(UNCERTAIN.to_owned())) }
            }
            answered => {
                let reply = answered.map_err(Error::call)?;
                Ok(Some(if begun.is_own { reply } else { begun.first_reply(reply) }))
            }
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

impl OwnerCommand {
    /// Waits for its reply.
    pub(crate) fn finish(self) -> Result<Reply, Error> {
        let OwnerCommand { member, command, promise } = self;
        match member.reply(&command, promise.wait())? {
            Some(reply) => Ok(reply),
            None => {
                Ok(command.first_reply(member.forward(command.command.clone()).wait().map_err(Error::call)?))
            }
        }
    }

    /// The same as a future.
    pub(crate) async fn finish_async(self) -> Result<Reply, Error> {
        let OwnerCommand { member, command, promise } = self;
        match member.reply(&command, promise.await)? {
            Some(reply) => Ok(reply),
            None => {
                Ok(command.first_reply(member.forward(command.command.clone()).await.map_err(Error::call)?))
            }
        }
    }
}

impl KeyedCommand {
    /// A submission that got its key here is no other caller's: one that is there already is this one.
    fn first_reply(&self, reply: Reply) -> Reply {
        match (reply, &self.command) {
            (Reply::Duplicate(holder), Command::Submit(_)) if self.is_keyed_here && holder.id.is_some() => {
                let Holder { id, name, .. } = *holder;
                Reply::Submitted { id: id.expect("it is some"), name }
            }
            (reply, _) => reply,
        }
    }
}

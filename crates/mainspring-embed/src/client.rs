//! The commands that any thread of the program may give to its jobs, a handler among them.
//!
//! Cost: a clone is a few reference counts; a command waits for the disk.
//!
//! Does not keep the jobs running: [`Jobs`](crate::Jobs) does.

use std::fmt::Debug;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_exec::clock::Moment;
use mainspring_job::{Command, JobName, OnceId, PauseTerms, Reply, RunKey, RunRequest, Scope};
use mainspring_server::server::program_calls::{Caller, Promise};

use crate::catalogue::Catalogue;
use crate::error::Error;
use crate::member::{Member, OwnerCommand};
use crate::outbox_signal::OutboxSignal;

/// Who follows commands.
#[derive(Clone, Debug)]
pub(crate) enum CommandTarget {
    /// The loop, on its thread.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "it is made with the feature alone"))]
    Loop(Caller),
    /// The owner of a database, which may be this program or another.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "it is made with the feature alone"))]
    Member(Member),
    /// The simulation, on this thread.
    Simulation(Weak<dyn Follow>),
}

impl CommandTarget {
    /// Has the jobs end: what runs is told at once, and has so long.
    pub(crate) fn stop(&self, patience: Duration) {
        match self {
            CommandTarget::Loop(caller) => caller.stop(patience),
            CommandTarget::Member(member) => member.stop(patience),
            CommandTarget::Simulation(_) => {}
        }
    }
}

/// A command that has been told of.
#[derive(Debug)]
pub(crate) enum PendingCommand {
    AtLoop(Promise),
    AtOwner(OwnerCommand),
    Done(Reply),
}

impl PendingCommand {
    /// Waits until what was begun is on disk.
    pub(crate) fn finish(self) -> Result<Reply, Error> {
        answered(match self {
            PendingCommand::AtLoop(promise) => promise.wait().map_err(Error::call)?,
            PendingCommand::AtOwner(begun) => begun.finish()?,
            PendingCommand::Done(reply) => reply,
        })
    }

    /// The same as a future.
    pub(crate) async fn finish_async(self) -> Result<Reply, Error> {
        answered(match self {
            PendingCommand::AtLoop(promise) => promise.await.map_err(Error::call)?,
            PendingCommand::AtOwner(begun) => begun.finish_async().await?,
            PendingCommand::Done(reply) => reply,
        })
    }
}

/// What follows commands on the thread that gives them.
pub(crate) trait Follow: Debug + Send + Sync {
    /// What time it is.
    fn now(&self) -> Timestamp;

    /// Follows a command at once.
    fn command(&self, command: Command) -> Result<Reply, Error>;
}

/// Submits, starts, pauses and cancels. It may be cloned and sent to any thread; after the end of the jobs it
/// says so.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) target: CommandTarget,
    /// What there is to submit to.
    pub(crate) catalogue: Arc<Catalogue>,
    /// A table in a file of the program, for its transactions.
    pub(crate) outbox: Option<OutboxSignal>,
}

/// Where a transaction of the program leaves a submission.
#[derive(Clone, Debug)]
pub(crate) enum TransactionPlace<'a> {
    SharedDatabase,
    Outbox(&'a OutboxSignal),
    /// Nowhere, for this reason.
    None(&'static str),
}

impl Client {
    pub(crate) fn new(target: CommandTarget, catalogue: Arc<Catalogue>) -> Client {
        Client { target, catalogue, outbox: None }
    }

    pub(crate) fn transaction_place(&self) -> TransactionPlace<'_> {
        match (&self.target, &self.outbox) {
            (CommandTarget::Member(_), _) => TransactionPlace::SharedDatabase,
            (_, Some(outbox)) => TransactionPlace::Outbox(outbox),
            (CommandTarget::Loop(_), None) => {
                TransactionPlace::None("these jobs have no outbox: see Builder::outbox")
            }
            (CommandTarget::Simulation(_), None) => TransactionPlace::None("a simulation has no database"),
        }
    }

    /// Runs a job now, whatever its schedule says. Returns the key of the run, which is on disk.
    ///
    /// # Errors
    /// When there is no such job, or the jobs are shut down.
    pub fn run_now(&self, job: &str) -> Result<RunKey, Error> {
        self.run(RunRequest::new(name_of(job)?)).map(|(key, _)| key)
    }

    /// The same at a time, or under an idempotency key:
    /// `jobs.run(RunRequest::new(job).at(due).with_key("7"))`. Returns the key of the run, and whether it is
    /// new: a second request with the same key for the same job is answered with the run of the first, while
    /// that is open or kept.
    ///
    /// # Errors
    /// As [`run_now`](Self::run_now); when the key is too long, or
    /// [`MAX_WAITING_REQUESTS`](mainspring_job::MAX_WAITING_REQUESTS) runs of the job wait for later times.
    pub fn run(&self, request: RunRequest) -> Result<(RunKey, bool), Error> {
        let job = request.job.clone();
        match self.command(Command::Trigger(request))? {
            Reply::Planned { key } => Ok((key, true)),
            Reply::Duplicate(holder) => Ok((RunKey::new(job, holder.due), false)),
            other => Err(strange(&other)),
        }
    }

    /// Pauses a job until it is resumed. What runs continues.
    ///
    /// # Errors
    /// When there is no such job, or the jobs are shut down.
    pub fn pause(&self, job: &str) -> Result<(), Error> {
        self.command(Command::Pause(Scope::Job(name_of(job)?), PauseTerms::default())).map(drop)
    }

    /// Resumes a job that is paused.
    ///
    /// # Errors
    /// When there is no such job, or the jobs are shut down.
    pub fn resume(&self, job: &str) -> Result<(), Error> {
        self.command(Command::Resume(Scope::Job(name_of(job)?))).map(drop)
    }

    /// Ends a run: one that waits is withdrawn, one that runs is told to stop.
    ///
    /// # Errors
    /// When there is no such run any more, or the jobs are shut down.
    pub fn cancel(&self, run: &RunKey) -> Result<(), Error> {
        self.command(Command::Cancel(run.clone())).map(drop)
    }

    /// Withdraws what was submitted and has not begun.
    ///
    /// # Errors
    /// When it has begun, or the jobs are shut down.
    pub fn withdraw(&self, submitted: OnceId) -> Result<(), Error> {
        self.command(Command::Withdraw(submitted)).map(drop)
    }

    /// Removes a job of the program for good, with what waits of it: for one that its code defines no more.
    ///
    /// # Errors
    /// When there is no such job, or the jobs are shut down.
    pub fn forget(&self, job: &str) -> Result<(), Error> {
        self.command(Command::Remove(name_of(job)?)).map(drop)
    }

    /// What time it is to the jobs.
    pub(crate) fn now(&self) -> Result<Timestamp, Error> {
        match &self.target {
            CommandTarget::Loop(_) | CommandTarget::Member(_) => Ok(Moment::now().wall),
            CommandTarget::Simulation(simulation) => Ok(simulation.upgrade().ok_or(Error::Stopped)?.now()),
        }
    }

    /// Has a command followed, and waits until what it says is on disk.
    pub(crate) fn command(&self, command: Command) -> Result<Reply, Error> {
        self.begin(command)?.finish()
    }

    /// Tells of a command, and does not wait.
    pub(crate) fn begin(&self, command: Command) -> Result<PendingCommand, Error> {
        match &self.target {
            CommandTarget::Loop(caller) => Ok(PendingCommand::AtLoop(caller.command(command))),
            CommandTarget::Member(member) => member.begin(command).map(PendingCommand::AtOwner),
            CommandTarget::Simulation(simulation) => {
                let reply = simulation.upgrade().ok_or(Error::Stopped)?.command(command)?;
                Ok(PendingCommand::Done(reply))
            }
        }
    }

    /// The same as a future.
    pub(crate) async fn command_async(&self, command: Command) -> Result<Reply, Error> {
        self.begin(command)?.finish_async().await
    }
}

fn answered(reply: Reply) -> Result<Reply, Error> {
    match reply {
        Reply::Refused(refusal) => Err(Error::Refused(refusal)),
        reply => Ok(reply),
    }
}

pub(crate) fn name_of(text: &str) -> Result<JobName, Error> {
    JobName::new(text).map_err(|error| Error::Definition { name: text.to_owned(), reason: error.to_string() })
}

/// A reply that the planner does not give to such a command.
pub(crate) fn strange(reply: &Reply) -> Error {
    Error::Temporary(format!("the planner answered {reply:?}"))
}

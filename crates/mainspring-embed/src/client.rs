//! The commands that any thread of the program may give to its jobs, a handler among them.
//!
//! Cost: a clone is a few reference counts; a command waits for the disk.
//!
//! Does not keep the jobs running: [`Jobs`](crate::Jobs) does.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_exec::clock::Moment;
use mainspring_job::{Command, JobName, OnceId, PauseTerms, Reply, RunKey, RunRequest, Scope};
use mainspring_server::polling::wait_for;

use crate::catalogue::Catalogue;
use crate::error::Error;

/// A reply that comes when what a command says is on disk.
pub(crate) type PendingReply = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send>>;

/// What follows commands.
///
/// | implementation | follows |
/// |---|---|
/// | `FolderLoop` | by the loop, on its thread |
/// | `Member` | by the owner of a database, which may be this program or another |
/// | `Simulation` | at once, on the thread that gives the command |
pub(crate) trait CommandTarget: Send + Sync {
    /// Tells of a command, and does not wait.
    fn begin(&self, command: Command) -> Result<PendingReply, Error>;

    /// What time it is to the jobs.
    fn now(&self) -> Result<Timestamp, Error> {
        Ok(Moment::now().wall)
    }

    /// Has the jobs end: what runs is told at once, and has so long.
    fn stop(&self, patience: Duration);

    /// For the folder of which identity a transaction of the program leaves a submission in its outbox.
    /// `None`: it does so in the shared database.
    ///
    /// # Errors
    /// There is no database for it, for this reason.
    fn outbox_folder(&self) -> Result<Option<&str>, &'static str>;

    /// A transaction has left a submission, and may be committed in a moment.
    fn expect_submission(&self) {}
}

/// Submits, starts, pauses and cancels. It may be cloned and sent to any thread; after the end of the jobs it
/// says so.
#[derive(Clone)]
pub struct Client {
    pub(crate) target: Arc<dyn CommandTarget>,
    /// What there is to submit to.
    pub(crate) catalogue: Arc<Catalogue>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(target: impl CommandTarget + 'static, catalogue: Arc<Catalogue>) -> Client {
        Client { target: Arc::new(target), catalogue }
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

    /// Tells of a command, and does not wait. What is returned is ready when it is on disk.
    pub(crate) fn begin(
        &self,
        command: Command,
    ) -> Result<impl Future<Output = Result<Reply, Error>> + use<>, Error> {
        let reply = self.target.begin(command)?;
        Ok(async move {
            match reply.await? {
                Reply::Refused(refusal) => Err(Error::Refused(refusal)),
                reply => Ok(reply),
            }
        })
    }

    /// Has a command followed, and waits until what it says is on disk.
    fn command(&self, command: Command) -> Result<Reply, Error> {
        wait_for(self.begin(command)?)
    }
}

pub(crate) fn name_of(text: &str) -> Result<JobName, Error> {
    JobName::new(text).map_err(|error| Error::definition(text, error))
}

/// A reply that the planner does not give to such a command.
pub(crate) fn strange(reply: &Reply) -> Error {
    Error::Temporary(format!("the planner answered {reply:?}"))
}

//! The inputs of the planner: facts, each with the time at which it is told.
//!
//! ```text
//!  boot:     Restore* ── Worker* ── Apply by command* ── Begin
//!  then:     Tick, Worker, Command, Ended, Loaded, LoadedIds, BatchChecked, Committed, in any order
//!  the end:  Stop, and then the same until nothing runs any more
//! ```

use std::time::Duration;

use jiff::Timestamp;

use crate::audit::Audit;
use crate::holder::Holder;
use crate::job::{Group, Job};
use crate::name::JobName;
use crate::once::{Once, OnceId, Submission};
use crate::operation::{Answer, Takeover};
use crate::outcome::Outcome;
use crate::record::{JobRecord, PauseTerms};
use crate::run::{Run, RunKey};
use crate::worker::{Worker, WorkerId};

/// Names a command, so that its reply finds the asker. Chosen by the shell; the planner only gives it back.
///
/// # Example
/// ```
/// # use mainspring_job::{AttemptEnd, Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::{Command, Output, PauseTerms, Scope, Ticket};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// let command = Command::Pause(Scope::All, PauseTerms::default());
/// planner.handle(now, Input::Command { ticket: Ticket(7), command }, &mut outputs);
/// # while let Some(batch) = planner.take_batch() {
/// #     let answers = store.commit(lease, &batch)?.answers;
/// #     planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
/// # }
/// assert!(outputs.iter().any(|output| matches!(output, Output::Reply { ticket: Ticket(7), .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a number and no more")]
pub struct Ticket(pub u64);

/// One fact.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::Output;
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// // Time has passed. Nothing is due, because there is no job.
/// outputs.clear();
/// planner.handle(now, Input::Tick, &mut outputs);
/// assert!(!outputs.iter().any(|output| matches!(output, Output::Start(_))));
/// // The server is about to end.
/// planner.handle(now, Input::Stop, &mut outputs);
/// assert!(planner.is_stopping());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// What the store holds, before [`Input::Begin`]; in as many parts as one likes.
    Restore {
        /// Jobs that are known.
        jobs: Vec<JobRecord>,
        /// What those jobs were, as far as their kept definitions can be read: only of such whose timetable
        /// is another one now, or that are gone. What was due by the old one is recorded then; where it is
        /// not known, that is recorded.
        former: Vec<Job>,
        /// Runs that are open: scheduled, queued, running.
        runs: Vec<Run>,
        /// How long everything is paused, if it is.
        paused: Option<PauseTerms>,
    },
    /// Something happens to a worker. Those that are there are told before [`Input::Begin`]: what runs at
    /// them continues.
    Worker(WorkerEvent),
    /// All is restored and the definitions that are known have been applied: planning begins. Runs that were
    /// running at a worker that is not there are abandoned now; if the last owner died, it may be one of them
    /// that killed it: see [`MAX_CRASHES`](crate::MAX_CRASHES).
    Begin {
        /// How the last owner ended, as [`Lease::takeover`](crate::Lease::takeover) says.
        takeover: Takeover,
    },
    /// Time has passed. Told at [`Planner::next_due`](crate::Planner::next_due), and as often as one likes.
    Tick,
    /// An attempt has ended. A fact: told again, or of an attempt that is not running, it changes nothing. So
    /// what a worker reports counts once, also if another planner is told it again. Told before
    /// [`Input::Begin`], it counts then, before anything is planned.
    Ended(AttemptEnd),
    /// The answer to [`Output::Load`](crate::Output::Load).
    Loaded {
        /// In the order of their ids.
        pending: Vec<Once>,
        /// Whether there was no more up to the end of the range.
        is_complete: bool,
    },
    /// The answer to [`Output::LoadIds`](crate::Output::LoadIds).
    LoadedIds {
        /// In their order.
        ids: Vec<OnceId>,
        /// Whether there was no more up to the end of the range.
        is_complete: bool,
    },
    /// The answer to [`Output::CheckBatch`](crate::Output::CheckBatch).
    BatchChecked {
        /// The batch that was asked of.
        batch: JobName,
        /// Whether a one-shot job of it is pending; `None`: that could not be read now.
        is_pending: Option<bool>,
    },
    /// What has the keys and names that submissions of the next batch found taken, each with the place of its
    /// operation: see [`Holder::of_batch`](crate::Holder::of_batch). Told before that batch is committed, and
    /// only where there are any; a submission whose holder is not told is refused.
    Holders(Vec<(usize, Holder)>),
    /// A batch is on disk.
    Committed {
        /// The number of the batch: see [`Batch`](crate::Batch).
        number: u64,
        /// One for each operation.
        answers: Vec<Answer>,
    },
    /// The server is about to end. From here on no start is decided and nothing comes due, for good; a start
    /// that was decided before still leaves with its commit. Ends are recorded, their retries are scheduled,
    /// and commands are obeyed and answered: what they ask for is on disk and waits for the next server. What
    /// the shell kills in order to end is abandoned.
    ///
    /// Nothing about it is written, so that it ends with the server: unlike a pause, which stays what it was.
    Stop,
    /// The caller of the next command, to be kept with it. Told before that command; a command that
    /// is refused at once leaves no row.
    Audit(Audit),
    /// A person or a program asks for something.
    Command {
        /// Comes back with the reply.
        ticket: Ticket,
        /// What is asked for.
        command: Command,
    },
}

/// The end of an attempt: what its executor learnt.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use mainspring_job::{AttemptEnd, Outcome};
///
/// let mut end = AttemptEnd::new("backup@2026-11-21T02:30:00Z".parse()?, 1, Outcome::Succeeded);
/// assert_eq!((end.age, end.retry_at), (Duration::ZERO, None));
/// // A worker tells of it three seconds later.
/// end.age = Duration::from_secs(3);
/// # Ok::<(), mainspring_job::KeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptEnd {
    /// The run.
    pub key: RunKey,
    /// Its attempt, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// How long ago it ended, when the planner is told. No clock but the planner's says when: an end is not
    /// before its start, nor later than now.
    pub age: Duration,
    /// The next attempt, if there is one, is not due before this time, whatever the retry policy says: the
    /// receiver or the handler asked for that. By the store's clock.
    pub retry_at: Option<Timestamp>,
}

impl AttemptEnd {
    /// One that ended just now, after which only the policy says when the next attempt is due.
    pub fn new(key: RunKey, attempt: u32, outcome: Outcome) -> AttemptEnd {
        AttemptEnd { key, attempt, outcome, age: Duration::ZERO, retry_at: None }
    }
}

impl From<AttemptEnd> for Input {
    fn from(end: AttemptEnd) -> Input {
        Input::Ended(end)
    }
}

/// Says what happens to a worker.
///
/// # Example
/// ```
/// use mainspring_job::{Takeover, WorkerEvent, WorkerId};
///
/// // Its lease has run out, and it was last heard of sixteen seconds ago.
/// let silent = Some(std::time::Duration::from_secs(16));
/// let event = WorkerEvent::Gone { id: WorkerId(1), how: Takeover::Unclean, silent };
/// assert_ne!(event, WorkerEvent::Leaving(WorkerId(1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEvent {
    /// It is there. Told again, its labels and its capacity are these from now on; what runs at it continues.
    Present(Worker),
    /// It is about to end: nothing starts at it any more.
    Leaving(WorkerId),
    /// It carries out nothing any more. What is still running at it by the records is abandoned, and the
    /// retry policies decide what follows; its reports are not believed any more.
    Gone {
        /// Which life.
        id: WorkerId,
        /// How it ended: in good order, or without a word.
        how: Takeover,
        /// How long ago it was last heard of, if it ended without a word and that is known: a run that had
        /// started long before is not suspected of its end.
        silent: Option<Duration>,
    },
    /// It has ended in good order, and all that it began is on record: what else is there by the records has
    /// not begun, and runs elsewhere.
    Left(WorkerId),
    /// The process of a worker that is gone without a word is there again, as another life: it had lost its
    /// lease and nothing else. So what ran at it has not killed it.
    Survived(WorkerId),
}

/// Says what a pause is for: one job or everything.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::{Command, PauseTerms, Scope, Ticket};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// let command = Command::Pause(Scope::All, PauseTerms::default());
/// planner.handle(now, Input::Command { ticket: Ticket(1), command }, &mut outputs);
/// assert!(planner.is_paused());
/// let command = Command::Pause(Scope::Job("backup".parse()?), PauseTerms::default());
/// planner.handle(now, Input::Command { ticket: Ticket(2), command }, &mut outputs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Everything, one-shot jobs included.
    All,
    /// One job.
    Job(JobName),
}

/// What people and programs ask for.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::{Action, Command, Output, Reply, Submission, Ticket, Work};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// // Once, in an hour; a second submission with the same key is answered with the first.
/// let due = "2026-11-21T09:00:00Z".parse()?;
/// let work = Work::new(Action::new("mail", "to: ada")?);
/// let command = Command::Submit(Submission::new(due, work).with_key("welcome ada"));
/// for ticket in [Ticket(1), Ticket(2)] {
///     planner.handle(now, Input::Command { ticket, command: command.clone() }, &mut outputs);
/// }
/// # while let Some(batch) = planner.take_batch() {
/// #     let answers = store.commit(lease, &batch)?.answers;
/// #     let holders = mainspring_job::Holder::of_batch(&mut store, &batch, &answers)?;
/// #     planner.handle(now, Input::Holders(holders), &mut outputs);
/// #     planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
/// # }
/// let replies: Vec<&Reply> = outputs
///     .iter()
///     .filter_map(|output| if let Output::Reply { reply, .. } = output { Some(reply) } else { None })
///     .collect();
/// assert!(matches!(replies[..], [Reply::Submitted { .. }, Reply::Duplicate(_)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Do this once.
    Submit(Submission),
    /// Withdraw a one-shot job that has not fired.
    Withdraw(OnceId),
    /// End a run: withdraw it if it waits, kill it if it runs.
    Cancel(RunKey),
    /// Plan nothing until further notice. What runs continues, what waits waits; but a run by hand of a job
    /// that is paused starts. It ends by [`Command::Resume`], or when its time is over. Another pause of the
    /// same scope takes its place. One of everything may come before planning begins: then nothing starts
    /// with it.
    Pause(Scope, PauseTerms),
    /// Plan again. What passed meanwhile is recorded as skipped.
    Resume(Scope),
    /// Run a job, whatever its timetable says. It waits for its place like any run.
    Trigger(RunRequest),
    /// Run a job once for each occurrence in a range, one after the other, unless its overlap policy allows
    /// more.
    Backfill {
        /// Which job.
        job: JobName,
        /// Occurrences from here,
        from: Timestamp,
        /// up to here, both included.
        to: Timestamp,
    },
    /// Plan a job from now on, though its watermark lies ahead: the clock was ahead, and showed times that
    /// have not come yet. What has a record under its own time does not run again.
    Rewind(JobName),
    /// Run a dead letter again, with all its attempts; the shell has read it from the store. While its job is
    /// paused it waits.
    RetryDead(Box<Run>),
    /// Let go of a dead letter: it becomes cancelled.
    DropDead(RunKey),
    /// Take over a new set of definitions.
    Apply(Definitions),
    /// Hand jobs over to another source, with all that is known of them: their marks, their pauses, their
    /// runs. The set of that source, which is to hold them, is applied next.
    Adopt {
        /// Which; those that are not known are passed over.
        jobs: Vec<JobName>,
        /// Where they come from now.
        source: String,
    },
    /// Remove a job: what runs continues to its end, what waits is cancelled, and its record is dropped.
    Remove(JobName),
    /// Remove a job if it is defined, and drop the oldest [`MAX_PRUNED`](crate::MAX_PRUNED) of its ended
    /// runs. Dead letters stay. Refused while the job has an open run. The shell reads the store after the
    /// reply, and asks again until no ended run is left, so that no commit takes long.
    Purge(JobName),
}

/// One run of a job, asked for by a person or a program.
///
/// # Example
/// ```
/// use mainspring_job::{Command, RunRequest};
///
/// let now = Command::Trigger(RunRequest::new("backup".parse()?));
/// let later = RunRequest::new("backup".parse()?).at("2026-11-21T17:30:00Z".parse()?).with_key("ticket 4711");
/// assert_ne!(Command::Trigger(later), now);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRequest {
    /// Which job.
    pub job: JobName,
    /// When, by the store's clock; `None`, or a time that has passed: now. A run that is asked for later is
    /// scheduled until then, and waits while its job is paused; one for now starts in spite of that pause.
    pub due: Option<Timestamp>,
    /// A second request with the same key for the same job, while the run of the first is open or kept,
    /// changes nothing. At most [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES).
    pub key: Option<String>,
}

impl RunRequest {
    /// Of that job, now.
    pub fn new(job: JobName) -> RunRequest {
        RunRequest { job, due: None, key: None }
    }

    /// The same at a time.
    #[must_use]
    pub fn at(self, due: Timestamp) -> RunRequest {
        RunRequest { due: Some(due), ..self }
    }

    /// The same with an idempotency key.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> RunRequest {
        RunRequest { key: Some(key.into()), ..self }
    }
}

/// A set of definitions from one source.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::cron::Schedule;
/// use mainspring_job::{Action, Command, Definitions, Group, Job, Prune, Ticket, Timetable, Work};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let mut work = Work::new(Action::new("process", "pg_dump orders")?);
/// work.group = Some("database".parse()?);
/// let backup = Job::new("backup".parse()?, daily, work);
/// // The file holds this job and no other.
/// let definitions = Definitions::new("jobs.toml", vec![backup])
///     .with_groups(vec![Group::new("database".parse()?, 1)])
///     .with_prune(Prune::Remove);
/// let command = Command::Apply(definitions);
/// planner.handle(now, Input::Command { ticket: Ticket(1), command }, &mut outputs);
/// assert!(planner.job(&"backup".parse()?).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Definitions {
    /// Where they came from.
    pub source: String,
    /// The jobs. Two with one name: the second is refused, as is one whose name another source holds.
    pub jobs: Vec<Job>,
    /// The groups. Where one is defined twice, the smaller limit holds, and both rates.
    pub groups: Vec<Group>,
    /// Whether jobs and groups of this source that are not in the set are removed.
    pub prune: Prune,
}

impl Definitions {
    /// Jobs from a source, without groups. What the source held before and is not among them stays.
    pub fn new(source: impl Into<String>, jobs: Vec<Job>) -> Definitions {
        Definitions { source: source.into(), jobs, groups: Vec::new(), prune: Prune::Keep }
    }

    /// The same with groups.
    #[must_use]
    pub fn with_groups(self, groups: Vec<Group>) -> Definitions {
        Definitions { groups, ..self }
    }

    /// The same, and this becomes of what the source held before.
    #[must_use]
    pub fn with_prune(self, prune: Prune) -> Definitions {
        Definitions { prune, ..self }
    }
}

/// Says what becomes of jobs that a new set does not hold.
///
/// # Example
/// ```
/// use mainspring_job::{Definitions, Prune};
///
/// // What came from this source before and is not in the set goes: all of it, because the set is empty.
/// let definitions = Definitions::new("jobs.toml", Vec::new()).with_prune(Prune::Remove);
/// assert_eq!(definitions.prune, Prune::Remove);
/// assert_eq!(Definitions::new("jobs.toml", Vec::new()).prune, Prune::Keep);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prune {
    /// They stay.
    Keep,
    /// They are removed: see [`Command::Remove`].
    Remove,
}

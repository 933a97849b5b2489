//! The planner's outputs. Each is given out only when all records that it needs are on disk.

use std::sync::Arc;

use jiff::Timestamp;

use crate::holder::Holder;
use crate::input::Ticket;
use crate::name::JobName;
use crate::once::OnceId;
use crate::outcome::Outcome;
use crate::policy::Kill;
use crate::reason::Reason;
use crate::refusal::Refusal;
use crate::run::{Cause, RunKey};
use crate::work::Work;
use crate::worker::WorkerId;

/// One thing to do.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::{OnceId, Output, Reader, jiff::Timestamp};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// for output in outputs {
///     match output {
///         Output::Start(start) => println!("start {}: {}", start.key, start.work.action.body()),
///         Output::Kill { key, kill, .. } => println!("send {key} the signal {}", kill.signal.name()),
///         Output::Reply { ticket, reply } => println!("answer {ticket:?}: {reply:?}"),
///         Output::Load { up_to, limit } => {
///             let first = OnceId::first_at(Timestamp::MIN);
///             let pending = store.load(first, up_to, limit)?;
///             let is_complete = pending.len() < limit;
///             planner.handle(now, Input::Loaded { pending, is_complete }, &mut Vec::new());
///         }
///         Output::LoadIds { after, up_to, limit } => {
///             let ids = store.load_ids(after, up_to, limit)?;
///             let is_complete = ids.len() < limit;
///             planner.handle(now, Input::LoadedIds { ids, is_complete }, &mut Vec::new());
///         }
///         Output::CheckBatch { batch } => {
///             let is_pending = Some(store.has_pending_of(&batch)?);
///             planner.handle(now, Input::BatchChecked { batch, is_pending }, &mut Vec::new());
///         }
///         Output::Note(note) => println!("{note:?}"),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a shell must do all of them")]
pub enum Output {
    /// Start an attempt. Its start record is on disk. Exactly one [`Input::Ended`](crate::Input::Ended) must
    /// follow.
    Start(Start),
    /// End an attempt that was started. Its `Ended` must still follow.
    Kill {
        /// The run.
        key: RunKey,
        /// Its attempt, from 1.
        attempt: u32,
        /// Where it runs.
        worker: WorkerId,
        /// By which signals, and after how long.
        kill: Kill,
    },
    /// Answer a command.
    Reply {
        /// The ticket of the command.
        ticket: Ticket,
        /// The answer.
        reply: Reply,
    },
    /// Read the first pending one-shot jobs, which are due, and tell [`Input::Loaded`](crate::Input::Loaded).
    /// There is at most one such request at a time. They must be read after all commits that were handed out
    /// before.
    Load {
        /// Those that are due up to this time, included,
        up_to: Timestamp,
        /// at most so many, in order.
        limit: usize,
    },
    /// Read ids of pending one-shot jobs, and tell [`Input::LoadedIds`](crate::Input::LoadedIds). The rest as
    /// for `Load`.
    LoadIds {
        /// Those after this one,
        after: OnceId,
        /// due up to this time, included,
        up_to: Timestamp,
        /// at most so many, in order.
        limit: usize,
    },
    /// Ask the store whether a one-shot job of a batch is pending, and tell
    /// [`Input::BatchChecked`](crate::Input::BatchChecked). The rest as for `Load`, but for one request at a
    /// time: each is of another batch.
    CheckBatch {
        /// The batch: see [`Policies::batch`](crate::Policies::batch).
        batch: JobName,
    },
    /// Something that a log should say.
    Note(Note),
}

/// What an executor needs to know.
///
/// # Example
/// ```
/// use mainspring_job::{AttemptEnd, Input, Outcome, Start};
///
/// /// Does what a start asks for, and tells how it ended.
/// fn perform(start: &Start) -> Input {
///     // The key is what a receiver needs to see that it has done this already.
///     println!("{} #{}: {}", start.key, start.attempt, start.work.action.body());
///     AttemptEnd::new(start.key.clone(), start.attempt, Outcome::Succeeded).into()
/// }
/// # let _ = perform;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Start {
    /// Which run; its text is the idempotency key that a receiver sees.
    pub key: RunKey,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Where it starts. No other may start it.
    pub worker: WorkerId,
    /// Why there is a run.
    pub cause: Cause,
    /// When it was due. The difference to now is its lateness.
    pub due: Timestamp,
    /// Its due time, if the clock did not show that when the start was decided: the executor begins when the
    /// clock shows it. That takes at most [`Limits::lead`](crate::Limits::lead); a clock that is set back
    /// meanwhile does not make it longer.
    pub not_before: Option<Timestamp>,
    /// What to do. The timeout is in its policies, and the executor keeps it.
    pub work: Arc<Work>,
    /// Greater than that of each start that was decided in an earlier batch, by any planner. What a run
    /// writes to may refuse an older one by it.
    pub fence: u64,
}

impl Start {
    /// A start by a schedule, due at the nominal time of its run, with the fence 0.
    pub fn new(key: RunKey, attempt: u32, worker: WorkerId, work: Arc<Work>) -> Start {
        let (due, cause) = (key.nominal, Cause::Trigger);
        Start { key, attempt, worker, cause, due, not_before: None, work, fence: 0 }
    }
}

/// The answer to a command, given when what it says is on disk.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::{Command, Output, Refusal, Reply, RunRequest, Ticket};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// outputs.clear();
/// let command = Command::Trigger(RunRequest::new("unknown".parse()?));
/// planner.handle(now, Input::Command { ticket: Ticket(1), command }, &mut outputs);
/// # while let Some(batch) = planner.take_batch() {
/// #     let answers = store.commit(lease, &batch)?.answers;
/// #     planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
/// # }
/// let reply = Reply::Refused(Refusal::NoSuchJob);
/// assert_eq!(outputs.last(), Some(&Output::Reply { ticket: Ticket(1), reply }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// It is so.
    Done,
    /// The one-shot job is on disk under this id.
    Submitted {
        /// Its id.
        id: OnceId,
        /// Its name.
        name: JobName,
    },
    /// The very submission is there already, with that key, or with that name and due time. Nothing changed.
    Duplicate(Box<Holder>),
    /// The run is on disk, and started if there was a place.
    Planned {
        /// Its key.
        key: RunKey,
    },
    /// The runs of the backfill are on disk.
    Backfilled {
        /// How many.
        count: usize,
        /// Its number: the series in their keys.
        series: u32,
    },
    /// The job is planned from now on.
    Rewound {
        /// How far it was planned before.
        from: Timestamp,
    },
    /// The definitions are in force.
    Applied(ApplyReport),
    /// Nothing changed, for this reason.
    Refused(Refusal),
}

/// What a new set of definitions changed.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::cron::Schedule;
/// use mainspring_job::{Action, Command, Definitions, Job, Output, Reply, Ticket, Timetable, Work};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let job = Job::new("backup".parse()?, daily, Work::new(Action::new("process", "pg_dump orders")?));
/// let command = Command::Apply(Definitions::new("jobs.toml", vec![job]));
/// planner.handle(now, Input::Command { ticket: Ticket(1), command }, &mut outputs);
/// # while let Some(batch) = planner.take_batch() {
/// #     let answers = store.commit(lease, &batch)?.answers;
/// #     planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
/// # }
/// let Some(Output::Reply { reply: Reply::Applied(applied), .. }) = outputs.last() else {
///     panic!("{outputs:?}")
/// };
/// assert_eq!(applied.added, ["backup".parse()?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ApplyReport {
    /// New jobs.
    pub added: Vec<JobName>,
    /// Jobs whose definition is another one now.
    pub changed: Vec<JobName>,
    /// Jobs that are no more.
    pub removed: Vec<JobName>,
    /// Jobs that are as they were.
    pub unchanged_count: usize,
    /// Jobs that were not taken over: another holds the name, they would follow themselves by way of others,
    /// or they follow a job that has [`MAX_FOLLOWERS`](crate::MAX_FOLLOWERS) already.
    pub refused: Vec<JobName>,
}

/// What a log should say, because no command asked for it and a person may wonder.
///
/// # Example
/// ```
/// use mainspring_job::Note;
///
/// /// What a log says.
/// fn line(note: &Note) -> String {
///     match note {
///         Note::Failed { key, is_dead: true, .. } => format!("{key} is a dead letter"),
///         Note::PausedAfterFailures(job) => format!("{job} is paused: it failed too often in a row"),
///         // There are others, and there will be more.
///         other => format!("{other:?}"),
///     }
/// }
/// assert_eq!(line(&Note::QuarantineOver), "QuarantineOver");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// Occurrences passed and do not run; the record says which.
    Missed {
        /// The first.
        key: RunKey,
        /// How many, at least.
        count: u64,
        /// Why, as the record says.
        reason: Reason,
    },
    /// An occurrence was skipped because another run was in the way.
    Skipped {
        /// The run.
        key: RunKey,
        /// What was in the way, as the record says.
        reason: Reason,
    },
    /// A run was running when the server ended.
    Abandoned {
        /// The run.
        key: RunKey,
        /// How the server ended, as the record says.
        reason: Reason,
    },
    /// Jobs that were running when the server died start a few at a time: see
    /// [`MAX_CRASHES`](crate::MAX_CRASHES).
    Quarantine {
        /// How many jobs.
        count: usize,
    },
    /// The server has outlived them all.
    QuarantineOver,
    /// A failed run is tried again.
    Retrying {
        /// The run.
        key: RunKey,
        /// The attempt to come.
        attempt: u32,
        /// When it is due, by the store's clock.
        due: Timestamp,
    },
    /// A run ended otherwise than it should, and no attempt follows.
    Failed {
        /// The run.
        key: RunKey,
        /// Its last attempt.
        attempt: u32,
        /// How that ended; none if the server ended while it ran.
        outcome: Option<Outcome>,
        /// Whether it is a dead letter now.
        is_dead: bool,
    },
    /// A job failed so often in a row that it is paused.
    PausedAfterFailures(JobName),
    /// The server died in a job's runs so often in a row that it is paused.
    PausedAfterCrashes(JobName),
    /// A pause that had an end is over by itself: the job continues.
    PauseOver(JobName),
    /// The same of everything.
    AllPauseOver,
    /// The clock stands before what a job has already planned: it rests until the clock has caught up,
    /// because nothing that is recorded fires again.
    BehindWatermark {
        /// Which job.
        job: JobName,
        /// How far it is planned.
        watermark: Timestamp,
    },
    /// A job follows the ends of another that there is not, so that nothing comes of it.
    FollowsNothing {
        /// Its name.
        job: JobName,
        /// The name that no job has.
        of: JobName,
    },
    /// What a hook wants of a start or an end is not done, as too much of its job waits already: see
    /// [`MAX_WAITING_CALLS`](crate::MAX_WAITING_CALLS).
    LeftOut {
        /// The run.
        key: RunKey,
        /// What happened to it: `started` or `ended`.
        event: &'static str,
    },
    /// A job that was absent is back: its pause, its marks and its waiting runs are as they were.
    Returned(JobName),
    /// Ended runs of a job were dropped because a command asked for it; their output is to go with them.
    Purged(JobName),
    /// A job was removed so long ago that the store has nothing of it any more; nor is its output to stay.
    Forgotten(JobName),
    /// The store knew the run already, and it was not started a second time. Only another owner of the store,
    /// or a fault, can cause this.
    Refused(RunKey),
}

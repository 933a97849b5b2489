//! The operations that the planner wants written, gathered into batches.
//!
//! ```text
//!  planner ── operation, operation, .. ──▶ Batch { number } ──▶ store: all or nothing, on disk
//!          ◀── Input::Committed { number, answers } ──────────┘   one answer for each operation
//! ```
//!
//! Every operation names the state that it expects, so the store decides: a second start of the same attempt
//! is answered with [`Answer::Duplicate`], and changes nothing. A batch has a number. The store remembers the
//! last one with its answers, so a batch whose answer was lost can be sent again any number of times.

use jiff::Timestamp;

use crate::absence::Absence;
use crate::audit::Audit;
use crate::name::JobName;
use crate::once::{Once, OnceId};
use crate::outcome::Outcome;
use crate::policy::Retention;
use crate::reason::Reason;
use crate::record::{Mark, PauseTerms};
use crate::run::{Run, RunKey};
use crate::state::RunState;
use crate::worker::WorkerId;

/// The most operations in one batch: one group commit.
pub const MAX_BATCH_OPERATIONS: usize = 1_024;

/// One guarded change of the store.
///
/// | operation | finds | answer |
/// |---|---|---|
/// | `Submit` | no pending job and no kept run with its name and due time, nor its key or its name pending | `New` |
/// | | one of them | `Duplicate` with the id of the other |
/// | `Fire`, `Withdraw` | the pending job | `New`: it is gone from there, and the run is recorded |
/// | | no such pending job | `Gone` |
/// | | a run under the same key | `Duplicate`; the pending job is gone from there |
/// | `Plan` | no run under the key | `New` |
/// | | one | `Duplicate` |
/// | `Begin` | the run in a state that may become running, after the attempt before | `New`: one start record; of its reason that it is tried again by request stays |
/// | | that attempt, begun already | `Duplicate` |
/// | `End`, `Clear` | that attempt running | `New`; an end leads to no state that is open |
/// | `Move` | the run in the state it is to leave | `New`; from `dead` to `scheduled` all attempts so far are forgiven, and from `running` to `queued` or `scheduled` the last, which ends as `returned`: see [`Run::forgiven`] |
/// | `Begin`, `End`, `Clear`, `Move` | the run in another state | `Gone` |
/// | | no such run | `Missing` |
/// | `Define`, `Mark`, `PauseAll`, `Audit`, `Prune` | anything else | `New`; a mark with the same timetable never moves a watermark back |
/// | `Rewind` | the job | `New`; its watermark is that of the mark |
/// | `Prune` | a job without a source, none of whose runs is left, with a watermark before that time | `Gone`: its record goes too |
/// | `Forget` | the job | `New`; its mark stays with the absence or the retention, and its runs until they are pruned |
/// | `Mark`, `Rewind`, `Forget` | no such job | `Missing` |
///
/// # Example
/// ```
/// use mainspring_job::{Action, Answer, Batch, MemoryStore, Once, OnceId, Operation, Owner, Store, Work};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(&Owner::new("example"))?;
/// let (due, submitted) = ("2026-11-21T09:00:00Z".parse()?, "2026-11-20T09:00:00Z".parse()?);
/// let id = OnceId { due, number: 7 };
/// let once = Once::new(id, submitted, Work::new(Action::new("mail", "to: ada")?));
/// let operations = vec![
///     Operation::Submit(once.clone()),
///     Operation::Submit(once),
///     Operation::Withdraw { id, at: submitted },
///     Operation::Withdraw { id, at: submitted },
/// ];
/// let answers = store.commit(lease, &Batch::new(1, operations))?.answers;
/// assert_eq!(answers, [Answer::New, Answer::Duplicate(Some(id)), Answer::New, Answer::Gone]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a store must do all of them")]
pub enum Operation {
    /// Adds a pending one-shot job.
    Submit(Once),
    /// Turns a pending one-shot job into a run.
    Fire {
        /// The id of the one-shot job.
        id: OnceId,
        /// The run; running with attempt 1 if it starts at once.
        run: Run,
    },
    /// Turns a pending one-shot job into a cancelled run.
    Withdraw {
        /// The id of the one-shot job.
        id: OnceId,
        /// When it was withdrawn, by the store's clock.
        at: Timestamp,
    },
    /// Adds a run, in a state that a record may begin in; running with attempt 1 if it starts at once.
    Plan(Run),
    /// Records the start of an attempt, before anything starts.
    Begin {
        /// The run.
        key: RunKey,
        /// Its attempt, from 1.
        attempt: u32,
        /// When the attempt started, by the store's clock.
        at: Timestamp,
        /// Where it runs.
        worker: Option<WorkerId>,
    },
    /// Records the end of an attempt.
    End {
        /// The run.
        key: RunKey,
        /// Its attempt, from 1.
        attempt: u32,
        /// The state that follows: succeeded, failed, timed out, cancelled or abandoned.
        state: RunState,
        /// When the attempt ended, by the store's clock.
        at: Timestamp,
        /// How it ended; `None` if the server died before the end.
        outcome: Option<Outcome>,
        /// How many attempts in a row have died with the server, this one included.
        crashes: u32,
        /// Why, if the state does not say it all.
        reason: Option<Reason>,
    },
    /// Keeps that an attempt has outlived its probation: from here on no attempt of the run died with the
    /// server.
    Clear {
        /// The run.
        key: RunKey,
        /// Its attempt, from 1.
        attempt: u32,
    },
    /// Moves a run that is not running to another state.
    Move {
        /// Which run.
        key: RunKey,
        /// The state that it is to be in.
        from: RunState,
        /// The state that follows.
        to: RunState,
        /// When it is due from now on.
        due: Timestamp,
        /// When this was decided; the end of the run if `to` is an end.
        at: Timestamp,
        /// Why, if the state does not say it all.
        reason: Option<Reason>,
    },
    /// Keeps the definition of a job, and makes its record if it has none.
    Define {
        /// Its record if it has none yet.
        mark: Mark,
        /// Where the definition came from.
        source: String,
        /// The definition.
        text: String,
    },
    /// Keeps how far a job is.
    Mark(Mark),
    /// Keeps how far a job is, where that is less far than before: the clock was ahead.
    Rewind(Mark),
    /// Drops the definition of a job, and keeps its mark.
    Forget {
        /// Which job.
        job: JobName,
        /// What is kept of it beside the mark until a definition comes or the job is forgotten again; `None`
        /// drops what was kept.
        absence: Option<Absence>,
        /// By what its history goes from now on. Kept where there is no absence.
        retention: Retention,
    },
    /// Drops what retention does not keep of a job's ended runs, oldest first, at most [`MAX_PRUNED`] of
    /// them; and with the last of a removed job the record of that. That of all one-shot jobs a store may put
    /// off until it is asked for something: what has ended by then counts too.
    Prune {
        /// Whose; `None` for those of all one-shot jobs together.
        job: Option<JobName>,
        /// How many to keep.
        keep: u32,
        /// Those that ended before go in any case.
        before: Timestamp,
    },
    /// Keeps whether everything is paused, and for how long.
    PauseAll(Option<PauseTerms>),
    /// Keeps who asked for what.
    Audit(Audit),
}

/// The most runs that one [`Operation::Prune`] drops, so that no commit takes long.
pub const MAX_PRUNED: usize = 1_000;

/// Says what an operation found.
///
/// # Example
/// ```
/// use mainspring_job::{Answer, Batch, MemoryStore, Operation, Owner, Store};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(&Owner::new("example"))?;
/// let forget = Operation::Forget { job: "backup".parse()?, absence: None, retention: Default::default() };
/// let batch = Batch::new(1, vec![forget]);
/// assert_eq!(store.commit(lease, &batch)?.answers, [Answer::Missing], "there is no such job");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the planner must read all of them")]
pub enum Answer {
    /// It was done.
    New,
    /// It had been done before, by this or another; nothing changed. For a submission, the id of the other if
    /// that is pending or known.
    Duplicate(Option<OnceId>),
    /// What it was to change has moved on.
    Gone,
    /// What it was to change does not exist.
    Missing,
}

/// Says how the owner before ended, or a worker.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, Owner, Store, Takeover};
///
/// let mut store = MemoryStore::new();
/// let first = store.acquire(&Owner::new("first"))?;
/// assert_eq!(first.takeover, Takeover::Clean, "there was none before");
/// // It dies without a word.
/// let second = store.acquire(&Owner::new("second"))?;
/// assert_eq!(second.takeover, Takeover::Unclean);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an owner must tell them apart")]
pub enum Takeover {
    /// It gave its lease up in good order, or there was none.
    Clean,
    /// It did not: it died, or was fenced out.
    Unclean,
    /// It did not, and the machine has been started again since: a power cut, or the end of its kernel.
    /// Nothing that ran is suspected of that.
    Rebooted,
}

/// Operations that become durable together.
///
/// # Example
/// ```
/// use mainspring_job::{Batch, MemoryStore, Operation, Owner, PauseTerms, Store};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(&Owner::new("example"))?;
/// let batch = Batch::new(1, vec![Operation::PauseAll(Some(PauseTerms::default()))]);
/// let answers = store.commit(lease, &batch)?;
/// // Sent a second time, because the answer was lost: the same answers, and nothing changes.
/// assert_eq!(store.commit(lease, &batch)?, answers);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Batch {
    /// Counts up from 1 for each epoch. The same number again is the same batch again.
    pub number: u64,
    /// In the order in which they are applied.
    pub operations: Vec<Operation>,
    /// The starts of this batch that other servers carry out: they read them from the store.
    pub assignments: Vec<Assignment>,
}

impl Batch {
    /// Operations under a number. The planner makes batches; this is for the tests of stores.
    pub fn new(number: u64, operations: Vec<Operation>) -> Batch {
        Batch { number, operations, assignments: Vec::new() }
    }
}

/// A start that another server carries out: see [`Batch::assignments`]. A store that one server has keeps
/// none. One that several share keeps each until the attempt has ended, if the operation that begins the
/// attempt was [`Answer::New`].
///
/// # Example
/// ```
/// use mainspring_job::{Assignment, Batch, WorkerId};
///
/// let key = "backup@2026-11-21T03:00:00Z".parse()?;
/// let mut batch = Batch::new(1, Vec::new());
/// batch.assignments.push(Assignment::new(WorkerId(7), key, 1, "{}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assignment {
    /// Where it starts.
    pub worker: WorkerId,
    /// Which run.
    pub key: RunKey,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// What the worker is to know of it, as the shell writes and reads it.
    pub document: String,
}

impl Assignment {
    /// A start at that worker.
    pub fn new(worker: WorkerId, key: RunKey, attempt: u32, document: impl Into<String>) -> Assignment {
        Assignment { worker, key, attempt, document: document.into() }
    }
}

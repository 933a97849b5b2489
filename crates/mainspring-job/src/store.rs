//! The store: what is on disk, behind two traits.
//!
//! ```text
//!  Store    acquire ──▶ Lease { epoch } ──▶ commit(lease, batch)            atomic, durable, fenced
//!           renew, release                         the owner's
//!  Reader   load, load_ids(after, up_to)           one-shot jobs that are due, ids of near ones, by (due, number)
//!           jobs, open_runs                        at boot
//!           find, run, attempts, audit, ..         for people, over a connection of their own
//! ```
//!
//! The owner reads through its own [`Store`], which is a [`Reader`] too. A server answers people through a
//! second reader on a thread of its own, so that a long question holds up neither a commit nor the loop.
//!
//! # Contract
//! 1. A batch is atomic and durable: when `commit` returns `Ok`, all its operations are on disk, and a crash
//!    at any moment before leaves all of them or none.
//! 2. A batch is applied once, and after the one before it. The first of a lease has the number 1, and each
//!    other is one more. The same number again, in the same epoch, returns the same answers and changes
//!    nothing. A lower number is [`StoreError::Fenced`] and changes nothing: it is a request that its owner
//!    has given up and sent again, and that comes after a later batch. So is a number that leaves one out:
//!    the store has lost batches that it had acknowledged, as after a failover to an asynchronous standby,
//!    and what its owner remembers is not what the store has.
//! 3. An owner that acquires has an epoch greater than every earlier one; from then on every call with an
//!    earlier one is [`StoreError::Fenced`] and changes nothing. Its lease says whether the owner before it
//!    had released it.
//! 4. Operations are applied in order, each as the table of [`Operation`](crate::Operation) says.
//! 5. `load` sees every batch that was committed before, and answers in the order of ids, without gaps up to
//!    its last row. So does every other question, of every reader.
//!
//! The store tells of no new pending jobs. A job comes into it only by a commit of its owner, so the owner
//! knows of it. No job falls between `load` and the timer queue, and no owner looks for the next free row.
//!
//! | beside that, a store that several servers share will | an embedded one |
//! |---|---|
//! | tell its time with each commit and renewal; the owner slews to it | has its owner's clock: [`Commit::now`] is `None` |
//! | say how long a lease lasts, in boot time | has a lease that lasts as long as the lock on its folder: [`Renewal::lasts`] is `None` |
//! | number the generations of a handle | never gives an id's number twice: the epoch is in its upper bits |
//!
//! # Errors, and what the owner does
//!
//! | error | is the batch on disk | the owner |
//! |---|---|---|
//! | `Fenced` | no | stops at once: another one owns the jobs now |
//! | `Busy` | no | sends the same batch again a little later, and takes nothing new meanwhile |
//! | `Held`, of `acquire` alone | | stands by, and tries again when the lease of the other may have run out |
//! | `TimedOut`, of a question to a reader alone | | tells who asked |
//! | `Unknown` | perhaps | sends the same batch again until it is told |
//! | `Full` | no | performs none of its effects, and sends the same batch again when there may be room, or stops |
//! | `Io`, `Corrupt` | perhaps | stops: after a failed flush it is unknown what is on disk until it is read again |
//!
//! A server that stops kills its runs or leaves them. They are abandoned at the next start in either case.
//!
//! Every call waits until it is answered. A shell that must not wait has a thread for its store, as
//! `mainspring-server` has.
//!
//! The feature `contract` has the suite that tests a store by this contract:
//! `mainspring_job::contract::exercise`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use jiff::Timestamp;

use crate::audit::{AuditQuery, AuditRow};
use crate::name::JobName;
use crate::once::{Once, OnceId};
use crate::operation::{Answer, Batch, Takeover};
use crate::record::{JobRecord, PauseTerms};
use crate::run::{Attempt, Run, RunKey};
use crate::state::RunState;
use crate::worker::WorkerId;

#[cfg(feature = "contract")]
pub mod contract;
mod deadlines;
mod error;
mod lending;
mod memory;
mod outputs;
mod owner;
mod query;

pub use deadlines::{LEASE_MARGIN, LeaseAge, LeaseDeadlines};
pub use error::StoreError;
pub use memory::MemoryStore;
pub use outputs::{KeptOutput, MAX_KEPT_ATTEMPTS, MAX_KEPT_OUTPUT_BYTES, RunPhase};
pub use owner::Owner;
pub use query::{Counts, Cursor, Order, Query};

/// The most rows in one answer.
pub const MAX_PAGE: usize = 10_000;

/// The right to write.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, Owner, Store, StoreError};
///
/// let mut store = MemoryStore::new();
/// let first = store.acquire(&Owner::new("first"))?;
/// let second = store.acquire(&Owner::new("second"))?;
/// assert!(first.epoch < second.epoch);
/// assert!(matches!(store.renew(first), Err(StoreError::Fenced)), "it is the owner no more");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// Greater than that of every earlier owner.
    pub epoch: u64,
    /// How the owner before ended: clean if it released its lease or was none; else [`Owner::takeover_from`].
    pub takeover: Takeover,
    /// How long it lasts without a renewal, counted by the owner's boot time from before it asked. `None`: as
    /// long as the store is open.
    pub lasts: Option<Duration>,
    /// The store's time when it was given, as in [`Commit::now`].
    pub now: Option<Timestamp>,
    /// How long ago the owner before was last heard of, if its lease has run out and the store knows.
    pub silent: Option<Duration>,
}

impl Lease {
    /// A lease that lasts as long as the store is open.
    pub fn new(epoch: u64, takeover: Takeover) -> Lease {
        Lease { epoch, takeover, lasts: None, now: None, silent: None }
    }
}

/// A batch that is on disk.
///
/// # Example
/// ```
/// use mainspring_job::{Answer, Commit};
///
/// // What a store with its owner's clock returns.
/// let committed = Commit::new(vec![Answer::New]);
/// assert_eq!(committed.now, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Commit {
    /// What became of each operation, in their order.
    pub answers: Vec<Answer>,
    /// The store's time when it was written, which never runs back. `None`: the store has the clock of its
    /// owner.
    pub now: Option<Timestamp>,
}

impl Commit {
    /// That of a store which has its owner's clock.
    pub fn new(answers: Vec<Answer>) -> Commit {
        Commit { answers, now: None }
    }
}

/// A lease that still holds.
///
/// # Example
/// ```
/// use mainspring_job::Renewal;
///
/// // What a store returns whose leases last as long as it is open.
/// assert_eq!(Renewal::default().lasts, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Renewal {
    /// The store's time, as in [`Commit::now`].
    pub now: Option<Timestamp>,
    /// How long the lease lasts from here on, as in [`Lease::lasts`].
    pub lasts: Option<Duration>,
}

/// What keeps jobs and runs, for their owner. The [module's page](self) has the contract.
///
/// # Example
/// ```
/// use mainspring_job::{Batch, MemoryStore, Operation, Owner, Reader, PauseTerms, Store};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(&Owner::new("example"))?;
/// store.commit(lease, &Batch::new(1, vec![Operation::PauseAll(Some(PauseTerms::new("the disk is full")))]))?;
/// let (jobs, paused) = store.jobs()?;
/// assert!(jobs.is_empty() && paused.is_some());
/// store.release(lease)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Store: Reader {
    /// Takes ownership; every earlier owner is fenced out.
    ///
    /// # Errors
    /// `Held` while the lease of another lasts. A store whose leases last as long as it is open has none.
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError>;

    /// Says that the owner is still there.
    ///
    /// # Errors
    /// `Fenced` when it is the owner no more.
    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError>;

    /// Gives ownership up in good order.
    ///
    /// # Errors
    /// `Fenced` when it is the owner no more.
    fn release(&mut self, lease: Lease) -> Result<(), StoreError>;

    /// What the store has done of itself that people should know, as with files that were taken away under
    /// it. Each is told once.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Keeps that a source was applied which has no job: see [`Reader::shared_sources`]. A
    /// source of which a job is defined is kept with that.
    ///
    /// # Errors
    /// As `commit`.
    fn keep_source(&mut self, _lease: Lease, _source: &str) -> Result<(), StoreError> {
        Ok(())
    }

    /// Keeps what the planner alone knows of itself, and of the places of definitions if that is new: two
    /// documents, for the other servers of a shared store. A store that has one server keeps nothing.
    ///
    /// # Errors
    /// When it is not kept; `Fenced` if another plans.
    fn keep_status(&mut self, _: Lease, _status: &str, _lines: Option<&str>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes a batch durable, and answers each of its operations.
    ///
    /// # Errors
    /// See the table above.
    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError>;
}

/// What answers questions of what was committed: for the owner, and for people on a connection of their own.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, Query, Reader, RunState};
///
/// /// How many dead letters a job has, as far as one page holds them.
/// fn dead_letters(reader: &mut dyn Reader, job: &str) -> Result<usize, Box<dyn std::error::Error>> {
///     let mut query = Query::new(100).of(job.parse()?);
///     query.states = vec![RunState::Dead];
///     Ok(reader.find(&query)?.len())
/// }
/// assert_eq!(dead_letters(&mut MemoryStore::new(), "backup")?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Reader {
    /// Pending one-shot jobs after an id, due up to a time, in their order: at most `limit` and [`MAX_PAGE`].
    ///
    /// # Errors
    /// When it cannot be read.
    fn load(&mut self, after: OnceId, up_to: Timestamp, limit: usize) -> Result<Vec<Once>, StoreError>;

    /// The ids of what [`load`](Reader::load) would answer. A store that reads them without the jobs says so
    /// by writing this again.
    ///
    /// # Errors
    /// When they cannot be read.
    fn load_ids(&mut self, after: OnceId, up_to: Timestamp, limit: usize) -> Result<Vec<OnceId>, StoreError> {
        Ok(self.load(after, up_to, limit)?.into_iter().map(|once| once.id).collect())
    }

    /// Whether a pending one-shot job is a member of a batch, by its policies. A store that knows it without
    /// reading all of them says so by writing this again.
    ///
    /// # Errors
    /// When it cannot be read.
    fn has_pending_of(&mut self, batch: &JobName) -> Result<bool, StoreError> {
        let is_member = |once: &Once| once.work.policies.batch.as_ref() == Some(batch);
        let mut page = self.load(OnceId::first_at(Timestamp::MIN), Timestamp::MAX, MAX_PAGE)?;
        while !page.iter().any(is_member) {
            let Some(last) = page.last() else { return Ok(false) };
            page = self.load(last.id, Timestamp::MAX, MAX_PAGE)?;
        }
        Ok(true)
    }

    /// The records of all jobs, removed ones too, and how long everything is paused, if it is.
    ///
    /// # Errors
    /// When they cannot be read.
    fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError>;

    /// The records of jobs that were not removed, from a name on, at most `limit` and [`MAX_PAGE`], in the
    /// order of names. [`jobs`](Self::jobs) has all of them, and costs as much.
    ///
    /// # Errors
    /// When they cannot be read.
    fn defined_from(&mut self, first: Bound<&JobName>, limit: usize) -> Result<Vec<JobRecord>, StoreError> {
        let (mut records, _) = self.jobs()?;
        records
            .retain(|record| record.source.is_some() && (first, Bound::Unbounded).contains(&record.mark.job));
        records.sort_by(|one, other| one.mark.job.cmp(&other.mark.job));
        records.truncate(limit.min(MAX_PAGE));
        Ok(records)
    }

    /// How long everything is paused, if it is.
    ///
    /// # Errors
    /// When it cannot be read.
    fn pause(&mut self) -> Result<Option<PauseTerms>, StoreError> {
        Ok(self.jobs()?.1)
    }

    /// The runs of a group that are running, if several servers share the store: in order of their keys, at
    /// most [`MAX_PAGE`].
    ///
    /// # Errors
    /// When they cannot be read.
    fn running_of(&mut self, _group: &JobName) -> Result<Vec<RunKey>, StoreError> {
        Ok(Vec::new())
    }

    /// What the planner [said last](Store::keep_status) of itself, if several servers share the store.
    ///
    /// # Errors
    /// When it cannot be read.
    fn planner_status(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// What it said last of the places of definitions.
    ///
    /// # Errors
    /// When it cannot be read.
    fn planner_lines(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// The sources from which a definition was ever kept, if several servers share the store: it
    /// says then which definitions are in force, and the files of a new owner do not. `None`: what the owner
    /// reads is in force.
    ///
    /// # Errors
    /// When they cannot be read.
    fn shared_sources(&mut self) -> Result<Option<BTreeSet<String>>, StoreError> {
        Ok(None)
    }

    /// What the servers are like that share the store, for people: a JSON document whose fields the shell
    /// knows. `None`: it is not shared.
    ///
    /// # Errors
    /// When that cannot be read.
    fn cluster(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// The machines of workers that are there or were, as far as they are known. `None`: the store is not
    /// shared, and has one worker.
    ///
    /// # Errors
    /// When they cannot be read.
    fn hosts(
        &mut self,
        _workers: &BTreeSet<WorkerId>,
    ) -> Result<Option<BTreeMap<WorkerId, String>>, StoreError> {
        Ok(None)
    }

    /// How far runs are that go on, as each server that shares the store has told it last: texts that the
    /// shell knows. They are no part of what a batch acknowledges, and some seconds old.
    ///
    /// # Errors
    /// When they cannot be read.
    fn progress(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// The ends of what a run wrote in its attempts after one, in their order, if the store keeps that. The
    /// server of an open run keeps what it writes for as long as this is asked, and a few seconds more; what
    /// it wrote in the last two may lack.
    ///
    /// # Errors
    /// When they cannot be read.
    fn output(&mut self, _: &RunKey, _after: u32, _: RunPhase) -> Result<Vec<KeptOutput>, StoreError> {
        Ok(Vec::new())
    }

    /// Open runs after a key, at most `limit` and [`MAX_PAGE`], in the order of keys.
    ///
    /// # Errors
    /// When they cannot be read.
    fn open_runs(&mut self, after: Option<&RunKey>, limit: usize) -> Result<Vec<Run>, StoreError>;

    /// Runs for people's pages, the latest first by the time that the query's order names.
    ///
    /// # Errors
    /// When they cannot be read.
    fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError>;

    /// Of each of these jobs the run that ended last, as far as there is one: the latest nominal time of
    /// those that are not open. In any order. For lists, which may ask it of a thousand jobs between two
    /// turns of a loop.
    ///
    /// # Errors
    /// When they cannot be read.
    fn last_ended(&mut self, jobs: &[JobName]) -> Result<Vec<Run>, StoreError> {
        let states: Vec<RunState> = RunState::ALL.into_iter().filter(|state| !state.is_open()).collect();
        let mut found = Vec::new();
        for job in jobs {
            let query = Query { states: states.clone(), ..Query::new(1).of(job.clone()) };
            found.extend(self.find(&query)?);
        }
        Ok(found)
    }

    /// One run.
    ///
    /// # Errors
    /// When it cannot be read.
    fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError>;

    /// The attempts of a run, the first first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError>;

    /// The pending one-shot job of that name, if there is one.
    ///
    /// # Errors
    /// When it cannot be read.
    fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError>;

    /// The one-shot job that has an idempotency key, by id and name: it waits, or its run is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError>;

    /// How much there is.
    ///
    /// # Errors
    /// When it cannot be counted.
    fn counts(&mut self) -> Result<Counts, StoreError>;

    /// What [`counts`](Reader::counts) answers and is not so, in words; nothing if all of it is. It counts
    /// row by row, which may take seconds: for people who look for trouble. `None`: the store does not count.
    ///
    /// # Errors
    /// When it cannot be counted, or that takes longer than a question may.
    fn miscounts(&mut self) -> Result<Option<Vec<String>>, StoreError> {
        Ok(None)
    }

    /// Who asked for what: a page of rows, the newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError>;
}

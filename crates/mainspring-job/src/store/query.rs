//! Queries of a store for people, and the types of their answers.
//!
//! ```text
//!  Query { job, group, states, cause, since, until, order } ──▶ page of runs ── last one ──▶ Cursor ──▶ next page
//! ```
//!
//! Cost: none; a store answers a page by a range of an index.
//!
//! Does not ask.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use crate::name::JobName;
use crate::run::{Cause, KeyError, Run, RunKey};
use crate::state::RunState;

/// By which time runs are ordered, and bounded: the latest first.
///
/// # Example
/// ```
/// use mainspring_job::Order;
///
/// assert_eq!(Order::default(), Order::Nominal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// The nominal time.
    #[default]
    Nominal,
    /// The time at which they ended. Runs that have none are left out.
    Ended,
}

/// A place in an answer: that of one run.
///
/// # Example
/// ```
/// use mainspring_job::{Cause, Cursor, Run, RunKey, RunState};
///
/// let time = "2026-11-21T02:30:00Z".parse()?;
/// let run = Run::new(RunKey::new("backup".parse()?, time), Cause::Trigger, RunState::Queued, time, time);
/// let cursor = Cursor::of(&run);
/// assert_eq!(cursor.to_string().parse(), Ok(cursor), "as programs are given it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cursor {
    /// Which run.
    pub key: RunKey,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

impl Cursor {
    /// The place of a run.
    pub fn of(run: &Run) -> Cursor {
        Cursor { key: run.key.clone(), ended: run.ended }
    }
}

/// The place of a run, as far as the nominal time says it.
impl From<RunKey> for Cursor {
    fn from(key: RunKey) -> Cursor {
        Cursor { key, ended: None }
    }
}

/// The key, and before it the end and `|` if there is one.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ended {
            Some(ended) => write!(f, "{ended}|{}", self.key),
            None => write!(f, "{}", self.key),
        }
    }
}

impl FromStr for Cursor {
    type Err = KeyError;

    /// # Errors
    /// When it is not what [`Cursor`] shows.
    fn from_str(text: &str) -> Result<Cursor, KeyError> {
        match text.split_once('|') {
            Some((ended, key)) => {
                Ok(Cursor { key: key.parse()?, ended: Some(ended.parse().map_err(|_| KeyError::Run)?) })
            }
            None => Ok(Cursor { key: text.parse()?, ended: None }),
        }
    }
}

/// Asks for a page of runs.
///
/// # Example
/// ```
/// use mainspring_job::{Cursor, MemoryStore, Query, Reader};
///
/// let mut store = MemoryStore::new();
/// let mut query = Query::new(50).of("backup".parse()?);
/// let page = store.find(&query)?;
/// // The next page begins after the last of this one.
/// query.cursor = page.last().map(Cursor::of);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct Query {
    /// Only runs of this job.
    pub job: Option<JobName>,
    /// Only runs of this group: of one-shot jobs that name it or that of an owner, `GROUP@OWNER`, and of
    /// [`members`](Self::members).
    pub group: Option<JobName>,
    /// The jobs of the group, as the planner knows them. Without a group it means nothing.
    pub members: Vec<JobName>,
    /// No runs of one-shot jobs that name this group, or that of an owner.
    pub without_group: Option<JobName>,
    /// Only runs in these states; all if it is empty.
    pub states: Vec<RunState>,
    /// Only runs with this cause.
    pub cause: Option<Cause>,
    /// Only runs whose time, by the order, is this one or later.
    pub since: Option<Timestamp>,
    /// Only runs whose time, by the order, is before this one.
    pub until: Option<Timestamp>,
    /// By which time.
    pub order: Order,
    /// Only runs that come after this place in the order of the answer: that of the last run of the page
    /// before.
    pub cursor: Option<Cursor>,
    /// At most so many, and at most [`MAX_PAGE`](crate::MAX_PAGE).
    pub limit: usize,
}

impl Query {
    /// Asks for at most so many runs of all jobs, in all states.
    pub fn new(limit: usize) -> Query {
        Query { limit, ..Query::default() }
    }

    /// Asks for the runs of this job only.
    #[must_use]
    pub fn of(self, job: JobName) -> Query {
        Query { job: Some(job), ..self }
    }

    /// Where a run stands in the order of the answer: the greatest first. `None` if it is not asked for.
    pub fn rank(&self, run: &Run) -> Option<(Timestamp, JobName, Timestamp, u32)> {
        let named = run.work.as_ref().and_then(|work| work.group.as_ref());
        let is_named = |group: &JobName| {
            let rest = named.and_then(|named| named.as_str().strip_prefix(group.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        };
        let is_in = |group| is_named(group) || self.members.contains(&run.key.job);
        let is_of_group =
            self.group.as_ref().is_none_or(is_in) && !self.without_group.as_ref().is_some_and(is_named);
        let is_asked = self.job.as_ref().is_none_or(|job| *job == run.key.job)
            && is_of_group
            && (self.states.is_empty() || self.states.contains(&run.state))
            && self.cause.is_none_or(|cause| cause == run.cause);
        let rank = self.rank_of(&Cursor::of(run)).filter(|_| is_asked)?;
        let is_within = self.since.is_none_or(|since| since <= rank.0)
            && self.until.is_none_or(|until| rank.0 < until)
            && self.cursor.as_ref().is_none_or(|cursor| self.rank_of(cursor).is_some_and(|last| rank < last));
        is_within.then_some(rank)
    }

    fn rank_of(&self, place: &Cursor) -> Option<(Timestamp, JobName, Timestamp, u32)> {
        let Cursor { key, ended } = place;
        let time = match self.order {
            Order::Nominal => key.nominal,
            Order::Ended => (*ended)?,
        };
        Some((time, key.job.clone(), key.nominal, key.series))
    }
}

/// How much a store holds.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, Reader};
///
/// let counts = MemoryStore::new().counts()?;
/// assert_eq!((counts.jobs, counts.pending, counts.dead), (0, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Jobs, without those that were removed.
    pub jobs: u64,
    /// Pending one-shot jobs.
    pub pending: u64,
    /// Runs that are scheduled, queued or running.
    pub open: u64,
    /// Runs in all states.
    pub runs: u64,
    /// Dead letters.
    pub dead: u64,
}

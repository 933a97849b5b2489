//! The histories that are to be pruned.
//!
//! ```text
//!  a definition comes, a day has passed   looks: job, job, job, ..  ── MAX_LOOKS, and more when those are on disk ──┐
//!  a row ends                             counted for its job       ── at PRUNE_EVERY ──────────────────────────────┴─▶ Prune
//! ```
//!
//! What is on disk decides: a prune drops the rows that are older or more than retention says, whichever
//! server wrote them. While a server runs, the rows that end are counted, for each job and for all one-shot
//! jobs together; so a history has at most that many rows too many. What earlier servers left is looked at
//! when a definition comes, which is at each start, and when its retention changes. Each history is looked at
//! once a day, as rows grow old without one that ends.
//!
//! With the run of a one-shot job its idempotency key goes.
//!
//! A job without a definition is not looked at while it may come back. One that was removed is looked at by
//! the retention that it had, until the store has dropped the last of its runs, and with that its row.
//!
//! Cost: O(log n) for each row that ends; one operation for [`PRUNE_EVERY`] of them, and one for each job at
//! a start and a day.
//!
//! Does not know what is in the store: of a job that left more than [`MAX_PRUNED`](crate::MAX_PRUNED) rows
//! too many, that many go with each prune.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::name::JobName;
use crate::operation::{MAX_PRUNED, Operation};
use crate::policy::Retention;

/// How many rows end before a job's history is pruned: so many may be kept beyond what retention says.
const PRUNE_EVERY: u32 = 16;
const _: () = assert!(PRUNE_EVERY as usize <= MAX_PRUNED, "a prune drops as many as have come");

/// One-shot jobs are pruned all together: as many as one prune drops. In PostgreSQL each prune steps over the
/// entries of an index that earlier ones left to a vacuum, 0.1 us for each.
const PRUNE_ONCE_EVERY: u32 = 1_000;
const _: () = assert!(PRUNE_ONCE_EVERY as usize <= MAX_PRUNED, "a prune drops as many as have come");

/// How many histories are looked at with one batch: a start with many jobs delays no command by more than
/// these take, a few milliseconds.
const MAX_LOOKS: usize = 16;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A history, and how much of it has ended since it was last pruned.
#[derive(Debug)]
struct History {
    retention: Retention,
    /// Whether it goes by that: its job has a definition, or was removed.
    is_kept: bool,
    ended_count: u32,
}

#[derive(Debug)]
pub(super) struct Pruning {
    /// Of each job that is known.
    jobs: BTreeMap<JobName, History>,
    once: History,
    /// What is to be pruned at the end of the turn; `None` is that of all one-shot jobs.
    due: BTreeSet<Option<JobName>>,
    /// What is to be looked at beside that, the next first.
    looks: VecDeque<Option<JobName>>,
    /// So many are on their way to the disk.
    looking_count: usize,
    /// When all are looked at again.
    next_round: Option<Timestamp>,
}

impl Pruning {
    pub(super) fn new(once_retention: Retention) -> Pruning {
        Pruning {
            jobs: BTreeMap::new(),
            once: History { retention: once_retention, is_kept: true, ended_count: 0 },
            due: BTreeSet::new(),
            looks: VecDeque::from([None]),
            looking_count: 0,
            next_round: None,
        }
    }

    /// The store knows a job, which may have no definition: if it is removed, so much of its history is kept.
    pub(super) fn know(&mut self, job: &JobName, retention: Retention) {
        let new = History { retention, is_kept: false, ended_count: 0 };
        let history = self.jobs.entry(job.clone()).or_insert(new);
        if !history.is_kept {
            history.retention = retention;
        }
    }

    /// So much of a job's history is kept.
    pub(super) fn retention(&self, job: &JobName) -> Retention {
        self.jobs.get(job).map_or_else(Retention::default, |history| history.retention)
    }

    /// A job is defined or removed, and so much of its history is kept.
    pub(super) fn keep(&mut self, job: &JobName, retention: Retention) {
        let new = History { retention, is_kept: false, ended_count: 0 };
        let history = self.jobs.entry(job.clone()).or_insert(new);
        if !history.is_kept || history.retention != retention {
            (history.retention, history.is_kept) = (retention, true);
            self.looks.push_back(Some(job.clone()));
        }
    }

    /// A name is not known any more.
    pub(super) fn drop_name(&mut self, job: &JobName) {
        self.jobs.remove(job);
    }

    /// A row of the history has ended. A name that is no job's is that of a one-shot job.
    pub(super) fn count_ended(&mut self, name: &JobName) {
        let (whose, history, every) = match self.jobs.get_mut(name) {
            Some(history) => (Some(name.clone()), history, PRUNE_EVERY),
            None => (None, &mut self.once, PRUNE_ONCE_EVERY),
        };
        history.ended_count += 1;
        if every <= history.ended_count {
            history.ended_count = 0;
            self.due.insert(whose);
        }
    }

    /// Prunes what has grown enough, each an operation of its own.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Vec<Operation> {
        std::mem::take(&mut self.due).into_iter().map(|whose| self.prune(now, whose)).collect()
    }

    /// The next that are looked at, each an operation of its own; nothing before the others are on disk.
    pub(super) fn take_looks(&mut self, now: Timestamp) -> Vec<(Option<JobName>, Operation)> {
        // A clock that was set back makes no round later.
        let next = now.saturating_add(DAY).unwrap_or(Timestamp::MAX);
        let at = self.next_round.get_or_insert(next);
        *at = (*at).min(next);
        if *at <= now {
            *at = next;
            let theirs = self.jobs.iter().filter(|(_, history)| history.is_kept);
            self.looks = theirs.map(|(name, _)| Some(name.clone())).chain([None]).collect();
        }
        if 0 < self.looking_count {
            return Vec::new();
        }
        self.looking_count = self.looks.len().min(MAX_LOOKS);
        let whose: Vec<_> = self.looks.drain(..self.looking_count).collect();
        whose.into_iter().map(|whose| (whose.clone(), self.prune(now, whose))).collect()
    }

    /// One of those looks is on disk.
    pub(super) fn end_look(&mut self) {
        debug_assert!(0 < self.looking_count, "a look ends that was on its way");
        self.looking_count -= 1;
    }

    fn prune(&self, now: Timestamp, job: Option<JobName>) -> Operation {
        let history = job.as_ref().and_then(|name| self.jobs.get(name)).unwrap_or(&self.once);
        let Retention { keep, days } = history.retention;
        let age = DAY.saturating_mul(i32::try_from(days).unwrap_or(i32::MAX));
        let before = now.saturating_sub(age).unwrap_or(Timestamp::MIN);
        Operation::Prune { job, keep, before }
    }
}

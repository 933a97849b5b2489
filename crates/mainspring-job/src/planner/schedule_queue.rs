//! The schedule queue: the times at which jobs and runs are looked at.
//!
//! ```text
//!  add ──▶ WallQueue, by the millisecond ──▶ page: what is due, by (time, run or job, key) ──▶ pop_due
//! ```
//!
//! The schedule queue is a queue on the wall clock, and a page of the entries that have come out of it. The
//! page exists for the order. A queue does not order the entries of one millisecond. The planner looks at
//! runs before jobs at one time, so that a run whose wait ends does not block the next. The page holds the
//! entries of one millisecond, and those that a full batch left for the next look.
//!
//! An entry only asks for a look. The job or run compares the time with what it knows, so an early, late or
//! superfluous entry does no harm.
//!
//! Cost: O(log n) for everything.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mainspring_queue::TimerId;

use super::wall_queue::{Due, WallQueue};
use crate::name::JobName;
use crate::run::RunKey;

/// What is to be looked at. Runs come before jobs at one time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A scheduled run.
    Run(RunKey),
    /// A job with an occurrence.
    Job(JobName),
    /// A job that has been silent for too long.
    Silence(JobName),
}

/// An entry in the schedule queue, as its job or run keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// When the look is due.
    pub(super) at: Timestamp,
    id: TimerId,
}

/// An entry in the queue. In the order in which the planner looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    at: Timestamp,
    item: Item,
}

impl Due for Look {
    fn due(&self) -> Timestamp {
        self.at
    }
}

#[derive(Debug, Default)]
pub(super) struct ScheduleQueue {
    queue: WallQueue<Look>,
    page: BTreeSet<(Look, TimerId)>,
    /// The entries of the page by the ids that they had in the queue.
    looks: BTreeMap<TimerId, Look>,
}

impl ScheduleQueue {
    /// Takes in what the clock shows.
    pub(super) fn tell(&mut self, now: Timestamp) {
        self.queue.tell(now);
    }

    pub(super) fn add(&mut self, at: Timestamp, item: Item) -> Entry {
        Entry { at, id: self.queue.add(Look { at, item }) }
    }

    /// Takes an entry out, if it is still there.
    pub(super) fn cancel(&mut self, entry: Entry) {
        if self.queue.cancel(entry.id).is_none()
            && let Some(look) = self.looks.remove(&entry.id)
        {
            self.page.remove(&(look, entry.id));
        }
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let first = self.page.first().map(|(look, _)| look.at);
        first.into_iter().chain(self.queue.next_due()).min()
    }

    /// Takes the first entry that is due.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<Item> {
        // What is behind the first of the page by more than a millisecond can wait in the queue.
        while self.queue.has_due_by(self.page.first().map_or(now, |(look, _)| look.at))
            && let Some((id, look)) = self.queue.pop_due()
        {
            self.looks.insert(id, look.clone());
            self.page.insert((look, id));
        }
        debug_assert_eq!(self.page.len(), self.looks.len(), "each entry of the page is found by its id");
        // The clock may have been set back since the page was filled.
        let (_, id) = self.page.first().filter(|(look, _)| look.at <= now)?;
        self.looks.remove(id);
        self.page.pop_first().map(|(look, _)| look.item)
    }

    /// Whether an entry is there.
    pub(super) fn holds(&self, entry: Entry) -> bool {
        self.queue.holds(entry.id) || self.looks.contains_key(&entry.id)
    }
}

//! Questions about one job or one run, and about all: answered without a look at the others.
//!
//! Cost: O(log n) for each, and O(1) for each job or run of an answer.
//!
//! Does not change anything, nor read the store: what is not open is not here.

use std::sync::Arc;

use jiff::Timestamp;

use super::Planner;
use super::admission_queue::Load;
use crate::absence::Absence;
use crate::input::Ticket;
use crate::job::{Group, Job};
use crate::name::JobName;
use crate::once::OnceId;
use crate::rate::Rate;
use crate::record::{Mark, PauseTerms};
use crate::run::{Run, RunKey};
use crate::worker::{Needs, Worker};

impl Planner {
    /// How many runs are open: scheduled, queued or running.
    pub fn open_count(&self) -> usize {
        self.runs.len()
    }

    /// How many runs are running.
    pub fn running_count(&self) -> usize {
        self.runs.slots.running_count()
    }

    /// The runs that are due and wait because no worker has what they need, each with that: see
    /// [`requiring`](Planner::requiring).
    pub fn unserved(&self) -> impl Iterator<Item = (&Run, Needs)> {
        self.runs.unserved().map(|(live, needs)| (&live.run, needs))
    }

    /// The workers that are there, each with how many runs run at it.
    pub fn workers(&self) -> impl Iterator<Item = (&Worker, usize)> {
        self.runs.slots.workers.iter()
    }

    /// The groups of which only so many runs may be running at once, each with that limit.
    pub fn limits_of_groups(&self) -> impl Iterator<Item = (&JobName, u32)> {
        self.runs.slots.groups.limits()
    }

    /// Each definition of a group, with the source that it is of.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.runs.slots.groups.definitions()
    }

    /// How many jobs have lost their definition since the planner began, so that their names may be free.
    pub fn lost_definitions(&self) -> u64 {
        self.jobs.lost_count
    }

    /// The groups of which a run waits, and nothing may start now by their rate; each with that, and when the
    /// next may.
    pub fn full_rates(&self) -> impl Iterator<Item = (&JobName, (Rate, Timestamp))> {
        self.runs.slots.full_rates()
    }

    /// The batches for which a run waits.
    pub fn awaited_batches(&self) -> impl Iterator<Item = &JobName> {
        self.runs.batches.awaited()
    }

    /// Whether what is due waits for room for another open run.
    pub fn has_crowded(&self) -> bool {
        self.jobs.first_crowded().is_some() || !self.has_room()
    }

    /// How many one-shot jobs are in memory: their ids, or they themselves once they are due. One that was
    /// withdrawn counts until its time has come.
    pub fn lookahead_count(&self) -> usize {
        self.lookahead.len()
    }

    /// The submissions that were not answered, each with the id that it has if its record is on disk.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (Ticket, OnceId)> {
        self.ledger.unconfirmed()
    }

    /// The jobs with a definition, and how far each is.
    pub fn jobs(&self) -> impl Iterator<Item = (&Job, &Mark)> {
        self.jobs.defined_after(None).map(|(job, mark, _)| (&**job, mark))
    }

    /// The job of that name, if it has a definition, and how far it is.
    pub fn job(&self, name: &JobName) -> Option<(&Job, &Mark)> {
        Some((self.jobs.definition(name)?, self.jobs.mark(name)?))
    }

    /// Since when and from where a job is absent, if it is: its source does not have it any more, and it may
    /// come back as it was.
    pub fn absence(&self, name: &JobName) -> Option<&Absence> {
        self.jobs.absence(name)
    }

    /// The jobs that are absent, each with what it was, as far as that is known.
    pub fn absent(&self) -> impl Iterator<Item = (&JobName, &Absence, Option<&Job>)> {
        self.jobs.absent()
    }

    /// When a job is looked at next: at its next occurrence, or before it where that is far away. `None` if
    /// it rests.
    pub fn next_of(&self, name: &JobName) -> Option<Timestamp> {
        self.jobs.next(name)
    }

    /// The jobs with a definition, how far each is, and when it is looked at next as
    /// [`next_of`](Self::next_of) says: those whose names come after one, in order of their names. A
    /// definition that is another one is behind another `Arc`, so that a caller sees by the pointer whether
    /// it has changed.
    pub fn looks_after<'p>(
        &'p self,
        after: Option<&JobName>,
    ) -> impl Iterator<Item = (&'p Arc<Job>, &'p Mark, Option<Timestamp>)> + use<'p> {
        self.jobs.defined_after(after)
    }

    /// Open runs, in the order of their keys.
    pub fn open_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().map(|live| &live.run)
    }

    /// An open run.
    pub fn run(&self, key: &RunKey) -> Option<&Run> {
        self.runs.get(key).map(|live| &live.run)
    }

    /// The open runs of a job, the earliest nominal time first.
    pub fn runs_of<'p>(&'p self, name: &JobName) -> impl Iterator<Item = &'p Run> + use<'p> {
        self.runs.of(name).map(|live| &live.run)
    }

    /// How many runs of a job are queued and running.
    pub fn load(&self, name: &JobName) -> Load {
        self.runs.load(name)
    }

    /// The same of a job and of all whose names come after it, those without any left out, in the order of
    /// their names: for a walk beside that of [`looks_after`](Self::looks_after).
    pub fn loads_from<'p>(&'p self, name: &JobName) -> impl Iterator<Item = (&'p JobName, Load)> + use<'p> {
        self.runs.loads_from(name)
    }

    /// Since when no run of a job has succeeded, if that is longer than its definition allows.
    pub fn silent_since(&self, name: &JobName, now: Timestamp) -> Option<Timestamp> {
        let most = self.jobs.definition(name)?.hooks.as_ref()?.hook().silent_after()?;
        let since = self.jobs.silent_since(name)?;
        since.checked_add(most).is_ok_and(|end| end <= now).then_some(since)
    }

    /// Whether everything is paused.
    pub fn is_paused(&self) -> bool {
        self.activity.is_paused()
    }

    /// How long everything is paused, if it is.
    pub fn pause_terms(&self) -> Option<&PauseTerms> {
        self.activity.pause_terms()
    }

    /// Whether [`Input::Stop`](crate::Input::Stop) was told.
    pub fn is_stopping(&self) -> bool {
        self.activity.is_stopping()
    }
}

//! The changes since the last question, for a page that is shown meanwhile.
//!
//! ```text
//! batches on their way to the store ─▶ of each job the last run, and which jobs ─▶ the next Watch, which empties them
//! ```
//!
//! A change is reported when it is decided. A question that the page asks then is answered when the change is
//! on disk: see [`questions`](super::questions).
//!
//! The progress of a run is such a change, beside which each other of its job counts more.
//!
//! Cost: nothing until the first Watch. Then a map insertion per operation, and at most [`MAX_CHANGED`]
//! entries.
//!
//! Does not keep changes that were not fetched. The first Watch says that there is a gap, and so does one
//! after more than [`MAX_CHANGED`] changes and one much later than the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainspring_job::{Batch, JobName, Operation, RunKey, RunState};

use super::next_step::RequestId;
use crate::protocol::{ChangesWire, RunChangeWire, Word};
use mainspring_exec::clock::Moment;

/// How many jobs may have changed between two questions before all may have: a page shows as many.
const MAX_CHANGED: usize = 1_000;

/// How long changes are noted for a client that was told the last ones and does not ask for the next.
const PATIENCE: Duration = Duration::from_secs(10);

/// What has changed since the last question.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whether a client has asked.
    is_watched: bool,
    runs: BTreeMap<JobName, (RunKey, RunState)>,
    jobs: BTreeSet<JobName>,
    is_all: bool,
    /// The rest, without runs and jobs.
    wire: ChangesWire,
    /// The request that waits.
    waiting: Option<RequestId>,
    /// When changes were told last.
    reported_at: Option<Moment>,
}

impl Changes {
    /// A client waits for changes. The one that waited before does so no more.
    pub(super) fn watch(&mut self, request_id: RequestId) {
        // What changed before is not known.
        self.wire.is_cut_short |= !self.is_watched;
        debug_assert!(self.is_watched || self.runs.is_empty(), "nothing is noted that no client asks for");
        self.is_watched = true;
        self.waiting = Some(request_id);
    }

    /// Notes that the system's clock was set.
    pub(super) fn clock_was_set(&mut self) {
        self.wire.clock = self.is_watched;
    }

    /// Notes what a batch changes.
    pub(super) fn note(&mut self, batch: &Batch, now: Moment) {
        if self.is_noted(now) {
            batch.operations.iter().for_each(|operation| self.note_one(operation));
        }
    }

    /// A run in progress has told how far it is.
    pub(super) fn tell_progress(&mut self, key: &RunKey, now: Moment) {
        if self.is_noted(now) && !self.runs.contains_key(&key.job) {
            self.run(key, RunState::Running);
        }
    }

    /// Whether a client is there for what changes now.
    fn is_noted(&mut self, now: Moment) -> bool {
        let is_left = self.waiting.is_none() && self.reported_at.is_some_and(|at| PATIENCE <= now.since(at));
        if is_left {
            *self = Changes::default();
        }
        self.is_watched
    }

    fn note_one(&mut self, operation: &Operation) {
        match operation {
            Operation::Plan(run) => self.run(&run.key, run.state),
            Operation::Fire { run, .. } => {
                self.wire.once = true;
                self.run(&run.key, run.state);
            }
            Operation::Begin { key, .. } => self.run(key, RunState::Running),
            Operation::End { key, state, .. } => self.run(key, *state),
            Operation::Move { key, to, .. } => self.run(key, *to),
            Operation::Submit(_) | Operation::Withdraw { .. } => self.wire.once = true,
            Operation::Define { mark, .. } | Operation::Mark(mark) | Operation::Rewind(mark) => {
                self.job(&mark.job);
            }
            Operation::Forget { job, .. } => self.job(job),
            Operation::PauseAll(_) => self.is_all = true,
            Operation::Audit(_) => self.wire.audit = true,
            Operation::Clear { .. } | Operation::Prune { .. } => {}
        }
    }

    fn run(&mut self, key: &RunKey, state: RunState) {
        if self.runs.len() < MAX_CHANGED || self.runs.contains_key(&key.job) {
            self.runs.insert(key.job.clone(), (key.clone(), state));
        } else {
            self.wire.is_cut_short = true;
        }
    }

    fn job(&mut self, job: &JobName) {
        if self.jobs.len() < MAX_CHANGED || self.jobs.contains(job) {
            self.jobs.insert(job.clone());
        } else {
            self.wire.is_cut_short = true;
        }
    }

    /// The client that waits and what there is to tell, if there is both.
    pub(super) fn take(&mut self, now: Moment) -> Option<(RequestId, ChangesWire)> {
        debug_assert!(self.runs.len() <= MAX_CHANGED);
        debug_assert!(self.jobs.len() <= MAX_CHANGED);
        debug_assert!(self.is_watched || self.waiting.is_none(), "for a client that waits all is noted");
        let is_told = self.is_all || self.wire != ChangesWire::default();
        let has_any = is_told || !self.runs.is_empty() || !self.jobs.is_empty();
        let request_id = self.waiting.take_if(|_| has_any)?;
        let left = Changes { is_watched: true, reported_at: Some(now), ..Changes::default() };
        let Changes { runs, jobs, is_all, mut wire, .. } = std::mem::replace(self, left);
        debug_assert!(wire.runs.is_empty() && wire.jobs.is_empty(), "they are noted apart, each once");
        let change = |(job, (run, state))| RunChangeWire { run, job, state: Word::Known(state) };
        wire.runs = runs.into_iter().map(change).collect();
        wire.jobs = jobs.iter().map(ToString::to_string).chain(is_all.then(String::new)).collect();
        Some((request_id, wire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use mainspring_job::PauseTerms;

    #[test]
    fn of_each_job_the_last_change_is_told_once_to_who_waits() {
        let mut changes = Changes::default();
        let request = |id| RequestId { client: 7, id, follows: false, what: "watch" };
        let key = |job: &str| RunKey::new(JobName::new(job).unwrap(), Timestamp::UNIX_EPOCH);
        let end = |job: &str| Operation::Move {
            key: key(job),
            from: RunState::Scheduled,
            to: RunState::Cancelled,
            due: Timestamp::UNIX_EPOCH,
            at: Timestamp::UNIX_EPOCH,
            reason: None,
        };
        let begin = |job: &str| Operation::Begin {
            key: key(job),
            attempt: 1,
            at: Timestamp::UNIX_EPOCH,
            worker: None,
        };
        let batch = |operations| Batch::new(1, operations);
        let now = Moment::now();
        let later = Moment { monotonic: now.monotonic + PATIENCE, ..now };
        changes.note(&batch(vec![begin("early")]), now);
        changes.watch(request(8));
        let (_, wire) = changes.take(now).unwrap();
        assert!(
            wire.runs.is_empty() && wire.is_cut_short,
            "nothing is kept before the first question: {wire:?}"
        );
        changes.watch(request(8));
        assert_eq!(changes.take(now), None);
        changes.note(
            &batch(vec![begin("a"), begin("b"), end("a"), Operation::PauseAll(Some(PauseTerms::default()))]),
            now,
        );
        let (request_id, wire) = changes.take(now).unwrap();
        assert_eq!(request_id, request(8));
        let states: Vec<_> = wire.runs.iter().map(|run| (run.job.as_str(), run.state.known())).collect();
        assert_eq!(states, [("a", Some(RunState::Cancelled)), ("b", Some(RunState::Running))]);
        assert_eq!((wire.jobs, wire.is_cut_short), (vec![String::new()], false));
        // Progress is told by itself, and hides neither the end before it nor the one after it.
        changes.watch(request(8));
        changes.tell_progress(&key("a"), now);
        changes.note(&batch(vec![end("b")]), now);
        changes.tell_progress(&key("b"), now);
        changes.tell_progress(&key("c"), now);
        changes.note(&batch(vec![end("c")]), now);
        let (_, wire) = changes.take(now).unwrap();
        let states: Vec<_> = wire.runs.iter().map(|run| run.state.known()).collect();
        let cancelled = Some(RunState::Cancelled);
        assert_eq!(states, [Some(RunState::Running), cancelled, cancelled]);
        changes.note(&batch((0..=MAX_CHANGED).map(|number| begin(&format!("j{number}"))).collect()), now);
        assert_eq!(changes.take(now), None, "nobody waits");
        changes.watch(request(9));
        let (_, wire) = changes.take(now).unwrap();
        assert_eq!((wire.runs.len(), wire.is_cut_short), (MAX_CHANGED, true));
        changes.note(&batch(vec![begin("a")]), later);
        changes.note(&batch(vec![begin("b")]), later);
        changes.watch(request(10));
        let (_, wire) = changes.take(later).unwrap();
        assert!(
            wire.runs.is_empty() && wire.is_cut_short,
            "a client that stopped asking is told of the gap: {wire:?}"
        );
    }
}

//! The effects of a crash on the runs that it cut off, and on their jobs.
//!
//! Cost: one look at each run that was running where a server ended, once; then nothing while nothing is in
//! quarantine.
//!
//! Does not describe the rules: see [`quarantine`](super::quarantine).

use jiff::Timestamp;

use super::end::AttemptFate;
use super::quarantine::MAX_CRASHES;
use super::{Live, Planner};
use crate::name::JobName;
use crate::operation::Operation;
use crate::output::{Note, Output};
use crate::reason::Reason;
use crate::record::{Mark, Pause};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::worker::WorkerId;

impl Planner {
    /// The jobs in quarantine, one-shot jobs among them.
    pub fn quarantined(&self) -> impl Iterator<Item = &JobName> {
        self.quarantine.names()
    }

    /// How many times in a row the server died in this run, or in runs of its job.
    pub(super) fn crashes(&self, run: &Run) -> u32 {
        match run.cause {
            Cause::Once => run.crashes,
            _ => self.jobs.crashes(&run.key.job),
        }
    }

    /// Whether a run has to wait for the probation of another.
    pub(super) fn is_barred(&self, run: &Run) -> bool {
        !self.quarantine.admits(self.crashes(run))
    }

    /// Ends each probation that was outlived.
    pub(super) fn end_probation(&mut self, now: Timestamp) {
        for key in self.quarantine.end_probation(now) {
            if !self.clear_run(&key) {
                self.clear_crashes(&key.job);
            }
            self.ledger.end_unit();
        }
    }

    /// The process of a worker that is gone lives: what was counted for its end is not counted any more.
    pub(super) fn acquit(&mut self, id: WorkerId) {
        for (name, keys) in self.quarantine.acquit(id) {
            for key in &keys {
                self.clear_run(key);
            }
            self.set_crashes(&name, self.jobs.crashes(&name).saturating_sub(1));
            self.ledger.end_unit();
        }
    }

    /// The server has outlived a run of a one-shot job. Tells whether it is one.
    fn clear_run(&mut self, key: &RunKey) -> bool {
        let Some(attempt) = self.runs.clear_crashes(key) else { return false };
        self.ledger.record(Operation::Clear { key: key.clone(), attempt });
        self.release_run(key);
        true
    }

    /// The server has outlived a run of this job.
    pub(super) fn clear_crashes(&mut self, name: &JobName) {
        self.set_crashes(name, 0);
    }

    fn set_crashes(&mut self, name: &JobName, crashes: u32) {
        if self.jobs.set_crashes(name, crashes) {
            self.keep_mark(name);
        }
        if crashes == 0 {
            self.release_job(name);
        }
    }

    /// A job is not in quarantine any more.
    pub(super) fn release_job(&mut self, name: &JobName) {
        if self.quarantine.release_job(name) {
            self.ledger.perform(Output::Note(Note::QuarantineOver));
        }
    }

    /// A run is not on probation any more, nor in quarantine if it is that of a one-shot job.
    pub(super) fn release_run(&mut self, key: &RunKey) {
        if self.quarantine.release_run(key) {
            self.ledger.perform(Output::Note(Note::QuarantineOver));
        }
    }

    /// Ends the runs whose worker is gone, each job's side by side: they are over before anything else. They
    /// take no slot, are not in the way of another, and are not killed.
    pub(super) fn abandon_all(&mut self, now: Timestamp, cut_off: Vec<Live>) {
        debug_assert!(cut_off.iter().all(|live| live.run.state == RunState::Running));
        debug_assert!(cut_off.is_sorted_by_key(|live| &live.run.key.job), "a job's runs are side by side");
        let mut cut_off = cut_off.into_iter().peekable();
        while let Some(live) = cut_off.next() {
            let key = live.run.key.clone();
            let has_crashed = self.quarantine.suspects(&key.job);
            let crashes = self.crashes(&live.run).saturating_add(u32::from(has_crashed));
            let is_last = cut_off.peek().is_none_or(|next| next.run.key.job != key.job);
            // The runs of a job that died together are one crash, which is written with the last of them.
            let is_counted = live.run.cause != Cause::Once && is_last && has_crashed;
            if is_counted && self.jobs.set_crashes(&key.job, crashes) {
                self.keep_mark(&key.job);
            }
            let is_loop = has_crashed && MAX_CRASHES <= crashes;
            let reason = if is_loop { Reason::CrashLoop(crashes) } else { self.quarantine.why_cut_off() };
            self.ledger.perform(Output::Note(Note::Abandoned { key, reason: reason.clone() }));
            // What was asked to end is over, and is not tried again.
            let killed = live.kill_reason.clone();
            let state = if killed.is_some() { RunState::Cancelled } else { RunState::Abandoned };
            let reason = killed.or(Some(reason));
            let end = AttemptFate { state, at: now, outcome: None, reason, crashes, retry_at: None };
            self.end_attempt(now, live, end);
            self.ledger.end_unit();
        }
    }

    /// Says what is in quarantine, when all that was restored is known.
    pub(super) fn begin_quarantine(&mut self) {
        let is_held = |mark: &&Mark| 0 < mark.crashes && mark.pause != Some(Pause::Crashes);
        let jobs = self.jobs.marks().filter(is_held).map(|mark| mark.job.clone()).collect();
        let is_held = |run: &&Run| run.cause == Cause::Once && 0 < run.crashes;
        let runs = self.runs.iter().map(|live| &live.run).filter(is_held).map(|run| run.key.clone());
        let count = self.quarantine.begin(jobs, runs.collect());
        if 0 < count {
            self.ledger.perform(Output::Note(Note::Quarantine { count }));
        }
    }

    /// Whether the server died so often that there is no further attempt.
    pub(super) fn is_crash_loop(&self, run: &Run) -> bool {
        run.state == RunState::Abandoned
            && self.quarantine.suspects(&run.key.job)
            && MAX_CRASHES <= run.crashes
    }
}

//! What a crash means for the runs that were cut off by it, and for their jobs.
//!
//! Cost: one look at each run that was running when the last server ended, once; then nothing while nothing is in
//! quarantine.
//!
//! Does not say which rules these are: see [`quarantine`](super::quarantine).

use jiff::Timestamp;

use super::ledger::Place;
use super::quarantine::{MAX_CRASHES, Probation, end_of_probation};
use super::{Live, Planner};
use crate::name::JobName;
use crate::operation::{Operation, Takeover};
use crate::output::{Note, Output};
use crate::reason::Reason;
use crate::record::Pause;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

impl Planner {
    /// The jobs in quarantine, one-shot jobs among them.
    pub fn quarantined(&self) -> impl Iterator<Item = &JobName> {
        self.quarantine.jobs.iter().chain(self.quarantine.runs.iter().map(|key| &key.job))
    }

    /// How many times in a row the server died in this run, or in runs of its job.
    pub(super) fn crashes(&self, run: &Run) -> u32 {
        match run.cause {
            Cause::Once => run.crashes,
            _ => self.jobs.get(&run.key.job).map_or(0, |tracked| tracked.mark.crashes),
        }
    }

    /// Whether a run has to wait for the probation of another.
    pub(super) fn is_barred(&self, run: &Run) -> bool {
        !self.quarantine.admits(self.crashes(run))
    }

    /// A run starts: on probation, if it is in quarantine.
    pub(super) fn begin_probation(&mut self, run: &Run, start: Place) {
        let crashes = self.crashes(run);
        if 0 < crashes {
            assert!(self.quarantine.admits(crashes), "a run that is barred does not start");
            let probation = Probation { start, until: None, is_alone: 1 < crashes };
            self.quarantine.probation.insert(run.key.clone(), probation);
        }
    }

    /// A record is on disk. If it is that of a start, the start leaves now.
    pub(super) fn time_probation(&mut self, now: Timestamp, key: &RunKey, place: Place) {
        if let Some(probation) = self.quarantine.probation.get_mut(key).filter(|it| it.start == place) {
            probation.until = Some(end_of_probation(now));
        }
    }

    /// Ends each probation that was outlived.
    pub(super) fn end_probation(&mut self, now: Timestamp) {
        let mut over = Vec::new();
        for (key, probation) in &mut self.quarantine.probation {
            let Some(until) = &mut probation.until else { continue };
            // The clock may have been set back: a probation takes no longer for that.
            *until = end_of_probation(now).min(*until);
            if *until <= now {
                over.push(key.clone());
            }
        }
        for key in over {
            self.quarantine.probation.remove(&key);
            let live = self.runs.get_mut(&key).expect("a run on probation runs");
            if live.run.cause == Cause::Once {
                live.run.crashes = 0;
                let attempt = live.run.attempt;
                self.ledger.record(Operation::Clear { key: key.clone(), attempt });
                self.release_run(&key);
            } else {
                self.clear_crashes(&key.job);
            }
            self.ledger.end_unit();
        }
    }

    /// The server has outlived a run of this job.
    pub(super) fn clear_crashes(&mut self, name: &JobName) {
        if let Some(tracked) = self.jobs.get_mut(name)
            && 0 < tracked.mark.crashes
        {
            tracked.mark.crashes = 0;
            self.keep_mark(name);
        }
        self.release_job(name);
    }

    /// A job is not in quarantine any more.
    pub(super) fn release_job(&mut self, name: &JobName) {
        if self.quarantine.jobs.remove(name) {
            self.note_release();
        }
    }

    /// A run is not on probation any more, nor in quarantine if it is that of a one-shot job.
    pub(super) fn release_run(&mut self, key: &RunKey) {
        self.quarantine.probation.remove(key);
        if self.quarantine.runs.remove(key) {
            self.note_release();
        }
    }

    fn note_release(&mut self) {
        if self.quarantine.len() == 0 {
            self.ledger.perform(Output::Note(Note::QuarantineOver));
        }
    }

    /// What the runs are that were running when the last server ended, each job's side by side: they are over before anything
    /// else. They take no place, are not in the way of another, and are not killed. There are as many as may run at once.
    pub(super) fn abandon_all(&mut self, now: Timestamp, takeover: Takeover, dead: Vec<Run>) {
        self.quarantine.takeover = takeover;
        let mut dead = dead.into_iter().peekable();
        while let Some(run) = dead.next() {
            let is_last = dead.peek().is_none_or(|next| next.key.job != run.key.job);
            match self.live(&run) {
                Some(live) => self.abandon(now, live, is_last),
                None => self.end_orphan(now, &run),
            }
            self.ledger.end_unit();
        }
    }

    /// Says what is in quarantine, when all that was restored is known.
    pub(super) fn begin_quarantine(&mut self) {
        let is_held = |mark: &crate::record::Mark| 0 < mark.crashes && mark.pause != Some(Pause::Crashes);
        let held = self.jobs.values().filter(|tracked| tracked.source.is_some() && is_held(&tracked.mark));
        self.quarantine.jobs = held.map(|tracked| tracked.mark.job.clone()).collect();
        let is_held = |run: &Run| run.cause == Cause::Once && 0 < run.crashes;
        let held = self.runs.values().filter(|live| is_held(&live.run));
        self.quarantine.runs = held.map(|live| live.run.key.clone()).collect();
        let count = self.quarantine.len();
        if 0 < count {
            self.ledger.perform(Output::Note(Note::Quarantine { count }));
        }
    }

    /// A run that was running when the last server ended. `is_last` says that no other of its job is to follow.
    fn abandon(&mut self, now: Timestamp, live: Live, is_last: bool) {
        let (key, takeover) = (live.run.key.clone(), self.quarantine.takeover);
        let crashed = u32::from(takeover == Takeover::Unclean);
        let crashes = self.crashes(&live.run).saturating_add(crashed);
        // The runs of a job that died together are one crash, which is written with the last of them.
        if live.run.cause != Cause::Once
            && is_last
            && crashed == 1
            && let Some(tracked) = self.jobs.get_mut(&key.job)
        {
            tracked.mark.crashes = crashes;
            self.keep_mark(&key.job);
        }
        let is_too_often = crashed == 1 && MAX_CRASHES <= crashes;
        let reason = if is_too_often { Reason::CrashLoop(crashes) } else { self.quarantine.why_cut_off() };
        self.ledger.perform(Output::Note(Note::Abandoned { key, reason: reason.clone() }));
        self.end_attempt(now, live, RunState::Abandoned, None, (Some(reason), crashes));
    }

    /// Whether the server died so often that there is no further attempt.
    pub(super) fn is_crash_loop(&self, run: &Run) -> bool {
        let has_crashed = self.quarantine.takeover == Takeover::Unclean;
        run.state == RunState::Abandoned && has_crashed && MAX_CRASHES <= run.crashes
    }

    /// Checks who is on probation.
    pub(super) fn check_probation(&self) {
        for (key, probation) in &self.quarantine.probation {
            let state = self.runs.get(key).map(|live| live.run.state);
            assert_eq!(state, Some(RunState::Running), "what is on probation runs: {key}");
            let is_right = !probation.is_alone || self.quarantine.probation.len() == 1;
            assert!(is_right, "{key} is on probation alone");
        }
    }
}

//! Admission: a run that is due waits before the gate of its job, passes it, or ends without having run.
//!
//! Cost: O(log n) for each run that is open at its job.
//!
//! Does not start anything: what is past its gate is in line for a place.

use jiff::Timestamp;

use super::gate::Gate;
use super::{Live, Planner, wait};
use crate::name::JobName;
use crate::operation::Operation;
use crate::output::{Note, Output};
use crate::policy::{CatchUp, Overlap};
use crate::reason::Reason;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

/// How a run that is due ends at once, by the rules, and why. `None`: it waits for its turn, if only for a moment.
type Verdict = Option<(RunState, Reason)>;

impl Planner {
    /// A run is due: it waits or ends here. It is in no line, and its record, if it has one, says `scheduled`. The best of
    /// those that wait start when all that is due now has been admitted: see `fill`.
    pub(super) fn admit(&mut self, now: Timestamp, mut live: Live, is_recorded: bool) {
        if self.is_undecided(&live) {
            return self.postpone(live, is_recorded);
        }
        let verdict = self.verdict(now, &live);
        if let Some((state, reason)) = verdict {
            return self.end_unstarted(now, live, is_recorded, state, reason);
        }
        self.record_queued(now, &mut live, is_recorded);
        live.admitted = self.turn;
        let job = live.run.key.job.clone();
        self.lines.entry(job.clone()).or_default().add(&live);
        self.runs.insert(live.run.key.clone(), live);
        self.promote(&job);
    }

    /// Whether what is in the way of a run was admitted in this very turn: whether it runs or waits is known at its end.
    fn is_undecided(&self, live: &Live) -> bool {
        let run = &live.run;
        if run.cause.is_kept() || 0 < run.attempt || live.work.policies.overlap == Overlap::Allow {
            return false;
        }
        let Some(line) = self.lines.get(&run.key.job) else { return false };
        let past = line.active.iter().map(|key| &self.runs[key]);
        past.into_iter().any(|other| other.run.state == RunState::Queued && other.admitted == self.turn)
    }

    /// Whether a run of this key is open, one that the next turn admits among them.
    pub(super) fn is_open(&self, key: &RunKey) -> bool {
        self.runs.contains_key(key) || self.postponed.iter().any(|live| live.run.key == *key)
    }

    /// Where a run makes good for a misfire and has not had its turn yet: the one of its job before it that has not either.
    pub(super) fn before_in_line(&self, run: &Run) -> Option<&Live> {
        if !wait::is_in_line(run) {
            return None;
        }
        let first = RunKey::new(run.key.job.clone(), Timestamp::MIN);
        let earlier = self.runs.range(first..run.key.clone()).rev();
        earlier.map(|(_, live)| live).find(|live| wait::is_in_line(&live.run))
    }

    /// The next turn admits a run.
    fn postpone(&mut self, live: Live, is_recorded: bool) {
        if !is_recorded {
            self.record_run(live.run.clone());
        }
        self.postponed.push(live);
    }

    fn verdict(&mut self, now: Timestamp, live: &Live) -> Verdict {
        let run = &live.run;
        if self.is_stale(now, live) {
            return Some((RunState::Missed, Reason::Stale));
        }
        let is_kept = run.cause.is_kept() || 0 < run.attempt;
        let is_resting = self.is_resting(&run.key.job, run.cause);
        // The start of a server is over when everything is resumed.
        let is_left_out = run.cause == Cause::Boot && self.rests();
        if is_left_out || is_resting && !is_kept {
            return Some((RunState::SkippedPaused, Reason::Paused));
        }
        let is_clear = self.lines.get(&run.key.job).is_none_or(Gate::is_empty);
        if is_kept || is_clear { None } else { self.blocked(now, &run.key.job, live.work.policies.overlap) }
    }

    /// Whether the run of a trigger, or of another run's end, stood on disk for so long that the misfire policy drops it.
    fn is_stale(&self, now: Timestamp, live: &Live) -> bool {
        let (run, policies) = (&live.run, &live.work.policies);
        if !matches!(run.cause, Cause::Trigger | Cause::After) || 0 < run.attempt {
            return false;
        }
        let late = std::time::Duration::try_from(now.duration_since(run.due)).unwrap_or_default();
        match policies.misfire.catch_up {
            CatchUp::None => policies.misfire.grace < late,
            _ => policies.misfire.window.max(policies.misfire.grace) < late,
        }
    }

    /// Whether a job's runs do not pass its gate. A run by hand passes that of a paused job: whoever asks knows.
    fn is_resting(&self, job: &JobName, cause: Cause) -> bool {
        let is_paused = self.jobs.get(job).is_some_and(|tracked| tracked.mark.pause.is_some());
        is_paused && !matches!(cause, Cause::Request | Cause::Once)
    }

    /// The right column of the table in `policy/overlap.rs`.
    fn blocked(&mut self, now: Timestamp, job: &JobName, overlap: Overlap) -> Verdict {
        let skipped = Some((RunState::SkippedOverlap, self.in_the_way(job)));
        let queued = self.queued(job);
        match overlap {
            Overlap::Skip => skipped,
            Overlap::QueueOne if !queued.is_empty() => skipped,
            Overlap::QueueAll { cap } if usize::try_from(cap).unwrap_or(usize::MAX) <= queued.len() => {
                skipped
            }
            Overlap::QueueOne | Overlap::QueueAll { .. } | Overlap::Allow => None,
            Overlap::Replace | Overlap::KillOld => {
                self.make_way(now, job, overlap);
                if overlap == Overlap::KillOld {
                    self.kill_running(job);
                }
                None
            }
        }
    }

    /// What is in the way of a job's next run.
    fn in_the_way(&self, job: &JobName) -> Reason {
        let Some(line) = self.lines.get(job) else { return Reason::EarlierWaiting };
        let runs = || {
            line.active.iter().chain(line.waiting.iter().map(|(_, key)| key)).map(|key| &self.runs[key].run)
        };
        if runs().any(|run| run.state == RunState::Running) {
            Reason::EarlierRunning
        } else if runs().any(|run| 0 < self.crashes(run)) {
            Reason::EarlierQuarantined
        } else {
            Reason::EarlierWaiting
        }
    }

    fn queued(&self, job: &JobName) -> Vec<RunKey> {
        let Some(line) = self.lines.get(job) else { return Vec::new() };
        let is_queued =
            |key: &&RunKey| self.runs.get(*key).is_some_and(|live| live.run.state == RunState::Queued);
        let active = line.active.iter().filter(is_queued);
        active.chain(line.waiting.iter().map(|(_, key)| key)).cloned().collect()
    }

    /// Drops what waits, where the rule lets the next one take its place. Done before that one is planned, because each
    /// is a unit of its own.
    pub(super) fn make_way(&mut self, now: Timestamp, job: &JobName, overlap: Overlap) {
        if !matches!(overlap, Overlap::Replace | Overlap::KillOld) {
            return;
        }
        for key in self.queued(job) {
            let run = &self.runs[&key].run;
            if !run.cause.is_kept() && run.attempt == 0 {
                self.ledger.end_unit();
                let live = self.leave(&key);
                self.end_unstarted(now, live, true, RunState::SkippedOverlap, Reason::Replaced);
                self.ledger.end_unit();
            }
        }
    }

    fn kill_running(&mut self, job: &JobName) {
        let Some(line) = self.lines.get(job) else { return };
        for key in line.active.iter().cloned().collect::<Vec<_>>() {
            self.kill(&key, Reason::Replaced);
        }
    }

    /// Takes an open run out of everything but the store.
    pub(super) fn leave(&mut self, key: &RunKey) -> Live {
        let live = self.runs.remove(key).expect("only open runs leave");
        self.release_run(key);
        self.places.remove(&live);
        if let Some(line) = self.lines.get_mut(&key.job) {
            line.remove(&live);
            if line.is_empty() {
                self.lines.remove(&key.job);
            }
        }
        live
    }

    /// A job is paused: what is past its gate and has not started waits before it again.
    pub(super) fn hold(&mut self, job: &JobName) {
        for key in self.queued(job) {
            let live = &self.runs[&key];
            if self.is_resting(job, live.run.cause) {
                self.places.remove(live);
                let line = self.lines.get_mut(job).expect("who is queued is in line");
                line.remove(live);
                line.add(live);
            }
        }
        // One that the pause does not hold may have waited behind them.
        self.promote(job);
    }

    /// Opens the gates of a job as far as its policy allows.
    pub(super) fn promote(&mut self, job: &JobName) {
        self.step_back(job);
        while let Some((_, key)) = self.first_admissible(job) {
            let live = &self.runs[&key];
            self.places.add(live);
            self.lines.get_mut(job).expect("a run waits in it").pass(live);
        }
    }

    /// Takes the one run back before the gate that is past it, has not started, and is due later than one that waits.
    fn step_back(&mut self, job: &JobName) {
        let Some(key) = self.overtaken(job) else { return };
        let live = &self.runs[&key];
        self.places.remove(live);
        let line = self.lines.get_mut(job).expect("it is past its gate");
        line.remove(live);
        line.add(live);
    }

    /// The run that [`Planner::step_back`] takes back.
    fn overtaken(&self, job: &JobName) -> Option<RunKey> {
        let line = self.lines.get(job)?;
        // Where all may pass, only what makes good for a misfire passes singly.
        let first = line.active.first().filter(|_| line.active.len() == 1);
        let key = line.catching_up.as_ref().or(first)?;
        let past = &self.runs[key];
        let passes_singly = past.work.policies.overlap != Overlap::Allow || past.run.cause == Cause::CatchUp;
        if !passes_singly || past.run.state != RunState::Queued {
            return None;
        }
        let earlier = line.waiting.range(..(past.run.due, key.clone()));
        let passes = |key: &RunKey| {
            let live = &self.runs[key];
            let is_alike = past.work.policies.overlap != Overlap::Allow || live.run.cause == past.run.cause;
            is_alike && !self.is_resting(job, live.run.cause)
        };
        earlier.into_iter().any(|(_, key)| passes(key)).then(|| key.clone())
    }

    /// The first that waits before an open gate and is not held by a pause.
    fn first_admissible(&self, job: &JobName) -> Option<(Timestamp, RunKey)> {
        let line = self.lines.get(job).filter(|line| !line.is_shut())?;
        let may_pass = |key: &RunKey| {
            let live = &self.runs[key];
            line.is_open_for(live) && !self.is_resting(job, live.run.cause)
        };
        line.waiting.iter().find(|(_, key)| may_pass(key)).cloned()
    }

    /// Checks that nobody waits before an open gate.
    pub(super) fn check_gates(&self) {
        for job in self.lines.keys() {
            let found = self.first_admissible(job);
            assert!(found.is_none(), "the gate of {job} is open, and {found:?} waits before it");
            let found = self.overtaken(job);
            assert!(found.is_none(), "{found:?} is past the gate before one that is due earlier");
        }
    }

    /// Records the end of a run that never started, or not again.
    pub(super) fn end_unstarted(
        &mut self,
        now: Timestamp,
        live: Live,
        is_recorded: bool,
        state: RunState,
        reason: Reason,
    ) {
        let mut run = live.run;
        let (key, due) = (run.key.clone(), run.due);
        let was_counted = self.uncount(&run);
        if is_recorded {
            let (from, reason) = (run.state, Some(reason.clone()));
            self.ledger.record(Operation::Move { key: key.clone(), from, to: state, due, at: now, reason });
            if was_counted {
                self.keep_mark(&key.job);
                self.expect(&key.job);
            }
        } else {
            (run.state, run.ended, run.reason) = (state, Some(now), Some(reason.clone()));
            self.record_run(run);
        }
        match state {
            RunState::SkippedOverlap => {
                let note = Note::Skipped { key: key.clone(), reason };
                self.ledger.perform(Output::Note(note));
            }
            RunState::Missed => {
                self.tell_of_missed(now, &key, 1, &reason);
                let note = Note::Missed { key: key.clone(), count: 1, reason };
                self.ledger.perform(Output::Note(note));
            }
            _ => (),
        }
        self.count_ended(&key.job);
    }
}

//! The start: the planner takes over the state that the store holds.
//!
//! | a run was | it becomes |
//! |---|---|
//! | running, and its worker has reported its end | over, as it was reported |
//! | running, at a worker that is there | as it was |
//! | running, elsewhere | `abandoned`, before anything else, and its retry policy decides what follows |
//! | scheduled | as it was; if its time has passed, it is due now |
//! | queued | as it was, in the line for its slot |
//! | any of these, and its job is no more | `abandoned` or `cancelled` |
//!
//! Cost: O(log n) for each job and each open run, once.
//!
//! Does not describe the effects of a crash on a job: see `crash`.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Live, Planner};
use crate::input::{AttemptEnd, Input};
use crate::job::Job;
use crate::name::JobName;
use crate::operation::{Operation, Takeover};
use crate::reason::Reason;
use crate::record::{JobRecord, PauseTerms};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

/// The epoch of the first owner of a store: none came before it.
const FIRST_EPOCH: u64 = 1;

impl Planner {
    pub(super) fn restore(
        &mut self,
        now: Timestamp,
        jobs: Vec<JobRecord>,
        former: Vec<Job>,
        runs: Vec<Run>,
        paused: Option<PauseTerms>,
    ) {
        self.know_names(now, &jobs, &runs);
        // A clock that was set back may show less than what is on record.
        let is_past = |time: &Timestamp| *time <= now;
        let of_run = |run: &Run| [Some(run.planned), run.started, run.ended];
        self.quarantine.hear(runs.iter().flat_map(of_run).flatten().filter(is_past));
        self.activity.restore(runs, paused);
        for record in jobs {
            let last = record.last.as_ref().map(|last| last.ended);
            let known = [Some(record.mark.watermark), last, record.last_success];
            self.quarantine.hear(known.into_iter().flatten().filter(is_past));
            let is_removed = record.source.is_none() && record.absence.is_none();
            if is_removed {
                self.pruning.keep(&record.mark.job, record.retention);
            } else {
                self.pruning.know(&record.mark.job, record.retention);
            }
            self.jobs.restore(record);
        }
        for job in former {
            self.pruning.know(&job.name, job.work.policies.retention);
            self.jobs.remember(job);
        }
    }

    /// Runs by hand and at a start get no name that one of these runs has; and a job that has run since the
    /// machine was started is not due at that.
    pub(super) fn know_names(&mut self, now: Timestamp, jobs: &[JobRecord], runs: &[Run]) {
        let last = jobs.iter().filter_map(|record| Some((&record.mark.job, record.last.as_ref()?.nominal)));
        for (job, nominal) in last.chain(runs.iter().map(|run| (&run.key.job, run.key.nominal))) {
            self.numbers.know(now, nominal);
            if (self.machine_start..=now).contains(&nominal) {
                self.ran_since_boot.insert(job.clone());
            }
        }
    }

    pub(super) fn begin(&mut self, now: Timestamp, takeover: Takeover) {
        let (restored, early) = self.activity.begin();
        self.clock.begin(now);
        self.recall_starts(now, &restored);
        let (running, waiting): (Vec<Run>, Vec<Run>) =
            restored.into_iter().partition(|run| run.state == RunState::Running);
        self.take_over(now, takeover, running, &early);
        for input in early {
            match input {
                Input::Ended(end) => self.ended(now, end),
                Input::Worker(event) => self.worker(now, event),
                other => unreachable!("{other:?} is no end"),
            }
            self.ledger.end_unit();
        }
        for run in waiting {
            match self.live(&run) {
                Some(mut live) => {
                    self.settle(&mut live);
                    if self.has_place(&live) {
                        self.resume_run(now, live);
                    } else {
                        self.end_unstarted(now, &live, RunState::Missed, Reason::WorkerGone);
                    }
                }
                None => self.end_orphan(now, &run),
            }
            self.ledger.end_unit();
        }
        for name in self.runs.gated_jobs() {
            self.promote(&name);
        }
        self.begin_quarantine();
        self.note_watermarks(now);
        self.note_followers(|_, _| true);
        for name in self.jobs.names() {
            self.jobs.take_former(&name);
            self.expect(&name);
            self.expect_silence(&name);
            self.start_at_boot(now, &name);
            self.ledger.end_unit();
        }
        self.ran_since_boot.clear();
    }

    /// What a group with a rate is told of the planner before: the last start of each run that is open.
    fn recall_starts(&mut self, now: Timestamp, restored: &[Run]) {
        if self.epoch <= FIRST_EPOCH {
            return;
        }
        self.runs.slots.groups.take_over();
        for run in restored {
            let group = self.work_of(run).and_then(|work| work.group.clone());
            if let (Some(group), Some(started)) = (group, run.started) {
                self.runs.slots.groups.count(&group, started.min(now));
            }
        }
    }

    /// Runs that were running: they go on, or are over before anything else.
    fn take_over(&mut self, now: Timestamp, takeover: Takeover, running: Vec<Run>, early: &[Input]) {
        let is_there = |run: &Run| run.worker.is_some_and(|id| self.runs.slots.workers.has(id));
        let (there, gone): (Vec<Run>, Vec<Run>) = running.into_iter().partition(is_there);
        let end = |input: &Input| match input {
            Input::Ended(end) => Some(((end.key.clone(), end.attempt), end.clone())),
            _ => None,
        };
        let mut ends: HashMap<(RunKey, u32), AttemptEnd> = early.iter().filter_map(end).collect();
        let (mut ended, mut cut_off) = (Vec::new(), Vec::new());
        for run in gone {
            match ends.remove(&(run.key.clone(), run.attempt)) {
                Some(end) => ended.push((self.resumed(run), end)),
                None => cut_off.push(run),
            }
        }
        let lived_until = self.quarantine.owner_lived_until(now);
        self.quarantine.take_over(takeover, lived_until, cut_off.iter());
        self.resume_running(there);
        // A planner that took their worker for lost may have fallen before it had their ends on record.
        for (mut live, end) in ended {
            self.settle(&mut live);
            self.conclude(now, live, end);
            self.ledger.end_unit();
        }
        let mut lives = Vec::new();
        for run in cut_off {
            match self.live(&run) {
                Some(mut live) => {
                    self.settle(&mut live);
                    lives.push(live);
                }
                None => {
                    self.end_orphan(now, &run);
                    self.ledger.end_unit();
                }
            }
        }
        self.abandon_all(now, lives);
    }

    /// What the planner keeps of a restored run. `None` if neither it nor its job says what it does.
    pub(super) fn live(&self, run: &Run) -> Option<Live> {
        let work = self.work_of(run)?;
        Some(Live::new(run.clone(), work))
    }

    pub(super) fn resume_run(&mut self, now: Timestamp, live: Live) {
        match live.run.state {
            RunState::Queued => self.runs.restore_queued(live),
            RunState::Scheduled => self.schedule(now, live),
            state => unreachable!("only runs that wait are resumed, and {} is {state}", live.run.key),
        }
    }

    /// An open run whose job is no more.
    pub(super) fn end_orphan(&mut self, now: Timestamp, run: &Run) {
        let key = run.key.clone();
        let operation = match run.state {
            RunState::Running => Operation::End {
                key,
                attempt: run.attempt,
                state: RunState::Abandoned,
                at: now,
                outcome: None,
                crashes: run.crashes,
                reason: Some(self.quarantine.why_cut_off()),
            },
            from => {
                let (to, due, reason) = (RunState::Cancelled, run.due, Some(Reason::NoJob));
                Operation::Move { key, from, to, due, at: now, reason }
            }
        };
        self.ledger.record(operation);
        if run.state == RunState::Running {
            self.follow(now, run, RunState::Abandoned);
        }
    }

    fn start_at_boot(&mut self, now: Timestamp, name: &JobName) {
        let Some(job) = self.jobs.definition(name).map(Arc::clone) else { return };
        let is_older = self.jobs.mark(name).is_some_and(|mark| mark.since < self.machine_start);
        let is_boot_due = job.timetable.is_at_boot() && is_older && !self.ran_since_boot.contains(name);
        let is_due = job.timetable.is_at_server_start() || is_boot_due;
        if is_due && !self.jobs.is_done(name) {
            let places = self.places(&job.work);
            let first = self.new_key(now, name, None);
            if places.is_empty() {
                return self.miss(now, first, Cause::Boot, Reason::NoWorker);
            }
            for place in places {
                self.jobs.count_run(name);
                let key = self.key_at(name, first.nominal, place);
                self.plan_run(now, &job, key, (Cause::Boot, now), place);
            }
            self.keep_mark(name);
        }
    }
}

//! The start: what the store holds becomes what the planner knows.
//!
//! | a run was | it becomes |
//! |---|---|
//! | running | `abandoned`, before anything else, and its retry policy decides what follows |
//! | scheduled | what it was; if its time has passed, it is due now |
//! | queued | what it was, in the line for its place |
//! | any of these, and its job is no more | `abandoned` or `cancelled` |

use std::sync::Arc;

use jiff::Timestamp;

use super::occurrence::is_done;
use super::{Live, Phase, Planner, Tracked};
use crate::job::Job;
use crate::operation::{Operation, Takeover};
use crate::policy::Retention;
use crate::reason::Reason;
use crate::record::{JobRecord, Rest};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

impl Planner {
    pub(super) fn restore(&mut self, jobs: Vec<JobRecord>, runs: Vec<Run>, paused: Option<Rest>) {
        assert_eq!(self.phase, Phase::Restoring, "a planner is restored before it begins");
        self.paused = self.paused.take().or(paused);
        for record in jobs {
            let JobRecord { mark, source, .. } = record;
            let tracked = Tracked {
                job: None,
                source,
                former: None,
                mark,
                next: None,
                is_crowded: false,
                ended_count: 0,
                retention: Retention::default(),
            };
            self.jobs.insert(tracked.mark.job.clone(), tracked);
        }
        self.restored.extend(runs);
    }

    /// Takes in what jobs were.
    pub(super) fn remember(&mut self, former: Vec<Job>) {
        for job in former {
            if let Some(tracked) = self.jobs.get_mut(&job.name)
                && tracked.mark.timetable == job.timetable.to_string()
            {
                tracked.former = Some(Arc::new(job));
            }
        }
    }

    pub(super) fn begin(&mut self, now: Timestamp, takeover: Takeover) {
        assert_eq!(self.phase, Phase::Restoring, "a planner begins once");
        self.phase = Phase::Planning;
        (self.latest, self.began) = (now, now);
        self.restored.sort_by(|one, other| one.key.cmp(&other.key));
        let restored = std::mem::take(&mut self.restored);
        let (dead, waiting): (Vec<Run>, Vec<Run>) =
            restored.into_iter().partition(|run| run.state == RunState::Running);
        self.abandon_all(now, takeover, dead);
        for run in waiting {
            match self.live(&run) {
                Some(live) => self.resume_run(now, live),
                None => self.end_orphan(now, &run),
            }
            self.ledger.end_unit();
        }
        let names: Vec<_> = self.lines.keys().cloned().collect();
        for name in names {
            self.promote(&name);
        }
        self.begin_quarantine();
        self.note_watermarks(now);
        let names: Vec<_> = self.jobs.keys().cloned().collect();
        for name in names {
            self.jobs.get_mut(&name).expect("it was there a moment ago").former = None;
            self.expect(&name);
            self.start_at_boot(now, &name);
            self.ledger.end_unit();
        }
    }

    /// What the planner keeps of a restored run. `None` if nobody knows what it does.
    pub(super) fn live(&self, run: &Run) -> Option<Live> {
        let work = self.work_of(run)?;
        Some(Live { run: run.clone(), work, kill_reason: None, wakes: None, admitted: 0, open: None })
    }

    fn resume_run(&mut self, now: Timestamp, live: Live) {
        let key = live.run.key.clone();
        match live.run.state {
            RunState::Queued => {
                let line = self.lines.entry(key.job.clone()).or_default();
                line.add(&live);
                self.runs.insert(key, live);
            }
            RunState::Scheduled => self.schedule(now, live),
            state => unreachable!("only runs that wait are resumed, and {key} is {state}"),
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
    }

    fn start_at_boot(&mut self, now: Timestamp, name: &crate::name::JobName) {
        let Some(job) = self.jobs.get(name).and_then(|tracked| tracked.job.as_ref()).map(Arc::clone) else {
            return;
        };
        let tracked = self.jobs.get_mut(name).expect("it was there a moment ago");
        if job.timetable.is_at_boot() && !is_done(&job, tracked.mark.runs) {
            tracked.mark.runs += 1;
            let key = RunKey::new(job.name.clone(), self.new_nominal(now));
            self.plan_run(now, &job, key, Cause::Boot, now);
            self.keep_mark(name);
        }
    }
}

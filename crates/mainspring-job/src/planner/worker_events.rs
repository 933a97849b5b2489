//! Workers that come, leave and go, and what becomes of the runs at them.
//!
//! | a worker | its runs |
//! |---|---|
//! | is there when planning begins | go on; the planner that started them need not be this one |
//! | leaves | go on, and none starts |
//! | ends some by itself | are abandoned, for the reason that it says |
//! | has left | have not begun, and wait again |
//! | is gone | are abandoned, each once; if it ended without a word, they may have killed it: see `quarantine` |
//! | was gone, and its process lives | have not killed it |
//!
//! Cost: a worker that goes costs one look at each run that is running, and at each job.
//!
//! Does not find out who is there: it is told.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Live, Planner};
use crate::input::{AttemptEnd, WorkerEvent};
use crate::operation::Takeover;
use crate::outcome::Outcome;
use crate::run::{Run, RunKey};
use crate::work::{Action, Work};
use crate::worker::WorkerId;

impl Planner {
    pub(super) fn worker(&mut self, now: Timestamp, event: WorkerEvent) {
        match event {
            WorkerEvent::Present(worker) => self.runs.slots.workers.welcome(worker),
            WorkerEvent::Leaving(id) => self.runs.slots.workers.leave(id),
            WorkerEvent::Gone { id, how, silent } => self.worker_gone(now, id, how, silent),
            WorkerEvent::Left(id) => self.worker_left(now, id),
            WorkerEvent::Survived(id) => self.acquit(id),
        }
    }

    /// What was assigned to a worker before it was known to leave has not begun.
    fn worker_left(&mut self, now: Timestamp, id: WorkerId) {
        self.runs.slots.workers.leave(id);
        for key in self.runs.running_at(id) {
            let attempt = self.runs.get(&key).map_or(0, |live| live.run.attempt);
            self.ended(now, AttemptEnd::new(key, attempt, Outcome::Returned));
        }
        self.worker_gone(now, id, Takeover::Clean, None);
    }

    /// Nothing comes of what runs at a worker.
    fn worker_gone(&mut self, now: Timestamp, id: WorkerId, how: Takeover, silent: Option<Duration>) {
        // All of them leave first: none is in the way of another, nor takes a slot, when the first is over.
        let keys: Vec<RunKey> = self.runs.running_at(id);
        let cut_off: Vec<Live> = keys.iter().map(|key| self.leave(key)).collect();
        self.runs.slots.workers.remove(id);
        let lived_until = silent.and_then(|silent| now.checked_sub(silent).ok());
        self.quarantine.take_over(
            how,
            lived_until.unwrap_or(Timestamp::MIN),
            cut_off.iter().map(|it| &it.run),
        );
        let suspected = cut_off.iter().map(|it| it.run.key.clone());
        let suspected = suspected.filter(|key| self.quarantine.suspects(&key.job)).collect();
        self.quarantine.blame(id, suspected);
        self.abandon_all(now, cut_off);
        self.miss_waiting_for(now, id);
        for key in &keys {
            self.promote(&key.job);
        }
        if how == Takeover::Unclean && !keys.is_empty() {
            self.begin_quarantine();
        }
    }

    /// Takes over the runs that are running at workers that are there when planning begins.
    pub(super) fn resume_running(&mut self, running: Vec<Run>) {
        for run in running {
            let live = self.resumed(run);
            self.runs.restore_running(live);
        }
    }

    /// What the planner keeps of a run that had started before it.
    pub(super) fn resumed(&self, run: Run) -> Live {
        let mut live = self.live(&run).unwrap_or_else(|| {
            // Its job was removed while it ran, and nothing is asked of it but its end.
            let nothing = Action::new(String::new(), String::new()).expect("nothing is short enough");
            Live::new(run, Arc::new(Work::new(nothing)))
        });
        live.is_resumed = true;
        live
    }
}

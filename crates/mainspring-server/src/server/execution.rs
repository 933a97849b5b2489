//! The interface that carries out starts: the one part of the loop that a server and a program with jobs of
//! its own do not share.
//!
//! | implementation | carries out |
//! |---|---|
//! | [`Commands`](super::commands) | processes and webhooks, for the server |
//! | `Handlers` of mainspring-embed | functions of the program that the loop runs in |
//! | `PoolExecution` of mainspring-cluster | nothing itself: the workers of a pool do, and report |
//!
//! Each attempt that was started is reported as ended exactly once, by `turn`, `give_up`, `give_all_up`,
//! `leave` or `close`; or `leave` releases it, and its end is not known.
//!
//! Cost: a call through a pointer for each.
//!
//! Does not keep output, and postpones nothing: `work` does, for both.

use std::fmt::{self, Debug};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Action, Assignment, Input, RunKey, Start, Worker, WorkerId, WorkerLabel};

use crate::protocol::ProgressWire;
use mainspring_exec::clock::Moment;
use mainspring_exec::end::Reports;
use mainspring_host::net::BorrowedFd;

/// How long before its time the start of a one-shot job is recorded, at most. A disk flushes within some
/// milliseconds, and a start may have to wait for the flush of what came before it. A job that is withdrawn
/// within this time comes too late.
pub const LEAD: Duration = Duration::from_millis(20);

/// How long a start is to wait that is not to begin before then: no longer than the [`LEAD`], whatever the
/// clock shows.
pub fn left_until(not_before: Option<Timestamp>, now: Moment) -> Duration {
    let left = not_before.and_then(|at| Duration::try_from(at.duration_since(now.wall)).ok());
    left.unwrap_or_default().min(LEAD)
}

/// An attempt of a run.
pub type AttemptKey = (RunKey, u32);

/// What an attempt became.
#[derive(Debug)]
pub enum StartOutcome {
    /// It runs, as this.
    As(String),
    /// There is nothing to be done: a mail of output, and there is none.
    Nothing,
    /// A worker of the pool starts it: its end comes with [`Execution::facts`].
    Elsewhere,
}

/// Why an attempt is not started.
#[derive(Debug)]
pub enum StartFailure {
    /// Something is lacking that others may give back.
    Now(String),
    /// It cannot be.
    Ever(String),
}

impl StartFailure {
    /// For this reason, which is a shortage or lasts.
    pub fn for_reason<E: fmt::Display>(why: &E, is_shortage: fn(&E) -> bool) -> StartFailure {
        if is_shortage(why) {
            StartFailure::Now(why.to_string())
        } else {
            StartFailure::Ever(why.to_string())
        }
    }

    /// For a reason that lasts.
    pub fn ever(why: impl fmt::Display) -> StartFailure {
        StartFailure::Ever(why.to_string())
    }
}

/// See the head of this file.
pub trait Execution: Debug + Send {
    /// What people are told of it when the loop begins.
    fn note(&self) -> Option<String> {
        None
    }

    /// The server may lose the right to carry anything out while it lives, as its lease may run out. Called
    /// before the first start, or not at all.
    fn may_be_lost(&mut self) {}

    /// Whether others carry out what starts: a start is theirs with its record, and nothing here holds it up
    /// or gives it back. [`facts`](Self::facts) says who they are and how it ends. Nothing runs here then:
    /// the methods that such an execution lacks say so.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// The worker that it is, under this id, if it is one.
    fn worker(&self, id: WorkerId) -> Option<Worker> {
        if self.is_elsewhere() {
            return None;
        }
        let worker = Worker::new(id, "this server", self.capacity()).with_ahead(self.ahead());
        Some(worker.with_labels(self.labels()))
    }

    /// What a worker is to know of a start, where others carry it out: it is written with the record.
    fn assignment(&self, _start: &Start) -> Option<Assignment> {
        None
    }

    /// What others have reported since the last call: workers that come and go, and ends of what they ran.
    fn facts(&mut self) -> Vec<Input> {
        Vec::new()
    }

    /// What runs may go on until this boot time, whatever becomes of the server. What cannot outlive the
    /// server does nothing.
    fn holds_until(&mut self, _until: Duration) {}

    /// How many attempts may go on here at a time.
    fn capacity(&self) -> usize {
        0
    }

    /// How many more may be started now, which wait for one of those to end. It may change with each
    /// [`turn`](Self::turn).
    fn ahead(&self) -> usize {
        0
    }

    /// Whether it waits itself for the time of a start that comes before it, by at most [`LEAD`]: see
    /// `Start::not_before`. The loop waits for one that does not.
    fn waits_for_starts(&self) -> bool {
        self.is_elsewhere()
    }

    /// What it has that actions need: see [`mainspring_action::needs`]. Runs that need more wait.
    fn labels(&self) -> Vec<(WorkerLabel, u32)> {
        Vec::new()
    }

    /// Releases what has ended and is still held, if there is no room for a start of this action otherwise.
    fn make_room(&mut self, _action: &Action, _now: Moment, _reports: &mut dyn Reports<AttemptKey>) {}

    /// Starts an attempt. `outputs` finds what a run of that key wrote.
    ///
    /// # Errors
    /// When it cannot be started, now or ever; its end is not reported then.
    fn start(
        &mut self,
        start: &Start,
        outputs: &dyn Fn(&str) -> String,
        now: Moment,
    ) -> Result<StartOutcome, StartFailure>;

    /// Does all that can be done without waiting.
    fn turn(&mut self, _now: Moment, _reports: &mut dyn Reports<AttemptKey>) {}

    /// How far attempts are, here or at others, of those of which there is something new to tell since the
    /// last call.
    fn progress(&mut self, _now: Moment) -> Vec<(AttemptKey, ProgressWire)> {
        Vec::new()
    }

    /// Asks an attempt at this worker to end, by the policy that it was started with. Returns whether it can
    /// be asked: its end is reported when it comes.
    fn ask_to_end(&mut self, _worker: WorkerId, _attempted: &AttemptKey, _now: Moment) -> bool {
        false
    }

    /// Reports an attempt as killed that cannot be asked.
    fn give_up(&mut self, _attempted: &AttemptKey, _now: Moment, _reports: &mut dyn Reports<AttemptKey>) {}

    /// Asks all attempts to end that can be asked.
    fn ask_all_to_end(&mut self, _now: Moment) {}

    /// The same before the server loses the jobs: what its job has go on then is not asked.
    fn ask_all_to_end_before_loss(&mut self, now: Moment) {
        self.ask_all_to_end(now);
    }

    /// How many attempts go on when the server loses the jobs.
    fn to_be_detached_count(&self) -> usize {
        0
    }

    /// The server has lost the jobs: releases these attempts, and returns them. The end of one is reported
    /// only if it has ended already.
    fn leave(&mut self, _reports: &mut dyn Reports<AttemptKey>) -> Vec<AttemptKey> {
        Vec::new()
    }

    /// Kills all processes.
    fn kill_processes_at_once(&mut self, _now: Moment) {}

    /// Reports all attempts as killed that are no processes.
    fn give_all_up(&mut self, _now: Moment, _reports: &mut dyn Reports<AttemptKey>) {}

    /// Releases all that runs, whatever its state.
    fn close(&mut self, _now: Moment, _reports: &mut dyn Reports<AttemptKey>) {}

    /// A child of this process has ended.
    fn reap(&mut self) {}

    /// How many attempts have an end that is still to be reported. What those have left behind that ended is
    /// not waited for.
    fn running_count(&self) -> usize {
        0
    }

    /// How many processes there are.
    fn process_count(&self) -> usize {
        0
    }

    /// How long the loop may sleep.
    fn wait(&self, _now: Moment) -> Option<Duration> {
        None
    }

    /// Adds what to poll.
    fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, writable: &mut Vec<BorrowedFd<'a>>);
}

//! Executes what is due: processes, each in a group of its own.
//!
//! ```text
//!            start ─▶ ┌──────────────── Executor ────────────────┐
//! poll says: a pipe,  │ run 3:a#1   process group, 3 pipes       │ ─▶ reports
//! SIGCHLD   ─ turn ─▶ │ run 4:b#7   process group, 2 pipes       │
//!              kill   │ ...         at most MAX_RUNNING          │
//!                     │ waits: timeouts, kill steps, output      │ ─▶ how long the loop may sleep
//!                     └──────────────────────────────────────────┘
//! ```
//!
//! All runs are served by one thread that never waits for any of them: lines cannot interleave, and nothing
//! is locked.
//!
//! Cost: a turn is a few system calls per run, of which there are at most [`MAX_RUNNING`]. An index of what
//! poll reported would save most of them and was left out. What time alone brings about is found by a timer
//! queue.
//!
//! Does not poll, does not know jobs or schedules, and does not keep a run that ended.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use thiserror::Error;

use crate::cgroup::{Cgroup, Cgroups};
use crate::clock::Moment;
use crate::delay_queue::{ArmedWait, DelayQueue};
use crate::detached_runs;
use crate::end::{KillCause, Reports};
use crate::keeper::{Bound, Keeper};
use crate::pipe::{MIN_READ_BYTES, READ_BYTES};
use crate::process::{LATER_START_WAIT, START_WAIT, StartError};
use crate::run::Run;
use crate::spec::ProcessSpec;
use crate::starter::Starter;

pub use crate::descriptors::MAX_RUNNING;

/// Why a run was not started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartRefusal {
    /// So many commands are running, which is the most.
    #[error("{0} commands are running already, which is the limit")]
    Full(usize),
    /// The command could not be started.
    #[error("{0}")]
    Start(#[source] StartError),
}

impl StartRefusal {
    /// Whether the operating system lacks something that other runs may give back.
    pub fn is_shortage(&self) -> bool {
        matches!(self, StartRefusal::Start(error) if error.is_shortage())
    }
}

/// The running processes, each under the key that the loop has for its run.
#[derive(Debug)]
pub struct Executor<K> {
    runs: Vec<TimedRun<K>>,
    /// When time alone changes something of a run, by its number.
    waits: DelayQueue<u64>,
    last_number: u64,
    capacity: usize,
    buffer: Vec<u8>,
    starter: Starter,
    cgroups: Option<Cgroups>,
    /// What ends the runs where this process cannot.
    keeper: Option<Keeper>,
}

/// A run with its wait.
#[derive(Debug)]
struct TimedRun<K> {
    number: u64,
    run: Run<K>,
    /// At the deadline of the run.
    armed: Option<ArmedWait>,
}

impl<K> Executor<K> {
    /// An executor of so many runs at one time, up to [`MAX_RUNNING`].
    pub fn of_at_most(capacity: usize) -> Executor<K> {
        Executor {
            runs: Vec::new(),
            waits: DelayQueue::new(Moment::now().monotonic),
            last_number: 0,
            capacity: capacity.min(MAX_RUNNING),
            buffer: vec![0; READ_BYTES],
            starter: Starter::default(),
            cgroups: None,
            keeper: None,
        }
    }

    /// The same with a cgroup for each run.
    pub fn with_cgroups(self, cgroups: Option<Cgroups>) -> Executor<K> {
        Executor { cgroups, ..self }
    }

    /// From now on runs are ended by this if this process cannot end them.
    pub fn set_keeper(&mut self, keeper: Keeper) {
        self.keeper = Some(keeper);
    }

    /// What runs may go on until this boot time, if it has a keeper.
    pub fn holds_until(&mut self, until: Duration) {
        self.keeper.iter_mut().for_each(|keeper| keeper.holds_until(until));
    }
}

impl<K: PartialEq> Executor<K> {
    /// Starts a run, with `variables` on top of the environment of its spec, and returns the number of its
    /// process.
    ///
    /// # Errors
    ///
    /// See [`StartRefusal`]; the run is over then, and it is for the caller to say why.
    pub fn start(
        &mut self,
        spec: &ProcessSpec,
        variables: &[(String, String)],
        key: K,
        now: Moment,
    ) -> Result<u32, StartRefusal> {
        debug_assert!(self.runs.iter().all(|timed| *timed.run.key() != key), "an attempt is started once");
        if self.is_full() {
            return Err(StartRefusal::Full(self.capacity));
        }
        let is_starting = self.runs.iter_mut().any(|timed| timed.run.is_starting());
        let wait = if is_starting { LATER_START_WAIT } else { START_WAIT };
        let cgroup = self.cgroup(spec).map_err(StartRefusal::Start)?;
        self.starter.forget(now);
        let run = Run::start(&mut self.starter, spec, variables, key, (now, wait), cgroup)
            .map_err(StartRefusal::Start)?;
        let pid = run.pid();
        if let (Some(keeper), Some(bound)) = (&mut self.keeper, Bound::of(spec)) {
            keeper.add(pid, bound, run.cgroup_folder());
        }
        self.last_number += 1;
        self.runs.push(TimedRun { number: self.last_number, run, armed: None });
        debug_assert!(self.runs.len() <= self.capacity);
        debug_assert!(self.runs.is_sorted_by_key(|timed| timed.number), "the oldest makes room first");
        self.arm();
        Ok(pid)
    }

    /// The cgroup of a new run. Without one a run continues in its process group, unless it is to be held to
    /// something.
    fn cgroup(&mut self, spec: &ProcessSpec) -> Result<Option<Cgroup>, StartError> {
        let added = match &mut self.cgroups {
            Some(cgroups) => cgroups.add(&spec.body),
            None => Err(io::Error::new(io::ErrorKind::Unsupported, "no cgroup is delegated to the server")),
        };
        match added {
            Err(error) if spec.body.memory_max.is_some() || spec.body.cpu_max.is_some() => {
                Err(StartError::Cgroup(error))
            }
            added => Ok(added.ok()),
        }
    }

    /// Whether no further run can be started now.
    pub fn is_full(&self) -> bool {
        self.capacity <= self.runs.len()
    }

    /// Releases a run that has ended and whose output is held open by something in the background, so that
    /// there is room.
    pub fn make_room(&mut self, now: Moment, reports: &mut dyn Reports<K>) {
        if let Some(at) = self.runs.iter().position(|timed| timed.run.is_lingering()) {
            let mut timed = self.runs.remove(at);
            self.waits.arm(&mut timed.armed, None, timed.number);
            close(timed, (&mut self.cgroups, &mut self.keeper), now, reports);
        }
    }

    /// Does all that can be done without waiting, and forgets the runs that are over.
    pub fn turn(&mut self, now: Moment, reports: &mut dyn Reports<K>) {
        self.keeper.iter_mut().for_each(Keeper::turn);
        let share = (READ_BYTES / self.runs.len().max(1)).max(MIN_READ_BYTES);
        for TimedRun { run, .. } in &mut self.runs {
            run.advance(now, &mut self.buffer, share, reports);
        }
        // After a look at what has happened: a program that ended in time is not killed for its timeout.
        while let Some(number) = self.waits.pop_due(now.monotonic) {
            let found = self.runs.iter_mut().find(|timed| timed.number == number);
            debug_assert!(found.is_some(), "who is let go of waits for nothing");
            found.into_iter().for_each(|timed| timed.run.elapse(now, &mut self.buffer, reports));
        }
        if let Some(keeper) = &mut self.keeper {
            let left = self.runs.iter().filter(|timed| timed.run.has_left());
            left.for_each(|timed| keeper.remove(timed.run.pid()));
        }
        for mut timed in self.runs.extract_if(.., |timed| timed.run.is_over()) {
            self.waits.arm(&mut timed.armed, None, timed.number);
            close(timed, (&mut self.cgroups, &mut self.keeper), now, reports);
        }
        self.arm();
    }

    /// Keeps the waits as the runs want them.
    fn arm(&mut self) {
        for TimedRun { number, run, armed } in &mut self.runs {
            self.waits.arm(armed, run.deadline(), *number);
        }
        let armed_count = self.runs.iter().filter(|timed| timed.armed.is_some()).count();
        debug_assert_eq!(self.waits.len(), armed_count, "each wait is that of a run");
    }

    /// The number of runs whose end is still to be reported: the others wait for something in the background
    /// that holds their output open.
    pub fn running_count(&self) -> usize {
        self.runs.iter().filter(|timed| !timed.run.is_lingering()).count()
    }

    /// The processes of the runs that are not over.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().map(|timed| timed.run.pid())
    }

    /// Begins the kill sequence of a run. Returns whether there is such a run.
    pub fn kill(&mut self, key: &K, cause: KillCause, now: Moment) -> bool {
        let timed = self.runs.iter_mut().find(|timed| timed.run.key() == key);
        let is_there = timed.map(|timed| timed.run.kill(cause, now)).is_some();
        self.arm();
        is_there
    }

    /// Begins the kill sequences of all runs.
    pub fn kill_all(&mut self, cause: KillCause, now: Moment) {
        self.runs.iter_mut().for_each(|timed| timed.run.kill(cause, now));
        self.arm();
    }

    /// The same, but for the runs that go on when the server loses the jobs.
    pub fn kill_all_before_loss(&mut self, now: Moment) {
        let bound = self.runs.iter_mut().filter(|timed| !timed.run.is_to_be_detached());
        bound.for_each(|timed| timed.run.kill(KillCause::Requested, now));
        self.arm();
    }

    /// The number of runs that go on when the server loses the jobs.
    pub fn to_be_detached_count(&self) -> usize {
        let is_one = |run: &Run<K>| run.is_to_be_detached() && !run.is_lingering();
        self.runs.iter().filter(|timed| is_one(&timed.run)).count()
    }

    /// The server has lost the jobs: releases the runs that go on then, and returns their keys. What they
    /// write is read by a thread as long as this process lives. The end of one is reported only if its
    /// program has ended already.
    pub fn leave(&mut self, reports: &mut dyn Reports<K>) -> Vec<K> {
        let (mut keys, mut detached) = (Vec::new(), Vec::new());
        for mut timed in self.runs.extract_if(.., |timed| timed.run.is_to_be_detached()) {
            self.waits.arm(&mut timed.armed, None, timed.number);
            self.keeper.iter_mut().for_each(|keeper| keeper.remove(timed.run.pid()));
            let (key, run, cgroup) = timed.run.leave(reports);
            keys.push(key);
            detached.push(run);
            if let (Some(cgroup), Some(cgroups)) = (cgroup, &mut self.cgroups) {
                cgroups.remove(cgroup);
            }
        }
        detached_runs::serve(detached);
        keys
    }

    /// Kills the groups of all runs at once.
    pub fn kill_all_at_once(&mut self, now: Moment) {
        self.runs.iter_mut().for_each(|timed| timed.run.kill_at_once(now));
        self.arm();
    }

    /// How long the loop may wait before the next turn, if no pipe and no signal ends the wait earlier.
    pub fn wait(&self, now: Moment) -> Option<Duration> {
        self.waits.wait(now.monotonic)
    }

    /// Adds what to poll for reading and for writing.
    pub fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, writable: &mut Vec<BorrowedFd<'a>>) {
        for TimedRun { run, .. } in &self.runs {
            run.watch(readable, writable);
        }
    }

    /// Ends all runs whatever their state: what they wrote so far is reported, what they still hold open is
    /// let go.
    pub fn close(&mut self, now: Moment, reports: &mut dyn Reports<K>) {
        self.waits = DelayQueue::new(now.monotonic);
        for timed in self.runs.drain(..) {
            close(timed, (&mut self.cgroups, &mut self.keeper), now, reports);
        }
    }
}

fn close<K>(
    timed: TimedRun<K>,
    (cgroups, keeper): (&mut Option<Cgroups>, &mut Option<Keeper>),
    now: Moment,
    reports: &mut dyn Reports<K>,
) {
    // Before its number can be another's.
    keeper.iter_mut().for_each(|keeper| keeper.remove(timed.run.pid()));
    let cgroup = timed.run.close(now, reports);
    if let (Some(cgroup), Some(cgroups)) = (cgroup, cgroups) {
        cgroups.remove(cgroup);
    }
}

//! The planner: facts in, decisions out.
//!
//! ```text
//!                 ┌──────────────────────────── Planner ─────────────────────────────┐
//!  Input ───────▶ │ agenda   when which job or run is to be looked at (agenda)       │
//!                 │ jobs     definitions and marks            (apply, occurrence)    │
//!                 │ lines    what is in the way of what, per job (gate)              │ ──▶ take_batch
//!                 │ places   who may start, per group and in all (place)             │
//!                 │ quarantine what may have killed the server (quarantine)          │
//!                 │ near     ids of the one-shot jobs of the near future (window)    │
//!                 │ ledger   what is to be written, and what waits for it (ledger)   │ ──▶ Output
//!                 └──────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Write before you do: what an output rests on is in a batch, and the output leaves the planner only with
//! [`Input::Committed`] of that batch. A shell that forgets this gets no outputs at all. Batches are answered in the
//! order in which they were taken; there may be several on their way.
//!
//! The agenda is a timer queue of `mainspring-queue`. Wall time is set back, and a queue's time is not: `wall_ticks` translates.
//! The shell needs one timer, at [`Planner::next_due`].
//!
//! Cost: a fact costs O(log n) for each run it touches. A tick looks at no more than [`Limits::per_turn`] jobs and runs, and
//! `next_due` says at once that there is more. Memory: open runs, jobs, and the near one-shot jobs, each with a limit.
//!
//! Does not measure how long something takes: see [`Timeout`](crate::Timeout).

mod admission;
mod agenda;
mod apply;
mod begin;
mod boot;
mod command;
mod crash;
mod end;
mod gate;
mod ledger;
mod limits;
mod live;
mod lookup;
mod near;
mod occurrence;
mod place;
mod quarantine;
mod tick;
mod wait;
mod wall_queue;
mod wall_ticks;
mod window;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;

use crate::audit::Audit;
use crate::input::Input;
use crate::job::Job;
use crate::name::JobName;
use crate::operation::Batch;
use crate::output::Output;
use crate::record::{Mark, Rest};
use crate::run::{Run, RunKey};
use crate::state::RunState;

use agenda::Agenda;
use gate::Gate;
use ledger::Ledger;
use live::{Live, Phase, Tracked};
use place::Places;
use quarantine::Quarantine;
use window::Window;

#[doc(inline)]
pub use command::{MAX_BACKFILL_RUNS, preview, rewind_preview};
#[doc(inline)]
pub use limits::Limits;
pub use quarantine::{MAX_CRASHES, MAX_ON_PROBATION, PROBATION};

/// Decides. The [module's page](self) says how.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Shard, Store};
/// use mainspring_job::cron::Schedule;
/// use mainspring_job::{Action, Command, Definitions, Job, Ticket, Timetable, Work};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(Shard::WHOLE, &Owner::new("example"))?;
/// # let mut planner = Planner::new(lease.epoch, Limits::default());
/// # let now: mainspring_job::jiff::Timestamp = "2026-11-21T08:00:00Z".parse()?;
/// # let mut outputs = Vec::new();
/// # planner.handle(now, Input::Begin { takeover: lease.takeover }, &mut outputs);
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let job = Job::new("backup".parse()?, daily, Work::new(Action::new("process", "pg_dump orders")?));
/// let command = Command::Apply(Definitions::new("jobs.toml", vec![job]));
/// planner.handle(now, Input::Command { ticket: Ticket(1), command }, &mut outputs);
/// assert_eq!(planner.next_of(&"backup".parse()?), Some("2026-11-22T02:30:00Z".parse()?));
/// // It leaves the planner only with the commit of what it rests on: see the first page for a whole turn.
/// let batch = planner.take_batch().expect("the job is to be recorded");
/// let answers = store.commit(lease, &batch)?.answers;
/// planner.handle(now, Input::Committed { number: batch.number, answers }, &mut outputs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Planner {
    limits: Limits,
    phase: Phase,
    /// Everything rests: no tick does anything, and nothing starts.
    paused: Option<Rest>,
    /// Who asks for what with the next command.
    audit: Option<Audit>,
    /// The server is about to end: as with a pause, and no store knows.
    is_stopping: bool,
    /// The latest time that was told, to notice when the clock is set back.
    latest: Timestamp,
    /// When planning began.
    began: Timestamp,
    jobs: BTreeMap<JobName, Tracked>,
    /// Every open run, and no other.
    runs: BTreeMap<RunKey, Live>,
    /// For each job with a run past its gate or before it.
    lines: BTreeMap<JobName, Gate>,
    places: Places,
    agenda: Agenda,
    /// Jobs that were due when there was no room for another open run; each once.
    crowded: VecDeque<JobName>,
    near: Window,
    quarantine: Quarantine,
    /// How many facts were told.
    turn: u64,
    /// Runs that the next turn admits.
    postponed: Vec<Live>,
    /// Open runs of the store, between `Restore` and `Begin`.
    restored: Vec<Run>,
    /// Running runs whose next attempt is not due before a time.
    deferred: BTreeMap<RunKey, Timestamp>,
    ledger: Ledger,
    /// The number of the next one-shot job; the epoch is in its upper bits.
    next_number: u64,
    /// How many runs had no trigger to name their nominal time.
    request_count: u64,
    /// Rows of one-shot jobs that ended since those were last pruned.
    once_ended_count: u32,
    /// Whose history is to be pruned at the end of the turn; `None` is that of all one-shot jobs.
    pruning: BTreeSet<Option<JobName>>,
}

/// How many bits of a one-shot job's number count within one epoch.
const NUMBER_BITS: u32 = 40;

impl Planner {
    /// A planner for the owner of an epoch. It first wants to be told what the store holds, then [`Input::Begin`].
    pub fn new(epoch: u64, limits: Limits) -> Planner {
        Planner {
            places: Places::new(limits.max_running),
            limits,
            phase: Phase::Restoring,
            paused: None,
            audit: None,
            is_stopping: false,
            latest: Timestamp::MIN,
            began: Timestamp::MIN,
            jobs: BTreeMap::new(),
            runs: BTreeMap::new(),
            lines: BTreeMap::new(),
            agenda: Agenda::default(),
            crowded: VecDeque::new(),
            near: Window::default(),
            quarantine: Quarantine::default(),
            turn: 0,
            postponed: Vec::new(),
            restored: Vec::new(),
            deferred: BTreeMap::new(),
            ledger: Ledger::default(),
            next_number: epoch << NUMBER_BITS,
            request_count: epoch.wrapping_mul(37),
            once_ended_count: 0,
            pruning: BTreeSet::new(),
        }
    }

    /// Takes in one fact at a time `now`, by the store's clock, and appends what is to be done now.
    ///
    /// # Panics
    /// When a batch is said to be committed that was not taken, or out of order.
    pub fn handle(&mut self, now: Timestamp, input: Input, outputs: &mut Vec<Output>) {
        self.turn += 1;
        self.agenda.tell(now);
        self.near.tell(now);
        let is_look = matches!(input, Input::Tick | Input::Loaded { .. });
        match input {
            Input::Restore { jobs, former, runs, paused } => {
                self.restore(jobs, runs, paused);
                self.remember(former);
            }
            Input::Begin { takeover } => self.begin(now, takeover),
            Input::Tick => self.tick(now),
            Input::Ended { key, attempt, outcome } => self.ended(now, &key, attempt, outcome),
            Input::Defer { key, until } => drop(self.deferred.insert(key, until)),
            Input::Loaded { pending, is_complete } => self.loaded(now, pending, is_complete),
            Input::LoadedIds { ids, is_complete } => self.near.scanned(&ids, is_complete),
            Input::Committed { number, answers } => self.committed(now, number, &answers, outputs),
            Input::Stop => self.is_stopping = true,
            Input::Audit(audit) => self.audit = Some(audit),
            Input::Command { ticket, command } => self.command(now, ticket, command),
        }
        self.fill(now);
        for live in std::mem::take(&mut self.postponed) {
            self.schedule(now, live);
        }
        self.prune_histories(now);
        self.ledger.end_unit();
        self.request_ids(now);
        if is_look {
            self.request_portion(now);
        }
        self.ledger.release(outputs);
    }

    /// What is to be written next, at most [`MAX_BATCH_OPERATIONS`](crate::MAX_BATCH_OPERATIONS); there may be more. What belongs
    /// together is in one batch. `None` if there is nothing.
    pub fn take_batch(&mut self) -> Option<Batch> {
        self.ledger.take_batch()
    }

    /// Whether [`take_batch`](Self::take_batch) has something to give.
    pub fn has_batch(&self) -> bool {
        !self.ledger.is_empty()
    }

    /// The next time at which [`Input::Tick`] does something; in the past if it would now. `None`: not until something else
    /// happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        if self.phase == Phase::Restoring || self.is_stopping {
            return None;
        }
        if let Some(rest) = &self.paused {
            return rest.until;
        }
        let once = self.near.next_due().filter(|_| self.has_room());
        let load = self.near.next_scan(&self.limits);
        let probation = self.quarantine.next_end();
        let crowded = (!self.crowded.is_empty() && self.has_room()).then_some(Timestamp::MIN);
        [self.agenda.next_due(), once, load, probation, crowded].into_iter().flatten().min()
    }

    /// How many runs are open: scheduled, queued or running.
    pub fn open_count(&self) -> usize {
        self.runs.len()
    }

    /// How many runs are running.
    pub fn running_count(&self) -> usize {
        self.places.running_count()
    }

    /// How many one-shot jobs are in memory: their ids, or they themselves once they are due. One that was withdrawn counts until
    /// its time has come.
    pub fn near_count(&self) -> usize {
        self.near.len()
    }

    /// The jobs with a definition, and how far each is.
    pub fn jobs(&self) -> impl Iterator<Item = (&Job, &Mark)> {
        self.jobs.values().filter_map(|tracked| Some((tracked.job.as_deref()?, &tracked.mark)))
    }

    /// Open runs, in the order of their keys.
    pub fn open_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.values().map(|live| &live.run)
    }

    /// Whether everything is paused.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// How everything rests, if it is paused.
    pub fn rest(&self) -> Option<&Rest> {
        self.paused.as_ref()
    }

    /// Whether [`Input::Stop`] was told.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Whether nothing is to start, whatever the reason.
    fn rests(&self) -> bool {
        self.is_paused() || self.is_stopping
    }

    fn has_room(&self) -> bool {
        self.runs.len() < self.limits.max_open
    }

    /// Checks that what is kept twice is kept alike. For tests, after each step.
    ///
    /// # Panics
    /// When it is not.
    pub fn check(&self) {
        for (key, live) in &self.runs {
            assert_eq!(*key, live.run.key, "a run is kept under its key");
            assert!(live.run.state.is_open(), "{key} is {} and still kept", live.run.state);
            let is_on_agenda = live.wakes.is_some_and(|entry| self.agenda.holds(entry));
            assert_eq!(
                is_on_agenda,
                live.run.state == RunState::Scheduled,
                "{key} is on the agenda iff scheduled"
            );
            let line = self.lines.get(&key.job);
            let is_in_line = line.is_some_and(|line| line.holds(live.run.due, key));
            assert_eq!(
                is_in_line,
                live.run.state != RunState::Scheduled,
                "{key} is in line iff queued or running"
            );
        }
        let running = self.runs.values().filter(|live| live.run.state == RunState::Running).count();
        assert_eq!(running, self.places.running_count(), "places are taken by what runs");
        for (name, tracked) in &self.jobs {
            if let Some(entry) = tracked.next {
                assert!(self.agenda.holds(entry), "{name} is on the agenda where it says");
            }
        }
        self.check_gates();
        self.check_probation();
        self.places.check();
    }
}

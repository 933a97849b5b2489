//! The planner: facts in, decisions out.
//!
//! ```text
//!                 ┌──────────────────────────────── Planner ────────────────────────────────┐
//!  Input ───────▶ │ activity    restoring, planning, paused, stopping                       │
//!                 │ clock       when planning began, and whether the clock was set back     │
//!                 │ schedule    when which job or run is to be looked at                    │
//!                 │ jobs        definitions, marks, and what waits for room                 │ ──▶ take_batch
//!                 │ runs        open runs: their admission, their slots, and the workers    │
//!                 │ lookahead   ids of the one-shot jobs of the near future                 │
//!                 │ followers   who follows the end of whose runs                           │
//!                 │ silences    when which job has been silent for too long                 │
//!                 │ counts      how many notifications went where                           │
//!                 │ quarantine  what may have killed the server                             │
//!                 │ pruning     which history has grown enough                              │
//!                 │ numbers     for what has no name of its own                             │
//!                 │ ledger      what is to be written, and what waits for it                │ ──▶ Output
//!                 └─────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Each of these parts owns its fields. Its file says and checks what holds among them, and no other file can
//! break it. The decisions are beside them and go from one part to the next: `restoration`, `definitions`,
//! `tick`, `occurrence`, `admission`, `start`, `end`, `follow`, `hooks`, `crash`, `one_shots`, `command`,
//! `naming`, `worker_events`.
//!
//! An output leaves the planner only with [`Input::Committed`] of the batch that has its record. A shell that
//! forgets this gets no outputs at all. Batches are answered in the order in which they were taken, and
//! several may be on their way.
//!
//! The schedule queue is a timer queue of `mainspring-queue`. Wall time can be set back, and a queue's time
//! cannot: `wall_ticks` translates. The shell needs one timer, at [`Planner::next_due`].
//!
//! Cost: a fact costs O(log n) for each run it touches. A tick looks at no more than [`Limits::per_turn`]
//! jobs and runs, and `next_due` says at once that there is more. Memory: open runs, jobs, and the near
//! one-shot jobs, each with a limit.
//!
//! Does not measure how long something takes: see [`Timeout`](crate::Timeout).

mod activity;
mod admission;
mod admission_queue;
mod clock_watch;
mod command;
mod crash;
mod definitions;
mod end;
mod follow;
mod followers;
mod groups;
mod hold;
mod holds;
mod hooks;
mod job_batches;
mod jobs;
mod lateness;
mod ledger;
mod limits;
mod live;
mod lookahead;
mod lookup;
mod naming;
mod notification_counts;
mod numbers;
mod occurrence;
mod one_shots;
mod open_runs;
mod places;
mod preview;
mod pruning;
mod quarantine;
mod rest;
mod restoration;
mod run_slots;
mod schedule_queue;
mod start;
mod tick;
mod unserved;
mod wait;
mod wall_queue;
mod wall_ticks;
mod worker_events;
mod workers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::input::Input;
use crate::name::JobName;
use crate::operation::Batch;
use crate::output::{Output, Start};
use crate::work::Action;
use crate::worker::Needs;

use activity::Activity;
use clock_watch::ClockWatch;
use followers::Followers;
use jobs::Jobs;
use ledger::Ledger;
use live::Live;
use lookahead::Lookahead;
use notification_counts::NotificationCounts;
use numbers::Numbers;
use open_runs::OpenRuns;
use pruning::Pruning;
use quarantine::Quarantine;
use schedule_queue::ScheduleQueue;

pub use admission_queue::Load;
pub use command::MAX_WAITING_REQUESTS;
pub use followers::MAX_FOLLOWERS;
pub use hold::Hold;
pub use holds::HoldRows;
pub use limits::Limits;
pub use preview::{MAX_BACKFILL_RUNS, preview, rewind_preview};
pub use quarantine::{MAX_CRASHES, MAX_ON_PROBATION, PROBATION};
pub use unserved::UNSERVED_PATIENCE;

/// Decides. The [module's page](self) says how.
///
/// # Example
/// ```
/// # use mainspring_job::{Input, Limits, MemoryStore, Owner, Planner, Store};
/// use mainspring_job::cron::Schedule;
/// use mainspring_job::{Action, Command, Definitions, Job, Ticket, Timetable, Work};
///
/// # let mut store = MemoryStore::new();
/// # let lease = store.acquire(&Owner::new("example"))?;
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
    epoch: u64,
    limits: Limits,
    activity: Activity,
    clock: ClockWatch,
    schedule_queue: ScheduleQueue,
    jobs: Jobs,
    runs: OpenRuns,
    lookahead: Lookahead,
    followers: Followers,
    notification_counts: NotificationCounts,
    quarantine: Quarantine,
    pruning: Pruning,
    numbers: Numbers,
    ledger: Ledger,
    machine_start: Timestamp,
    /// Those that have run since, until planning begins.
    ran_since_boot: BTreeSet<JobName>,
}

impl Planner {
    /// A planner for the owner of an epoch. It first wants to be told what the store holds, then
    /// [`Input::Begin`].
    pub fn new(epoch: u64, limits: Limits) -> Planner {
        Planner {
            epoch,
            activity: Activity::default(),
            clock: ClockWatch::default(),
            schedule_queue: ScheduleQueue::default(),
            jobs: Jobs::default(),
            runs: OpenRuns::default(),
            lookahead: Lookahead::default(),
            followers: Followers::default(),
            notification_counts: NotificationCounts::default(),
            quarantine: Quarantine::default(),
            pruning: Pruning::new(limits.once_retention),
            numbers: Numbers::new(epoch),
            ledger: Ledger::default(),
            machine_start: Timestamp::MAX,
            ran_since_boot: BTreeSet::new(),
            limits,
        }
    }

    /// The same planner, whose actions need this of the worker that carries them out; without it they need
    /// nothing. Said before the first fact; it must give the same answer for the same action each time.
    ///
    /// # Example
    /// ```
    /// use mainspring_job::{Limits, Needs, Planner, WorkerLabel};
    ///
    /// let process: WorkerLabel = "process".parse()?;
    /// let planner = Planner::new(1, Limits::default()).requiring(move |action| match action.kind() {
    ///     "process" => Needs::new([(process.clone(), 0)]),
    ///     _ => Needs::default(),
    /// });
    /// assert_eq!(planner.unserved().count(), 0);
    /// # Ok::<(), mainspring_job::WorkerLabelError>(())
    /// ```
    #[must_use]
    pub fn requiring(mut self, needs: impl Fn(&Action) -> Needs + Send + Sync + 'static) -> Planner {
        self.runs.slots.require(Arc::new(needs));
        self
    }

    /// The same planner, which follows an owner that was last heard of so long before planning begins, as
    /// [`Lease::silent`](crate::Lease::silent) says: until then that one lived, so no run that had started
    /// long before killed it. Said before the first fact.
    #[must_use]
    pub fn following(mut self, silent: Option<Duration>) -> Planner {
        self.quarantine.follow(silent);
        self
    }

    /// Says when the machine was started. A job with `@reboot` runs for that start, unless it has run or was
    /// defined since. [`Timestamp::MIN`]: no such job runs. Without this call each does. A job that is
    /// due at each start of the server runs in any case. Called before the first fact.
    ///
    /// # Example
    /// ```
    /// use mainspring_job::jiff::Timestamp;
    /// use mainspring_job::{Limits, Planner};
    ///
    /// let (kept, now) = ("8f2c", "8f2c");
    /// let mut planner = Planner::new(1, Limits::default());
    /// if kept == now {
    ///     planner.set_machine_start(Timestamp::MIN);
    /// }
    /// ```
    pub fn set_machine_start(&mut self, at: Timestamp) {
        self.machine_start = at;
    }

    /// Takes in one fact at a time `now`, by the store's clock, and appends what is to be done now.
    ///
    /// # Panics
    /// When a batch is said to be committed that was not taken, or out of order.
    pub fn handle(&mut self, now: Timestamp, input: Input, outputs: &mut Vec<Output>) {
        self.runs.begin_turn(now);
        self.schedule_queue.tell(now);
        self.lookahead.tell(self.ahead_of(now));
        let is_look = matches!(input, Input::Tick | Input::Loaded { .. });
        if self.activity.is_early(&input) {
            return self.activity.keep_early(input);
        }
        match input {
            Input::Restore { jobs, former, runs, paused } => self.restore(now, jobs, former, runs, paused),
            Input::Worker(event) => self.worker(now, event),
            Input::Begin { takeover } => self.begin(now, takeover),
            Input::Tick => self.tick(now),
            Input::Ended(end) => self.ended(now, end),
            Input::Loaded { pending, is_complete } => {
                match is_complete {
                    true => self.lookahead.read_last(pending),
                    false => self.lookahead.read(pending),
                }
                self.loaded(now);
            }
            Input::LoadedIds { ids, is_complete: true } => self.lookahead.scanned_last(&ids),
            Input::LoadedIds { ids, is_complete: false } => self.lookahead.scanned(&ids),
            Input::BatchChecked { batch, is_pending } => self.batch_checked(&batch, is_pending),
            Input::Holders(holders) => self.ledger.tell_holders(holders),
            Input::Committed { number, answers } => self.committed(now, number, &answers, outputs),
            Input::Stop => self.activity.stop(),
            Input::Audit(audit) => self.ledger.begin_audit(audit),
            Input::Command { ticket, command } => self.command(now, ticket, command),
        }
        self.fill(now);
        self.tell_of_unserved(now);
        for live in self.runs.take_postponed() {
            self.schedule(now, live);
        }
        self.prune_histories(now);
        self.ledger.end_unit();
        self.request_ids(now);
        self.check_batches();
        if is_look {
            self.request_portion(now);
        }
        self.ledger.release(outputs);
        debug_assert!(
            self.activity.is_planning() || self.runs.len() == 0,
            "no run is open before planning begins"
        );
        debug_assert!(!self.lookahead.is_firing(), "a one-shot job that fires is recorded in the same turn");
    }

    /// What is to be written next, at most [`MAX_BATCH_OPERATIONS`](crate::MAX_BATCH_OPERATIONS); there may
    /// be more. What belongs together is in one batch. `None` if there is nothing.
    pub fn take_batch(&mut self) -> Option<Batch> {
        let batch = self.ledger.take_batch()?;
        let fence = Numbers::fence(self.epoch, batch.number);
        self.ledger.last_starts().for_each(|start| start.fence = fence);
        Some(batch)
    }

    /// What starts when the batch that was taken last is on disk, as far as the store finds each new.
    pub fn last_starts(&mut self) -> impl Iterator<Item = &Start> {
        self.ledger.last_starts().map(|start| &*start)
    }

    /// Whether [`take_batch`](Self::take_batch) has something to give.
    pub fn has_batch(&self) -> bool {
        !self.ledger.is_empty()
    }

    /// The next time at which [`Input::Tick`] does something; in the past if it would now. `None`: not until
    /// something else happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        if !self.activity.is_planning() || self.activity.starts_nothing() {
            return self.activity.paused_until();
        }
        let once = self.lookahead.next_due(self.limits.lead).filter(|_| self.has_room());
        let load = self.lookahead.next_scan(&self.limits);
        let probation = self.quarantine.next_end();
        let crowded = self.has_room_in_line().then_some(Timestamp::MIN);
        let of_runs = [self.runs.slots.next_overdue(), self.runs.slots.next_opening()];
        let others = [self.schedule_queue.next_due(), once, load, probation, crowded];
        others.into_iter().chain(of_runs).flatten().min()
    }

    /// Whether there is room for another open run.
    fn has_room(&self) -> bool {
        0 < self.room()
    }

    /// Whether open runs take half of their room or more.
    fn is_half_full(&self) -> bool {
        self.limits.max_open / 2 <= self.runs.len()
    }

    /// How many more runs may be open.
    fn room(&self) -> usize {
        self.limits.max_open.saturating_sub(self.runs.len())
    }

    /// Checks that what is kept twice is kept alike. For tests, after each step.
    ///
    /// # Panics
    /// When it is not.
    pub fn check(&self) {
        self.jobs.check(&self.schedule_queue);
        self.runs.check(&self.schedule_queue, |job| self.jobs.rest(job));
        self.quarantine.check(|key| self.run(key));
    }
}

//! Schedules on the wall clock: cron that sleeps until the next job instead of polling.
//!
//! ```
//! use mainspring::cron::Schedule;
//!
//! let engine = mainspring::Engine::new()?;
//! let calendar = engine.calendar()?;
//! let schedule = Schedule::parse("30 4 * * mon-fri", "Europe/Paris")?;
//! let backup = calendar.schedule(schedule, |occurrence| println!("due since {}", occurrence.nominal))?;
//! println!("the next backup is at {}", backup.next_run().expect("there are weekdays ahead"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each entry has one timer, for its next occurrence, its *nominal* time. When it fires, the wall clock is
//! asked: an entry never runs before its nominal time, and waits on if the clock was set back.
//!
//! A clock that is set forward, a machine that was suspended, a process that was stopped and a callback that
//! was slow are one thing: the time is compared with the last nominal time. Of the occurrences that have
//! passed, the latest one runs if it is at most [`MISFIRE_WINDOW`] old, and the others are counted in it. If
//! it is older, none runs, and all of them are counted in the next run.
//!
//! When the clock is set back, no occurrence runs a second time: an entry rests until the clock shows its
//! next nominal time, however far the clock was set. [`Entry::rewind`] ends the rest of an entry whose clock
//! had run far ahead.
//!
//! These are the rules of the scheduler `mainspring serve` for a job with its default policy, except that
//! what is late is not spread over two minutes: an entry lives in one process, and runs as soon as it can.
//!
//! Callbacks run on the driver's thread: see [`callback`](super::callback). An entry never runs beside
//! itself.
//!
//! Cost: one timer per entry; one schedule computation per run. It does not remember anything across a
//! restart.
//!
//! Source: the article on a crontab that sleeps until the next job; for clock changes the misfire policies of
//! Quartz.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Zoned};
use mainspring_cron::Schedule;

use super::period::Add;
use super::task::{Task, run_then};
use crate::clock::wall::{System, WallClock};
use crate::driver::{Refusal, TimerId};
use crate::epoch::{Change, Epoch};
use crate::handle::{Handle, Local};
use crate::sync::{Mutex, lock};

/// Up to how many missed occurrences are counted one by one: more would hold up the driver's thread.
pub const MISSED_COUNT_MAX: u32 = 10_000;

/// How old an occurrence may be and still run. It is a day: an occurrence of the night is caught up in the
/// morning, and a machine that wakes after a month does not run old work unexpectedly. The scheduler's
/// default policy has the same window.
pub const MISFIRE_WINDOW: SignedDuration = SignedDuration::from_hours(24);

/// One run of an entry.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::wall::ManualWall;
/// use mainspring::cron::Schedule;
/// use mainspring::{Calendar, Simulation};
///
/// let simulation = Simulation::new();
/// let wall = ManualWall::new(simulation.clock().clone(), "2026-02-27T00:00:00Z".parse()?);
/// let calendar = Calendar::with_wall(simulation.engine().handle().clone(), wall);
/// let (sender, runs) = std::sync::mpsc::channel();
/// let entry = calendar.schedule(Schedule::parse("30 4 * * *", "UTC")?, move |run| sender.send(run).unwrap_or(()))?;
/// simulation.advance(Duration::from_secs(24 * 3_600));
/// let run = runs.try_recv()?;
/// assert_eq!((run.nominal.hour(), run.missed_count, run.lateness), (4, 0, Duration::ZERO));
/// # drop(entry);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The time that the schedule names.
    pub nominal: Zoned,
    /// How long after that the callback is run, by the wall clock.
    pub lateness: Duration,
    /// How many earlier occurrences passed without a run since the last one; at most [`MISSED_COUNT_MAX`].
    pub missed_count: u32,
}

/// Runs callbacks by schedules. Clones are the same calendar; when the last is dropped, nothing runs any
/// more.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::wall::ManualWall;
/// use mainspring::cron::Schedule;
/// use mainspring::{Calendar, Simulation};
///
/// let simulation = Simulation::new();
/// let wall = ManualWall::new(simulation.clock().clone(), "2026-02-27T00:00:00Z".parse()?);
/// let calendar = Calendar::with_wall(simulation.engine().handle().clone(), wall);
/// let (sender, runs) = std::sync::mpsc::channel();
/// let entry = calendar.schedule(Schedule::parse("30 4 * * *", "UTC")?, move |run| sender.send(run).unwrap_or(()))?;
/// simulation.advance(Duration::from_secs(2 * 24 * 3_600));
/// assert_eq!(runs.try_iter().count(), 2);
/// # drop(entry);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "what was scheduled ends with the last clone of its calendar"]
pub struct Calendar {
    shared: Arc<Shared>,
}

/// One schedule in a calendar. Dropping it leaves the schedule running.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::wall::ManualWall;
/// use mainspring::cron::Schedule;
/// use mainspring::{Calendar, Simulation};
///
/// let simulation = Simulation::new();
/// let wall = ManualWall::new(simulation.clock().clone(), "2026-02-27T00:00:00Z".parse()?);
/// let calendar = Calendar::with_wall(simulation.engine().handle().clone(), wall);
/// let (sender, runs) = std::sync::mpsc::channel();
/// let entry = calendar.schedule(Schedule::parse("30 4 * * *", "UTC")?, move |run| sender.send(run).unwrap_or(()))?;
/// assert_eq!(entry.next_run().unwrap().to_string(), "2026-02-27T04:30:00+00:00[UTC]");
/// entry.cancel();
/// assert!(entry.next_run().is_none());
/// # drop(runs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Entry {
    shared: Weak<Shared>,
    key: u64,
}

struct Shared {
    handle: Handle<Task>,
    epoch: Epoch,
    plan: Mutex<Plan>,
    #[cfg(target_os = "linux")]
    watch: Mutex<Option<crate::clock::wall::Watch>>,
}

#[derive(Default)]
struct Plan {
    entries: BTreeMap<u64, PlannedEntry>,
    next_key: u64,
}

type Callback = Arc<Mutex<dyn FnMut(Occurrence) + Send>>;

struct PlannedEntry {
    upcoming: Upcoming,
    callback: Callback,
    part: Local<Task>,
    timer: Option<TimerId>,
    /// Grows with each timer: a run whose timer had left the queue when another was set does not come.
    generation: u64,
    /// Meanwhile there is no timer: the next run is scheduled when this one has ended.
    is_running: bool,
}

/// The occurrences of a schedule that have not come yet.
pub(super) struct Upcoming {
    schedule: Schedule,
    /// The nominal time of the next; `None`: never again.
    pub(super) next: Option<Zoned>,
    /// How many have passed that were too old to come; the next that comes counts them.
    dropped_count: u32,
}

impl Calendar {
    /// Makes a calendar on the system's wall clock, over a driver that runs tasks. On Linux a thread watches
    /// for the clock being set; elsewhere the owner must call [`clock_changed`](Self::clock_changed).
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(handle: Handle<Task>) -> io::Result<Calendar> {
        let calendar = Calendar::with_wall(handle, System);
        #[cfg(target_os = "linux")]
        {
            let shared = Arc::downgrade(&calendar.shared);
            let watch = crate::clock::wall::Watch::start(move || {
                if let Some(shared) = shared.upgrade() {
                    shared.notice_change();
                }
            })?;
            *lock(&calendar.shared.watch) = Some(watch);
        }
        Ok(calendar)
    }

    /// Makes a calendar on any wall clock. Its owner must call [`clock_changed`](Self::clock_changed) when
    /// that is set.
    pub fn with_wall(handle: Handle<Task>, wall: impl WallClock) -> Calendar {
        let epoch = Epoch::new(Arc::clone(handle.clock()), wall);
        let shared = Shared {
            handle,
            epoch,
            plan: Mutex::default(),
            #[cfg(target_os = "linux")]
            watch: Mutex::new(None),
        };
        Calendar { shared: Arc::new(shared) }
    }

    /// Runs `callback` at each occurrence of `schedule` after now. A schedule without any (`@reboot` has
    /// none, nor has 30 February) is taken and never runs.
    ///
    /// # Errors
    /// The driver was shut down, or its queue rejects the deadline. The callback is dropped.
    pub fn schedule(
        &self,
        schedule: Schedule,
        callback: impl FnMut(Occurrence) + Send + 'static,
    ) -> Result<Entry, Refusal> {
        let part = self.shared.handle.local()?;
        let mut plan = lock(&self.shared.plan);
        let key = plan.next_key;
        let mut planned = PlannedEntry {
            upcoming: Upcoming::after(schedule, self.shared.epoch.now()),
            callback: Arc::new(Mutex::new(callback)),
            part,
            timer: None,
            generation: 0,
            is_running: false,
        };
        if let Err(refusal) = self.shared.arm(key, &mut planned, Local::schedule) {
            // The callback's drop is its owner's code.
            drop(plan);
            return Err(refusal);
        }
        plan.next_key += 1;
        plan.entries.insert(key, planned);
        Ok(Entry { shared: Arc::downgrade(&self.shared), key })
    }

    /// Sets the timers of all entries again if the wall clock has been set; harmless if it has not.
    pub fn clock_changed(&self) {
        self.shared.notice_change();
    }

    /// Returns the nominal time of the next run of any entry.
    pub fn next_run(&self) -> Option<Zoned> {
        let plan = lock(&self.shared.plan);
        plan.entries.values().filter_map(|planned| planned.upcoming.next.clone()).min_by_key(Zoned::timestamp)
    }
}

impl Entry {
    /// Returns the nominal time of the next run; `None` if there is none, or the entry was cancelled.
    pub fn next_run(&self) -> Option<Zoned> {
        let shared = self.shared.upgrade()?;
        let plan = lock(&shared.plan);
        plan.entries.get(&self.key)?.upcoming.next.clone()
    }

    /// Plans the next run from what the wall clock shows now, and returns its nominal time.
    ///
    /// An entry rests after the clock was set back, until the clock shows the next nominal time. If the clock
    /// had run ahead by years, that takes years, and this ends it. Occurrences that ran while the clock was
    /// ahead run again when the clock shows their times. An entry whose next time has come does not rest: its
    /// run comes, and that time is returned. Returns `None` if the schedule has no occurrence after now, the
    /// entry was cancelled or the calendar dropped.
    pub fn rewind(&self) -> Option<Zoned> {
        let shared = self.shared.upgrade()?;
        // Dropped after the lock is released, as it was declared before.
        let _cancelled;
        let mut plan = lock(&shared.plan);
        let planned = plan.entries.get_mut(&self.key)?;
        let now = shared.epoch.now();
        if planned.upcoming.next.as_ref().is_some_and(|next| next.timestamp() <= now) {
            return planned.upcoming.next.clone();
        }
        _cancelled = planned.timer.and_then(|timer| planned.part.cancel(timer));
        planned.upcoming.next = planned.upcoming.schedule.next_after(now);
        shared.rearm(self.key, planned);
        planned.upcoming.next.clone()
    }

    /// Ends the entry; tells whether it did. A run that has begun ends by itself. `false`: already cancelled.
    pub fn cancel(&self) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        let planned = lock(&shared.plan).entries.remove(&self.key);
        let Some(planned) = planned else { return false };
        planned.forget();
        true
    }
}

impl PlannedEntry {
    /// Cancels the timer and drops the callback, with no lock held. A task that is gone finds no entry.
    fn forget(self) {
        drop(self.timer.map(|timer| self.part.cancel(timer)));
    }
}

impl Drop for Shared {
    /// The timers end with the calendar.
    fn drop(&mut self) {
        let entries = std::mem::take(&mut lock(&self.plan).entries);
        entries.into_values().for_each(PlannedEntry::forget);
    }
}

impl Shared {
    /// Schedules the timer for an entry's next run. The plan's lock is held: the driver's is taken inside it.
    fn arm(self: &Arc<Self>, key: u64, planned: &mut PlannedEntry, add: Add) -> Result<(), Refusal> {
        planned.timer = None;
        planned.generation += 1;
        let generation = planned.generation;
        let next = planned.upcoming.next.as_ref().filter(|_| !planned.is_running);
        let Some(next) = next else { return Ok(()) };
        let deadline = self.epoch.tick_at(next.timestamp());
        let shared = Arc::downgrade(self);
        let task = Task::new(move |_| {
            if let Some(shared) = shared.upgrade() {
                shared.fire(key, generation);
            }
        });
        planned.timer = Some(add(&planned.part, deadline, task).map_err(|refused| refused.reason)?);
        Ok(())
    }

    /// The same where no caller can be told: the driver is shutting down, and nothing more will run.
    fn rearm(self: &Arc<Self>, key: u64, planned: &mut PlannedEntry) {
        if self.arm(key, planned, Local::schedule_assured).is_err() {
            planned.upcoming.next = None;
        }
    }

    fn fire(self: &Arc<Self>, key: u64, generation: u64) {
        if self.notice_change() {
            // Every entry has a new timer, this one included.
            return;
        }
        let now = self.epoch.now();
        let mut plan = lock(&self.plan);
        let planned = plan.entries.get_mut(&key).filter(|planned| planned.generation == generation);
        let Some(planned) = planned else { return };
        // Where none is due, the wall clock went slower than the ticks, or the queue's horizon lies before
        // that, or what has passed is too old: it waits for the next.
        let Some(occurrence) = planned.upcoming.take_due(now) else { return self.rearm(key, planned) };
        planned.timer = None;
        planned.is_running = true;
        let callback = Arc::clone(&planned.callback);
        drop(plan);
        run_then(|| lock(&callback)(occurrence), || self.end_run(key));
    }

    /// Schedules the next run of an entry, if it has not been cancelled during the last.
    fn end_run(self: &Arc<Self>, key: u64) {
        let mut plan = lock(&self.plan);
        if let Some(planned) = plan.entries.get_mut(&key) {
            planned.is_running = false;
            self.rearm(key, planned);
        }
    }

    /// Sets the timers of all entries again if the wall clock was set; tells whether it was.
    fn notice_change(self: &Arc<Self>) -> bool {
        // Dropped after the lock is released, as it was declared before.
        let mut cancelled = Vec::new();
        let mut plan = lock(&self.plan);
        if self.epoch.observe() == Change::Steady {
            return false;
        }
        for (&key, planned) in &mut plan.entries {
            cancelled.extend(planned.timer.and_then(|timer| planned.part.cancel(timer)));
            self.rearm(key, planned);
        }
        true
    }
}

impl Upcoming {
    /// What `schedule` names after now.
    pub(super) fn after(schedule: Schedule, now: Timestamp) -> Upcoming {
        Upcoming { next: schedule.next_after(now), schedule, dropped_count: 0 }
    }

    /// Takes the latest of those that are due; `None`: none is, or it is too old.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<Occurrence> {
        let nominal = self.next.take_if(|nominal| nominal.timestamp() <= now)?;
        let (nominal, missed_count) = latest(&self.schedule, nominal, now);
        let missed_count = self.dropped_count.saturating_add(missed_count).min(MISSED_COUNT_MAX);
        self.next = self.schedule.next_after(nominal.timestamp());
        let late = now.duration_since(nominal.timestamp());
        if MISFIRE_WINDOW < late {
            self.dropped_count = missed_count.saturating_add(1).min(MISSED_COUNT_MAX);
            return None;
        }
        self.dropped_count = 0;
        let lateness = Duration::try_from(late).unwrap_or(Duration::ZERO);
        Some(Occurrence { nominal, lateness, missed_count })
    }
}

/// The last occurrence from `nominal` to `now`, and how many come before it.
fn latest(schedule: &Schedule, nominal: Zoned, now: Timestamp) -> (Zoned, u32) {
    let mut latest = nominal;
    for missed_count in 0..MISSED_COUNT_MAX {
        match schedule.next_after(latest.timestamp()) {
            Some(next) if next.timestamp() <= now => latest = next,
            _ => return (latest, missed_count),
        }
    }
    let after_now = now.checked_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX);
    (schedule.prev_before(after_now).unwrap_or(latest), MISSED_COUNT_MAX)
}

impl fmt::Debug for Calendar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Calendar").finish_non_exhaustive()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Entry").field("key", &self.key).finish_non_exhaustive()
    }
}

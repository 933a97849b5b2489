//! The driver with a queue per worker of the program, run from the worker's own loop, with stealing: Go from
//! 1.14.
//!
//! ```text
//!   worker 0   [shard 0: queue]   loop { adopt; fire what is due in its shards; else steal; else sleep }
//!   worker 1   [shard 1: queue]
//!   worker 2   [shard 2: queue]   stuck in a callback: its shard is overdue, a worker with nothing to do runs its timers
//! ```
//!
//! `schedule`, `cancel` and the other calls are those of every driver with shards: see `shard_set.rs`. Here
//! stands which shard a caller has, and which thread fires it.
//!
//! A *worker* is a thread that has taken a [`Worker`] and runs it; [`start`](PerWorker::start) starts one
//! thread for each. What a worker's thread schedules goes to its own shard, whose lock no other thread wants
//! in the common case, from its first [`fire_due`](Worker::fire_due) on and between such calls too; what
//! other threads schedule goes round the shards. The shard stands in the timer's id, so any thread can cancel
//! or reset.
//!
//! Wake-up rule. A worker sleeps until its shards' next wakeup. A timer that becomes the earliest of its
//! shard wakes the shard's worker if that sleeps past it; if that is at work, and no sleeper wakes by then,
//! the timer interrupts the one that sleeps longest. Before a worker enters a callback it makes sure in the
//! same way that the earliest of all timers is watched; so does one that goes to sleep. The watcher gives the
//! owner [`GRACE`] to do its work itself, then steals.
//!
//! When a worker ends, its shards go to another, ids and all: an orphaned shard is adopted by the next worker
//! that looks, and a sleeper is woken to look.
//!
//! | field | guard | why |
//! |---|---|---|
//! | a shard's queue | the shard | see [`shard`](super) |
//! | a shard's `next`; who sleeps, and until when; who owns which shard | see `worker_slots.rs` | |
//! | `orphans` | itself | `orphan_count` beside it saves workers the lock |
//! | `is_stopping` | atomic | only ever set; the notifiers make workers look |
//!
//! On shutdown every worker ends its firing and its `run` returns; threads of the program's own are not
//! waited for. What is pending is handed back, earliest first.
//!
//! Cost: a scheduling worker takes its own shard's lock and, if the timer is the shard's earliest, looks at
//! each worker once. Callbacks run in parallel. A callback that blocks delays only itself, and others by
//! `GRACE`.
//!
//! Source: Go 1.14's `runtime/proc.go` and `time.go`: timers per P, `wakeNetPoller`, `moveTimers`, stealing
//! of timers.

mod worker_slots;

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::{ResetError, Tick, TimerQueue};

use self::worker_slots::{AWAKE, NO_WORKER, WorkerSlot, WorkerSlots};
use super::driver_threads::DriverThreads;
use super::shard::{Alarm, Role, Shard, Turn, Watch};
use super::shard_set::{ShardSet, drive_shards, shard};
use super::{
    Counts, Driver, Fire, Part, Refusal, RefusedTimer, THREAD_NAME, TimerId, Timers, UnfiredTimer,
    thread_number,
};
use crate::clock::Clock;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, lock};

/// How long a due timer is left to its own worker before another one steals it. Longer than a wake-up takes
/// (50 to 100 us), so that watchers do not compete with owners; short beside what people call late.
pub const GRACE: Duration = Duration::from_millis(1);

/// A driver whose queues are run by the program's workers.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::clock::{Clock, Manual};
/// use mainspring::driver::PerWorker;
/// use mainspring::front::RunTasks;
/// use mainspring::queue::heap::Lazy;
/// use mainspring::{Engine, Task};
///
/// let clock = Manual::stepped();
/// let driver = Arc::new(PerWorker::<Lazy<Task>>::new(2, Lazy::new, clock.clone()));
/// let engine = Engine::from_driver(Arc::clone(&driver));
/// let mut workers = [driver.worker().unwrap(), driver.worker().unwrap()]; // for two threads to run
/// engine.callbacks().after(Duration::from_secs(1), |_| println!("on whichever worker"))?;
/// clock.advance(Duration::from_secs(1));
/// workers.iter_mut().for_each(|worker| _ = worker.fire_due(&mut RunTasks));
/// assert_eq!(engine.counts().fired, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PerWorker<Q> {
    shards: Vec<Arc<Shard<Q>>>,
    slots: Arc<WorkerSlots>,
    orphans: Mutex<Vec<usize>>,
    orphan_count: AtomicUsize,
    is_stopping: AtomicBool,
    clock: Arc<dyn Clock>,
    threads: DriverThreads,
}

/// One worker of a driver, for one thread to run. Dropping it leaves its shards to the others.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::clock::{Clock, Manual};
/// use mainspring::driver::PerWorker;
/// use mainspring::front::RunTasks;
/// use mainspring::queue::heap::Lazy;
/// use mainspring::{Engine, Task};
///
/// let clock = Manual::stepped();
/// let driver = Arc::new(PerWorker::<Lazy<Task>>::new(2, Lazy::new, clock.clone()));
/// let engine = Engine::from_driver(Arc::clone(&driver));
/// let mut workers = [driver.worker().unwrap(), driver.worker().unwrap()]; // for two threads to run
/// engine.callbacks().after(Duration::from_secs(1), |_| println!("on whichever worker"))?;
/// clock.advance(Duration::from_secs(1));
/// workers.iter_mut().for_each(|worker| _ = worker.fire_due(&mut RunTasks));
/// assert_eq!(engine.counts().fired, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Worker<Q> {
    driver: Arc<PerWorker<Q>>,
    slot: usize,
    shards: Vec<usize>,
}

crate::sync::thread_local! {
    /// Which driver this thread works for, by address, and the shard that it schedules into.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro knows no const")]
    static POST: Cell<Option<(usize, usize)>> = Cell::new(None);

    /// How many calls of `fire_due` this thread is in.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro knows no const")]
    static DEPTH: Cell<u32> = Cell::new(0);

    /// How often this thread, if it is no worker, has scheduled: its timers go round the shards, beginning
    /// with another shard than those of other threads. No thread writes what others read.
    static TURN: Cell<usize> = Cell::new(thread_number());
}

fn turn_number() -> usize {
    TURN.with(|turn| turn.replace(turn.get().wrapping_add(1)))
}

impl<Q> PerWorker<Q> {
    /// Makes a driver for up to `worker_count` workers, with a queue for each that `make_queue` makes.
    /// Nothing fires until a worker runs.
    ///
    /// # Panics
    /// If `worker_count` is 0 or does not fit in 32 bits.
    pub fn new(worker_count: usize, mut make_queue: impl FnMut() -> Q, clock: impl Clock) -> PerWorker<Q> {
        let clock = clock.into_shared();
        assert!(worker_count > 0, "a driver has a worker");
        assert!(u32::try_from(worker_count).is_ok(), "a worker is named by 32 bits");
        let grace_ticks = GRACE.as_nanos().div_ceil(clock.resolution().as_nanos());
        let slots = Arc::new(WorkerSlots::new(worker_count, u64::try_from(grace_ticks).unwrap_or(u64::MAX)));
        let alarm: Arc<dyn Alarm> = Arc::clone(&slots) as Arc<_>;
        let shard = |index| Shard::new(index, make_queue(), Arc::clone(&clock), Arc::clone(&alarm));
        PerWorker {
            shards: (0..worker_count as u32).map(shard).map(Arc::new).collect(),
            slots,
            orphans: Mutex::new((0..worker_count).collect()),
            orphan_count: AtomicUsize::new(worker_count),
            is_stopping: AtomicBool::new(false),
            clock,
            threads: DriverThreads::new(),
        }
    }

    /// Starts a thread for each worker, with a clone of `fire`.
    ///
    /// # Errors
    /// The operating system would not start a thread; those that were started run.
    pub fn start<T>(self: &Arc<Self>, fire: &(impl Fire<T> + Clone + 'static)) -> io::Result<()>
    where
        T: 'static,
        Q: TimerQueue<T> + Send + 'static,
    {
        while let Some(mut worker) = self.worker() {
            let mut fire = fire.clone();
            let name = format!("{THREAD_NAME}-{}", worker.slot);
            if !self.threads.start(name, move || worker.run(&mut fire))? {
                break;
            }
        }
        Ok(())
    }

    /// Takes a free worker's place, with its shard if no worker adopted that; `None` if all are taken.
    pub fn worker(self: &Arc<Self>) -> Option<Worker<Q>> {
        let free = |slot: &WorkerSlot| !slot.is_taken.swap(true, Ordering::AcqRel);
        let slot = self.slots.all().iter().position(free)?;
        let mut worker = Worker { driver: Arc::clone(self), slot, shards: Vec::new() };
        let mut orphans = lock(&self.orphans);
        if let Some(place) = orphans.iter().position(|&shard| shard == slot) {
            worker.shards.push(orphans.swap_remove(place));
            self.orphan_count.store(orphans.len(), Ordering::SeqCst);
            self.slots.set_owner(slot, slot);
        }
        drop(orphans);
        Some(worker)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The earliest tick at which something in any shard may be due.
    fn earliest(&self) -> Tick {
        self.shards.iter().map(|shard| shard.next()).min().unwrap_or(Tick::MAX)
    }
}

/// While a worker is in a callback, others watch what is due next.
struct WatchedByOthers<'a, Q>(&'a PerWorker<Q>);

impl<Q> Watch for WatchedByOthers<'_, Q> {
    const NEEDS_NEXT: bool = true;

    fn before_firing(&self) {
        self.0.slots.ensure_watched(self.0.earliest());
    }
}

impl<Q> Worker<Q> {
    /// Fires timers on the calling thread, its own first, then those of workers that are stuck, and sleeps in
    /// between, until the driver is shut down.
    pub fn run<T>(&mut self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        while !self.driver.is_stopping.load(Ordering::SeqCst) {
            if !self.fire_due(fire) {
                self.sleep();
            }
        }
    }

    /// Fires what is due, up to a batch per shard; tells whether there may be more. For a worker that has
    /// other work to do: while it returns `false`, the shards' next wakeup is
    /// [`next_wakeup`](Self::next_wakeup).
    pub fn fire_due<T>(&mut self, fire: &mut impl Fire<T>) -> bool
    where
        Q: TimerQueue<T>,
    {
        self.adopt();
        let is_nested = DEPTH.with(|depth| depth.replace(depth.get() + 1)) > 0;
        let outer = POST.with(Cell::get);
        if let Some(&shard) = self.shards.first() {
            POST.with(|post| post.set(Some((self.driver.address(), shard))));
        }
        let (driver, watch) = (&*self.driver, WatchedByOthers(&self.driver));
        let mut is_busy = false;
        for &shard in &self.shards {
            is_busy |= driver.shards[shard].turn(Role::Owner, fire, &watch) == Turn::Busy;
        }
        is_busy = is_busy || self.steal(fire);
        DEPTH.with(|depth| depth.set(depth.get() - 1));
        if is_nested {
            // A callback of another driver's worker runs this one.
            POST.with(|post| post.set(outer));
        }
        is_busy
    }

    /// Runs timers of shards whose workers have not come to them; tells whether there were any.
    fn steal<T>(&self, fire: &mut impl Fire<T>) -> bool
    where
        Q: TimerQueue<T>,
    {
        let driver = &*self.driver;
        let mut has_stolen = false;
        for (index, shard) in driver.shards.iter().enumerate() {
            let overdue_from = driver.slots.watched_from(shard.next());
            if !self.shards.contains(&index) && overdue_from <= driver.clock.now() {
                // One at a time: the owner may be back by then.
                let turn = shard.turn(Role::Thief, fire, &WatchedByOthers(driver));
                has_stolen |= turn == Turn::Busy;
            }
        }
        has_stolen
    }

    /// Returns when something in this worker's own shards may be due; `None` if nothing is pending there.
    pub fn next_wakeup(&self) -> Option<Tick> {
        let shards = || self.shards.iter().map(|&shard| &self.driver.shards[shard]);
        let next = shards().map(|shard| shard.next()).min()?;
        (next < Tick::MAX || shards().any(|shard| shard.has_next())).then_some(next)
    }

    /// Takes the shards of workers that ended.
    fn adopt(&mut self) {
        if self.driver.orphan_count.load(Ordering::SeqCst) > 0 {
            let mut orphans = lock(&self.driver.orphans);
            for &shard in &*orphans {
                self.driver.slots.set_owner(shard, self.slot);
            }
            self.shards.append(&mut orphans);
            self.driver.orphan_count.store(0, Ordering::SeqCst);
        }
    }

    /// Until when this worker may sleep: its own next wakeup, or, if no other sleeper watches the earliest of
    /// all, that.
    fn sleep_limit(&self) -> Tick {
        let own = self.next_wakeup().unwrap_or(Tick::MAX);
        let earliest = self.driver.earliest();
        if earliest == Tick::MAX {
            return own;
        }
        let limit = self.driver.slots.watched_from(earliest);
        let is_watching = |(index, slot): (usize, &WorkerSlot)| {
            let until = slot.asleep_until.load(Ordering::SeqCst);
            index != self.slot && until != AWAKE && until <= limit.get()
        };
        if self.driver.slots.all().iter().enumerate().any(is_watching) { own } else { own.min(limit) }
    }

    fn sleep(&self) {
        let driver = &*self.driver;
        let slot = &driver.slots.all()[self.slot];
        let until = self.sleep_limit();
        slot.asleep_until.store(until.get().max(AWAKE + 1), Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // From here on a thread that schedules earlier sees this sleeper; what was scheduled before is seen
        // now.
        let is_needed = self.sleep_limit() < until
            || driver.orphan_count.load(Ordering::SeqCst) > 0
            || driver.is_stopping.load(Ordering::SeqCst);
        if !is_needed {
            // At the end of time only a lock tells whether something is pending. The alarm sees this sleeper.
            let until = if until < Tick::MAX { Some(until) } else { self.next_wakeup() };
            driver.clock.wait(&slot.notifier, until);
        }
        slot.asleep_until.store(AWAKE, Ordering::SeqCst);
        if let Some(&shard) = self.shards.first() {
            driver.shards[shard].count_wakeup();
        }
    }
}

impl<Q> Drop for Worker<Q> {
    fn drop(&mut self) {
        // A thread that is ending may have no such variable any more.
        let is_own = |post: Option<(usize, usize)>| post.is_some_and(|(it, _)| it == self.driver.address());
        let _ = POST.try_with(|post| post.set(post.get().filter(|&post| !is_own(Some(post)))));
        let mut orphans = lock(&self.driver.orphans);
        for &shard in &self.shards {
            self.driver.slots.set_owner(shard, NO_WORKER);
        }
        orphans.append(&mut self.shards);
        self.driver.orphan_count.store(orphans.len(), Ordering::SeqCst);
        drop(orphans);
        fence(Ordering::SeqCst);
        let slots = self.driver.slots.all();
        let slot = &slots[self.slot];
        slot.asleep_until.store(AWAKE, Ordering::SeqCst);
        slot.is_taken.store(false, Ordering::Release);
        // The worker that sleeps longest has the least to do. One that is awake looks before it sleeps.
        let sleeper = slots.iter().max_by_key(|slot| slot.asleep_until.load(Ordering::SeqCst));
        if let Some(sleeper) = sleeper {
            sleeper.notifier.notify();
        }
    }
}

drive_shards!([Q] PerWorker<Q> where
    Q: TimerQueue<T> + Send,
);

impl<T, Q> ShardSet<T> for PerWorker<Q>
where
    T: Send,
    Q: TimerQueue<T> + Send,
{
    type Queue = Q;

    fn shard_of_caller(&self) -> Result<&Arc<Shard<Q>>, Refusal> {
        let index = match POST.with(Cell::get) {
            // Another driver may have lain at this address before.
            Some((address, shard)) if address == self.address() && shard < self.shards.len() => shard,
            _ => turn_number() % self.shards.len(),
        };
        Ok(&self.shards[index])
    }

    fn shards(&self) -> &[Arc<Shard<Q>>] {
        &self.shards
    }

    fn end(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        // The notifiers are notified after this, and that is not lost: a thread that misses the store gets
        // the notification.
        self.shards.iter().for_each(|shard| shard.stop());
        self.slots.all().iter().for_each(|slot| slot.notifier.notify());
        self.threads.wait_for_end();
    }
}

impl<Q> fmt::Debug for PerWorker<Q> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PerWorker").finish_non_exhaustive()
    }
}

impl<Q> fmt::Debug for Worker<Q> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").finish_non_exhaustive()
    }
}

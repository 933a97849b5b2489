//! Closures under keys, with a count of repeats: the tasks of the "virtual levels" wheel.
//!
//! ```
//! use std::time::Duration;
//! use mainspring::front::Repeat;
//!
//! let engine = mainspring::Engine::new()?;
//! let tasks = engine.keyed();
//! tasks.schedule("poll", Duration::from_secs(1), Repeat::Forever, |_| println!("polling"))?;
//! tasks.schedule("warn", Duration::from_secs(5), Repeat::Times(3), |_| println!("still waiting"))?;
//! assert_eq!(tasks.find(&"warn").map(|task| task.repeat), Some(Repeat::Times(3)));
//! assert!(tasks.remove(&"poll"));
//! assert_eq!(tasks.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A task has a key, a delay, and a number of runs; it runs first after the delay, and then again after each
//! further delay. Scheduling under a key that is taken replaces the task there. A task whose runs are used up
//! is gone, and its key free.
//!
//! Tasks run on the driver's thread, with no lock held: they may schedule, replace and remove, themselves
//! included. A task's next run is scheduled when the last has ended, so it never runs beside itself. Runs
//! that are over when the driver comes to them are dropped, not made up for; they do not count. When a run is
//! over, and what becomes of a delay that is no whole number of ticks, is as for
//! [`Callbacks::every`](super::Callbacks::every). Once taken, a task continues even if the driver's queue is
//! full.
//!
//! Cost: a hash map entry beside the timer, and no allocation per run for a key of up to 24 bytes; every call
//! takes the front's lock. It does not keep tasks across a restart.
//!
//! Source: the article on a timing wheel with virtual levels: keyed tasks, `-1` for endless repetition.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::{ResetError, Tick};

use super::period::Series;
use super::task::{Firing, Task, run_then};
use crate::driver::{Refusal, TimerId};
use crate::handle::{Handle, Local};
use crate::sync::{Mutex, lock};

/// How often a task runs.
///
/// ```
/// use mainspring::front::Repeat;
///
/// assert_eq!(Repeat::from_count(-1), Repeat::Forever);
/// assert_eq!(Repeat::from_count(3), Repeat::Times(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// So many times: 1 is once, 0 is never.
    Times(u64),
    /// Until it is removed.
    Forever,
}

impl Repeat {
    /// Reads a count as the article has it: a negative one is endless.
    pub const fn from_count(count: i64) -> Repeat {
        if count < 0 { Repeat::Forever } else { Repeat::Times(count as u64) }
    }

    fn less_one(self) -> Repeat {
        match self {
            Repeat::Times(count) => Repeat::Times(count.saturating_sub(1)),
            Repeat::Forever => Repeat::Forever,
        }
    }
}

/// What is known of a task.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
/// use mainspring::front::Repeat;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let tasks = engine.keyed();
/// tasks.schedule("warn", Duration::from_secs(5), Repeat::Times(3), |_| ())?;
/// let found = tasks.find(&"warn").unwrap();
/// assert_eq!((found.deadline.get(), found.repeat), (5_000, Repeat::Times(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyedTask {
    /// When it runs next.
    pub deadline: Tick,
    /// How often it runs from now on.
    pub repeat: Repeat,
}

/// Schedules closures under keys. Clones are the same front; when the last is dropped, its tasks do not run
/// any more.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
/// use mainspring::front::Repeat;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let tasks = engine.keyed();
/// tasks.schedule("warn", Duration::from_secs(5), Repeat::Times(3), |_| println!("still waiting"))?;
/// assert!(tasks.reset(&"warn", Duration::from_secs(60)), "put off");
/// assert_eq!(simulation.advance(Duration::from_secs(60)), 1);
/// assert!(tasks.remove(&"warn"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "what was scheduled ends with the last clone of its front"]
pub struct KeyedTasks<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    handle: Handle<Task>,
    tasks: Mutex<Tasks<K>>,
}

struct Tasks<K> {
    by_key: HashMap<K, Keeper>,
    next_generation: u64,
}

struct Keeper {
    closure: Arc<Mutex<dyn FnMut(Firing) + Send>>,
    part: Local<Task>,
    /// The timer of the next run; `None` during a run.
    timer: Option<TimerId>,
    /// When that is due.
    deadline: Tick,
    /// `None` for what runs once.
    series: Option<Series>,
    repeat: Repeat,
    /// Tells a task from one that took its key later.
    generation: u64,
}

impl<K: Clone + Eq + Hash + Send + 'static> KeyedTasks<K> {
    /// Makes the front of a driver that runs tasks.
    pub fn new(handle: Handle<Task>) -> KeyedTasks<K> {
        let tasks = Mutex::new(Tasks { by_key: HashMap::new(), next_generation: 0 });
        KeyedTasks { shared: Arc::new(Shared { handle, tasks }) }
    }

    /// Runs `closure` under `key`, after `delay` and then again each `delay`, as often as `repeat` says:
    /// `Repeat::Times(1)` is once. Tells whether it replaced another task.
    ///
    /// # Errors
    /// The delay is zero and the task repeats; or the driver would not take the timer. What was under the key
    /// stays.
    pub fn schedule(
        &self,
        key: K,
        delay: Duration,
        repeat: Repeat,
        closure: impl FnMut(Firing) + Send + 'static,
    ) -> Result<bool, Refusal> {
        self.schedule_first(key, delay, repeat, closure, |part, series| {
            series.map_or_else(|| part.clock().after(delay), |series| series.due())
        })
    }

    /// As [`schedule`](Self::schedule), where the first run may come up to `tolerance` later: see
    /// [`Handle::schedule_within`]. The others follow each `delay` after it.
    ///
    /// # Errors
    /// As [`schedule`](Self::schedule).
    pub fn schedule_within(
        &self,
        key: K,
        delay: Duration,
        tolerance: Duration,
        repeat: Repeat,
        closure: impl FnMut(Firing) + Send + 'static,
    ) -> Result<bool, Refusal> {
        let deadline = self.shared.handle.tick_within(delay, tolerance);
        self.schedule_first(key, delay, repeat, closure, |_, series| {
            series.into_iter().for_each(|series| series.begin_at(deadline));
            deadline
        })
    }

    /// Schedules a task whose first run is due when `first` says: it is given the times of one that runs more
    /// than once.
    fn schedule_first(
        &self,
        key: K,
        delay: Duration,
        repeat: Repeat,
        closure: impl FnMut(Firing) + Send + 'static,
        first: impl FnOnce(&Local<Task>, Option<&mut Series>) -> Tick,
    ) -> Result<bool, Refusal> {
        if repeat == Repeat::Times(0) {
            return Ok(self.remove(&key));
        }
        let part = self.shared.handle.local()?;
        let mut series = match repeat {
            Repeat::Times(0..=1) => None,
            Repeat::Times(_) | Repeat::Forever => Some(Series::new(delay, &*part)?),
        };
        let deadline = first(&part, series.as_mut());
        // Made before and dropped after the lock is held, if it comes back.
        let own_key = key.clone();
        let mut tasks = lock(&self.shared.tasks);
        let generation = tasks.next_generation;
        let timer = match part.schedule(deadline, self.shared.task(own_key, generation)) {
            Ok(timer) => Some(timer),
            Err(refused) => {
                drop(tasks);
                return Err(refused.into());
            }
        };
        tasks.next_generation += 1;
        let keeper = Keeper {
            closure: Arc::new(Mutex::new(closure)),
            part,
            timer,
            deadline,
            series,
            repeat,
            generation,
        };
        let replaced = tasks.by_key.insert(key, keeper);
        drop(tasks);
        let was_taken = replaced.is_some();
        Shared::<K>::forget(replaced);
        Ok(was_taken)
    }

    /// Removes a task; tells whether there was one. A run that has begun ends by itself, and none begins
    /// after this.
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let removed = lock(&self.shared.tasks).by_key.remove(key);
        let was_there = removed.is_some();
        Shared::<K>::forget(removed);
        was_there
    }

    /// Removes all tasks; tells how many there were. Their engine continues.
    pub fn clear(&self) -> usize {
        self.shared.clear()
    }

    /// Makes a task run `delay` from now, whenever it was to run; its period and the count of its runs stay.
    /// A run that waits for its executor has not begun: it does not come, and one comes after the delay.
    /// Tells whether it does: not if there is no such task, or it runs now and will not again, or the driver
    /// would not have it.
    pub fn reset<Q>(&self, key: &Q, delay: Duration) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        // Dropped after the lock is released, as it is declared before.
        let _refused;
        let mut tasks = lock(&self.shared.tasks);
        let generation = tasks.next_generation;
        let Some((own, keeper)) = tasks.by_key.get_key_value(key) else { return false };
        let deadline = keeper.part.clock().after(delay);
        // Without a timer it runs now, and its next run is scheduled when this one has ended.
        let replacement = match keeper.timer.map_or(Ok(()), |timer| keeper.part.reset(timer, deadline)) {
            Ok(()) => None,
            Err(ResetError::NotPending) => {
                // The run that has left the queue finds another generation.
                let task = self.shared.task(own.clone(), generation);
                match keeper.part.schedule_assured(deadline, task) {
                    Ok(timer) => Some(timer),
                    Err(refused) => {
                        _refused = refused;
                        return false;
                    }
                }
            }
            Err(_) => return false,
        };
        let Some(keeper) = tasks.by_key.get_mut(key) else { return false };
        if replacement.is_some() {
            (keeper.timer, keeper.generation) = (replacement, generation);
        }
        keeper.deadline = deadline;
        if let Some(series) = &mut keeper.series {
            series.begin_after(&**keeper.part.clock(), delay);
        }
        tasks.next_generation += 1;
        true
    }

    /// Looks a task up.
    pub fn find<Q>(&self, key: &Q) -> Option<KeyedTask>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let tasks = lock(&self.shared.tasks);
        tasks.by_key.get(key).map(|keeper| KeyedTask { deadline: keeper.deadline, repeat: keeper.repeat })
    }

    /// Returns how many tasks there are.
    pub fn len(&self) -> usize {
        lock(&self.shared.tasks).by_key.len()
    }

    /// Tells whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K> Shared<K> {
    fn clear(&self) -> usize {
        let removed = std::mem::take(&mut lock(&self.tasks).by_key);
        let count = removed.len();
        removed.into_values().for_each(|keeper| Shared::<K>::forget(Some(keeper)));
        count
    }

    /// Cancels and drops what left the map, with no lock held: a closure's drop is its owner's code.
    fn forget(keeper: Option<Keeper>) {
        let Some(keeper) = keeper else { return };
        if let Some(timer) = keeper.timer {
            drop(keeper.part.cancel(timer));
        }
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> Shared<K> {
    /// A run. It is scheduled while the map's lock is held: the driver's is taken inside it.
    fn task(self: &Arc<Self>, key: K, generation: u64) -> Task {
        let shared = Arc::downgrade(self);
        Task::new(move |firing| {
            if let Some(shared) = shared.upgrade() {
                shared.fire(key, generation, firing);
            }
        })
    }

    fn fire(self: &Arc<Self>, key: K, generation: u64, firing: Firing) {
        let mut tasks = lock(&self.tasks);
        let Some(keeper) = tasks.by_key.get_mut(&key).filter(|keeper| keeper.generation == generation) else {
            return;
        };
        keeper.timer = None;
        let Some(firing) = firing.of_run(keeper.deadline) else {
            drop(tasks);
            return self.go_on(key, generation);
        };
        let closure = Arc::clone(&keeper.closure);
        keeper.repeat = keeper.repeat.less_one();
        let series = keeper.series.as_mut().filter(|_| keeper.repeat != Repeat::Times(0));
        let next = series.and_then(|series| series.skip(firing.now));
        let mut used_up = None;
        match next {
            None => used_up = tasks.by_key.remove(&key),
            Some(next) => keeper.deadline = next,
        }
        drop(tasks);
        let run = || lock(&closure)(firing);
        if next.is_none() {
            run();
            return drop(used_up);
        }
        // The next run is scheduled after this one, so that a slow closure is never run by two threads.
        run_then(run, || self.go_on(key, generation));
    }

    /// Schedules the next run of a task, if it has not been removed or replaced during the last.
    fn go_on(self: &Arc<Self>, key: K, generation: u64) {
        let mut tasks = lock(&self.tasks);
        let keeper = tasks.by_key.get_mut(&key).filter(|keeper| keeper.generation == generation);
        if let Some(keeper) = keeper {
            // A refusal means that the driver is shutting down: this was the last run.
            let scheduled = keeper.part.schedule_assured(keeper.deadline, self.task(key, generation));
            keeper.timer = scheduled.as_ref().ok().copied();
            drop(tasks);
            drop(scheduled);
        }
    }
}

impl<K> Drop for Shared<K> {
    /// The timers end with the front.
    fn drop(&mut self) {
        self.clear();
    }
}

impl<K> Clone for KeyedTasks<K> {
    fn clone(&self) -> KeyedTasks<K> {
        KeyedTasks { shared: Arc::clone(&self.shared) }
    }
}

impl<K> fmt::Debug for KeyedTasks<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeyedTasks").finish_non_exhaustive()
    }
}

//! The payload of every front's timers: a closure that runs once, or a waker.
//!
//! One payload for all fronts lets them share an engine. A [`Task`] is told of its own [`Firing`]; a driver
//! runs tasks by being started with [`RunTasks`].
//!
//! Cost: none but 48 bytes in the queue's record for a closure of up to 40 bytes; an allocation for a larger
//! one. It does not say when: fronts do.

mod inline;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

use mainspring_queue::Tick;

use self::inline::{Inline, Nature};
use crate::driver::{Fire, FiredTimer};

/// A closure that runs once, on the driver's thread, with no lock held.
///
/// ```
/// use mainspring::{Firing, Task, Tick};
///
/// let task = Task::new(|firing| println!("due at {}, runs at {}", firing.deadline, firing.now));
/// task.run(Firing::new(Tick::new(3), Tick::new(4)));
/// ```
pub struct Task(Inline<Firing>);

impl Task {
    /// Makes a task of a closure. One of up to 40 bytes allocates nothing; a boxed one stays in its box.
    #[inline]
    pub fn new(closure: impl FnOnce(Firing) + Send + 'static) -> Task {
        Task(Inline::new(closure))
    }

    /// Makes a task of a closure that neither blocks nor runs the owner's code, and is small: it stays on the
    /// driver's thread where others are handed to an executor.
    #[inline]
    pub(super) fn brief(closure: impl FnOnce(Firing) + Send + 'static) -> Task {
        Task(Inline::brief(closure))
    }

    /// Makes a task that wakes another, also if it is dropped: then its timer will not fire.
    #[inline]
    pub(super) fn waking(waker: Waker) -> Task {
        Task(Inline::waking(waker))
    }

    /// The waker of a task that was made of one.
    #[inline]
    pub(super) fn waker_mut(&mut self) -> Option<&mut Waker> {
        self.0.waker_mut()
    }

    /// The waker of a task that was made of one, which is not woken. Any other task is dropped.
    #[inline]
    pub(super) fn into_waker(self) -> Option<Waker> {
        self.0.into_waker()
    }

    /// Runs it.
    #[inline]
    pub fn run(self, firing: Firing) {
        self.0.run(firing);
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Task").finish_non_exhaustive()
    }
}

/// What a task is told about its own firing.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// engine.callbacks().after(Duration::from_secs(1), |firing| {
///     println!("due at {}, {} ticks late", firing.deadline, firing.lateness_ticks());
/// })?;
/// simulation.run_until_idle();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Firing {
    /// The tick at which it was to run.
    pub deadline: Tick,
    /// The tick at which it runs.
    pub now: Tick,
}

impl Firing {
    /// Makes what a task is told that was due at one tick and runs at another.
    pub fn new(deadline: Tick, now: Tick) -> Firing {
        Firing { deadline, now }
    }

    /// What a run is told that is due at `due`, where its timer has fired as this tells; `None` if the run is
    /// not due, and is to be scheduled again: the queue's horizon lay before it, or it was put off when its
    /// timer had left the queue. Each front asks this of what it has by `Local::schedule_assured`.
    pub(super) fn of_run(self, due: Tick) -> Option<Firing> {
        (due <= self.now).then_some(Firing { deadline: due, now: self.now })
    }

    /// Returns how late it runs, in ticks of the engine's clock:
    /// [`Clock::duration`](crate::clock::Clock::duration) makes a duration of them.
    pub fn lateness_ticks(&self) -> u64 {
        self.now.since(self.deadline)
    }
}

/// What a front's task is told, by a receiver of fired timers of the program's own.
impl<T> From<&FiredTimer<T>> for Firing {
    fn from(fired: &FiredTimer<T>) -> Firing {
        Firing { deadline: fired.deadline, now: fired.now }
    }
}

/// Runs a closure of the owner's, then `after` even if that panicked, and then lets the panic go on.
pub(super) fn run_then(run: impl FnOnce(), after: impl FnOnce()) {
    // What a panic leaves half done is the closure's own.
    let outcome = catch_unwind(AssertUnwindSafe(run));
    after();
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

/// Runs each task that fires: what a driver of tasks is started with.
///
/// ```
/// use mainspring::clock::Monotonic;
/// use mainspring::front::RunTasks;
/// use mainspring::queue::RedBlackTree;
///
/// let engine = mainspring::Engine::start(RedBlackTree::new(), Monotonic::new(), RunTasks)?;
/// engine.callbacks().after(std::time::Duration::from_secs(1), |_| println!("from a tree"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it is its name, and will be no more")]
pub struct RunTasks;

impl Fire<Task> for RunTasks {
    fn fire(&mut self, fired: FiredTimer<Task>) {
        let FiredTimer { deadline, now, payload, .. } = fired;
        payload.run(Firing { deadline, now });
    }
}

/// Hands each task that fires to an executor of the program's: for callbacks that take long, and must not
/// hold up others.
///
/// The driver is not held up by a slow callback then, and lateness is counted until the task is handed over.
/// Tasks may run at the same time, in any order, and a task that has been handed over can no longer be
/// cancelled. What they panic with is the executor's affair.
///
/// What neither blocks nor runs the program's code stays on the driver's thread: sending on a channel or to a
/// mailbox, and waking a future's task. [`Threads`](super::Threads) is an executor with a limit.
///
/// ```
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::front::RunTasksOn;
/// use mainspring::queue::wheel::Chunked;
///
/// let (jobs, worker) = std::sync::mpsc::channel::<Box<dyn FnOnce() + Send>>();
/// let engine = Engine::start(
///     Chunked::new(),
///     Monotonic::new(),
///     RunTasksOn::new(move |job| jobs.send(job).unwrap_or(())),
/// )?;
/// engine.callbacks().after(std::time::Duration::ZERO, |_| println!("runs on this thread"))?;
/// worker.recv()?();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RunTasksOn<E> {
    execute: E,
}

impl<E: FnMut(Box<dyn FnOnce() + Send>) + Send> RunTasksOn<E> {
    /// Hands tasks to `execute`, which should not block: it is called on the driver's thread.
    pub fn new(execute: E) -> RunTasksOn<E> {
        RunTasksOn { execute }
    }
}

impl<E: FnMut(Box<dyn FnOnce() + Send>) + Send> Fire<Task> for RunTasksOn<E> {
    fn fire(&mut self, fired: FiredTimer<Task>) {
        let FiredTimer { deadline, now, payload, .. } = fired;
        if payload.0.nature() != Nature::Closure {
            return payload.run(Firing { deadline, now });
        }
        (self.execute)(Box::new(move || payload.run(Firing { deadline, now })));
    }
}

//! What a timer of every front is: a closure that runs once.
//!
//! One payload for all fronts lets them share an engine. A [`Task`] is told of its own [`Firing`]; a driver runs tasks by
//! being started with [`RunTasks`].
//!
//! Cost: an allocation per task. It does not say when: fronts do.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mainspring_queue::Tick;

use crate::driver::{Fire, Fired};

/// A closure that runs once, on the driver's thread, with no lock held.
pub type Task = Box<dyn FnOnce(Firing) + Send>;

/// What a task is told about its own firing.
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

    /// Returns how late it runs, in ticks of the engine's clock: [`Clock::duration`](crate::clock::Clock::duration) makes a
    /// duration of them.
    pub fn lateness_ticks(&self) -> u64 {
        self.now.since(self.deadline)
    }
}

/// What a front's task is told, by a receiver of fired timers of the program's own.
impl<T> From<&Fired<T>> for Firing {
    fn from(fired: &Fired<T>) -> Firing {
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
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it is its name, and will be no more")]
pub struct RunTasks;

impl Fire<Task> for RunTasks {
    fn fire(&mut self, fired: Fired<Task>) {
        let Fired { deadline, now, payload, .. } = fired;
        payload(Firing { deadline, now });
    }
}

/// Hands each task that fires to an executor of the program's: for callbacks that take long, and must not hold up others.
///
/// The driver is not held up by a slow callback then, and lateness is counted until the task is handed over. Tasks may run
/// at the same time, in any order, and a task that has been handed over can no longer be cancelled. What they panic with is
/// the executor's affair.
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
    fn fire(&mut self, fired: Fired<Task>) {
        let Fired { deadline, now, payload, .. } = fired;
        (self.execute)(Box::new(move || payload(Firing { deadline, now })));
    }
}

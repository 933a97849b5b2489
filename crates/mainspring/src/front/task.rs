//! The payload of every front's timers: a closure that runs once, or a waker.
//!
//! One payload for all fronts lets them share an engine. A [`Task`] is told of its own [`Firing`]; a driver
//! runs tasks by being started with [`RunTasks`].
//!
//! Cost: none but 48 bytes in the queue's record for a closure of up to 40 bytes; an allocation for a larger
//! one. It does not say when: fronts do.

mod firing;
mod inline;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub use self::firing::Firing;
pub use self::inline::Task;

use self::inline::Nature;
use crate::driver::{Fire, FiredTimer};

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
        let firing = Firing::from(&fired);
        fired.payload.run(firing);
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
        let (firing, task) = (Firing::from(&fired), fired.payload);
        if task.nature() != Nature::Closure {
            return task.run(firing);
        }
        (self.execute)(Box::new(move || task.run(firing)));
    }
}

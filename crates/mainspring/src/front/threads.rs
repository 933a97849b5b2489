//! An executor with a limit: for callbacks that take long, or wait for other timers.
//!
//! ```
//! use std::sync::Arc;
//! use mainspring::clock::Monotonic;
//! use mainspring::front::Threads;
//! use mainspring::{Engine, preset};
//! use mainspring_queue::heap::Quaternary;
//!
//! let threads = Threads::at_most(16);
//! let engine = Engine::start(Quaternary::new(), Arc::new(Monotonic::new()), threads.run_tasks())?;
//! let callbacks = engine.callbacks();
//! let (sender, receiver) = std::sync::mpsc::channel();
//! engine.callbacks().after(std::time::Duration::ZERO, move |_| {
//!     // It waits for another timer of the same engine, which on the driver's thread would wait for ever.
//!     let (inner, is_over) = std::sync::mpsc::channel();
//!     let timer = callbacks.after(std::time::Duration::from_millis(1), move |_| inner.send(()).unwrap());
//!     assert!(timer.is_ok());
//!     is_over.recv().unwrap();
//!     sender.send("done").unwrap();
//! })?;
//! assert_eq!(receiver.recv()?, "done");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A job goes to a thread that is idle; if there is none, a thread is started for it, up to the limit; beyond
//! that it waits its turn, in order. As many jobs wait as timers have come due: a program that wants fewer
//! limits the timers ([`LimitedQueue`](mainspring_queue::LimitedQueue)). Threads stay for the next job. When
//! the last [`Threads`] and what it made are dropped they run what waits, and end.
//!
//! An engine that ends waits until the callbacks that it has handed over have ended, those that wait for a
//! thread included: they have fired. It does not wait for one that itself ends the engine. A callback that
//! waits for another timer of the engine waits in vain then, since nothing fires any more: it gives up after
//! some time, as by `recv_timeout`, or the engine waits for it for ever.
//!
//! A job that panics ends by itself, and its panic is printed.
//!
//! Cost: a lock and a box per job, and a thread's wake-up.
//!
//! A program that ends waits for what runs by [`join`](Threads::join), as long as it likes.
//!
//! It does not start threads before they are needed, and does not cancel jobs.
//!
//! Source: Go's `goFunc`, which runs each function of `AfterFunc` in a goroutine of its own; a thread is
//! dearer, hence the limit.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::task::RunTasksOn;
use crate::driver::handoffs::{Duty, Handoffs};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, lock, thread};

/// What the threads are called, for debuggers and `top`.
const THREAD_NAME: &str = "mainspring-task";

/// A piece of work.
type Job = Box<dyn FnOnce() + Send>;

/// An executor with a limit. Clones are the same executor.
///
/// ```
/// use mainspring::{Engine, clock::Monotonic, front::Threads, queue::wheel::Chunked};
/// use std::{sync::mpsc::channel, time::Duration};
///
/// // At most eight closures run at once, and none on the engine's own thread.
/// let threads = Threads::at_most(8);
/// let engine = Engine::start(Chunked::new(), Monotonic::new(), threads.run_tasks())?;
/// let (done, all_done) = channel();
/// let timer = engine.callbacks().after(Duration::ZERO, move |_| done.send("slow work").unwrap())?;
/// assert_eq!(all_done.recv(), Ok("slow work"));
/// # drop(timer);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Threads {
    owner: Arc<Owner>,
}

/// What its owners share; its drop is the end of the executor.
struct Owner {
    shared: Arc<Shared>,
}

struct Shared {
    thread_count_max: usize,
    state: Mutex<State>,
    has_work: Condvar,
    /// Signalled when no job runs and none waits.
    is_done: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs, and the duty of those that an engine waits for.
    waiting: VecDeque<(Job, Option<Duty>)>,
    thread_count: usize,
    idle_count: usize,
    running_count: usize,
    is_ending: bool,
}

impl Threads {
    /// Makes an executor of up to so many threads.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn at_most(thread_count_max: usize) -> Threads {
        assert!(thread_count_max > 0, "an executor has a thread");
        let (state, has_work, is_done) = (Mutex::default(), Condvar::new(), Condvar::new());
        let shared = Shared { thread_count_max, state, has_work, is_done };
        Threads { owner: Arc::new(Owner { shared: Arc::new(shared) }) }
    }

    /// Returns what a driver of tasks is started with, to run closures here. Its drop, with which the
    /// driver's thread ends, waits until all that it has handed over has ended.
    pub fn run_tasks(&self) -> RunTasksOn<impl FnMut(Job) + Clone + Send + 'static> {
        let receiver = Receiver { threads: self.clone(), handoffs: Handoffs::default() };
        RunTasksOn::new(move |job| receiver.execute(job))
    }

    /// Runs a job on some thread, when it is its turn.
    ///
    /// If the operating system will not start the first thread the job runs on the calling one: it is not
    /// lost.
    pub fn execute(&self, job: Job) {
        self.execute_duty(job, None);
    }

    fn execute_duty(&self, job: Job, duty: Option<Duty>) {
        let shared = &self.owner.shared;
        let mut state = lock(&shared.state);
        state.waiting.push_back((job, duty));
        if state.waiting.len() <= state.idle_count {
            drop(state);
            return shared.has_work.notify_one();
        }
        if state.thread_count == shared.thread_count_max {
            return;
        }
        state.thread_count += 1;
        drop(state);
        let worker = Arc::clone(shared);
        let started = thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(move || worker.run());
        if started.is_ok() {
            return;
        }
        let mut state = lock(&shared.state);
        state.thread_count -= 1;
        // Any other thread comes to it; without one it is this thread's.
        if state.thread_count == 0 {
            drop(shared.run_next(state));
        }
    }

    /// Waits until no job runs and none waits, for `wait_max` at most, by the system's monotonic clock.
    /// Returns how many run or wait still: 0 unless the time was over. They go on, and so does the executor.
    ///
    /// A job that calls it waits for itself: the whole time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mainspring::front::Threads;
    ///
    /// let threads = Threads::at_most(2);
    /// threads.execute(Box::new(|| println!("the last page is written")));
    /// assert_eq!(threads.join(Duration::from_secs(30)), 0);
    /// ```
    #[allow(clippy::disallowed_methods, reason = "jobs run in real time, whatever the engine's clock is")]
    pub fn join(&self, wait_max: Duration) -> usize {
        let shared = &self.owner.shared;
        let begin = Instant::now();
        let mut state = lock(&shared.state);
        loop {
            let left_count = state.waiting.len() + state.running_count;
            let wait = wait_max.saturating_sub(begin.elapsed());
            if left_count == 0 || wait.is_zero() {
                return left_count;
            }
            state = shared.is_done.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns how many threads there are.
    pub fn thread_count(&self) -> usize {
        lock(&self.owner.shared.state).thread_count
    }

    /// Returns how many jobs wait for a thread.
    pub fn waiting_count(&self) -> usize {
        lock(&self.owner.shared.state).waiting.len()
    }
}

/// A panic of a job's is the job's end, and was printed.
fn run_and_catch(job: Job, duty: Option<Duty>) {
    // Its value's drop is the owner's code as well.
    let run = || _ = catch_unwind(AssertUnwindSafe(|| drop(catch_unwind(AssertUnwindSafe(job)))));
    match duty {
        Some(duty) => duty.perform(run),
        None => run(),
    }
}

/// What a driver hands its tasks to.
#[derive(Clone)]
struct Receiver {
    threads: Threads,
    handoffs: Handoffs,
}

impl Receiver {
    fn execute(&self, job: Job) {
        self.threads.execute_duty(job, Some(self.handoffs.begin()));
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.handoffs.wait();
    }
}

impl Shared {
    /// Runs the job that has waited longest, with no lock held.
    fn run_next<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let Some((job, duty)) = state.waiting.pop_front() else { return state };
        state.running_count += 1;
        drop(state);
        run_and_catch(job, duty);
        let mut state = lock(&self.state);
        state.running_count -= 1;
        if state.running_count == 0 && state.waiting.is_empty() {
            self.is_done.notify_all();
        }
        state
    }

    /// A thread's life.
    fn run(&self) {
        let mut state = lock(&self.state);
        loop {
            if !state.waiting.is_empty() {
                state = self.run_next(state);
                continue;
            }
            if state.is_ending {
                state.thread_count -= 1;
                return;
            }
            state.idle_count += 1;
            state = self.has_work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle_count -= 1;
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        lock(&self.shared.state).is_ending = true;
        self.shared.has_work.notify_all();
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.owner.shared.state);
        formatter
            .debug_struct("Threads")
            .field("thread_count", &state.thread_count)
            .field("waiting_count", &state.waiting.len())
            .finish_non_exhaustive()
    }
}

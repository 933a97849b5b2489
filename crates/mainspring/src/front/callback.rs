//! Closures that run later, once or again and again.
//!
//! ```
//! use std::sync::mpsc;
//! use std::time::Duration;
//!
//! let engine = mainspring::Engine::new()?;
//! let callbacks = engine.callbacks();
//! let (sender, receiver) = mpsc::channel();
//!
//! let timer = callbacks.after(Duration::from_millis(5), move |_| sender.send("fired").unwrap())?;
//! assert_eq!(receiver.recv()?, "fired");
//! assert!(!timer.cancel(), "it fired already");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Callbacks run on the driver's thread, one at a time, with no lock held: they may schedule, cancel and
//! reset. A slow one makes the others late. One that panics is reported and harms no other; a periodic one
//! continues with its next period.
//!
//! With several threads callbacks run in parallel, but one that repeats never with itself: its next run is
//! scheduled when the last has ended. What was due meanwhile comes late, once, and the periods that are over
//! by then are dropped.
//!
//! A rule of [`following`](Callbacks::following) that panics ends its runs: the run that was due comes, and
//! the panic is reported then.
//!
//! **A timer that could not be cancelled.** `cancel` and `reset` answer `false` where they came too late.
//! Then the callback has run, or runs now, or will run in a moment: it has been taken out to fire and may
//! wait for a lock that the caller holds. So a callback that acts on something which may have been replaced
//! looks again: it compares a number that it was given with the one that is there.
//! [`DelayQueue`](super::DelayQueue) and [`KeyedTasks`](super::KeyedTasks) do that.
//!
//! Dropping a [`Timer`] or a [`Periodic`] leaves it running: what need not be cancelled need not be kept.
//!
//! Cost: no allocation for a callback of up to 40 bytes, and one for a larger one; two for a periodic one,
//! and none per period. It does not run callbacks in parallel.
//!
//! Source: the periodic deadline rule is that of Go's `Ticker`: late periods are dropped, not made up for.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::Tick;

use super::period::{Add, Series};
use super::task::{Firing, Task, run_then};
use crate::driver::{Refusal, TimerId};
use crate::handle::{Handle, Local};
use crate::sync::{Mutex, lock};

/// Schedules closures.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let callbacks = engine.callbacks();
/// callbacks.after(Duration::from_secs(1), |firing| assert_eq!(firing.lateness_ticks(), 0))?;
/// callbacks.every(Duration::from_secs(10), |_| println!("still here"))?;
/// assert_eq!(simulation.advance(Duration::from_secs(60)), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Callbacks {
    handle: Handle<Task>,
}

/// A closure that runs once.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let timer = engine.callbacks().after(Duration::from_secs(30), |_| println!("silent for too long"))?;
/// simulation.advance(Duration::from_secs(29));
/// assert!(timer.reset(Duration::from_secs(30)), "a sign of life");
/// simulation.advance(Duration::from_secs(29));
/// assert!(timer.cancel(), "it has not run");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timer {
    part: Local<Task>,
    timer: mainspring_queue::TimerId,
}

/// A crowd of them lies dense, and none across two lines.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<Timer>>() == 16);

/// A closure that runs once a period.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let engine = simulation.engine();
/// let beat = engine.callbacks().every(Duration::from_secs(5), |_| println!("still here"))?;
/// assert_eq!(simulation.advance(Duration::from_secs(20)), 4);
/// assert!(beat.cancel());
/// assert_eq!(simulation.advance(Duration::from_secs(20)), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Periodic {
    part: Local<Task>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// The next run; `None` during a run and once it is over.
    next: Option<Next>,
    /// The timer of the run that began last.
    running: Option<TimerId>,
    /// It was cancelled, or no run comes any more.
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Next {
    timer: TimerId,
    due: Tick,
}

impl Callbacks {
    /// Makes the front of a driver that runs tasks.
    pub fn new(handle: Handle<Task>) -> Callbacks {
        Callbacks { handle }
    }

    /// Runs `callback` once, `delay` from now and not earlier. A delay beyond the clock's range is never
    /// over.
    ///
    /// # Errors
    /// The driver was shut down, or its queue rejects the deadline. The callback is dropped.
    pub fn after(
        &self,
        delay: Duration,
        callback: impl FnOnce(Firing) + Send + 'static,
    ) -> Result<Timer, Refusal> {
        self.ahead(self.handle.clock().after(delay), callback)
    }

    /// Runs `callback` once, at a tick of the driver's clock; now if that has passed. (What is scheduled for
    /// the past again and again would keep all others from running in a queue that fires by deadline. Go
    /// takes now for it as well.)
    ///
    /// # Errors
    /// As [`after`](Self::after).
    pub fn at(
        &self,
        deadline: Tick,
        callback: impl FnOnce(Firing) + Send + 'static,
    ) -> Result<Timer, Refusal> {
        self.ahead(deadline.max(self.handle.clock().now()), callback)
    }

    /// Runs `callback` once, at a tick that is not known to have passed.
    fn ahead(
        &self,
        deadline: Tick,
        callback: impl FnOnce(Firing) + Send + 'static,
    ) -> Result<Timer, Refusal> {
        let part = self.handle.local()?;
        let id = part.schedule(deadline, Task::new(callback)).map_err(|refused| refused.reason)?;
        Ok(Timer { part, timer: id.timer() })
    }

    /// Runs `callback` once, anywhere from `delay` to `delay + tolerance` from now: see
    /// [`Handle::schedule_within`](crate::Handle::schedule_within).
    ///
    /// # Errors
    /// As [`after`](Self::after).
    pub fn within(
        &self,
        delay: Duration,
        tolerance: Duration,
        callback: impl FnOnce(Firing) + Send + 'static,
    ) -> Result<Timer, Refusal> {
        self.ahead(self.handle.tick_within(delay, tolerance), callback)
    }

    /// Runs `callback` at each tick that `next` names: it is given the last one, the first time now, and
    /// answers with the next, or `None` for the end. A tick that has passed is run at once.
    ///
    /// # Errors
    /// As [`after`](Self::after). Without a first tick nothing is scheduled, and that is no error.
    pub fn following(
        &self,
        next: impl FnMut(Tick) -> Option<Tick> + Send + 'static,
        callback: impl FnMut(Firing) + Send + 'static,
    ) -> Result<Periodic, Refusal> {
        let mut next = Box::new(next);
        let first = next(self.handle.clock().now());
        repeat(self.handle.local()?, Rule::Following(next), first, callback)
    }

    /// Runs `callback` once a period, for the first time a period from now.
    ///
    /// The n-th run is due at the first tick that begins no earlier than n periods from now, however long the
    /// callback takes and however the period stands to the tick: it does not drift, and keeps its rate. Runs
    /// that are over when the callback could run are dropped: those whose tick has passed, or whose slot, in
    /// a queue with slots of several ticks. So a period shorter than a tick, or than a slot, runs several
    /// times in one; as fast as it can, if it is very short. Once taken, it continues even if the driver's
    /// queue is full: see [`Timers::schedule_assured`](crate::driver::Timers::schedule_assured).
    ///
    /// # Errors
    /// The period is zero; or as [`after`](Self::after).
    pub fn every(
        &self,
        period: Duration,
        callback: impl FnMut(Firing) + Send + 'static,
    ) -> Result<Periodic, Refusal> {
        let part = self.handle.local()?;
        let series = Series::new(period, &*part)?;
        let first = Some(series.due());
        repeat(part, Rule::Every(series), first, callback)
    }
}

fn repeat(
    part: Local<Task>,
    rule: Rule,
    first: Option<Tick>,
    callback: impl FnMut(Firing) + Send + 'static,
) -> Result<Periodic, Refusal> {
    let state = Arc::new(Mutex::new(State { next: None, running: None, is_over: first.is_none() }));
    let periodic = Periodic { part: part.clone(), state: Arc::clone(&state) };
    let Some(first) = first else { return Ok(periodic) };
    let turn = Arc::new(Turn { part, rule: Mutex::new(rule), state, callback: Mutex::new(callback) });
    schedule_turn(&turn, first, Local::schedule)?;
    Ok(periodic)
}

/// When something runs again.
enum Rule {
    /// Once a period.
    Every(Series),
    /// When a closure says so.
    Following(Box<dyn FnMut(Tick) -> Option<Tick> + Send>),
}

impl Rule {
    fn next(&mut self, deadline: Tick, now: Tick) -> Option<Tick> {
        match self {
            Rule::Every(series) => series.skip(now),
            Rule::Following(next) => next(deadline),
        }
    }
}

/// What the runs of a periodic callback share.
struct Turn<F> {
    part: Local<Task>,
    rule: Mutex<Rule>,
    state: Arc<Mutex<State>>,
    callback: Mutex<F>,
}

fn schedule_turn<F: FnMut(Firing) + Send + 'static>(
    turn: &Arc<Turn<F>>,
    due: Tick,
    add: Add,
) -> Result<(), Refusal> {
    let mut state = lock(&turn.state);
    if state.is_over {
        return Ok(());
    }
    let task = Task::new({
        let turn = Arc::clone(turn);
        move |firing| run_turn(&turn, firing)
    });
    // The driver's lock is taken inside the state's, here and in `cancel`, and never the other way round.
    let timer = add(&turn.part, due, task).map_err(|refused| refused.reason)?;
    state.next = Some(Next { timer, due });
    Ok(())
}

fn run_turn<F: FnMut(Firing) + Send + 'static>(turn: &Arc<Turn<F>>, firing: Firing) {
    // From here on the run has begun. One that was cancelled before does not.
    let mut state = lock(&turn.state);
    let Some(own) = state.next.take() else { return };
    state.running = Some(own.timer);
    drop(state);
    // A refusal means that the driver is shutting down: this was the last turn.
    let end = || lock(&turn.state).is_over = true;
    let go_on = |due| schedule_turn(turn, due, Local::schedule_assured).unwrap_or_else(|_| end());
    let Some(firing) = firing.of_run(own.due) else { return go_on(own.due) };
    // A rule is the owner's code. If it panics there is no next run, but this one is not lost.
    let next = catch_unwind(AssertUnwindSafe(|| lock(&turn.rule).next(own.due, firing.now)));
    let run = || lock(&turn.callback)(firing);
    if !matches!(next, Ok(Some(_))) {
        end();
    }
    match next {
        // The next turn is scheduled after this one, so that a slow callback is never run by two threads.
        Ok(next) => run_then(run, || next.into_iter().for_each(go_on)),
        Err(panic) => {
            run();
            resume_unwind(panic);
        }
    }
}

impl Timer {
    #[inline]
    fn id(&self) -> TimerId {
        self.part.id(self.timer)
    }

    /// Stops the callback from running; tells whether it did. `false`: it ran, runs now, or was cancelled.
    pub fn cancel(&self) -> bool {
        self.part.cancel(self.id()).is_some()
    }

    /// As [`cancel`](Self::cancel), and where that came too late waits until the callback has ended: what it
    /// uses may be freed then. Linux calls it `timer_delete_sync`. Called from the callback itself it does
    /// not wait.
    ///
    /// A callback that waits for the caller, or for a lock that the caller holds, makes it wait for ever. One
    /// that was handed to an executor, by [`RunTasksOn`](super::RunTasksOn), is not waited for.
    pub fn cancel_and_wait(&self) -> bool {
        let is_cancelled = self.cancel();
        if !is_cancelled {
            self.part.wait_for_firing(self.id());
        }
        is_cancelled
    }

    /// Tells whether the callback runs just now.
    pub fn is_running(&self) -> bool {
        self.part.is_firing(self.id())
    }

    /// Moves the callback to `delay` from now; tells whether it did. `false`: it ran, runs now, or was
    /// cancelled, or the driver's queue cannot hold the new deadline.
    pub fn reset(&self, delay: Duration) -> bool {
        self.part.reset(self.id(), self.part.clock().after(delay)).is_ok()
    }

    /// Moves the callback to `delay` from now, unless that is within `laziness` of when it is to run already;
    /// tells whether it is pending still. nginx does so with 300 ms: most timers of a busy connection need
    /// not be moved at all.
    pub fn reset_lazily(&self, delay: Duration, laziness: Duration) -> bool {
        let clock = self.part.clock();
        let Some(current) = self.part.deadline(self.id()) else { return false };
        let wanted = clock.after(delay);
        let distance = u128::from(wanted.since(current).max(current.since(wanted)));
        if distance * clock.resolution().as_nanos() < laziness.as_nanos() {
            return true;
        }
        self.part.reset(self.id(), wanted).is_ok()
    }

    /// Tells whether the callback is still to run.
    pub fn is_pending(&self) -> bool {
        self.part.deadline(self.id()).is_some()
    }

    /// Returns the tick at which the callback is to run; `None` if it is not pending.
    pub fn deadline(&self) -> Option<Tick> {
        self.part.deadline(self.id())
    }
}

impl Periodic {
    /// Ends the periodic runs; tells whether it did. A run that has begun, which one at most has, ends by
    /// itself, and none begins after this. `false`: already cancelled, or no further run would have come.
    /// Whether the engine was shut down meanwhile is not looked at.
    pub fn cancel(&self) -> bool {
        let mut state = lock(&self.state);
        let was_running = !std::mem::replace(&mut state.is_over, true);
        let next = state.next.take();
        // The task holds the state: it is dropped after the lock is released.
        let task = next.and_then(|next| self.part.cancel(next.timer));
        drop(state);
        drop(task);
        was_running
    }

    /// As [`cancel`](Self::cancel), and waits for the end of a run that has begun, as
    /// [`Timer::cancel_and_wait`] does.
    pub fn cancel_and_wait(&self) -> bool {
        let was_running = self.cancel();
        let last = lock(&self.state).running;
        if let Some(last) = last {
            self.part.wait_for_firing(last);
        }
        was_running
    }
}

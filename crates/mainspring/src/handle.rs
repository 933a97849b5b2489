//! A program's handle to schedule, cancel and reset timers from any thread.
//!
//! A [`Handle`] is a shared reference to a driver, whatever its queue: cheap to clone, usable from any
//! thread, callbacks included. Delays are turned into deadlines by the driver's clock, rounded up, so that a
//! timer is never early. It does not keep the driver's thread alive: after the engine is shut down a handle
//! refuses new timers.
//!
//! Cost: a virtual call and the driver's own cost.

mod local;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::{ResetError, Tick};

use crate::clock::Clock;
#[cfg(feature = "report")]
use crate::driver::Report;
use crate::driver::{Counts, Refusal, RefusedTimer, TimerId, Timers};
use crate::front::task::Task;

pub(crate) use self::local::Local;
use self::local::Locals;

/// A shared reference to a driver of timers with payload `T`; of closures, unless it says otherwise.
///
/// ```
/// use std::time::Duration;
/// use mainspring::{Engine, Handle, Task, Tick};
///
/// let engine = Engine::new()?;
/// let handle: Handle = engine.handle().clone();
/// let timer = handle.schedule_after(Duration::from_secs(10), Task::new(|firing| println!("at {}", firing.now)))?;
/// handle.reset_at(timer, Tick::MAX)?;
/// assert_eq!(handle.deadline(timer), Some(Tick::MAX));
/// assert!(handle.cancel(timer).is_some(), "it was pending");
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct Handle<T = Task> {
    timers: Arc<dyn Timers<T>>,
    locals: Arc<Locals<T>>,
}

impl<T> Handle<T> {
    /// Makes a handle of a driver.
    pub fn new(timers: Arc<dyn Timers<T>>) -> Handle<T> {
        let locals = Arc::new(Locals::new(Arc::clone(timers.clock())));
        Handle { timers, locals }
    }

    /// Returns the part of the driver that the calling thread schedules into: what a timer holds on to.
    ///
    /// # Errors
    /// The driver has no thread for it.
    pub(crate) fn local(&self) -> Result<Local<T>, Refusal>
    where
        T: 'static,
    {
        self.locals.of_caller(&*self.timers)
    }

    /// The same; a part that refuses everything, until it is asked again, where the driver has no thread.
    #[inline]
    pub(crate) fn local_or_absent(&self) -> Local<T>
    where
        T: Send + 'static,
    {
        self.local().unwrap_or_else(|_| Local::absent(Arc::clone(&self.timers), Arc::clone(&self.locals)))
    }

    /// Adds a timer that fires `delay` from now, by the driver's clock, and not earlier. A delay beyond the
    /// clock's range is taken and never fires.
    ///
    /// # Errors
    /// The payload comes back: the driver was shut down, or its queue rejects the deadline.
    pub fn schedule_after(&self, delay: Duration, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        self.timers.schedule(self.clock().after(delay), payload)
    }

    /// Adds a timer that fires at a tick of the driver's clock; at once if that has passed, but after
    /// what was due before: one that schedules itself for the past keeps no other from firing.
    ///
    /// # Errors
    /// As [`schedule_after`](Self::schedule_after).
    pub fn schedule_at(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        self.timers.schedule(deadline, payload)
    }

    /// Adds a timer that may fire anywhere from `delay` to `delay + tolerance` from now. It is given the
    /// roundest tick of that range, where timers with other tolerances meet it and share its wake-up:
    /// precision is bought by the caller, and thrift as well.
    ///
    /// # Errors
    /// As [`schedule_after`](Self::schedule_after).
    pub fn schedule_within(
        &self,
        delay: Duration,
        tolerance: Duration,
        payload: T,
    ) -> Result<TimerId, RefusedTimer<T>> {
        self.timers.schedule(self.tick_within(delay, tolerance), payload)
    }

    /// Returns the roundest tick from `delay` to `delay + tolerance` from now.
    pub fn tick_within(&self, delay: Duration, tolerance: Duration) -> Tick {
        let clock = self.clock();
        let earliest = clock.after(delay);
        let ticks = u64::try_from(tolerance.as_nanos() / clock.resolution().as_nanos()).unwrap_or(u64::MAX);
        earliest.roundest_until(earliest.after(ticks))
    }

    /// Tells whether a timer fires just now.
    pub fn is_firing(&self, id: TimerId) -> bool {
        self.timers.is_firing(id)
    }

    /// Waits until a timer that fires on another thread has fired: for a caller that cancelled it in vain,
    /// and wants to free what it uses. A wait for a timer that waits for the caller never ends.
    pub fn wait_for_firing(&self, id: TimerId) {
        self.timers.wait_for_firing(id);
    }

    /// Removes a pending timer and returns its payload, exactly once. `None`: it fired, is being fired, was
    /// cancelled, or never was. A timer that has not begun to fire when this returns will not fire, and is
    /// gone for every caller.
    ///
    /// It waits for one operation of another thread at the timer's queue at most, and for no callback.
    pub fn cancel(&self, id: TimerId) -> Option<T> {
        self.timers.cancel(id)
    }

    /// Moves a pending timer to `delay` from now.
    ///
    /// # Errors
    /// It is no longer pending, or the driver's queue cannot hold the new deadline.
    pub fn reset_after(&self, id: TimerId, delay: Duration) -> Result<(), ResetError> {
        self.timers.reset(id, self.clock().after(delay))
    }

    /// Moves a pending timer to a tick of the driver's clock.
    ///
    /// # Errors
    /// As [`reset_after`](Self::reset_after).
    pub fn reset_at(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        self.timers.reset(id, deadline)
    }

    /// Returns a pending timer's deadline; `None` for a stale id.
    pub fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.timers.deadline(id)
    }

    /// Returns how many timers are pending.
    pub fn pending_count(&self) -> usize {
        self.timers.len()
    }

    /// Returns what the driver has done so far.
    pub fn counts(&self) -> Counts {
        self.timers.counts()
    }

    /// Returns the same with the distribution of latenesses.
    #[cfg(feature = "report")]
    pub fn report(&self) -> Report {
        self.timers.report()
    }

    /// Returns the driver's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.locals.clock
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Handle<T> {
        Handle { timers: Arc::clone(&self.timers), locals: Arc::clone(&self.locals) }
    }
}

/// A panic leaves no driver half changed: no code of its owner runs under its locks.
impl<T> UnwindSafe for Handle<T> {}
impl<T> RefUnwindSafe for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handle").finish_non_exhaustive()
    }
}

//! One timer of the channel front: what is to come of it, and the channel or function that it fires into.
//!
//! ```text
//!   begin ──▶ Scheduled ──fire──▶ sent or called ──▶ nothing, or Scheduled again for the next period
//!                 │                     └─ was reset during the call: Waiting, until that ends
//!                 └── stop, reset: a new generation, which a firing under way finds and gives up
//! ```
//!
//! Cost: a lock of the timer's own for each operation, within which the driver's is taken. It does not know
//! whether a program holds a timer, a ticker or only the channel.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use crossbeam_channel::Receiver;
use mainspring_queue::Tick;

use super::super::period::{Add, Series};
use super::super::task::{Firing, Task, run_then};
use super::outlet::Outlet;
use crate::driver::{Refusal, RefusedTimer, TimerId};
use crate::handle::Local;
use crate::sync::{Mutex, lock};

/// A closure that a timer calls, perhaps again.
pub(super) type Function = Arc<Mutex<dyn FnMut(Firing) + Send>>;

/// One timer of this front. As long as it is held the channel is connected.
pub(super) struct Inner {
    pub(super) part: Local<Task>,
    /// Called when the time has come; without it the firing is sent.
    pub(super) function: Option<Function>,
    /// The outlet's channel, if it was looked at.
    receiver: OnceLock<Receiver<Firing>>,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    /// Grows with each stop and reset, so that a firing that is under way knows that it came too late.
    generation: u64,
    pending: Option<Pending>,
    /// Closed once the driver has been shut down.
    outlet: Outlet,
    /// Whether the function runs.
    is_calling: bool,
    /// `None` for what fires once.
    pub(super) series: Option<Series>,
}

/// What has still to come of a timer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pending {
    /// It is in the driver, or on its way from there, and is due at a tick that may lie beyond the horizon.
    Scheduled { timer: TimerId, due: Tick },
    /// It was due at this tick, and waits for the end of the function's last call.
    Waiting(Tick),
}

/// A firing to come, in the driver. If it is dropped there, the driver has ended.
struct Shot {
    inner: Weak<Inner>,
    generation: u64,
}

impl Shot {
    fn fire(mut self, firing: Firing) {
        if let Some(inner) = std::mem::take(&mut self.inner).upgrade() {
            inner.fire(self.generation, firing);
        }
    }
}

impl Drop for Shot {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade() {
            inner.end(self.generation);
        }
    }
}

impl Inner {
    /// Makes a timer of which nothing is to come yet.
    pub(super) fn new(part: Local<Task>, series: Option<Series>, function: Option<Function>) -> Inner {
        let outlet = Outlet::default();
        let state = State { generation: 0, pending: None, outlet, is_calling: false, series };
        Inner { part, function, receiver: OnceLock::new(), state: Mutex::new(state) }
    }

    /// The channel that the firing is sent on.
    pub(super) fn receiver(&self) -> &Receiver<Firing> {
        // Not within `get_or_init`, where others would wait for the lock's holder without being seen by
        // models.
        self.receiver.get().unwrap_or_else(|| {
            let receiver = lock(&self.state).outlet.receiver();
            self.receiver.get_or_init(|| receiver)
        })
    }

    /// Begins what the program asks for. A value whose time has come need not wait for the driver's thread.
    pub(super) fn begin(
        self: &Arc<Self>,
        state: &mut State,
        deadline: Tick,
    ) -> Result<(), RefusedTimer<Task>> {
        let now = self.part.clock().now();
        let is_value = self.function.is_none() && state.series.is_none() && !state.outlet.is_closed();
        if is_value && deadline <= now {
            state.outlet.send(Firing { deadline, now });
            return Ok(());
        }
        self.arm(state, deadline, Local::schedule)
    }

    /// Schedules the next firing. The state's lock is held: the driver's is taken inside it. What comes back
    /// must be dropped with the lock released, because its drop takes it.
    fn arm(self: &Arc<Self>, state: &mut State, deadline: Tick, add: Add) -> Result<(), RefusedTimer<Task>> {
        let shot = Shot { inner: Arc::downgrade(self), generation: state.generation };
        let task = match &self.function {
            Some(_) => Task::new(move |firing| shot.fire(firing)),
            None => Task::brief(move |firing| shot.fire(firing)),
        };
        match add(&self.part, deadline, task) {
            Ok(timer) => {
                state.pending = Some(Pending::Scheduled { timer, due: deadline });
                Ok(())
            }
            Err(refused) => {
                if refused.reason == Refusal::Stopped {
                    state.outlet.close();
                }
                // Its drop finds another generation: only a driver that ends makes it the timer's end.
                state.generation += 1;
                Err(refused)
            }
        }
    }

    /// The driver dropped the firing of this generation: nothing will be sent any more.
    fn end(&self, generation: u64) {
        let mut state = lock(&self.state);
        if state.generation == generation {
            state.pending = None;
            state.outlet.close();
        }
    }

    fn fire(self: &Arc<Self>, generation: u64, firing: Firing) {
        // Dropped after the lock is released, as it is declared before.
        let mut _refused = None;
        let mut state = lock(&self.state);
        if state.generation != generation {
            return;
        }
        let Some(Pending::Scheduled { due, .. }) = state.pending.take() else { return };
        let Some(firing) = firing.of_run(due) else {
            // As below.
            _refused = self.arm(&mut state, due, Local::schedule_assured).err();
            return;
        };
        if self.function.is_none() {
            // Under the lock, so that a stop that returns has either seen the value or prevented it. A full
            // channel drops the tick.
            state.outlet.send(firing);
        }
        if let Some(next) = state.series.as_mut().and_then(|series| series.skip(firing.now)) {
            // A refusal means that the driver is shutting down: this was the last tick.
            _refused = self.arm(&mut state, next, Local::schedule_assured).err();
        }
        let Some(function) = &self.function else { return };
        if state.is_calling {
            // It was reset during the call. No second thread waits for the first.
            state.pending = Some(Pending::Waiting(firing.deadline));
            return;
        }
        state.is_calling = true;
        drop(state);
        run_then(|| lock(function)(firing), || self.end_call());
    }

    /// Schedules the call that has been waiting for the end of this one.
    fn end_call(self: &Arc<Self>) {
        // As in `fire`.
        let mut _refused = None;
        let mut state = lock(&self.state);
        state.is_calling = false;
        if let Some(Pending::Waiting(deadline)) =
            state.pending.take_if(|it| matches!(it, Pending::Waiting(_)))
        {
            // A refusal means that the driver is shutting down: there is no other call.
            _refused = self.arm(&mut state, deadline, Local::schedule_assured).err();
        }
    }

    /// Takes the timer out of the driver and its value out of the channel; tells whether there was either. A
    /// firing that is under way and has not come to the state's lock counts as pending: the new generation
    /// prevents it. The task must be dropped with the lock released, because its drop takes it.
    fn disarm(&self, state: &mut State) -> (bool, Option<Task>) {
        state.generation += 1;
        let pending = state.pending.take();
        let task = match pending {
            Some(Pending::Scheduled { timer, .. }) => self.part.cancel(timer),
            _ => None,
        };
        let is_unreceived = state.outlet.take_back();
        (pending.is_some() || is_unreceived, task)
    }

    pub(super) fn stop(&self) -> bool {
        let (was_pending, task) = self.disarm(&mut lock(&self.state));
        drop(task);
        was_pending
    }

    /// Stops it and begins again.
    pub(super) fn restart(
        self: &Arc<Self>,
        change: impl FnOnce(&mut State),
        deadline: Tick,
    ) -> Result<bool, Refusal> {
        let mut state = lock(&self.state);
        let (was_pending, task) = self.disarm(&mut state);
        change(&mut state);
        let begun = self.begin(&mut state, deadline);
        drop(state);
        drop(task);
        begun.map(|()| was_pending).map_err(|refused| refused.reason)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inner").finish_non_exhaustive()
    }
}

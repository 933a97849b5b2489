//! What a timer of every front is: a closure that runs once.
//!
//! One payload for all fronts lets them share an engine. A [`Task`] is told of its own [`Firing`]; a driver runs tasks by
//! being started with [`RunTasks`].
//!
//! Cost: an allocation per task. It does not say when: fronts do.

use mainspring_queue::Tick;

use crate::driver::{Fire, Fired};

/// A closure that runs once, on the driver's thread, with no lock held.
pub type Task = Box<dyn FnOnce(Firing) + Send>;

/// What a task is told about its own firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The tick at which it was to run.
    pub deadline: Tick,
    /// The tick at which it runs.
    pub now: Tick,
}

/// Runs each task that fires: what a driver of tasks is started with.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTasks;

impl Fire<Task> for RunTasks {
    fn fire(&mut self, fired: Fired<Task>) {
        let Fired { deadline, now, payload, .. } = fired;
        payload(Firing { deadline, now });
    }
}

//! A running driver: its handle, and its end.
//!
//! [`Engine::start`] puts a queue, a clock and a receiver of fired timers together and starts the driver with one thread;
//! [`Engine::of`] takes any driver. Ready-made combinations are in [`preset`](crate::preset).
//!
//! Ending: [`shutdown`](Engine::shutdown) waits for the timer that is firing, then hands back what did not fire. A
//! dropped engine does the same and drops the rest. From within a callback neither waits for itself: the thread ends when
//! the callback returns.
//!
//! Cost: that of the driver. It does not restart.

use std::fmt;
use std::io;
use std::sync::Arc;

use mainspring_queue::TimerQueue;

use crate::clock::Clock;
use crate::driver::{Counts, Driver, Fire, Report, Single, Unfired};
use crate::handle::Handle;

/// A running driver.
pub struct Engine<T: Send + 'static> {
    handle: Handle<T>,
    driver: Arc<dyn Driver<T>>,
}

impl<T: Send + 'static> Engine<T> {
    /// Starts a thread that fires the timers of `queue` by `clock` into `fire`.
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn start<Q>(queue: Q, clock: Arc<dyn Clock>, fire: impl Fire<T> + 'static) -> io::Result<Engine<T>>
    where
        Q: TimerQueue<T> + Send + 'static,
    {
        let driver = Arc::new(Single::new(queue, clock));
        driver.start(fire)?;
        Ok(Engine::of(driver))
    }

    /// Makes an engine of a driver that is running, or that the program itself runs.
    pub fn of(driver: Arc<impl Driver<T> + 'static>) -> Engine<T> {
        Engine { handle: Handle::new(Arc::clone(&driver) as Arc<_>), driver }
    }

    /// Returns the handle to schedule with; clone it freely.
    pub fn handle(&self) -> &Handle<T> {
        &self.handle
    }

    /// Returns what the driver has done so far.
    pub fn counts(&self) -> Counts {
        self.handle.counts()
    }

    /// Returns the same with the distribution of latenesses.
    pub fn report(&self) -> Report {
        self.handle.report()
    }

    /// Returns the same as OpenMetrics text, which Prometheus reads.
    pub fn open_metrics(&self) -> String {
        let handle = &self.handle;
        handle.report().open_metrics(handle.pending_count(), handle.clock().resolution())
    }

    /// Stops firing, waits for the timer that is firing, and returns what did not fire, earliest first.
    pub fn shutdown(self) -> Vec<Unfired<T>> {
        self.driver.shutdown()
    }
}

impl<T: Send + 'static> Drop for Engine<T> {
    fn drop(&mut self) {
        // What is pending may hold handles of this very driver: it must not outlive the engine.
        drop(self.driver.shutdown());
    }
}

impl<T: Send + 'static> fmt::Debug for Engine<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("handle", &self.handle).finish_non_exhaustive()
    }
}

//! A running driver: its thread, its handle, and its end.
//!
//! [`Engine::start`] puts a queue, a clock and a receiver of fired timers together and starts the thread. Ready-made
//! combinations are in [`preset`](crate::preset).
//!
//! Ending: [`shutdown`](Engine::shutdown) waits for the timer that is firing, then hands back what did not fire. A
//! dropped engine does the same and drops the rest. From within a callback neither waits for itself: the thread ends when
//! the callback returns.
//!
//! Cost: one thread. It does not restart.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mainspring_queue::{Expired, TimerQueue};

use crate::clock::Clock;
use crate::driver::{Counts, Fire, Single};
use crate::handle::Handle;

/// What every timer thread is called, for debuggers and `top`.
const THREAD_NAME: &str = "mainspring";

/// A driver and the thread that runs it.
#[derive(Debug)]
pub struct Engine<T: Send + 'static> {
    handle: Handle<T>,
    driver: Arc<dyn Stop<T>>,
    thread: Option<JoinHandle<()>>,
}

/// What an engine needs of its driver at the end, whatever its queue.
trait Stop<T>: Send + Sync {
    fn stop(&self);
    fn take_unfired(&self) -> Vec<Expired<T>>;
}

impl<T, Q: TimerQueue<T> + Send> Stop<T> for Single<Q> {
    fn stop(&self) {
        Single::stop(self);
    }

    fn take_unfired(&self) -> Vec<Expired<T>> {
        Single::take_unfired(self)
    }
}

impl<T> std::fmt::Debug for dyn Stop<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("driver")
    }
}

impl<T: Send + 'static> Engine<T> {
    /// Starts a thread that fires the timers of `queue` by `clock` into `fire`.
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn start<Q>(
        queue: Q,
        clock: Arc<dyn Clock>,
        mut fire: impl Fire<T> + 'static,
    ) -> io::Result<Engine<T>>
    where
        Q: TimerQueue<T> + Send + 'static,
    {
        let driver = Arc::new(Single::new(queue, clock));
        let run = Arc::clone(&driver);
        let thread = thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(move || run.run(&mut fire))?;
        Ok(Engine { handle: Handle::new(driver.clone()), driver, thread: Some(thread) })
    }

    /// Returns the handle to schedule with; clone it freely.
    pub fn handle(&self) -> &Handle<T> {
        &self.handle
    }

    /// Returns what the driver has done so far.
    pub fn counts(&self) -> Counts {
        self.handle.counts()
    }

    /// Stops firing, waits for the timer that is firing, and returns what did not fire, earliest first.
    pub fn shutdown(mut self) -> Vec<Expired<T>> {
        self.end();
        self.driver.take_unfired()
    }

    fn end(&mut self) {
        self.driver.stop();
        let Some(thread) = self.thread.take() else { return };
        if thread.thread().id() != thread::current().id() {
            // The thread catches what callbacks panic with; if it panics itself, that was printed.
            let _ = thread.join();
        }
    }
}

impl<T: Send + 'static> Drop for Engine<T> {
    fn drop(&mut self) {
        self.end();
        // What is pending may hold handles of this very driver: it must not outlive the engine.
        drop(self.driver.take_unfired());
    }
}

//! A running driver: its handle, its fronts, and its end.
//!
//! [`Engine::new`] starts the default; [`Engine::start`] puts a queue, a clock and a receiver of fired timers
//! together and starts a driver with one thread; [`Engine::from_driver`] takes any driver. Ready-made
//! combinations are in [`preset`](crate::preset), and the one that a whole process shares in
//! [`global`](mod@crate::global).
//!
//! Ending: [`shutdown`](Engine::shutdown) waits for the timer that is firing, then hands back what did not
//! fire. A dropped engine does the same and drops the rest. From within a callback neither waits for itself:
//! the thread ends when the callback returns.
//!
//! Cost: that of the driver. It does not restart.

use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use mainspring_queue::TimerQueue;

use crate::clock::Clock;
#[cfg(feature = "report")]
use crate::driver::Report;
use crate::driver::{Counts, Driver, Fire, PerWorker, Single, Striped, UnfiredTimer};
use crate::front::task::Task;
use crate::handle::Handle;

/// A running driver of timers with payload `T`; of closures, unless it says otherwise, so that every front
/// works over it.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Engine;
///
/// struct Server {
///     engine: Engine,
/// }
///
/// let server = Server { engine: Engine::new()? };
/// server.engine.callbacks().after(Duration::from_secs(30), |_| println!("time is up"))?;
/// assert_eq!(server.engine.shutdown().len(), 1, "what did not fire is handed back");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a dropped engine fires nothing"]
pub struct Engine<T: Send + 'static = Task> {
    handle: Handle<T>,
    driver: Arc<dyn Driver<T>>,
}

impl<T: Send + 'static> Engine<T> {
    /// Starts a thread that fires the timers of `queue` by `clock` into `fire`.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use mainspring::Engine;
    /// use mainspring::clock::Monotonic;
    /// use mainspring::driver::FiredTimer;
    /// use mainspring::queue::heap::Quaternary;
    ///
    /// let (sender, connections) = channel();
    /// let fire = move |fired: FiredTimer<u32>| sender.send(fired.payload).unwrap_or(());
    /// let engine = Engine::start(Quaternary::new(), Monotonic::new(), fire)?;
    /// engine.handle().schedule_after(Duration::from_millis(1), 7_u32)?;
    /// assert_eq!(connections.recv()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn start<Q>(queue: Q, clock: impl Clock, fire: impl Fire<T> + 'static) -> io::Result<Engine<T>>
    where
        Q: TimerQueue<T> + Send + 'static,
    {
        let driver = Arc::new(Single::new(queue, clock));
        driver.start(fire)?;
        Ok(Engine::from_driver(driver))
    }

    /// Makes an engine of a driver that is running, or that the program itself runs. A driver that is neither
    /// takes timers and fires none: `into_engine` of [`Striped`] and [`PerWorker`] starts its threads first,
    /// and [`start`](Self::start) that of a [`Single`].
    pub fn from_driver(driver: Arc<impl Driver<T> + 'static>) -> Engine<T> {
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
    #[cfg(feature = "report")]
    pub fn report(&self) -> Report {
        self.handle.report()
    }

    /// Returns the same as OpenMetrics text, which Prometheus reads.
    #[cfg(feature = "report")]
    pub fn open_metrics(&self) -> String {
        let handle = &self.handle;
        handle.report().open_metrics(handle.pending_count(), handle.clock().resolution())
    }

    /// Stops firing, waits for the timer that is firing, and returns what did not fire, earliest first. From
    /// then on timers are refused. Any thread may call it, and again: what one call has returned no other
    /// does.
    pub fn shutdown(&self) -> Vec<UnfiredTimer<T>> {
        self.driver.shutdown()
    }
}

impl<Q> Striped<Q> {
    /// Starts the driver's thread and makes an engine of it.
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn into_engine<T>(self, fire: impl Fire<T> + 'static) -> io::Result<Engine<T>>
    where
        T: Send + 'static,
        Q: TimerQueue<T> + Send + 'static,
    {
        let driver = Arc::new(self);
        driver.start(fire)?;
        Ok(Engine::from_driver(driver))
    }
}

impl<Q> PerWorker<Q> {
    /// Starts a thread for each worker, with a clone of `fire`, and makes an engine of the driver.
    ///
    /// # Errors
    /// The operating system would not start a thread; those that were started end.
    pub fn into_engine<T>(self, fire: &(impl Fire<T> + Clone + 'static)) -> io::Result<Engine<T>>
    where
        T: Send + 'static,
        Q: TimerQueue<T> + Send + 'static,
    {
        let driver = Arc::new(self);
        let engine = Engine::from_driver(Arc::clone(&driver));
        driver.start(fire)?;
        Ok(engine)
    }
}

impl<T: Send + 'static> Drop for Engine<T> {
    fn drop(&mut self) {
        // What is pending may hold handles of this very driver: it must not outlive the engine.
        drop(self.driver.shutdown());
    }
}

/// As [`Handle`].
impl<T: Send + 'static> UnwindSafe for Engine<T> {}
impl<T: Send + 'static> RefUnwindSafe for Engine<T> {}

impl<T: Send + 'static> fmt::Debug for Engine<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").finish_non_exhaustive()
    }
}

//! The default engine, and the fronts of any engine of closures.
//!
//! Cost: a handle per front. It names no structure but the default queue.

use std::hash::Hash;
use std::io;

use mainspring_queue::wheel::Chunked;

use crate::clock::{Clock, Monotonic};
use crate::driver::Striped;
use crate::engine::Engine;
#[cfg(feature = "calendar")]
use crate::front::Calendar;
#[cfg(feature = "channel")]
use crate::front::Channels;
use crate::front::{Callbacks, DelayQueue, Futures, KeyedTasks, Mailboxes, RunTasks};

impl Engine {
    /// Starts the default: see [`mainspring`](super::mainspring).
    ///
    /// ```
    /// let engine = mainspring::Engine::new()?;
    /// let beat = engine.callbacks().every(std::time::Duration::from_secs(5), |_| println!("still here"))?;
    /// beat.cancel();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn new() -> io::Result<Engine> {
        Engine::with_clock(Monotonic::new())
    }

    /// Starts the default by a clock of the program's choice.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mainspring::Engine;
    /// use mainspring::clock::Monotonic;
    ///
    /// let engine = Engine::with_clock(Monotonic::with_resolution(Duration::from_micros(10)))?;
    /// assert_eq!(engine.handle().clock().resolution(), Duration::from_micros(10));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn with_clock(clock: impl Clock) -> io::Result<Engine> {
        Striped::for_cores(Chunked::new, clock).into_engine(RunTasks)
    }

    /// Returns the front that runs closures.
    pub fn callbacks(&self) -> Callbacks {
        Callbacks::new(self.handle().clone())
    }

    /// Returns the front for async code.
    #[inline]
    pub fn futures(&self) -> Futures {
        Futures::new(self.handle().clone())
    }

    /// Returns the front that sends on channels, as Go's timers do.
    #[cfg(feature = "channel")]
    pub fn channels(&self) -> Channels {
        Channels::new(self.handle().clone())
    }

    /// Makes a front of closures under keys.
    pub fn keyed<K: Clone + Eq + Hash + Send + 'static>(&self) -> KeyedTasks<K> {
        KeyedTasks::new(self.handle().clone())
    }

    /// Makes a queue of items that come out when they are due.
    pub fn delay_queue<K, V>(&self) -> DelayQueue<K, V>
    where
        K: Clone + Eq + Hash + Send + 'static,
        V: Send + 'static,
    {
        DelayQueue::new(self.handle().clone())
    }

    /// Makes a front of messages to services, as skynet's timers are.
    #[inline]
    pub fn mailboxes(&self) -> Mailboxes {
        Mailboxes::new(self.handle().clone())
    }

    /// Makes a calendar on the system's wall clock: see [`Calendar::start`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "calendar")]
    pub fn calendar(&self) -> io::Result<Calendar> {
        Calendar::start(self.handle().clone())
    }
}

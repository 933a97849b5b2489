//! Named combinations of queue, clock, driver and front.
//!
//! | preset | queue | driver | front |
//! |---|---|---|---|
//! | [`mainspring`] | `wheel::Bitmap` | single | callback |
//!
//! This is the one module that names structures, drivers and fronts together.

use std::io;
use std::sync::Arc;

use mainspring_queue::TimerQueue;
use mainspring_queue::wheel::Bitmap;

use crate::clock::{Clock, Monotonic};
use crate::engine::Engine;
use crate::front::{Callbacks, RunTasks, Task};

/// Starts Mainspring's own default: the bitmapped wheel on one thread, with ticks of a millisecond of the monotonic clock.
///
/// # Errors
/// The operating system would not start a thread.
pub fn mainspring() -> io::Result<Engine<Task>> {
    callbacks(Bitmap::new(), Arc::new(Monotonic::new()))
}

/// Starts an engine for callbacks over any queue and clock.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring_queue::heap::Quaternary;
///
/// let clock = Manual::stepped();
/// let engine = mainspring::preset::callbacks(Quaternary::new(), Arc::new(clock.clone()))?;
/// engine.callbacks().after(Duration::from_secs(3_600), |_| println!("an hour has passed"))?;
/// clock.advance(Duration::from_secs(3_600));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The operating system would not start a thread.
pub fn callbacks<Q>(queue: Q, clock: Arc<dyn Clock>) -> io::Result<Engine<Task>>
where
    Q: TimerQueue<Task> + Send + 'static,
{
    Engine::start(queue, clock, RunTasks)
}

impl Engine<Task> {
    /// Returns the front that runs closures.
    pub fn callbacks(&self) -> Callbacks {
        Callbacks::new(self.handle().clone())
    }
}

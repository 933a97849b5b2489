//! The clock of a tokio runtime: it stands still and leaps with `tokio::time::pause` and `advance`.
//!
//! ```text
//!   now()     tokio's Instant::now(), asked in the runtime's context
//!   wait()    a task in the runtime sleeps until then and notifies; the driver's thread waits for the notifier
//! ```
//!
//! For tests of programs that use tokio's timers and this engine's: one clock for both. A paused runtime that
//! has nothing to do moves its clock to its next timer. The engine's next timer is one of those once the
//! engine's thread has run, for which the runtime does not wait: it may move its clock past a timer that was
//! set a moment ago. A test whose result depends on which of two timers is first takes
//! [`Manual`](super::Manual), or a [`Simulation`](crate::Simulation).
//!
//! Cost: a task per wait, and two wake-ups. A program that is no test takes [`Monotonic`](super::Monotonic).
//!
//! It does not drive the runtime: a current-thread runtime that no thread blocks on lets the engine wait. In
//! one that has been shut down, timers wait for the engine's shutdown. The runtime must have its time
//! enabled.
//!
//! Source: the documentation of `tokio::time::pause`.

use std::fmt;
use std::time::Duration;

use mainspring_queue::Tick;
use tokio::runtime::{Handle, TryCurrentError};
use tokio::time::{Instant, sleep_until};

use super::{Clock, Notifier};

/// The clock of a tokio runtime, in ticks of a millisecond from its making: finer sleeps tokio has not.
///
/// ```
/// use mainspring::{Engine, clock::Tokio};
/// use std::time::Duration;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// tokio::time::pause();
/// let engine = Engine::with_clock(Tokio::current()?)?;
/// // Nothing else is to be done, so tokio's clock moves on to the end of the hour.
/// engine.futures().sleep(Duration::from_secs(3_600)).await;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone)]
pub struct Tokio {
    runtime: Handle,
    origin: Instant,
}

/// The length of a tick.
const RESOLUTION: Duration = Duration::from_millis(1);

impl Tokio {
    /// Makes the clock of the runtime that the caller is in. It stands at tick 0 now.
    ///
    /// # Errors
    /// The caller is in no runtime.
    pub fn current() -> Result<Tokio, TryCurrentError> {
        let runtime = Handle::try_current()?;
        Ok(Tokio { runtime, origin: Instant::now() })
    }

    fn elapsed(&self) -> Duration {
        let _entered = self.runtime.enter();
        self.origin.elapsed()
    }
}

impl Clock for Tokio {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Tick {
        self.now_in_parts().0
    }

    fn now_in_parts(&self) -> (Tick, u128) {
        let elapsed_ns = self.elapsed().as_nanos();
        let ticks = u64::try_from(elapsed_ns / RESOLUTION.as_nanos()).unwrap_or(u64::MAX);
        (Tick::new(ticks), elapsed_ns % RESOLUTION.as_nanos())
    }

    fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
        // What does not fit lies millennia ahead: a notification comes before.
        let end = until.and_then(|until| self.origin.checked_add(Duration::from_millis(until.get())));
        let Some(end) = end else { return notifier.wait(None) };
        let own = notifier.clone();
        let alarm = self.runtime.spawn(async move {
            sleep_until(end).await;
            own.notify();
        });
        notifier.wait(None);
        alarm.abort();
    }
}

impl fmt::Debug for Tokio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokio").field("now", &self.now()).finish_non_exhaustive()
    }
}

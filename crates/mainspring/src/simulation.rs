//! An engine without threads and without the operating system's time: for tests that cannot race.
//!
//! ```text
//!   advance(d)         moves time to each deadline on the way, fires what is due there, on this thread, and returns
//!   run_until_idle()   continues until nothing is pending
//! ```
//!
//! A test with a manual clock beside a driver's thread has to wait until that thread has fired. Here nothing
//! fires but inside [`advance`](Simulation::advance), which has fired all that is due when it returns.
//! Callbacks may schedule, cancel and reset: what becomes due on the way fires as well, at its own time. An
//! hour takes as long as its callbacks do.
//!
//! What the test schedules must come from the test's thread or from callbacks: time may have passed a tick
//! that another thread has just read.
//!
//! Cost: that of the queue. It does not run a program's own threads, nor async tasks: a test polls those
//! itself.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

use crate::clock::{Clock, Manual};
use crate::driver::Single;
use crate::engine::Engine;
use crate::front::{RunTasks, Task};
use crate::global;

/// An engine whose time is moved by the test. See the [module](self).
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::time::Duration;
/// use mainspring::Simulation;
///
/// let simulation = Simulation::new();
/// let run_count = Arc::new(AtomicU32::new(0));
/// let counted = Arc::clone(&run_count);
/// simulation.engine().callbacks().every(Duration::from_secs(60), move |_| _ = counted.fetch_add(1, Relaxed))?;
///
/// assert_eq!(simulation.advance(Duration::from_secs(59)), 0);
/// assert_eq!(simulation.advance(Duration::from_secs(1)), 1);
/// assert_eq!(simulation.advance(Duration::from_secs(24 * 3_600)), 24 * 60);
/// assert_eq!(run_count.load(Relaxed), 1 + 24 * 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a dropped simulation fires nothing"]
pub struct Simulation {
    driver: Arc<Single<Chunked<Task>>>,
    clock: Manual,
    engine: Engine,
}

impl Simulation {
    /// Makes one at tick 0, with ticks of a millisecond and nothing pending.
    #[inline]
    pub fn new() -> Simulation {
        let clock = Manual::leaping();
        let driver = Arc::new(Single::new(Chunked::new(), clock.clone()));
        Simulation { engine: Engine::from_driver(Arc::clone(&driver)), driver, clock }
    }

    /// Returns the engine, with all fronts.
    #[inline]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the clock, for a wall clock of the test's, say. Move it by [`advance`](Self::advance): moved
    /// otherwise it passes deadlines whose timers fire with the next advance, late.
    #[inline]
    pub fn clock(&self) -> &Manual {
        &self.clock
    }

    /// Moves time forward by a duration, rounded down to whole ticks, and fires what becomes due on the way,
    /// on this thread, each timer at its own time. Returns how many fired.
    #[inline]
    pub fn advance(&self, duration: Duration) -> u64 {
        let ticks = duration.as_nanos() / self.clock.resolution().as_nanos();
        self.advance_to(self.clock.now().after(u64::try_from(ticks).unwrap_or(u64::MAX)))
    }

    /// Moves time forward to a tick as [`advance`](Self::advance) does; to an earlier one than now it only
    /// fires what is due.
    #[inline]
    pub fn advance_to(&self, tick: Tick) -> u64 {
        let fired_count = self.engine.counts().fired;
        self.driver.run_until(tick, &mut RunTasks);
        self.engine.counts().fired - fired_count
    }

    /// Moves time forward until nothing is pending, and returns how many fired. With a timer that repeats,
    /// that is never. A delay beyond the clock's range, which no other run sees the end of, is pending as
    /// well: time goes to the end of the range, and it fires there.
    #[inline]
    pub fn run_until_idle(&self) -> u64 {
        let fired_count = self.engine.counts().fired;
        self.driver.run_until_idle(&mut RunTasks);
        self.engine.counts().fired - fired_count
    }

    /// Makes this the engine that the process shares, so that a test moves the time of code that uses
    /// [`mainspring::after`](crate::after) and the like; tells whether it did. `false`: there is one already.
    ///
    /// One process has one: tests of one binary share it. Give such a test a binary of its own, and keep the
    /// simulation: when it is dropped the shared engine takes no more timers.
    #[must_use = "it does nothing if the process has an engine already"]
    #[inline]
    pub fn set_global(&self) -> bool {
        global::set_global_with(|| Engine::from_driver(Arc::clone(&self.driver)))
    }
}

impl Default for Simulation {
    #[inline]
    fn default() -> Simulation {
        Simulation::new()
    }
}

/// As [`Engine`].
impl UnwindSafe for Simulation {}
impl RefUnwindSafe for Simulation {}

impl fmt::Debug for Simulation {
    #[inline]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Simulation").field("now", &self.clock.now()).finish_non_exhaustive()
    }
}

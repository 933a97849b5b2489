//! The preset of RussellLuo/timingwheel, and why it may be refused.
//!
//! Cost: that of the queue. It does not run functions elsewhere unless it is told where.
//!
//! Source: <https://github.com/RussellLuo/timingwheel>.

use std::fmt;
use std::io;
use std::time::Duration;

use mainspring_queue::wheel::Overflow;

use crate::clock::Clock;
use crate::driver::Fire;
use crate::engine::Engine;
use crate::front::{RunTasks, Task};

/// RussellLuo/timingwheel refuses ticks shorter than this.
pub const TIMINGWHEEL_TICK_MIN: Duration = Duration::from_millis(1);

/// Starts the wheel of RussellLuo/timingwheel, Kafka's design with its own tick and size. Its `AfterFunc` is
/// [`Callbacks::after`](crate::Callbacks::after), its `ScheduleFunc`
/// [`Callbacks::following`](crate::Callbacks::following).
///
/// # Errors
/// The tick is shorter than [`TIMINGWHEEL_TICK_MIN`], or no multiple of the clock's resolution; or the
/// operating system would not start a thread.
///
/// # Panics
/// If `slot_count` is less than 2.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::timingwheel(Manual::stepped(), Duration::from_millis(1), 20)?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn timingwheel(clock: impl Clock, tick: Duration, slot_count: usize) -> Result<Engine, TimingwheelError> {
    timingwheel_with(clock, tick, slot_count, RunTasks)
}

/// Starts the same with functions that run elsewhere, as RussellLuo's run in goroutines: see
/// [`go_1_9_with`](super::go_1_9_with).
///
/// # Errors
/// As [`timingwheel`].
///
/// # Panics
/// If `slot_count` is less than 2.
///
/// ```
/// use std::time::Duration;
/// use mainspring::{clock::Manual, front::Threads, preset};
///
/// let tick = Duration::from_millis(1);
/// let engine = preset::timingwheel_with(Manual::stepped(), tick, 20, Threads::at_most(8).run_tasks())?;
/// # Ok::<(), preset::TimingwheelError>(())
/// ```
pub fn timingwheel_with(
    clock: impl Clock,
    tick: Duration,
    slot_count: usize,
    fire: impl Fire<Task> + 'static,
) -> Result<Engine, TimingwheelError> {
    if tick < TIMINGWHEEL_TICK_MIN {
        return Err(TimingwheelError::TickTooShort);
    }
    let ticks_per_slot = whole_ticks(tick, &clock).ok_or(TimingwheelError::TickUneven)?;
    Engine::start(Overflow::new(slot_count, ticks_per_slot), clock, fire).map_err(TimingwheelError::Thread)
}

/// How many of the clock's ticks a duration is, if it is a whole number of at least one.
pub(super) fn whole_ticks(duration: Duration, clock: &impl Clock) -> Option<u64> {
    let (duration, resolution) = (duration.as_nanos(), clock.resolution().as_nanos());
    let ticks = u64::try_from(duration / resolution).ok()?;
    (duration.is_multiple_of(resolution) && ticks > 0).then_some(ticks)
}

/// Why a [`timingwheel`] was not started.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset::{self, TimingwheelError};
///
/// let refused = preset::timingwheel(Manual::stepped(), Duration::from_micros(1), 20);
/// assert!(matches!(refused, Err(TimingwheelError::TickTooShort)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum TimingwheelError {
    /// The tick is shorter than [`TIMINGWHEEL_TICK_MIN`].
    TickTooShort,
    /// The tick is no multiple of the clock's resolution.
    TickUneven,
    /// The operating system would not start a thread.
    Thread(io::Error),
}

impl fmt::Display for TimingwheelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TimingwheelError::TickTooShort => "the tick of a timing wheel must be at least a millisecond",
            TimingwheelError::TickUneven => "the tick is not a multiple of the clock's resolution",
            TimingwheelError::Thread(_) => "no thread could be started for the timing wheel",
        })
    }
}

impl std::error::Error for TimingwheelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TimingwheelError::Thread(error) => Some(error),
            TimingwheelError::TickTooShort | TimingwheelError::TickUneven => None,
        }
    }
}

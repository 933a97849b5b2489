//! The occurrences of a schedule as a stream: the calendar for async programs.
//!
//! ```
//! use mainspring::front::Occurrences;
//! use mainspring_cron::Schedule;
//!
//! # async fn trial(handle: mainspring::Handle<mainspring::front::Task>) -> Result<(), Box<dyn std::error::Error>> {
//! let schedule = Schedule::parse("*/5 * * * *", "Europe/Berlin")?;
//! let mut occurrences = Occurrences::new(handle, schedule);
//! while let Some(occurrence) = occurrences.next_occurrence().await {
//!     println!("due at {}, {:?} late", occurrence.nominal, occurrence.lateness);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! An occurrence that has passed when the program asks comes at once; of several that have passed comes the
//! last, which says how many were missed. The stream ends where the schedule does, and when the driver is
//! shut down. Dropping it cancels.
//!
//! A wall clock that is set is noticed within [`LOOK_AGAIN`]. What that means for occurrences, and which are
//! too old to come, is as in the [calendar](super::calendar).
//!
//! Cost: one timer; a wake-up per occurrence, and one per [`LOOK_AGAIN`] where that is longer.
//!
//! It does not run occurrences beside each other: the program that asks decides.

use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use jiff::Zoned;
use mainspring_cron::Schedule;

use super::calendar::{Occurrence, Upcoming};
use super::future::{Futures, Sleep};
use super::task::Task;
use crate::clock::wall::{System, WallClock};
use crate::handle::Handle;

/// How long a wait may be before the wall clock is looked at again: as often as cron does.
pub const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A stream of the occurrences of a schedule.
///
/// ```
/// use mainspring::{cron::Schedule, front::Occurrences};
///
/// # smol::block_on(async {
/// let engine = mainspring::global()?;
/// let schedule = Schedule::parse("* * * * * *", "Europe/Berlin")?;
/// let mut seconds = Occurrences::new(engine.handle().clone(), schedule);
/// let occurrence = seconds.next_occurrence().await.expect("there is always another second");
/// println!("the second {}", occurrence.nominal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Occurrences {
    upcoming: Upcoming,
    wall: Arc<dyn WallClock>,
    sleep: Sleep,
}

impl Occurrences {
    /// Makes a stream of what `schedule` names from now on, by the system's wall clock.
    pub fn new(handle: Handle<Task>, schedule: Schedule) -> Occurrences {
        Occurrences::with_wall(handle, System, schedule)
    }

    /// The same by any wall clock.
    pub fn with_wall(handle: Handle<Task>, wall: impl WallClock, schedule: Schedule) -> Occurrences {
        let wall: Arc<dyn WallClock> = Arc::new(wall);
        let upcoming = Upcoming::after(schedule, wall.now());
        let sleep = Futures::new(handle).sleep(Duration::ZERO);
        let mut occurrences = Occurrences { upcoming, wall, sleep };
        occurrences.set_sleep();
        occurrences
    }

    /// Returns the nominal time of the next occurrence; `None` if there is none.
    pub fn next_run(&self) -> Option<&Zoned> {
        self.upcoming.next.as_ref()
    }

    /// Waits for the next occurrence; `None` at the end. Dropping the future loses none.
    pub async fn next_occurrence(&mut self) -> Option<Occurrence> {
        poll_fn(|context| self.poll_occurrence(context)).await
    }

    /// Polls for the next occurrence.
    pub fn poll_occurrence(&mut self, context: &mut Context<'_>) -> Poll<Option<Occurrence>> {
        loop {
            if self.upcoming.next.is_none() {
                return Poll::Ready(None);
            }
            ready!(Pin::new(&mut self.sleep).poll(context));
            if self.sleep.refusal().is_some() {
                return Poll::Ready(None);
            }
            let occurrence = self.upcoming.take_due(self.wall.now());
            self.set_sleep();
            if occurrence.is_some() {
                return Poll::Ready(occurrence);
            }
        }
    }

    /// Sleeps until the next occurrence, or the next look at the wall clock.
    fn set_sleep(&mut self) {
        let Some(next) = &self.upcoming.next else { return };
        let distance = Duration::try_from(next.timestamp().duration_since(self.wall.now()));
        self.sleep.reset(distance.unwrap_or(Duration::ZERO).min(LOOK_AGAIN));
    }
}

/// It is changed after its clock has been read.
impl UnwindSafe for Occurrences {}
impl RefUnwindSafe for Occurrences {}

impl fmt::Debug for Occurrences {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Occurrences").field("next", &self.upcoming.next).finish_non_exhaustive()
    }
}

impl Stream for Occurrences {
    type Item = Occurrence;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Occurrence>> {
        self.poll_occurrence(context)
    }
}

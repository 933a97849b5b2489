//! The parts of a driver as timers hold them: by one word.
//!
//! ```text
//!   timer [ seat | id ]  16 bytes           seat [ counts ][ part, a fat pointer | lane ]          part: a lane of the driver
//!   timer [ seat | id ] ────one per lane──▶      hot: all timers of a lane share it   ──────▶
//! ```
//!
//! A program keeps a crowd of timers, and comes to each when it has left all caches. A reference to a part
//! takes two words, because the part's type is not known, and with the driver's number for the lane a timer
//! took 32 bytes: twice the memory, and every second one in a crowd lay across two lines.
//!
//! Cost: a step more to the part, through memory that is in cache. One allocation per lane that is used.
//!
//! It does not choose the lane: the driver does.

mod absent;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use mainspring_queue::Tick;

use self::absent::Absent;
use crate::clock::Clock;
use crate::driver::{Part, Refusal, Refused, TimerId, Timers};

/// How many seats are found at once. The default driver has no more lanes.
const BLOCK_SEAT_COUNT: usize = 64;

/// Lanes from this number on have no seat that stays: each timer makes one. No machine has so many cores.
const SEAT_COUNT_MAX: usize = 4_096;

/// What timers share that go into one lane. Aligned to two cache lines, because processors fetch them in
/// pairs: threads of different lanes count references to different seats, and must not meet there.
#[repr(align(128))]
struct Seat<T> {
    part: Arc<dyn Part<T>>,
    lane: u32,
    /// Where to ask again for a part, if the driver had none.
    driver: Option<Asked<T>>,
}

/// A driver that had no part for a thread, and its seats.
struct Asked<T> {
    timers: Arc<dyn Timers<T>>,
    locals: Arc<Locals<T>>,
}

/// A handle of the part of a driver that some thread schedules into.
pub(crate) struct Local<T> {
    seat: Arc<Seat<T>>,
}

/// The seats of a driver, made as they are needed, and its clock.
pub(super) struct Locals<T> {
    pub(super) clock: Arc<dyn Clock>,
    first: Block<T>,
}

struct Block<T> {
    seats: [OnceLock<Arc<Seat<T>>>; BLOCK_SEAT_COUNT],
    next: OnceLock<Box<Block<T>>>,
}

impl<T> Block<T> {
    fn new() -> Block<T> {
        Block { seats: [const { OnceLock::new() }; BLOCK_SEAT_COUNT], next: OnceLock::new() }
    }

    fn seat(&self, index: usize) -> &OnceLock<Arc<Seat<T>>> {
        let mut block = self;
        for _ in 0..index / BLOCK_SEAT_COUNT {
            block = block.next.get_or_init(|| Box::new(Block::new()));
        }
        &block.seats[index % BLOCK_SEAT_COUNT]
    }
}

impl<T> Locals<T> {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Locals<T> {
        Locals { clock, first: Block::new() }
    }

    /// The part that the calling thread schedules into.
    #[inline]
    pub(super) fn of_caller(&self, timers: &(dyn Timers<T> + 'static)) -> Result<Local<T>, Refusal>
    where
        T: 'static,
    {
        let lane = timers.local_lane()?;
        match self.first.seats.get(lane as usize).and_then(OnceLock::get) {
            Some(seat) => Ok(Local { seat: Arc::clone(seat) }),
            None => self.seat(timers),
        }
    }

    #[cold]
    fn seat(&self, timers: &(dyn Timers<T> + 'static)) -> Result<Local<T>, Refusal>
    where
        T: 'static,
    {
        let part = timers.local()?;
        let lane = part.lane();
        let index = lane as usize;
        let make = || Arc::new(Seat { part, lane, driver: None });
        let seat = if index < SEAT_COUNT_MAX {
            Arc::clone(self.first.seat(index).get_or_init(make))
        } else {
            make()
        };
        Ok(Local { seat })
    }
}

impl<T: 'static> Local<T> {
    /// A part that refuses everything, until it is [asked again](Self::ask_again): the driver has no thread
    /// for a better one.
    #[cold]
    pub(super) fn absent(timers: Arc<dyn Timers<T>>, locals: Arc<Locals<T>>) -> Local<T> {
        let part = Arc::new(Absent::new(Arc::clone(&locals.clock)));
        let lane = Part::<T>::lane(&*part);
        Local { seat: Arc::new(Seat { part, lane, driver: Some(Asked { timers, locals }) }) }
    }

    /// Asks the driver again where it had no thread for the part.
    ///
    /// # Errors
    /// It has none still.
    #[inline]
    pub(crate) fn ask_again(&mut self) -> Result<(), Refusal> {
        if let Some(Asked { timers, locals }) = &self.seat.driver {
            *self = locals.of_caller(&**timers)?;
        }
        Ok(())
    }
}

impl<T> Local<T> {
    /// Adds a timer that the program asks for.
    #[inline]
    pub(crate) fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
        self.seat.part.schedule(deadline, payload)
    }

    /// Adds a timer that no limit turns away: see [`Timers::schedule_assured`].
    #[inline]
    pub(crate) fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
        self.seat.part.schedule_assured(deadline, payload)
    }

    /// The driver's name for a timer of this part.
    #[inline]
    pub(crate) fn id(&self, timer: mainspring_queue::TimerId) -> TimerId {
        TimerId::from_parts(self.seat.lane, timer)
    }
}

impl<T> Deref for Local<T> {
    type Target = dyn Part<T>;

    #[inline]
    fn deref(&self) -> &(dyn Part<T> + 'static) {
        &*self.seat.part
    }
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Local<T> {
        Local { seat: Arc::clone(&self.seat) }
    }
}

impl<T> fmt::Debug for Local<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Local").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Manual;
    use crate::driver::Striped;
    use crate::handle::Handle;
    use mainspring_queue::wheel::Chunked;

    #[test]
    fn threads_of_one_lane_share_a_seat_and_those_of_others_do_not() {
        // So many lanes that they need a second block, where each thread has one of its own.
        let driver = Striped::new(3 * BLOCK_SEAT_COUNT, Chunked::new, Manual::stepped());
        let handle: Handle<u64> = Handle::new(Arc::new(driver));
        let seat = || Arc::as_ptr(&handle.local().expect("it has a lane").seat).addr();
        assert_eq!(seat(), seat());
        let mut seats: Vec<usize> = (0..2 * BLOCK_SEAT_COUNT)
            .map(|_| std::thread::scope(|scope| scope.spawn(|| [seat(), seat()]).join().expect("it ends")))
            .map(|[one, other]| {
                assert_eq!(one, other);
                one
            })
            .collect();
        seats.sort_unstable();
        seats.dedup();
        assert!(BLOCK_SEAT_COUNT < seats.len(), "threads go into lanes of their own");
    }

    #[test]
    fn a_seat_ends_with_its_driver_and_its_timers() {
        let driver = Arc::new(Striped::new(4, Chunked::new, Manual::stepped()));
        let handle: Handle<u64> = Handle::new(Arc::clone(&driver) as Arc<dyn Timers<u64>>);
        let local = handle.local().expect("it has a lane");
        let seat = Arc::downgrade(&local.seat);
        drop(handle);
        drop(driver);
        assert!(seat.upgrade().is_some(), "a timer holds it");
        drop(local);
        assert!(seat.upgrade().is_none());
    }
}

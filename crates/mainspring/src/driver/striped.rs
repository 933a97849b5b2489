//! The driver with one thread and a queue per stripe: Mainspring's own default.
//!
//! ```text
//!   caller thread k --> stripe k mod n  [lock | queue]  \
//!   caller thread m --> stripe m mod n  [lock | queue]  --  one thread: a turn of each stripe, then one sleep
//! ```
//!
//! A timer goes to its caller's stripe, so threads that schedule and cancel their own timers do not meet at a lock; all timers
//! fire on one thread, one at a time, so what they do needs no care for one another. Any thread can cancel or reset any
//! timer: its id names the stripe. [`discard`](super::Timers::discard) does not even wait for the stripe's lock.
//!
//! Wake-up rule: the thread takes a turn of every stripe, and sleeps until the earliest of their next wakeups if none had more
//! to do. Each stripe is marked asleep in the critical section in which it was looked at last; a timer that is scheduled
//! before that stripe's next wakeup from then on rings the one bell. A ring stays until it is heard, so whichever stripe is
//! rung while others are still looked at ends the sleep that follows.
//!
//! Order: timers of one stripe fire as their queue says; those of different stripes, due at the same time, in no order.
//!
//! On shutdown the timer that is firing ends, nothing more fires, and all that is pending is handed back, earliest first.
//!
//! Cost: as [`single`](super::single), without contention between callers of different stripes; two uncontended locks more
//! per stripe and wake-up. Each stripe aligned to two cache lines. It does not run callbacks in parallel: see
//! [`sharded`](super::sharded).
//!
//! Source: lock striping, as in D. Lea's `ConcurrentHashMap`.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use mainspring_queue::TimerQueue;

use super::crew::Crew;
use super::lane::{Lane, Role, Turn, Wake};
use super::over_lanes::OverLanes;
use super::{Fire, Refusal, THREAD_NAME, thread_number};
use crate::clock::{Bell, Clock};

/// Stripes per core in [`Striped::for_cores`]: so many that the threads of a program, which outnumber its cores, seldom share one.
const STRIPES_PER_CORE: usize = 4;

/// Each wake-up looks at all stripes, so there is an end to what they are good for.
const STRIPE_COUNT_MAX: usize = 64;

/// A driver with a queue per stripe and one thread.
pub struct Striped<Q> {
    stripes: Vec<Stripe<Q>>,
    bell: Bell,
    clock: Arc<dyn Clock>,
    crew: Crew,
}

/// Aligned to two cache lines, because processors fetch them in pairs.
#[repr(align(128))]
struct Stripe<Q>(Lane<Q>);

impl<Q> Striped<Q> {
    /// Makes a driver of `stripe_count` stripes, each with a queue that `make_queue` makes.
    ///
    /// # Panics
    /// If `stripe_count` is 0 or does not fit in 32 bits.
    pub fn new(stripe_count: usize, mut make_queue: impl FnMut() -> Q, clock: Arc<dyn Clock>) -> Striped<Q> {
        assert!(stripe_count > 0, "a driver has a stripe");
        assert!(u32::try_from(stripe_count).is_ok(), "a stripe is named by 32 bits");
        let stripes = (0..stripe_count as u32).map(|index| Stripe(Lane::new(index, make_queue()))).collect();
        Striped { stripes, bell: Bell::new(), clock, crew: Crew::new() }
    }

    /// Makes a driver with four stripes for each core that the program may use, and no more than 64.
    pub fn for_cores(make_queue: impl FnMut() -> Q, clock: Arc<dyn Clock>) -> Striped<Q> {
        let core_count = available_parallelism().map_or(1, NonZero::get);
        Striped::new((core_count * STRIPES_PER_CORE).min(STRIPE_COUNT_MAX), make_queue, clock)
    }

    /// Starts the thread that runs the driver until it is shut down. Call it once.
    ///
    /// # Errors
    /// The operating system would not start a thread.
    pub fn start<T>(self: &Arc<Self>, mut fire: impl Fire<T> + 'static) -> io::Result<()>
    where
        Q: TimerQueue<T> + Send + 'static,
    {
        let driver = Arc::clone(self);
        self.crew.start(THREAD_NAME.to_owned(), move || driver.run(&mut fire)).map(|_| ())
    }

    /// Fires timers on the calling thread, sleeping in between, until the driver is shut down.
    ///
    /// Only one thread may run a driver at a time.
    pub fn run<T>(&self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        loop {
            match self.turn(fire) {
                Turn::Busy => (),
                Turn::Idle(until) => {
                    self.clock.wait(&self.bell, until);
                    self.lanes().for_each(Lane::note_awake);
                    self.stripes[0].0.count_wakeup();
                }
                Turn::Stopping => return,
            }
        }
    }

    /// A turn of each stripe.
    fn turn<T>(&self, fire: &mut impl Fire<T>) -> Turn
    where
        Q: TimerQueue<T>,
    {
        let (mut is_busy, mut next) = (false, None);
        for lane in self.lanes() {
            match lane.turn(&*self.clock, Role::Owner, fire, || ()) {
                Turn::Busy => is_busy = true,
                Turn::Idle(until) => next = next.into_iter().chain(until).min(),
                Turn::Stopping => return Turn::Stopping,
            }
        }
        if is_busy { Turn::Busy } else { Turn::Idle(next) }
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane<Q>> {
        self.stripes.iter().map(|stripe| &stripe.0)
    }
}

impl<T, Q> OverLanes<T> for Striped<Q>
where
    T: Send,
    Q: TimerQueue<T> + Send,
{
    type Queue = Q;

    fn lane_of_caller(&self) -> Result<&Lane<Q>, Refusal> {
        Ok(&self.stripes[thread_number() % self.stripes.len()].0)
    }

    fn lane_count(&self) -> u32 {
        self.stripes.len() as u32
    }

    fn lane_numbered(&self, number: u32) -> Option<&Lane<Q>> {
        self.stripes.get(number as usize).map(|stripe| &stripe.0)
    }

    /// A thread at work looks at every stripe again before it sleeps; one that sleeps must be woken.
    fn wake_for(&self, _number: u32, wake: Wake) {
        if matches!(wake, Wake::Sleeper(_)) {
            self.bell.ring();
        }
    }

    fn clock_of_lanes(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn end(&self) {
        self.lanes().for_each(Lane::stop);
        self.bell.ring();
        self.crew.wait_for_end();
    }
}

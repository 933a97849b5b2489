//! The driver with one thread and a queue per stripe: Mainspring's own default.
//!
//! ```text
//!   caller thread k --> stripe k mod n  [lock | queue]  \
//!   caller thread m --> stripe m mod n  [lock | queue]  --  one thread: a turn of each stripe, then one sleep
//! ```
//!
//! `schedule`, `cancel` and the other calls are those of every driver with shards: see `shard_set.rs`. Here
//! stands which shard a caller has, and which thread fires it.
//!
//! A timer goes to its caller's stripe, so threads that schedule and cancel their own timers do not meet at a
//! lock; all timers fire on one thread, one at a time, so what they do needs no care for one another. Any
//! thread can cancel or reset any timer: its id names the stripe.
//!
//! Wake-up rule: the thread takes a turn of every stripe, and sleeps until the earliest of their next wakeups
//! if none had more to do. While one has more, only stripes with something due get a turn, by what they
//! publish; before each sleep all get one. Each stripe is marked asleep in the critical section in which it
//! was looked at last; a timer that is scheduled before that stripe's next wakeup from then on notifies the
//! one notifier. A notification stays until it is taken, so whichever stripe is notified while others are
//! still looked at ends the sleep that follows.
//!
//! Order: timers of one stripe fire as their queue says; those of different stripes, due at the same time, in
//! no order.
//!
//! On shutdown the timer that is firing ends, nothing more fires, and all that is pending is handed back,
//! earliest first.
//!
//! Cost: as [`single`](super::single), without contention between callers of different stripes; two
//! uncontended locks more per stripe and wake-up. It does not run callbacks in parallel: see
//! [`sharded`](super::sharded).
//!
//! Source: lock striping, as in D. Lea's `ConcurrentHashMap`.

use std::fmt;
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use mainspring_queue::{ResetError, Tick, TimerQueue};

use super::driver_threads::DriverThreads;
use super::shard::{Alarm, NoWatch, Role, Shard, Turn};
use super::shard_set::{ShardSet, drive_shards, shard};
use super::{
    Counts, Driver, Fire, Part, Refusal, RefusedTimer, THREAD_NAME, TimerId, Timers, UnfiredTimer,
    thread_number,
};
use crate::clock::{Clock, Notifier};

/// Stripes per core in [`Striped::for_cores`]: so many that the threads of a program, which outnumber its
/// cores, seldom share one.
const STRIPES_PER_CORE: usize = 4;

/// Each wake-up looks at all stripes, so there is an end to what they are good for.
const STRIPE_COUNT_MAX: usize = 64;

/// A driver with a queue per stripe and one thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::Striped;
/// use mainspring::front::RunTasks;
/// use mainspring::queue::wheel::Chunked;
///
/// let engine = Striped::for_cores(Chunked::new, Monotonic::new()).into_engine(RunTasks)?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.is_pending());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Striped<Q> {
    /// A shard per stripe.
    stripes: Vec<Arc<Shard<Q>>>,
    notifier: Notifier,
    clock: Arc<dyn Clock>,
    threads: DriverThreads,
}

/// Which stripes get a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// All: the thread sleeps afterwards if nothing is due, and each has to know that.
    AtAll,
    /// Those with something due. While one of them has more due than a turn fires, the others cost a load
    /// each, and no lock.
    AtDue,
}

impl<Q> Striped<Q> {
    /// Makes a driver of `stripe_count` stripes, each with a queue that `make_queue` makes.
    ///
    /// # Panics
    /// If `stripe_count` is 0 or does not fit in 32 bits.
    pub fn new(stripe_count: usize, mut make_queue: impl FnMut() -> Q, clock: impl Clock) -> Striped<Q> {
        let clock = clock.into_shared();
        assert!(stripe_count > 0, "a driver has a stripe");
        assert!(u32::try_from(stripe_count).is_ok(), "a stripe is named by 32 bits");
        let notifier = Notifier::new();
        let alarm: Arc<dyn Alarm> = Arc::new(notifier.clone());
        let shard = |index| Shard::new(index, make_queue(), Arc::clone(&clock), Arc::clone(&alarm));
        let stripes = (0..stripe_count as u32).map(shard).map(Arc::new).collect();
        Striped { stripes, notifier, clock, threads: DriverThreads::new() }
    }

    /// Makes a driver with at least four stripes for each core that the program may use, and no more than 64.
    pub fn for_cores(make_queue: impl FnMut() -> Q, clock: impl Clock) -> Striped<Q> {
        let core_count = available_parallelism().map_or(1, NonZero::get);
        let stripe_count = (core_count * STRIPES_PER_CORE).next_power_of_two().min(STRIPE_COUNT_MAX);
        Striped::new(stripe_count, make_queue, clock)
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
        self.threads.start(THREAD_NAME.to_owned(), move || driver.run(&mut fire)).map(|_| ())
    }

    /// Fires timers on the calling thread, sleeping in between, until the driver is shut down.
    ///
    /// Only one thread may run a driver at a time.
    pub fn run<T>(&self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        let mut looks = Looks::AtAll;
        loop {
            match (self.turn(looks, fire), looks) {
                (Turn::Busy, _) => looks = Looks::AtDue,
                // What was not looked at may have something by now.
                (Turn::Idle(_), Looks::AtDue) => looks = Looks::AtAll,
                (Turn::Idle(until), Looks::AtAll) => {
                    self.clock.wait(&self.notifier, until);
                    self.stripes.iter().for_each(|shard| shard.note_awake());
                    self.stripes[0].count_wakeup();
                }
                (Turn::Stopping, _) => return,
            }
        }
    }

    /// A turn of each stripe.
    fn turn<T>(&self, looks: Looks, fire: &mut impl Fire<T>) -> Turn
    where
        Q: TimerQueue<T>,
    {
        let (mut is_busy, mut next) = (false, None);
        let read = self.clock.now();
        for shard in &self.stripes {
            if looks == Looks::AtDue && read < shard.next() {
                continue;
            }
            match shard.turn(Role::Owner, fire, &NoWatch) {
                Turn::Busy => is_busy = true,
                Turn::Idle(until) => next = next.into_iter().chain(until).min(),
                Turn::Stopping => return Turn::Stopping,
            }
        }
        if is_busy { Turn::Busy } else { Turn::Idle(next) }
    }
}

drive_shards!([Q] Striped<Q> where
    Q: TimerQueue<T> + Send,
);

impl<T, Q> ShardSet<T> for Striped<Q>
where
    T: Send,
    Q: TimerQueue<T> + Send,
{
    type Queue = Q;

    fn shard_of_caller(&self) -> Result<&Arc<Shard<Q>>, Refusal> {
        // With a power of two, as `for_cores` makes them, no division.
        let (number, count) = (thread_number(), self.stripes.len());
        let index = if count.is_power_of_two() { number & (count - 1) } else { number % count };
        Ok(&self.stripes[index])
    }

    fn shards(&self) -> &[Arc<Shard<Q>>] {
        &self.stripes
    }

    fn end(&self) {
        self.stripes.iter().for_each(|shard| shard.stop());
        self.notifier.notify();
        self.threads.wait_for_end();
    }
}

impl<Q> fmt::Debug for Striped<Q> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Striped").finish_non_exhaustive()
    }
}

//! The driver with one thread and one queue: Go up to 1.9, Netty, Kafka, skynet.
//!
//! ```text
//!   loop { advance(clock.now()); pop and fire until nothing is due; wait(notifier, next_wakeup) }
//! ```
//!
//! `schedule`, `cancel` and the other calls are those of every driver with shards: see `shard_set.rs`. Here
//! stands which shard a caller has, and which thread fires it.
//!
//! Wake-up rule: the thread sleeps until the queue's next wakeup, without limit if nothing is pending; a
//! timer that is scheduled or reset to before that notifies, once. So nothing due means no wake-up at
//! all. Cancelling does not notify: the driver may wake once at the time of a timer that is gone.
//!
//! The lock is released around each firing, so a callback may use the queue, and a timer can be cancelled or
//! reset up to the moment it is taken out. Timers fire one at a time.
//!
//! On shutdown the timer that is firing ends, nothing more fires, and all that is pending is handed back.
//!
//! Cost: one lock per operation and per firing; one wake-up per distinct deadline at most. It does not spread
//! load over threads, and a slow callback makes the others late: see
//! [`Report::lateness_ticks`](super::Report::lateness_ticks).
//!
//! Source: Go 1.9's `timerproc`; Netty's `Worker`.

use std::fmt;
use std::io;
use std::sync::Arc;

use mainspring_queue::wheel::Chunked;
use mainspring_queue::{ResetError, Tick, TimerQueue};

use super::driver_threads::DriverThreads;
use super::shard::{NoWatch, Role, Shard, Turn};
use super::shard_set::{ShardSet, drive_shards, shard};
use super::{Counts, Driver, Fire, Part, Refusal, RefusedTimer, THREAD_NAME, TimerId, Timers, UnfiredTimer};
use crate::clock::{Clock, Notifier};

/// A driver with one queue, for one thread to run.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::Single;
/// use mainspring::front::RunTasks;
/// use mainspring::queue::wheel::Chunked;
///
/// // As `Engine::start` does.
/// let driver = Arc::new(Single::new(Chunked::new(), Monotonic::new()));
/// driver.start(RunTasks)?;
/// let engine = Engine::from_driver(driver);
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.is_pending());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Single<Q> {
    /// The one.
    shards: [Arc<Shard<Q>>; 1],
    notifier: Notifier,
    threads: DriverThreads,
}

impl<T> Single<Chunked<T>> {
    /// Makes a driver that takes no timer at all, for a reason. No thread runs it. Its queue is the default
    /// engine's, for which a program has the code.
    pub(crate) fn refusing(clock: impl Clock, reason: Refusal) -> Single<Chunked<T>> {
        let driver = Single::new(Chunked::new(), clock);
        driver.shards[0].refuse(reason);
        driver
    }
}

impl<Q> Single<Q> {
    /// Makes a driver. Nothing fires until some thread [runs](Self::run) it, or [`start`](Self::start) starts
    /// one.
    pub fn new(queue: Q, clock: impl Clock) -> Single<Q> {
        let notifier = Notifier::new();
        let shard = Shard::new(0, queue, clock.into_shared(), Arc::new(notifier.clone()));
        Single { shards: [Arc::new(shard)], notifier, threads: DriverThreads::new() }
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

    /// Fires timers on the calling thread, sleeping in between, until [`stop`](Self::stop) is called.
    ///
    /// Only one thread may run a driver at a time.
    pub fn run<T>(&self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        self.shards[0].run(&self.notifier, fire);
    }

    /// Fires timers on the calling thread until the clock has reached the tick `end` and all that is due has
    /// fired, or [`stop`](Self::stop) is called.
    ///
    /// With a leaping [`Manual`](crate::clock::Manual) clock this is a simulation up to that tick.
    pub fn run_until<T>(&self, end: Tick, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        loop {
            let is_over = end <= self.shards[0].clock().now();
            match self.turn(fire) {
                Turn::Busy => (),
                Turn::Idle(_) if is_over => return,
                Turn::Idle(until) => self.sleep(Some(until.map_or(end, |until| until.min(end)))),
                Turn::Stopping => return,
            }
        }
    }

    /// Fires timers on the calling thread until none is pending, be it that another thread cancels the last,
    /// or [`stop`](Self::stop) is called.
    ///
    /// With a leaping [`Manual`](crate::clock::Manual) clock this is a simulation: time passes as fast as
    /// timers fire.
    pub fn run_until_idle<T>(&self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        self.shards[0].set_ends_when_empty(true);
        loop {
            match self.turn(fire) {
                Turn::Busy => (),
                Turn::Idle(Some(until)) => self.sleep(Some(until)),
                Turn::Idle(None) | Turn::Stopping => break,
            }
        }
        self.shards[0].set_ends_when_empty(false);
    }

    /// Makes the running thread return after the timer that it is firing. From now on no timer is taken.
    pub fn stop(&self) {
        self.shards[0].stop();
        self.notifier.notify();
    }

    fn turn<T>(&self, fire: &mut impl Fire<T>) -> Turn
    where
        Q: TimerQueue<T>,
    {
        self.shards[0].turn(Role::Owner, fire, &NoWatch)
    }

    fn sleep(&self, until: Option<Tick>) {
        self.shards[0].sleep(&self.notifier, until);
    }
}

drive_shards!([Q] Single<Q> where
    Q: TimerQueue<T> + Send,
);

impl<T, Q> ShardSet<T> for Single<Q>
where
    T: Send,
    Q: TimerQueue<T> + Send,
{
    type Queue = Q;

    fn shard_of_caller(&self) -> Result<&Arc<Shard<Q>>, Refusal> {
        Ok(&self.shards[0])
    }

    fn shards(&self) -> &[Arc<Shard<Q>>] {
        &self.shards
    }

    fn end(&self) {
        self.stop();
        self.threads.wait_for_end();
    }
}

impl<Q> fmt::Debug for Single<Q> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Single").finish_non_exhaustive()
    }
}

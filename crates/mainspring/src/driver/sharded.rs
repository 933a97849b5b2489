//! The driver with many queues, a lock and a thread each: Go 1.10 to 1.13.
//!
//! ```text
//!   caller thread k --> shard k mod n  [lock | queue | notifier]  <-- its thread, started by its first timer
//!                       shard ...      (128 bytes apart: no two locks share a cache line)
//! ```
//!
//! `schedule`, `cancel` and the other calls are those of every driver with shards: see `shard_set.rs`. Here
//! stands which shard a caller has, and which thread fires it.
//!
//! A timer goes to its caller's shard, so threads that schedule do not meet at one lock; what a callback
//! schedules stays in the shard that runs it. Which shard it is stands in the timer's id, so any thread can
//! cancel or reset it.
//!
//! Wake-up rule: as [`single`](super::single), for each shard. Callbacks of one shard run one at a time,
//! those of several shards in parallel; a slow one makes late only what is in its shard.
//!
//! The thread of a shard starts with its first timer, and never before; shards that are not used cost their
//! lock and an empty queue. If no thread can be started the timer goes to a shard that has one; without any
//! it is refused.
//!
//! | field | guard | why |
//! |---|---|---|
//! | the shard's queue | the shard | see [`shard`](super) |
//! | `has_thread` | written under `fire`, read without | a reader that misses the write takes the lock and looks again |
//! | the threads | [`driver_threads`](super) | shutdown waits for them, and none is started from then on |
//!
//! On shutdown each shard ends its firing; what is pending in all of them is handed back, earliest first.
//!
//! Cost: as `single`, without contention between threads of different shards; n threads at most.
//!
//! Source: Go 1.10's `timersBucket`, 64 of them, by the processor that runs the caller; Go stopped at 64
//! because a bucket per processor made buckets move.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::Arc;

use mainspring_queue::{ResetError, Tick, TimerQueue};

use super::driver_threads::DriverThreads;
use super::shard::Shard;
use super::shard_set::{ShardSet, drive_shards, shard};
use super::{
    Counts, Driver, Fire, Part, Refusal, RefusedTimer, THREAD_NAME, TimerId, Timers, UnfiredTimer,
    thread_number,
};
use crate::clock::{Clock, Notifier};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};

/// Go's number of shards.
pub const SHARD_COUNT_DEFAULT: usize = 64;

/// A driver with a queue and a thread per shard.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::clock::Monotonic;
/// use mainspring::driver::Sharded;
/// use mainspring::front::RunTasks;
/// use mainspring::queue::heap::Quaternary;
///
/// let driver = Arc::new(Sharded::new(64, Quaternary::new, Monotonic::new(), RunTasks));
/// let engine = Engine::from_driver(Arc::clone(&driver));
/// engine.callbacks().after(Duration::from_secs(1), |_| println!("on this thread's shard"))?;
/// assert_eq!(driver.thread_count(), 1, "the others have no thread yet");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sharded<Q, F> {
    shards: Vec<Arc<Shard<Q>>>,
    waiters: Vec<ShardWaiter>,
    /// Cloned for each thread.
    fire: Mutex<F>,
    threads: DriverThreads,
}

/// Where the thread of a shard waits. What is written here is written seldom.
struct ShardWaiter {
    notifier: Notifier,
    has_thread: AtomicBool,
}

crate::sync::thread_local! {
    /// The shard that this thread fires: its shard's address, which is no other's while the thread holds it,
    /// and its index.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro knows no const")]
    static OWN_SHARD: Cell<Option<(usize, usize)>> = Cell::new(None);
}

impl<Q, F> Sharded<Q, F> {
    /// Makes a driver of `shard_count` shards, each with a queue that `make_queue` makes and, once it is
    /// needed, a thread with a clone of `fire`.
    ///
    /// # Panics
    /// If `shard_count` is 0 or does not fit in 32 bits.
    pub fn new(
        shard_count: usize,
        mut make_queue: impl FnMut() -> Q,
        clock: impl Clock,
        fire: F,
    ) -> Sharded<Q, F> {
        let clock = clock.into_shared();
        assert!(shard_count > 0, "a driver has a shard");
        assert!(u32::try_from(shard_count).is_ok(), "a shard is named by 32 bits");
        let waiter = |_| ShardWaiter { notifier: Notifier::new(), has_thread: AtomicBool::new(false) };
        let waiters: Vec<ShardWaiter> = (0..shard_count).map(waiter).collect();
        let shard = |(index, waiter): (usize, &ShardWaiter)| {
            Shard::new(index as u32, make_queue(), Arc::clone(&clock), Arc::new(waiter.notifier.clone()))
        };
        let shards = waiters.iter().enumerate().map(shard).map(Arc::new).collect();
        Sharded { shards, waiters, fire: Mutex::new(fire), threads: DriverThreads::new() }
    }

    /// Returns how many shards have a thread.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The shard that the calling thread fires, if it is one of the driver's own.
    fn own_shard(&self) -> Option<usize> {
        let (address, index) = OWN_SHARD.with(Cell::get)?;
        (Arc::as_ptr(self.shards.get(index)?).addr() == address).then_some(index)
    }

    /// Starts a shard's thread if it has none.
    fn ensure_thread<T>(&self, index: usize) -> io::Result<()>
    where
        T: Send,
        Q: TimerQueue<T> + Send + 'static,
        F: Fire<T> + Clone + 'static,
    {
        let waiter = &self.waiters[index];
        // Acquire, though nothing is read through it: a missed write only costs the lock below.
        if waiter.has_thread.load(Ordering::Acquire) {
            return Ok(());
        }
        let original = lock(&self.fire);
        if waiter.has_thread.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut fire = original.clone();
        let (shard, notifier) = (Arc::clone(&self.shards[index]), waiter.notifier.clone());
        let name = format!("{THREAD_NAME}-{index}");
        let run = move || {
            OWN_SHARD.with(|own| own.set(Some((Arc::as_ptr(&shard).addr(), index))));
            shard.run(&notifier, &mut fire);
        };
        self.threads.start(name, run)?;
        waiter.has_thread.store(true, Ordering::Release);
        Ok(())
    }
}

drive_shards!([Q, F] Sharded<Q, F> where
    Q: TimerQueue<T> + Send + 'static,
    F: Fire<T> + Clone + 'static,
);

impl<T, Q, F> ShardSet<T> for Sharded<Q, F>
where
    T: Send,
    Q: TimerQueue<T> + Send + 'static,
    F: Fire<T> + Clone + 'static,
{
    type Queue = Q;

    fn shard_of_caller(&self) -> Result<&Arc<Shard<Q>>, Refusal> {
        let index = self.own_shard().unwrap_or_else(|| thread_number() % self.shards.len());
        if self.ensure_thread(index).is_ok() {
            return Ok(&self.shards[index]);
        }
        // One that has a thread will do.
        let index = self.waiters.iter().position(|waiter| waiter.has_thread.load(Ordering::Acquire));
        index.map(|index| &self.shards[index]).ok_or(Refusal::NoThread)
    }

    fn shards(&self) -> &[Arc<Shard<Q>>] {
        &self.shards
    }

    fn end(&self) {
        self.shards.iter().for_each(|shard| shard.stop());
        self.waiters.iter().for_each(|waiter| waiter.notifier.notify());
        self.threads.wait_for_end();
    }
}

impl<Q, F> fmt::Debug for Sharded<Q, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sharded").finish_non_exhaustive()
    }
}

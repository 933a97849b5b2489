//! Named combinations of queue, driver and front: the systems of the field, and Mainspring's own.
//!
//! | preset | as | queue | driver |
//! |---|---|---|---|
//! | [`go_1_9`] | Go up to 1.9 | `heap::Quaternary` | single |
//! | [`go_1_10`] | Go 1.10 to 1.13 | `heap::Quaternary` | sharded, 64 |
//! | [`go_1_14`] | Go from 1.14 | `heap::Lazy` | per worker, with stealing |
//! | [`simple_wheel`] | Varghese & Lauck, scheme 4 | `wheel::Simple` | single |
//! | [`rounds_wheel`] | "virtual levels" | `wheel::Rounds` | single |
//! | [`hierarchical_wheel`] | Varghese & Lauck, scheme 7 | `wheel::Hierarchical` | single |
//! | [`kafka`] | Kafka's `SystemTimer` | `wheel::Overflow` | single |
//! | [`timingwheel`] | RussellLuo/timingwheel | `wheel::Overflow` | single |
//! | [`netty`] | Netty's `HashedWheelTimer` | `wheel::Rounds`, limited | single |
//! | [`skynet`] | skynet's timer | `wheel::Cascading` | single |
//! | [`nginx`] | nginx's event timers | `RedBlackTree` | single |
//! | `nginx_loop` (feature `poll`) | nginx's event loop | `RedBlackTree` | poll |
//! | [`skip_list`] | a skip list | `SkipList` | single |
//! | [`mainspring`] | Mainspring | `wheel::Chunked` | striped |
//!
//! Each is an [`Engine`] of [`Task`]s, so every front works over it. Each takes the clock ([`mainspring`] has
//! [`mainspring_on`] for that): [`Monotonic`](crate::clock::Monotonic) in a program,
//! [`Manual`](crate::clock::Manual) in a test. What an original lets one choose is a parameter, of itself or
//! of a sibling (`netty_with`, `kafka_with`), and its usual value a constant here. All but `go_1_10` and
//! `go_1_14` fire on one thread.
//!
//! Go and RussellLuo/timingwheel run each function in a goroutine of its own, where it may take long and wait
//! for other timers. Here functions run on the driver's thread, unless a sibling (`go_1_9_with`,
//! `timingwheel_with`) is given an executor with a limit: see [`Threads`](crate::front::Threads). Sending on
//! channels and waking futures stays on the driver's thread, as in Go.
//!
//! A loop that waits for sockets as well needs a handler of the program's own, so `nginx_loop` is a driver to
//! run and no engine. Go's workers wait in the network poller; a
//! [`Worker`](crate::driver::per_worker::Worker) of a program that waits for something else fires what is due
//! and says until when it may wait.
//!
//! This is the one module that names structures, drivers and fronts together.

mod default;
mod timingwheel;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::wheel::{Cascading, Hierarchical, Overflow, Rounds, Simple};
use mainspring_queue::{LimitedQueue, RedBlackTree, SkipList, TimerQueue, heap};

use crate::clock::Clock;
#[cfg(all(feature = "poll", unix))]
use crate::driver::Poll;
use crate::driver::{Fire, PerWorker, Sharded, sharded};
use crate::engine::Engine;
use crate::front::{RunTasks, Task};
use timingwheel::whole_ticks;

pub use timingwheel::{TIMINGWHEEL_TICK_MIN, TimingwheelError, timingwheel, timingwheel_with};

/// Slots per level of Kafka's wheel.
pub const KAFKA_SLOT_COUNT: usize = 20;

/// Slots of Netty's wheel.
pub const NETTY_SLOT_COUNT: usize = 512;

/// How long one of Netty's slots lasts.
pub const NETTY_TICK: Duration = Duration::from_millis(100);

/// skynet counts time in hundredths of a second: the resolution to give the clock of [`skynet`].
pub const SKYNET_TICK: Duration = Duration::from_millis(10);

/// nginx leaves a timer where it is if it would move by less than this: see
/// [`Timer::reset_lazily`](crate::front::callback::Timer::reset_lazily).
pub const NGINX_LAZINESS: Duration = Duration::from_millis(300);

/// Starts Mainspring's own default, as [`Engine::new`] does: chunked wheels, four per core, so that the
/// program's threads do not meet at a lock; one thread that fires; and ticks of a millisecond of the
/// monotonic clock.
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::preset;
///
/// let engine = preset::mainspring()?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mainspring() -> io::Result<Engine> {
    Engine::new()
}

/// Starts the same on any clock: on a [`Manual`](crate::clock::Manual) one the default engine itself can be
/// tested with.
///
/// ```
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::mainspring_on(Manual::stepped())?;
/// assert_eq!(engine.shutdown().len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The operating system would not start a thread.
pub fn mainspring_on(clock: impl Clock) -> io::Result<Engine> {
    Engine::with_clock(clock)
}

/// Starts an engine for callbacks over any queue and clock.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::queue::heap::Quaternary;
///
/// let clock = Manual::stepped();
/// let engine = mainspring::preset::callbacks(Quaternary::new(), clock.clone())?;
/// engine.callbacks().after(Duration::from_secs(3_600), |_| println!("an hour has passed"))?;
/// clock.advance(Duration::from_secs(3_600));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The operating system would not start a thread.
pub fn callbacks<Q>(queue: Q, clock: impl Clock) -> io::Result<Engine>
where
    Q: TimerQueue<Task> + Send + 'static,
{
    Engine::start(queue, clock, RunTasks)
}

/// Starts Go's timers up to 1.9: one 4-ary heap, one thread.
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::go_1_9(Manual::stepped())?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn go_1_9(clock: impl Clock) -> io::Result<Engine> {
    go_1_9_with(clock, RunTasks)
}

/// Starts the same with functions that run elsewhere, as Go's run in goroutines: by `threads.run_tasks()` of
/// [`Threads`](crate::front::Threads), say.
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use mainspring::{clock::Manual, front::Threads, preset};
///
/// let engine = preset::go_1_9_with(Manual::stepped(), Threads::at_most(8).run_tasks())?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn go_1_9_with(clock: impl Clock, fire: impl Fire<Task> + 'static) -> io::Result<Engine> {
    Engine::start(heap::Quaternary::new(), clock, fire)
}

/// Makes Go's timers of 1.10 to 1.13: 64 heaps, each with a lock and a thread of its own that starts with its
/// first timer.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::go_1_10(Manual::stepped());
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn go_1_10(clock: impl Clock) -> Engine {
    go_1_10_with(clock, RunTasks)
}

/// Makes the same with functions that run elsewhere: see [`go_1_9_with`].
///
/// ```
/// use mainspring::{clock::Manual, front::Threads, preset};
///
/// let engine = preset::go_1_10_with(Manual::stepped(), Threads::at_most(8).run_tasks());
/// ```
pub fn go_1_10_with(clock: impl Clock, fire: impl Fire<Task> + Clone + 'static) -> Engine {
    Engine::from_driver(Arc::new(Sharded::new(
        sharded::SHARD_COUNT_DEFAULT,
        heap::Quaternary::new,
        clock,
        fire,
    )))
}

/// Starts Go's timers from 1.14: a heap with lazy deletion for each of `worker_count` workers, which steal
/// from one that is stuck. Go has a worker per processor. To run workers on threads of the program's own,
/// make a [`PerWorker`] instead.
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If `worker_count` is 0.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::go_1_14(Manual::stepped(), 4)?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn go_1_14(clock: impl Clock, worker_count: usize) -> io::Result<Engine> {
    go_1_14_with(clock, worker_count, &RunTasks)
}

/// Starts the same with functions that run elsewhere: see [`go_1_9_with`].
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If `worker_count` is 0.
///
/// ```
/// use mainspring::{clock::Manual, front::Threads, preset};
///
/// let engine = preset::go_1_14_with(Manual::stepped(), 4, &Threads::at_most(8).run_tasks())?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn go_1_14_with(
    clock: impl Clock,
    worker_count: usize,
    fire: &(impl Fire<Task> + Clone + 'static),
) -> io::Result<Engine> {
    PerWorker::new(worker_count, heap::Lazy::new, clock).into_engine(fire)
}

/// Starts a simple wheel: one ring, whose number of slots is the longest delay in ticks; what lies beyond is
/// refused.
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If `slot_count` is 0.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::simple_wheel(Manual::stepped(), 60_000)?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simple_wheel(clock: impl Clock, slot_count: usize) -> io::Result<Engine> {
    callbacks(Simple::new(slot_count), clock)
}

/// Starts the wheel of "virtual levels": one ring; far timers wait for their round. With the front
/// [`KeyedTasks`](crate::KeyedTasks) its tasks have keys and repeat counts.
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If `slot_count` or `ticks_per_slot` is 0.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::rounds_wheel(Manual::stepped(), 60, 1_000)?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rounds_wheel(clock: impl Clock, slot_count: usize, ticks_per_slot: u64) -> io::Result<Engine> {
    callbacks(Rounds::new(slot_count, ticks_per_slot), clock)
}

/// Starts a hierarchical wheel with a level per size, finest first, such as `&[60, 60, 24]` for seconds,
/// minutes and hours.
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// As [`Hierarchical::new`] does.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::hierarchical_wheel(Manual::stepped(), &[60, 60, 24])?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hierarchical_wheel(clock: impl Clock, sizes: &[usize]) -> io::Result<Engine> {
    callbacks(Hierarchical::new(sizes), clock)
}

/// Starts Kafka's timer: overflow levels of [`KAFKA_SLOT_COUNT`] slots, a tick each in the finest, driven by
/// a heap of non-empty slots. A task whose deadline has passed fires at once; the number of tasks is the
/// handle's [`pending_count`](crate::Handle::pending_count).
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::kafka(Manual::stepped())?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kafka(clock: impl Clock) -> io::Result<Engine> {
    kafka_with(clock, 1, KAFKA_SLOT_COUNT)
}

/// Starts the same with Kafka's parameters: so many ticks of the clock per slot of the finest level
/// (`tickMs`), and so many slots per level (`wheelSize`).
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If `ticks_per_slot` is 0 or `slot_count` is less than 2.
///
/// ```
/// use mainspring::{clock::Manual, preset};
///
/// let engine = preset::kafka_with(Manual::stepped(), 1, 20)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn kafka_with(clock: impl Clock, ticks_per_slot: u64, slot_count: usize) -> io::Result<Engine> {
    callbacks(Overflow::new(slot_count, ticks_per_slot), clock)
}

/// Starts Netty's `HashedWheelTimer`: [`NETTY_SLOT_COUNT`] slots of [`NETTY_TICK`], and at most
/// `pending_count_max` timeouts (Netty's default is no limit: `usize::MAX`), beyond which one is refused.
/// What did not fire is handed back by [`shutdown`](Engine::shutdown), as by Netty's `stop`.
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If the clock's resolution does not divide [`NETTY_TICK`].
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::netty(Manual::stepped(), 1_000)?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn netty(clock: impl Clock, pending_count_max: usize) -> io::Result<Engine> {
    netty_with(clock, NETTY_TICK, NETTY_SLOT_COUNT, pending_count_max)
}

/// Starts the same with Netty's parameters: `tickDuration` and `ticksPerWheel`.
///
/// # Errors
/// The operating system would not start a thread.
///
/// # Panics
/// If the clock's resolution does not divide `tick`, or `slot_count` is 0.
///
/// ```
/// use std::time::Duration;
/// use mainspring::{clock::Manual, preset};
///
/// let engine = preset::netty_with(Manual::stepped(), Duration::from_millis(10), 512, 1_000)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn netty_with(
    clock: impl Clock,
    tick: Duration,
    slot_count: usize,
    pending_count_max: usize,
) -> io::Result<Engine> {
    let ticks_per_slot = whole_ticks(tick, &clock).expect("the clock's resolution divides Netty's tick");
    callbacks(LimitedQueue::new(Rounds::new(slot_count, ticks_per_slot), pending_count_max), clock)
}

/// Starts skynet's wheel, 256 + 4 x 64. Give the clock a resolution of [`SKYNET_TICK`] to count as skynet
/// does, and send messages with [`Mailboxes`](crate::Mailboxes).
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::skynet(Manual::stepped_by(preset::SKYNET_TICK))?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn skynet(clock: impl Clock) -> io::Result<Engine> {
    callbacks(Cascading::new(), clock)
}

/// Starts nginx's timers: a red-black tree. See [`NGINX_LAZINESS`] for how nginx moves them.
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::nginx(Manual::stepped())?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn nginx(clock: impl Clock) -> io::Result<Engine> {
    callbacks(RedBlackTree::new(), clock)
}

/// Makes nginx's loop: its tree of timers and its sockets, for one thread to run with a handler of the
/// program's own. See [`Poll`].
///
/// # Errors
/// The operating system has no poller left to give.
///
/// ```
/// use std::net::TcpStream;
/// use mainspring::clock::Monotonic;
/// use mainspring::preset;
///
/// let nginx = preset::nginx_loop::<TcpStream>(Monotonic::new())?;
/// assert!(nginx.sources().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(all(feature = "poll", unix))]
pub fn nginx_loop<S: ?Sized>(clock: impl Clock) -> io::Result<Poll<RedBlackTree<Task>, S>> {
    Poll::new(RedBlackTree::new(), clock)
}

/// Starts timers on a skip list.
///
/// # Errors
/// The operating system would not start a thread.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Manual;
/// use mainspring::preset;
///
/// let engine = preset::skip_list(Manual::stepped())?;
/// let timer = engine.callbacks().after(Duration::from_secs(1), |_| println!("a second later"))?;
/// assert!(timer.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn skip_list(clock: impl Clock) -> io::Result<Engine> {
    callbacks(SkipList::new(), clock)
}

//! tokio's sleeps on a current-thread runtime whose clock is paused, and so moved by the workload.
//!
//! ```text
//!   schedule   Box::pin(sleep_until(d)), polled once: registered       cancel    drop
//!   advance    block_on(time::advance(..)): the driver wakes           step      block_on: the clock goes to the next
//! ```
//!
//! A wake counts as a fire, through one waker for all sleeps: waking a task and running it is not timed, in
//! tokio's favour. The payload stays beside the sleep.
//!
//! Cost: that of tokio: a lock and a list per call. Each advance is a turn of the runtime.
//!
//! It does not say which sleep is due, nor when the next one is: wakeups are counted where the runtime parks.
//!
//! Source: <https://docs.rs/tokio>, `time::pause` and `time::advance`.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::{Instant, Sleep, advance, sleep_until};

use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    let about = "tokio 1.54, sleep on a current-thread runtime with its clock paused";
    Subject::queue("tokio-sleep", Kind::Library, about, |_| TokioSleep::new())
}

/// A runtime on this thread whose clock moves only when told, and which counts how often it parks.
pub struct PausedRuntime {
    runtime: &'static Runtime,
    _entered: EnterGuard<'static>,
    start: Instant,
    now: u64,
    park_count: Arc<AtomicU64>,
}

impl Default for PausedRuntime {
    /// Starts one, at tick 0. It lives as long as the process, which measures one case.
    fn default() -> PausedRuntime {
        let park_count = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&park_count);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .on_thread_park(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })
            .build()
            .expect("a runtime on this thread needs nothing of the system");
        let runtime: &'static Runtime = Box::leak(Box::new(runtime));
        let entered = runtime.enter();
        let start = Instant::now();
        PausedRuntime { runtime, _entered: entered, start, now: 0, park_count }
    }
}

impl PausedRuntime {
    /// The instant of a tick.
    #[inline]
    pub fn at(&self, tick: u64) -> Instant {
        self.start + Duration::from_millis(tick)
    }

    /// Moves the clock, and lets the driver see it.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        let delay = Duration::from_millis(now - self.now);
        self.now = now;
        self.runtime.block_on(advance(delay));
    }

    /// Runs a future; while it waits the clock continues from timer to timer. Tells where that ended.
    pub fn run<T>(&mut self, future: impl Future<Output = T>) -> (T, Step) {
        let parked_before = self.park_count.load(Ordering::Relaxed);
        let output = self.runtime.block_on(future);
        let wakeup_count = self.park_count.load(Ordering::Relaxed) - parked_before;
        self.now = Instant::now().duration_since(self.start).as_millis() as u64;
        (output, Step { now: self.now, wakeup_count })
    }
}

/// Counts wakes, and wakes the thread that waits for the next one.
#[derive(Debug, Default)]
struct Counter {
    fired_count: AtomicU64,
    is_awaited: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.fired_count.fetch_add(1, Ordering::Relaxed);
        if self.is_awaited.load(Ordering::Relaxed)
            && let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            task.wake();
        }
    }
}

/// A sleep and its payload.
type Key = (Pin<Box<Sleep>>, u64);

/// The runtime, and how many sleeps it woke.
struct TokioSleep {
    runtime: PausedRuntime,
    counter: Arc<Counter>,
    waker: Waker,
    live_count: u64,
    fired_count: u64,
}

impl TokioSleep {
    /// Makes one without sleeps.
    fn new() -> TokioSleep {
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        TokioSleep { runtime: PausedRuntime::default(), counter, waker, live_count: 0, fired_count: 0 }
    }

    fn collect(&mut self, due: &mut Due) {
        let fired_count = self.counter.fired_count.load(Ordering::Relaxed);
        debug_assert!(fired_count - self.fired_count <= self.live_count, "what fires was pending");
        due.fire_silently(fired_count - self.fired_count);
        self.live_count -= fired_count - self.fired_count;
        self.fired_count = fired_count;
    }
}

impl QueueSubject for TokioSleep {
    type Key = Key;

    // The payload lies in the key and is the timer's own.
    const KEY_BYTES: u64 = 8;

    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Key, Failure> {
        let mut sleep = Box::pin(sleep_until(self.runtime.at(deadline)));
        let is_pending = sleep.as_mut().poll(&mut Context::from_waker(&self.waker)).is_pending();
        if !is_pending {
            return Err(Failure::Wrong("a sleep was over when it began".to_owned()));
        }
        self.live_count += 1;
        Ok((sleep, payload))
    }

    fn cancel(&mut self, key: Key) -> bool {
        let is_pending = !key.0.is_elapsed();
        self.live_count -= u64::from(is_pending);
        is_pending
    }

    fn reset(&mut self, mut key: Key, deadline: u64) -> Result<Key, Failure> {
        key.0.as_mut().reset(self.runtime.at(deadline));
        Ok(key)
    }

    fn advance(&mut self, now: u64, due: &mut Due) {
        self.runtime.advance(now);
        self.collect(due);
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        if self.live_count == 0 {
            return None;
        }
        let (counter, before) = (Arc::clone(&self.counter), self.fired_count);
        let ((), step) = self.runtime.run(poll_fn(|context| {
            if counter.fired_count.load(Ordering::Relaxed) > before {
                return Poll::Ready(());
            }
            *counter.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            counter.is_awaited.store(true, Ordering::Relaxed);
            Poll::Pending
        }));
        self.collect(due);
        Some(step)
    }

    fn pending_count(&self) -> u64 {
        self.live_count
    }
}

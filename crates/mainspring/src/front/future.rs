//! Timers as futures and streams, under any runtime: only wakers are needed.
//!
//! ```
//! use std::time::Duration;
//!
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     struct Unpark(std::thread::Thread);
//! #     impl std::task::Wake for Unpark {
//! #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
//! #     }
//! #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
//! #     let mut future = std::pin::pin!(future);
//! #     loop {
//! #         match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
//! #             std::task::Poll::Ready(output) => return output,
//! #             std::task::Poll::Pending => std::thread::park(),
//! #         }
//! #     }
//! # }
//! let engine = mainspring::Engine::new()?;
//! let futures = engine.futures();
//! block_on(async {
//!     futures.sleep(Duration::from_millis(2)).await;
//!     let answer = futures.timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
//!     assert!(answer.is_err(), "no server answers");
//! });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The names are those that users of tokio expect. What differs: there is a constructor of intervals that
//! wait first, and missed ticks are skipped unless one asks for a burst.
//!
//! A future registers its timer when it is first polled, and cancels it when it is dropped. A waker is woken
//! on the driver's thread, with no lock held.
//!
//! No future waits for ever for want of a timer. A queue's limits do not hold for futures: a sleep in a full
//! queue is added past the limit, since it ends in an answer to somebody and its task takes more memory than
//! its timer; one beyond the horizon looks again there. Where that fails too, because the driver has been
//! shut down or has no thread, the future is ready at once, and [`Sleep::refusal`] says why. If the driver is
//! shut down later, each pending future is woken when its timer is dropped (what `shutdown` returned holds
//! them), and is ready then, for the same reason. One that is polled for the first time later holds its
//! thread up for a millisecond before, so that a loop of sleeps takes no processor after its engine's end,
//! and still comes to where it looks whether to go on. (tokio's panics. One that is never ready would keep a
//! program from its own end.)
//!
//! Cost: no allocation: the waker is the timer's payload. A poll before the deadline is a lock and, if the
//! waker changed, a clone of it, which takes the other's place. Dropping cancels in the time that the queue
//! needs, which is O(1) for wheels.
//!
//! It does not need, find or start a runtime.
//!
//! Source: the documentation of `tokio::time`, for names and behaviours; Go's `Ticker` for the default of
//! missed ticks.

pub mod interval;
pub mod timeout;

pub use interval::{Interval, MissedTicks};
pub use timeout::{Elapsed, Timeout};

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mainspring_queue::Tick;

use super::task::Task;
use crate::clock::{Clock, Deadline};
use crate::driver::{Refusal, RefusedTimer};
use crate::handle::{Handle, Local};
#[cfg(not(mainspring_loom))]
use crate::sync::{Condvar, Mutex, lock};

/// Makes futures of timers.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// # smol::block_on(async {
/// let engine = mainspring::Engine::new()?;
/// let futures = engine.futures();
/// futures.sleep(Duration::from_millis(1)).await;
/// futures.sleep_until(Instant::now() + Duration::from_millis(1)).await;
/// assert!(futures.timeout(Duration::from_millis(1), std::future::pending::<()>()).await.is_err());
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Futures {
    handle: Handle<Task>,
}

/// A future that is ready once a tick has begun. Dropping it cancels its timer.
///
/// ```
/// use std::time::Duration;
///
/// # smol::block_on(async {
/// let mut sleep = mainspring::sleep(Duration::from_secs(60));
/// sleep.reset(Duration::from_millis(1));
/// (&mut sleep).await;
/// assert!(sleep.is_elapsed());
/// # });
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are polled"]
pub struct Sleep {
    /// The part of the driver that belongs to the thread that made it.
    part: Local<Task>,
    state: State,
    deadline: Tick,
}

/// What there is of its timer: 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is pending, or has fired.
    Set(mainspring_queue::TimerId),
    /// There is none until the next poll.
    Unset(Unset),
}

/// Why there is no timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unset {
    /// The deadline was ahead when it was chosen: the poll need not look closely.
    Ahead,
    /// The deadline may have passed.
    Unknown,
    /// The last poll could set none.
    Refused(Refusal),
}

/// For how long a sleep that gets no timer holds up the thread that polls it, once: a loop of them is then no
/// busier than a thread that wakes a thousand times a second, and a task that waits once is not late by more
/// than others notice.
#[cfg(not(mainspring_loom))]
const PAUSE: Duration = Duration::from_millis(1);

/// Many programs box it, and come back to a cold one: so it fits the smallest piece of memory that malloc
/// has, two of which lie in a line.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Sleep>() == 24);

impl Futures {
    /// Makes the front of a driver that runs tasks.
    #[inline]
    pub fn new(handle: Handle<Task>) -> Futures {
        Futures { handle }
    }

    /// Is ready `delay` from now (the call, not the first poll), and not earlier. A delay beyond the clock's
    /// range is never over.
    #[inline]
    pub fn sleep(&self, delay: Duration) -> Sleep {
        self.begin(self.handle.clock().after(delay), Unset::of_delay(delay))
    }

    /// Is ready once a tick of the driver's clock has begun, or an instant has come; at once if it has.
    #[inline]
    pub fn sleep_until(&self, deadline: impl Into<Deadline>) -> Sleep {
        self.begin(deadline.into().tick(&**self.handle.clock()), Unset::Unknown)
    }

    #[inline]
    fn begin(&self, deadline: Tick, unset: Unset) -> Sleep {
        Sleep { part: self.handle.local_or_absent(), state: State::Unset(unset), deadline }
    }

    /// Is ready anywhere from `delay` to `delay + tolerance` from now: see [`Handle::schedule_within`].
    #[inline]
    pub fn sleep_within(&self, delay: Duration, tolerance: Duration) -> Sleep {
        self.sleep_until(self.handle.tick_within(delay, tolerance))
    }

    /// Waits for a future, but not longer than from `delay` to `delay + tolerance` from now: see
    /// [`Handle::schedule_within`].
    pub fn timeout_within<F: Future>(&self, delay: Duration, tolerance: Duration, future: F) -> Timeout<F> {
        Timeout::new(self.sleep_within(delay, tolerance), future)
    }

    /// Waits for a future, but not longer than `delay` from now.
    pub fn timeout<F: IntoFuture>(&self, delay: Duration, future: F) -> Timeout<F::IntoFuture> {
        Timeout::new(self.sleep(delay), future.into_future())
    }

    /// Waits for a future, but not longer than until a tick of the driver's clock, or an instant.
    pub fn timeout_at<F: IntoFuture>(
        &self,
        deadline: impl Into<Deadline>,
        future: F,
    ) -> Timeout<F::IntoFuture> {
        Timeout::new(self.sleep_until(deadline), future.into_future())
    }

    /// Ticks once a period, for the first time at once: tokio's `interval`.
    ///
    /// # Errors
    /// The period is zero.
    #[inline]
    pub fn interval(&self, period: Duration) -> Result<Interval, Refusal> {
        let mut interval = self.interval_after(period)?;
        interval.reset_immediately();
        Ok(interval)
    }

    /// Ticks once a period, for the first time at `start`: an instant, or a tick of the driver's clock, which
    /// counts from the engine's start. Ticks before now have been missed: see [`MissedTicks`].
    ///
    /// # Errors
    /// The period is zero.
    #[inline]
    pub fn interval_at(&self, start: impl Into<Deadline>, period: Duration) -> Result<Interval, Refusal> {
        let mut interval = self.interval_after(period)?;
        interval.reset_at(start);
        Ok(interval)
    }

    /// Ticks once a period, for the first time a period from now.
    ///
    /// # Errors
    /// The period is zero.
    #[inline]
    pub fn interval_after(&self, period: Duration) -> Result<Interval, Refusal> {
        Interval::new(self.sleep(period), period)
    }
}

impl Unset {
    /// Before the first poll, when the deadline is so far from now.
    #[inline]
    fn of_delay(delay: Duration) -> Unset {
        if delay.is_zero() { Unset::Unknown } else { Unset::Ahead }
    }
}

impl Sleep {
    /// Returns the tick at which it is ready.
    #[inline]
    pub fn deadline(&self) -> Tick {
        self.deadline
    }

    /// Tells whether its tick has begun.
    #[inline]
    pub fn is_elapsed(&self) -> bool {
        self.deadline <= self.part.clock().now()
    }

    /// Tells why it was ready before its tick had begun: the driver has been shut down, or has no thread or
    /// no name left for a timer. `None` for any other.
    #[inline]
    pub fn refusal(&self) -> Option<Refusal> {
        match self.state {
            State::Unset(Unset::Refused(refusal)) => Some(refusal),
            State::Unset(Unset::Ahead | Unset::Unknown) | State::Set(_) => None,
        }
    }

    /// Moves it to `delay` from now, and not earlier, whether it was ready or not. It must be polled again to
    /// be woken.
    #[inline]
    pub fn reset(&mut self, delay: Duration) {
        self.move_to(self.part.clock().after(delay), Unset::of_delay(delay));
    }

    /// Moves it to another tick or instant, earlier or later, whether it was ready or not. It must be polled
    /// again to be woken.
    #[inline]
    pub fn reset_at(&mut self, deadline: impl Into<Deadline>) {
        self.move_to(deadline.into().tick(&**self.part.clock()), Unset::Unknown);
    }

    #[inline]
    fn move_to(&mut self, deadline: Tick, unset: Unset) {
        self.deadline = deadline;
        if let State::Set(timer) = self.state
            && self.part.reset(self.part.id(timer), deadline).is_ok()
        {
            return;
        }
        // It fired, or the queue's horizon lies before that: the next poll registers another.
        self.cancel();
        self.state = State::Unset(unset);
    }

    #[inline]
    fn cancel(&mut self) {
        if let State::Set(timer) = self.state {
            self.state = State::Unset(Unset::Unknown);
            drop(self.part.cancel(self.part.id(timer)).and_then(Task::into_waker));
        }
    }

    /// Registers the timer, whose payload is the waker.
    #[inline]
    fn register(&mut self, waker: &Waker) -> Poll<()> {
        let scheduled = self.part.ask_again().and_then(|()| {
            let task = Task::waking(waker.clone());
            self.part.schedule_assured(self.deadline, task).map_err(refusal_of)
        });
        match scheduled {
            Ok(id) => {
                self.state = State::Set(id.timer());
                Poll::Pending
            }
            Err(refusal) => {
                self.state = State::Unset(Unset::Refused(refusal));
                Poll::Ready(())
            }
        }
    }

    /// Makes the timer wake `waker`; tells whether it still can.
    #[inline]
    fn keep(&self, timer: mainspring_queue::TimerId, waker: &Waker) -> bool {
        let (part, id) = (&self.part, self.part.id(timer));
        let mut is_kept = false;
        let is_pending = part.update(id, &mut |task| {
            is_kept = task.waker_mut().is_some_and(|own| own.will_wake(waker));
        });
        if !is_pending || is_kept {
            return is_pending;
        }
        // A waker's clone and drop are the runtime's code: no lock is held over them.
        let mut other = waker.clone();
        part.update(id, &mut |task| {
            if let Some(own) = task.waker_mut() {
                std::mem::swap(own, &mut other);
            }
        })
    }

    /// Tells whether it is over. A timer that is set in any case fires if it was over already, so a cheap
    /// look will do before.
    #[inline]
    fn is_over(&self) -> bool {
        match self.state {
            State::Unset(Unset::Ahead) => self.part.clock().has_long_begun(self.deadline),
            State::Unset(_) | State::Set(_) => self.is_elapsed(),
        }
    }

    #[inline]
    fn poll_elapsed(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.is_over() {
            self.cancel();
            return Poll::Ready(());
        }
        match self.state {
            State::Set(timer) if self.keep(timer, context.waker()) => Poll::Pending,
            State::Set(_) => {
                // It fired after the look at the clock above, and woke the waker of an earlier poll; or its
                // tick lies beyond the queue's horizon; or the queue lends no payloads.
                self.cancel();
                if self.is_elapsed() { Poll::Ready(()) } else { self.register(context.waker()) }
            }
            State::Unset(unset) => {
                let polled = self.register(context.waker());
                if polled.is_ready() && !matches!(unset, Unset::Refused(_)) {
                    pause();
                }
                polled
            }
        }
    }
}

/// Not by parking: a runtime whose thread this is may be woken by an unpark meanwhile, and would miss it.
#[cfg(not(mainspring_loom))]
#[inline]
fn pause() {
    let pausing = Mutex::new(());
    drop(Condvar::new().wait_timeout(lock(&pausing), PAUSE));
}

/// In a model time does not pass.
#[cfg(mainspring_loom)]
#[inline]
fn pause() {}

/// Why a timer was refused. Its waker is dropped: the task that it would wake is polling.
#[inline]
fn refusal_of(refused: RefusedTimer<Task>) -> Refusal {
    let reason = refused.reason;
    drop(refused.into_payload().into_waker());
    reason
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_elapsed(context)
    }
}

impl Drop for Sleep {
    #[inline]
    fn drop(&mut self) {
        self.cancel();
    }
}

//! The driver with one thread and one queue: Go up to 1.9, Netty, Kafka, skynet.
//!
//! ```text
//!   loop { advance(clock.now()); pop and fire until nothing is due; wait(bell, next_wakeup) }
//! ```
//!
//! Wake-up rule: the thread sleeps until the queue's next wakeup, without limit if nothing is pending; a timer that is
//! scheduled or reset to before that rings the bell, once. So nothing due means no wake-up at all. Cancelling does not
//! ring: the driver may wake once at the time of a timer that is gone.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `queue`, `counts` | `state` | every operation on them is short and bounded by the queue's own cost |
//! | `asleep_until` | `state` | set by the thread before it waits, in the same critical section that looked at the queue; lowered by whoever rings, so that one earlier timer rings once |
//! | `is_stopping` | `state` | once true, nothing is taken any more |
//! | `bell` | its own | rung after `state` is released; a ring between looking and waiting is kept by the bell |
//!
//! The lock is released around each firing, so a callback may use the queue, and a timer can be cancelled or reset up to
//! the moment it is taken out. Timers fire one at a time.
//!
//! On shutdown the timer that is firing ends, nothing more fires, and all that is pending is handed back.
//!
//! Cost: one lock per operation and per firing; one wake-up per distinct deadline at most. It does not spread load over
//! threads, and a slow callback makes the others late: see [`Counts::lateness_ticks_max`].
//!
//! Source: Go 1.9's `timerproc`; Netty's `Worker`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainspring_queue::{Expired, ResetError, Tick, TimerId, TimerQueue};

use super::{Counts, Fire, Fired, Panicked, Refusal, Refused, Timers};
use crate::clock::{Bell, Clock};

/// After how many firings the clock is read again. Long enough to make a clock read cheap beside them, short enough that
/// timers which come due meanwhile keep their order.
const BATCH_MAX: u32 = 64;

/// A driver with one queue, for one thread to run.
pub struct Single<Q> {
    state: Mutex<State<Q>>,
    bell: Bell,
    clock: Arc<dyn Clock>,
}

struct State<Q> {
    queue: Q,
    counts: Counts,
    /// Until when the thread sleeps; `None` while it is awake.
    asleep_until: Option<Tick>,
    is_stopping: bool,
}

/// Why [`Single::run`] returned.
enum Turn {
    /// All that was due has been fired; the next wakeup, if any timer is pending.
    Idle(Option<Tick>),
    /// A batch has been fired and there may be more.
    Busy,
    Stopping,
}

impl<Q> Single<Q> {
    /// Makes a driver. Nothing fires until some thread [runs](Self::run) it.
    pub fn new(queue: Q, clock: Arc<dyn Clock>) -> Single<Q> {
        let state = State { queue, counts: Counts::default(), asleep_until: None, is_stopping: false };
        Single { state: Mutex::new(state), bell: Bell::new(), clock }
    }

    /// No code of the owner runs under the lock but for the `Drop` of payloads, so a poisoned lock guards a sound state.
    fn state(&self) -> MutexGuard<'_, State<Q>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fires timers on the calling thread, sleeping in between, until [`stop`](Self::stop) is called.
    ///
    /// Only one thread may run a driver at a time.
    pub fn run<T>(&self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        loop {
            match self.turn(fire) {
                Turn::Busy => (),
                Turn::Idle(until) => self.sleep(until),
                Turn::Stopping => return,
            }
        }
    }

    /// Fires timers on the calling thread until the clock has reached the tick `end` and all that is due has fired, or
    /// [`stop`](Self::stop) is called.
    ///
    /// With a leaping [`Manual`](crate::clock::Manual) clock this is a simulation up to that tick.
    pub fn run_until<T>(&self, end: Tick, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        loop {
            let is_over = end <= self.clock.now();
            match self.turn(fire) {
                Turn::Busy => (),
                Turn::Idle(_) if is_over => return,
                Turn::Idle(until) => self.sleep(Some(until.map_or(end, |until| until.min(end)))),
                Turn::Stopping => return,
            }
        }
    }

    /// Fires timers on the calling thread until none is pending or [`stop`](Self::stop) is called.
    ///
    /// With a leaping [`Manual`](crate::clock::Manual) clock this is a simulation: time passes as fast as timers fire.
    pub fn run_until_idle<T>(&self, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        loop {
            match self.turn(fire) {
                Turn::Busy => (),
                Turn::Idle(Some(until)) => self.sleep(Some(until)),
                Turn::Idle(None) | Turn::Stopping => return,
            }
        }
    }

    /// Makes the running thread return after the timer that it is firing. From now on no timer is taken.
    pub fn stop(&self) {
        self.state().is_stopping = true;
        self.bell.ring();
    }

    /// Takes out every pending timer, in the order in which they would have fired. For use after [`stop`](Self::stop).
    pub fn take_unfired<T>(&self) -> Vec<Expired<T>>
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        state.queue.advance(Tick::MAX);
        std::iter::from_fn(|| state.queue.pop_expired()).collect()
    }

    /// Fires what is due, up to a batch.
    fn turn<T>(&self, fire: &mut impl Fire<T>) -> Turn
    where
        Q: TimerQueue<T>,
    {
        let now = self.clock.now();
        let mut state = self.state();
        if state.is_stopping {
            return Turn::Stopping;
        }
        state.queue.advance(now);
        for _ in 0..BATCH_MAX {
            let Some(timer) = state.queue.pop_expired() else {
                let until = state.queue.next_wakeup();
                // Published before the lock is released: whoever schedules earlier from now on will ring.
                state.asleep_until = Some(until.unwrap_or(Tick::MAX));
                return Turn::Idle(until);
            };
            state.counts.fired += 1;
            state.counts.lateness_ticks_max = state.counts.lateness_ticks_max.max(now.since(timer.deadline));
            drop(state);
            let has_panicked = fire_caught(fire, Fired { timer, now });
            state = self.state();
            state.counts.panicked += u64::from(has_panicked);
            if state.is_stopping {
                return Turn::Stopping;
            }
        }
        Turn::Busy
    }

    fn sleep(&self, until: Option<Tick>) {
        self.clock.wait(&self.bell, until);
        let mut state = self.state();
        state.asleep_until = None;
        state.counts.wakeups += 1;
    }

    /// Rings if the thread would sleep past a deadline.
    fn wake_for(&self, mut state: MutexGuard<'_, State<Q>>, deadline: Tick) {
        if state.asleep_until.is_some_and(|until| deadline < until) {
            state.asleep_until = Some(deadline);
            drop(state);
            self.bell.ring();
        }
    }
}

/// Fires one timer; tells whether that panicked.
fn fire_caught<T>(fire: &mut impl Fire<T>, fired: Fired<T>) -> bool {
    let (id, deadline) = (fired.timer.id, fired.timer.deadline);
    // What a panic leaves half done is the callback's own: the driver shares nothing with it.
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| fire.fire(fired))) else { return false };
    let panicked = Panicked::new(id, deadline, &*panic);
    // The panic's own value and the report are the owner's code as well.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        fire.panicked(&panicked);
        drop(panic);
    }));
    true
}

impl<T, Q> Timers<T> for Single<Q>
where
    T: Send,
    Q: TimerQueue<T> + Send,
{
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, Refused<T>> {
        let mut state = self.state();
        if state.is_stopping {
            return Err(Refused { reason: Refusal::Stopped, payload });
        }
        let id = state.queue.schedule(deadline, payload)?;
        state.counts.scheduled += 1;
        self.wake_for(state, deadline);
        Ok(id)
    }

    fn cancel(&self, id: TimerId) -> Option<T> {
        let mut state = self.state();
        let payload = state.queue.cancel(id)?;
        state.counts.cancelled += 1;
        Some(payload)
    }

    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let mut state = self.state();
        state.queue.reset(id, deadline)?;
        state.counts.reset += 1;
        self.wake_for(state, deadline);
        Ok(())
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.state().queue.deadline(id)
    }

    fn len(&self) -> usize {
        self.state().queue.len()
    }

    fn counts(&self) -> Counts {
        self.state().counts
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}

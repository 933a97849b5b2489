//! The engine that a whole process shares.
//!
//! ```text
//!   mainspring::after, every, sleep, timeout, interval ──▶ global() ──▶ one engine, started at first use
//!                                                            ▲
//!                     set_global(engine), once, before it ───┘
//! ```
//!
//! A library that needs one timeout should not start a thread of its own; a program with ten such libraries
//! would have ten. So the functions here share one engine, the default of [`Engine::new`]: a thread that
//! fires, a queue per caller's stripe, ticks of a millisecond. It starts when it is first used and is never
//! shut down. A binary chooses another by [`set_global`], before anything uses it; a test by
//! [`Simulation::set_global`](crate::Simulation::set_global).
//!
//! A library that lets its users choose takes a [`Futures`] or [`Callbacks`](crate::Callbacks) and has the
//! global ones as its default. An engine of one's own is the way for limits, other clocks, and an orderly
//! end.
//!
//! A child of `fork` has no thread of the engine: its timers are taken and do not fire until it executes
//! another program. An engine of its parent's can be shut down and dropped there: it waits for no thread.
//! Both hold where no other thread of the parent is in a call of the engine at the moment of the fork: such a
//! call's lock is never released in the child, as that of an allocator may not be.
//!
//! Cost: that of the engine, and one read of what was set.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::clock::Monotonic;
use crate::driver::{Refusal, Single};
use crate::engine::Engine;
use crate::front::{Futures, Interval, Periodic, Sleep, Timeout, Timer};
use crate::handle::Handle;

static GLOBAL: OnceLock<Engine> = OnceLock::new();

/// Held while the engine is started or set, so that no second one is started meanwhile.
static STARTING: Mutex<()> = Mutex::new(());

/// Returns the engine that the process shares, and starts it if there is none.
///
/// ```
/// let counts = mainspring::global()?.counts();
/// println!("{} timers have fired in this process", counts.fired);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The operating system would not start a thread. The next call tries again.
pub fn global() -> Result<&'static Engine, Refusal> {
    if let Some(engine) = GLOBAL.get() {
        return Ok(engine);
    }
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = GLOBAL.get() {
        return Ok(engine);
    }
    let engine = Engine::new().map_err(|_| Refusal::NoThread)?;
    Ok(GLOBAL.get_or_init(|| engine))
}

/// Makes `engine` the one that the process shares: for the `main` of a binary, and for tests.
///
/// ```
/// use mainspring::{Engine, clock::Monotonic};
/// use std::time::Duration;
///
/// let precise = Engine::with_clock(Monotonic::with_resolution(Duration::from_micros(10)))?;
/// mainspring::set_global(precise).expect("nothing has used the engine yet");
/// let timer = mainspring::after(Duration::from_secs(1), || println!("on the precise engine"))?;
/// # timer.cancel();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// There is one already, set or started. The engine comes back.
pub fn set_global(engine: Engine) -> Result<(), Engine> {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    GLOBAL.set(engine)
}

/// Sets the engine that `make` makes, if there is none; tells whether it did.
pub(crate) fn set_global_with(make: impl FnOnce() -> Engine) -> bool {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let is_free = GLOBAL.get().is_none();
    if is_free {
        GLOBAL.get_or_init(make);
    }
    is_free
}

/// Runs `callback` once, `delay` from now and not earlier, on the shared engine's thread.
///
/// It continues when the [`Timer`] is dropped. A callback should be short: others wait for it. One that wants
/// to know how late it is, is given a [`Firing`](crate::Firing) by
/// [`Callbacks::after`](crate::Callbacks::after).
///
/// ```
/// use std::time::Duration;
///
/// let hello = mainspring::after(Duration::from_secs(1), || println!("hello"))?;
/// assert!(hello.reset(Duration::from_secs(3)));
/// assert!(hello.cancel(), "it had not run");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The operating system would not start the engine's thread. The callback is dropped.
pub fn after(delay: Duration, callback: impl FnOnce() + Send + 'static) -> Result<Timer, Refusal> {
    global()?.callbacks().after(delay, move |_| callback())
}

/// Runs `callback` once a period, for the first time a period from now, on the shared engine's thread: see
/// [`Callbacks::every`](crate::Callbacks::every).
///
/// ```
/// use std::time::Duration;
///
/// let beat = mainspring::every(Duration::from_secs(5), || println!("still here"))?;
/// assert!(beat.cancel());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The period is zero; or as [`after`].
pub fn every(period: Duration, mut callback: impl FnMut() + Send + 'static) -> Result<Periodic, Refusal> {
    global()?.callbacks().every(period, move |_| callback())
}

/// Is ready `delay` from now (the call, not the first poll), and not earlier; under any runtime.
///
/// ```
/// use std::time::Duration;
///
/// # smol::block_on(async {
/// mainspring::sleep(Duration::from_millis(2)).await;
/// # });
/// ```
///
/// Without an engine, because the operating system would not start its thread, it is ready at once, and
/// [`refusal`](Sleep::refusal) says so.
#[inline]
pub fn sleep(delay: Duration) -> Sleep {
    futures().sleep(delay)
}

/// Waits for a future, but not longer than `delay` from now; under any runtime.
///
/// ```
/// use std::time::Duration;
///
/// # smol::block_on(async {
/// let answer = mainspring::timeout(Duration::from_millis(2), std::future::pending::<u32>()).await;
/// assert!(answer.is_err(), "no answer came in time");
/// let answer = mainspring::timeout(Duration::from_secs(2), async { 7 }).await;
/// assert_eq!(answer, Ok(7));
/// # });
/// ```
pub fn timeout<F: IntoFuture>(delay: Duration, future: F) -> Timeout<F::IntoFuture> {
    futures().timeout(delay, future)
}

/// Ticks once a period, for the first time at once; under any runtime. For another first tick, see
/// [`Futures::interval_after`] and [`Futures::interval_at`].
///
/// ```
/// use std::time::Duration;
///
/// # smol::block_on(async {
/// let mut interval = mainspring::interval(Duration::from_millis(1))?;
/// for _ in 0..3 {
///     interval.tick().await;
/// }
/// # Ok::<(), mainspring::driver::Refusal>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// The period is zero.
#[inline]
pub fn interval(period: Duration) -> Result<Interval, Refusal> {
    futures().interval(period)
}

/// The front of the shared engine; without one, of an engine that refuses every timer.
#[inline]
fn futures() -> Futures {
    match global() {
        Ok(engine) => engine.futures(),
        Err(reason) => refusing(reason),
    }
}

fn refusing(reason: Refusal) -> Futures {
    Futures::new(Handle::new(Arc::new(Single::refusing(Monotonic::new(), reason))))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_sleep_without_an_engine_is_ready_and_says_why() {
        let mut sleep = pin!(refusing(Refusal::NoThread).sleep(Duration::from_secs(3_600)));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        assert_eq!(sleep.refusal(), Some(Refusal::NoThread));
    }
}

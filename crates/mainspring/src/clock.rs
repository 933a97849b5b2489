//! Sources of now, and of waiting.
//!
//! ```text
//!              now()            after(delay)                wait(bell, until)
//!   Monotonic  the kernel's     now + delay, rounded up     sleeps; the bell wakes it
//!   Manual     a number         now + delay, rounded up     sleeps until time is moved, or moves it
//! ```
//!
//! A [`Clock`] counts [`Tick`]s of its resolution and is what a driver waits with: *waiting is part of the clock*. With
//! the manual clock thirty days pass in as many steps as there are deadlines, and a test needs no sleep.
//!
//! A driver that sleeps is woken through a [`Bell`]. A ring is never lost: it stays until the next wait takes it.
//!
//! `Following` (feature `calendar`) counts ticks by the wall clock, as skynet does.
//!
//! Wall clocks, which people set and which jump, are another type: `wall::WallClock` (feature `calendar`).
//!
//! Cost: `now` is one clock read (22 ns) for `Monotonic`; see each clock. It does not schedule anything.

#[cfg(feature = "calendar")]
pub mod following;
pub mod manual;
pub mod monotonic;
#[cfg(feature = "calendar")]
pub mod wall;

#[cfg(feature = "calendar")]
pub use following::Following;
pub use manual::Manual;
pub use monotonic::Monotonic;

use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::Tick;

use crate::sync::{Condvar, Mutex, PoisonError};

/// A source of now that a driver can wait with. Shared by all threads.
pub trait Clock: Send + Sync + 'static {
    /// The length of one tick; never zero, and the same for the clock's whole life.
    fn resolution(&self) -> Duration;

    /// Returns the last tick that has begun. It never goes back.
    fn now(&self) -> Tick;

    /// Returns the first tick that begins no earlier than `delay` from now, so that a timer with this deadline is
    /// never early. [`Tick::MAX`], which is never reached in practice, where that lies beyond the end of time.
    fn after(&self, delay: Duration) -> Tick;

    /// Blocks the calling thread until the tick `until` has begun or the bell rings; without `until`, until the bell
    /// rings. May return early; takes the ring.
    fn wait(&self, bell: &Bell, until: Option<Tick>);
}

/// What one thread waits at and any thread may ring. Clones are the same bell.
#[derive(Clone, Debug)]
pub struct Bell {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl Bell {
    /// Makes a bell that has not been rung.
    pub fn new() -> Bell {
        Bell { shared: Arc::new((Mutex::new(false), Condvar::new())) }
    }

    /// Wakes the waiting thread, or makes the next wait return at once. Ringing twice is ringing once.
    pub fn ring(&self) {
        let (has_rung, condition) = &*self.shared;
        *has_rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        condition.notify_all();
    }

    /// Blocks until the bell is rung or `timeout` has passed, or for no reason earlier; `None` waits for the bell alone.
    /// Takes the ring.
    pub fn wait(&self, timeout: Option<Duration>) {
        let Some(timeout) = timeout else { return self.wait_unless(|| false) };
        let (has_rung, condition) = &*self.shared;
        let mut guard = has_rung.lock().unwrap_or_else(PoisonError::into_inner);
        if !*guard {
            // One wait is enough: returning early is allowed, and the caller looks at its clock again.
            guard = condition.wait_timeout(guard, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
        *guard = false;
    }

    /// Tells whether two are the same bell.
    fn is_same(&self, other: &Bell) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Takes the ring, if there is one, without waiting.
    fn take_ring(&self) -> bool {
        let (has_rung, _) = &*self.shared;
        std::mem::take(&mut has_rung.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Blocks until the bell is rung, or `is_over` says so after some [`nudge`](Self::nudge). Takes the ring.
    fn wait_unless(&self, is_over: impl Fn() -> bool) {
        let (has_rung, condition) = &*self.shared;
        let mut guard = has_rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*guard && !is_over() {
            guard = condition.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        *guard = false;
    }

    /// Makes a waiting thread look again, without ringing.
    fn nudge(&self) {
        let (has_rung, condition) = &*self.shared;
        // Taking the lock orders this after a waiter's look: it sleeps already, or will see what changed.
        drop(has_rung.lock().unwrap_or_else(PoisonError::into_inner));
        condition.notify_all();
    }
}

impl Default for Bell {
    fn default() -> Bell {
        Bell::new()
    }
}

/// How many ticks of `resolution` it takes to cover `nanoseconds`.
fn ticks_rounded_up(nanoseconds: u128, resolution: Duration) -> Tick {
    let ticks = nanoseconds.div_ceil(resolution.as_nanos());
    Tick::new(u64::try_from(ticks).unwrap_or(u64::MAX))
}

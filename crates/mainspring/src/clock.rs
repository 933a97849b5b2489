//! Sources of now, and of waiting.
//!
//! ```text
//!              now()            after(delay)                wait(notifier, until)
//!   Monotonic  the kernel's     now + delay, rounded up     sleeps; the notifier wakes it
//!   Manual     a number         now + delay, rounded up     sleeps until time is moved, or moves it
//! ```
//!
//! A [`Clock`] counts [`Tick`]s of its resolution and is what a driver waits with: *waiting is part of the
//! clock*. With the manual clock thirty days pass in as many steps as there are deadlines, and a test needs
//! no sleep.
//!
//! A driver that sleeps is woken through a [`Notifier`]. A notification is never lost: it stays until the
//! next wait takes it. A notifier may have a [`Parker`] that waits for something else as well: so one thread
//! waits for sockets and timers by any clock.
//!
//! [`Following`] (feature `wall`) counts ticks by the wall clock, as skynet does, or by the time since boot,
//! which continues while the machine is suspended.
//!
//! `Tokio` (feature `tokio`) is a tokio runtime's clock, which tests pause and advance.
//!
//! Wall clocks, which people set and which jump, are another type: [`wall::WallClock`] (feature `wall`).
//!
//! Cost: `now` is one clock read (22 ns) for `Monotonic`; see each clock. It does not schedule anything.

pub mod deadline;
mod divisor;
#[cfg(feature = "wall")]
pub mod following;
pub mod manual;
pub mod monotonic;
mod origin;
mod shared;
mod slack;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(feature = "tokio")]
pub mod tokio_time;
#[cfg(feature = "wall")]
pub mod wall;

#[doc(inline)]
pub use deadline::Deadline;
#[cfg(feature = "wall")]
#[doc(inline)]
pub use following::Following;
#[doc(inline)]
pub use manual::Manual;
#[doc(inline)]
pub use monotonic::Monotonic;
#[cfg(feature = "tokio")]
pub use tokio_time::Tokio;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mainspring_queue::Tick;

use crate::sync::{Condvar, Mutex, PoisonError, lock};

/// A source of now that a driver can wait with. Shared by all threads.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
/// use mainspring::Tick;
/// use mainspring::clock::{Notifier, Clock};
///
/// /// Counts the frames of a game, whose loop calls `next_frame`.
/// #[derive(Clone, Default)]
/// struct Frames {
///     count: Arc<AtomicU64>,
///     notifiers: Arc<Mutex<Vec<Notifier>>>,
/// }
///
/// impl Frames {
///     fn next_frame(&self) {
///         self.count.fetch_add(1, Ordering::SeqCst);
///         self.notifiers.lock().unwrap().iter().for_each(Notifier::nudge);
///     }
/// }
///
/// impl Clock for Frames {
///     fn resolution(&self) -> Duration {
///         Duration::from_millis(20)
///     }
///
///     fn now(&self) -> Tick {
///         Tick::new(self.count.load(Ordering::SeqCst))
///     }
///
///     fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
///         let mut notifiers = self.notifiers.lock().unwrap();
///         if !notifiers.iter().any(|other| other.is_same(notifier)) {
///             notifiers.push(notifier.clone());
///         }
///         drop(notifiers);
///         notifier.wait_unless(|| until.is_some_and(|until| until <= self.now()));
///     }
/// }
///
/// let frames = Frames::default();
/// let engine = mainspring::Engine::with_clock(frames.clone())?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// engine.callbacks().after(Duration::from_millis(50), move |_| sender.send("jump").unwrap())?;
/// (0..3).for_each(|_| frames.next_frame());
/// assert_eq!(receiver.recv()?, "jump");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Clock: Send + Sync + 'static {
    /// The length of one tick; never zero, and the same for the clock's whole life.
    fn resolution(&self) -> Duration;

    /// Returns the last tick that has begun. It never goes back.
    fn now(&self) -> Tick;

    /// Tells whether a tick is known to have begun: for a caller that asks often, and is told by other means
    /// soon after. A clock may answer `false` for a tick that has begun only just, if that is cheaper than
    /// [`now`](Self::now); [`Monotonic`] does within 10 ms.
    fn has_long_begun(&self, tick: Tick) -> bool {
        tick <= self.now()
    }

    /// Returns the last tick that has begun, and how much of it has passed, in nanoseconds: what delays and
    /// periods are counted from, so that parts of a tick are not lost. A clock that does not tell parts of a
    /// tick says 0, which happens unless this is overridden.
    fn now_in_parts(&self) -> (Tick, u128) {
        (self.now(), 0)
    }

    /// Returns the first tick that begins no earlier than `delay` from now, so that a timer with this
    /// deadline is never early; for no delay, which is over at once, the tick that has begun. [`Tick::MAX`],
    /// which is never reached in practice, where that lies beyond the end of time.
    fn after(&self, delay: Duration) -> Tick {
        let (now, passed_ns) = self.now_in_parts();
        if delay.is_zero() {
            return now;
        }
        now.after(ticks_rounded_up(passed_ns + delay.as_nanos(), self.resolution()).get())
    }

    /// Blocks the calling thread until the tick `until` has begun or the notifier is notified; without
    /// `until`, until the notifier is notified. What arrives at the notifier's parker ends it as well. May
    /// return early; takes the notification.
    fn wait(&self, notifier: &Notifier, until: Option<Tick>);

    /// Returns how long so many ticks last; [`Duration::MAX`] where that does not fit.
    fn duration(&self, ticks: u64) -> Duration {
        let nanoseconds = u128::from(ticks).saturating_mul(self.resolution().as_nanos());
        let seconds = u64::try_from(nanoseconds / 1_000_000_000);
        // A remainder below a second always fits.
        seconds.map_or(Duration::MAX, |seconds| Duration::new(seconds, (nanoseconds % 1_000_000_000) as u32))
    }

    /// Makes the clock that drivers share. A clock that is shared already stays as it is.
    #[doc(hidden)]
    fn into_shared(self) -> Arc<dyn Clock>
    where
        Self: Sized,
    {
        Arc::new(self)
    }
}

/// Where a thread waits, if not on a condition variable: a poller of sockets, say, that timers share. Clocks
/// need not know: they wait at a [`Notifier`] that [has](Notifier::at) it.
///
/// One thread waits; any thread unparks.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::mpsc::{Receiver, Sender, channel};
/// use std::sync::{Mutex, PoisonError};
/// use std::time::Duration;
/// use mainspring::clock::{Notifier, Parker};
///
/// /// Waits for words on a channel, of which an empty one unparks.
/// #[derive(Debug)]
/// struct Words {
///     sender: Sender<String>,
///     receiver: Mutex<Receiver<String>>,
/// }
///
/// impl Parker for Words {
///     fn wait(&self, timeout: Option<Duration>) -> bool {
///         let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
///         let word = match timeout {
///             Some(timeout) => receiver.recv_timeout(timeout).ok(),
///             None => receiver.recv().ok(),
///         };
///         word.is_some_and(|word| !word.is_empty())
///     }
///
///     fn unpark(&self) {
///         self.sender.send(String::new()).unwrap_or(());
///     }
/// }
///
/// let (sender, receiver) = channel();
/// let notifier = Notifier::at(Arc::new(Words { sender, receiver: Mutex::new(receiver) }));
/// notifier.notify();
/// notifier.wait(None); // returns: a notification is not lost
/// ```
pub trait Parker: fmt::Debug + Send + Sync {
    /// Blocks until something arrives that the parker itself waits for, until [`unpark`](Self::unpark), or
    /// until `timeout` has passed; without one, for ever. Tells whether something has arrived. May return
    /// early, and looks for arrivals even if it need not block.
    fn wait(&self, timeout: Option<Duration>) -> bool;

    /// Makes the wait return, or the next one if there is none now: it is not lost.
    fn unpark(&self);
}

/// What one thread waits at and any thread may notify. Clones are the same notifier.
///
/// ```
/// use std::time::Duration;
/// use mainspring::clock::Notifier;
///
/// let notifier = Notifier::new();
/// notifier.notify();
/// notifier.wait(Some(Duration::from_secs(60))); // at once: it had been notified
/// assert!(!notifier.take_notification(), "and the notification is taken");
/// ```
#[derive(Clone, Debug)]
pub struct Notifier {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    is_notified: Mutex<bool>,
    condition: Condvar,
    /// Where the thread waits instead of on the condition. It is unparked after `is_notified` is set, so that
    /// a waiter which looks before it waits misses neither.
    parker: Option<Arc<dyn Parker>>,
}

impl Notifier {
    /// Makes a notifier that has not been notified.
    pub fn new() -> Notifier {
        Notifier::with(None)
    }

    /// Makes a notifier that has not been notified, whose thread waits at `parker`. What arrives there ends a
    /// wait as a notification does.
    pub fn at(parker: Arc<dyn Parker>) -> Notifier {
        Notifier::with(Some(parker))
    }

    fn with(parker: Option<Arc<dyn Parker>>) -> Notifier {
        Notifier {
            shared: Arc::new(Shared { is_notified: Mutex::new(false), condition: Condvar::new(), parker }),
        }
    }

    fn is_notified(&self) -> bool {
        *lock(&self.shared.is_notified)
    }

    /// Wakes the waiting thread, or makes the next wait return at once. Notifying twice is notifying once.
    pub fn notify(&self) {
        *lock(&self.shared.is_notified) = true;
        self.wake();
    }

    fn wake(&self) {
        match &self.shared.parker {
            Some(parker) => parker.unpark(),
            None => self.shared.condition.notify_all(),
        }
    }

    /// Blocks until the notifier is notified or `timeout` has passed, or for no reason earlier; `None` waits
    /// for the notifier alone. Takes the notification.
    pub fn wait(&self, timeout: Option<Duration>) {
        let Some(timeout) = timeout else { return self.wait_unless(|| false) };
        if let Some(parker) = &self.shared.parker {
            // A notification that came before this has unparked the parker, which then does not block.
            parker.wait(Some(timeout));
            *lock(&self.shared.is_notified) = false;
            return;
        }
        let mut guard = lock(&self.shared.is_notified);
        if !*guard {
            // One wait is enough: returning early is allowed, and the caller looks at its clock again.
            let waited = self.shared.condition.wait_timeout(guard, timeout);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *guard = false;
    }

    /// Tells whether two are the same notifier.
    pub fn is_same(&self, other: &Notifier) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Takes the notification, if there is one, without waiting. What has arrived at the notifier's parker
    /// counts as one.
    pub fn take_notification(&self) -> bool {
        let has_arrival = self.shared.parker.as_ref().is_some_and(|parker| parker.wait(Some(Duration::ZERO)));
        std::mem::take(&mut *lock(&self.shared.is_notified)) || has_arrival
    }

    /// Blocks until the notifier is notified, or `is_over` says so, before the wait or after some
    /// [`nudge`](Self::nudge). Takes the notification. For clocks that a program moves, whose time passes
    /// without the operating system's.
    pub fn wait_unless(&self, is_over: impl Fn() -> bool) {
        if let Some(parker) = &self.shared.parker {
            while !self.is_notified() && !is_over() && !parker.wait(None) {}
            *lock(&self.shared.is_notified) = false;
            return;
        }
        let mut guard = lock(&self.shared.is_notified);
        while !*guard && !is_over() {
            guard = self.shared.condition.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        *guard = false;
    }

    /// Makes a waiting thread look again, without notifying: what its `is_over` tells may have changed.
    pub fn nudge(&self) {
        // Taking the lock orders this after a waiter's look: it sleeps already, or will see what changed.
        drop(lock(&self.shared.is_notified));
        self.wake();
    }
}

impl Default for Notifier {
    fn default() -> Notifier {
        Notifier::new()
    }
}

/// How many ticks of `resolution` it takes to cover `nanoseconds`.
fn ticks_rounded_up(nanoseconds: u128, resolution: Duration) -> Tick {
    let ticks = nanoseconds.div_ceil(resolution.as_nanos());
    Tick::new(u64::try_from(ticks).unwrap_or(u64::MAX))
}

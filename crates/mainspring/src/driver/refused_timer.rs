//! A timer that was not taken, and why.
//!
//! Cost: that of the payload, which is moved. It does not say what to do: schedule nearer, later, or not at
//! all.

use std::fmt;

use mainspring_queue::{Reason, RejectedTimer};

/// A timer that a driver would not take. The payload comes back.
///
/// It is an error for `?` whatever the payload is, one that may not be shared between threads included.
///
/// ```
/// use mainspring::driver::{Refusal, RefusedTimer};
///
/// fn hand_on(refused: RefusedTimer<Box<dyn FnOnce() + Send>>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     Err(refused)?
/// }
/// let refused = RefusedTimer::new(Refusal::Stopped, Box::new(|| ()) as Box<_>);
/// assert_eq!(hand_on(refused).unwrap_err().to_string(), Refusal::Stopped.to_string());
/// ```
pub struct RefusedTimer<T> {
    /// Why the driver did not take the timer.
    pub reason: Refusal,
    /// Never locked but to take the payload out: a mutex may be shared whatever is in it.
    payload: std::sync::Mutex<T>,
}

impl<T> RefusedTimer<T> {
    /// Gives a payload back. For drivers.
    pub fn new(reason: Refusal, payload: T) -> RefusedTimer<T> {
        RefusedTimer { reason, payload: std::sync::Mutex::new(payload) }
    }

    /// Returns what the caller gave.
    pub fn into_payload(self) -> T {
        self.payload.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Why a driver or a front would not take a timer.
///
/// ```
/// use std::time::Duration;
/// use mainspring::Engine;
/// use mainspring::driver::Refusal;
///
/// let engine = Engine::new()?;
/// engine.shutdown();
/// let refused = engine.callbacks().after(Duration::from_secs(1), |_| ());
/// assert_eq!(refused.err(), Some(Refusal::Stopped));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue rejected the deadline, or is full.
    Rejected(Reason),
    /// The engine has been shut down, or was dropped.
    Stopped,
    /// The operating system would not start the thread that the timer needs.
    NoThread,
    /// The period of what repeats is zero.
    ZeroPeriod,
    /// The message is for a service that is not registered, or whose mailbox was dropped.
    NoService,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Rejected(reason) => reason.fmt(formatter),
            Refusal::Stopped => formatter.write_str("the engine has been shut down, or was dropped"),
            Refusal::NoThread => formatter.write_str("no thread could be started for the timer"),
            Refusal::ZeroPeriod => formatter.write_str("a period must be longer than zero"),
            Refusal::NoService => formatter.write_str("the service is not registered"),
        }
    }
}

/// Its message says all: it has no source.
impl std::error::Error for Refusal {}

impl<T> fmt::Debug for RefusedTimer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RefusedTimer").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for RefusedTimer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(formatter)
    }
}

impl<T> std::error::Error for RefusedTimer<T> {}

impl<T> From<RejectedTimer<T>> for RefusedTimer<T> {
    fn from(rejected: RejectedTimer<T>) -> RefusedTimer<T> {
        RefusedTimer::new(Refusal::Rejected(rejected.reason), rejected.payload)
    }
}

/// Drops the payload.
impl<T> From<RefusedTimer<T>> for Refusal {
    fn from(refused: RefusedTimer<T>) -> Refusal {
        refused.reason
    }
}

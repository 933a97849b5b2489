//! The end of a handler: why it did not succeed, and when it wants to be called again.
//!
//! Cost: a string.
//!
//! Does not decide what follows: the retry policy does, but for a failure that is one for good.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use std::{fmt, mem};

use mainspring_job::{Failure, Outcome};

/// The shortest time for which a handler puts itself off: each is a record on disk.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// The error of a handler. Whatever can be shown becomes one with `?`, so that it is no error itself.
///
/// # Example
/// ```
/// use mainspring_embed::{HandlerError, Run};
///
/// fn charge(run: &Run, card: String) -> Result<(), HandlerError> {
///     let number: u64 = card.parse()?;
///     if number == 0 {
///         return Err(HandlerError::for_good("there is no such card"));
///     }
///     Ok(())
/// }
/// # let _ = charge;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerError {
    pub(crate) message: String,
    pub(crate) next: NextAttempt,
}

/// Says whether another attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextAttempt {
    /// The retry policy decides.
    ByPolicy,
    /// None does.
    Never,
    /// One does after this time, and this one does not count.
    After(Duration),
}

impl HandlerError {
    /// Why, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A failure that the retry policy decides about.
    pub fn because(message: impl fmt::Display) -> HandlerError {
        HandlerError { message: message.to_string(), next: NextAttempt::ByPolicy }
    }

    /// A failure that another attempt would not change: it is not tried again, and is a dead letter.
    pub fn for_good(message: impl fmt::Display) -> HandlerError {
        HandlerError { message: message.to_string(), next: NextAttempt::Never }
    }

    /// No failure: the handler is to be called again after this time, and at the earliest after a second,
    /// because what it needs is not there yet. Called `snooze` elsewhere.
    ///
    /// The attempt does not count against the retries, and no failure is told. The run is `scheduled`
    /// meanwhile, and keeps no other run of its job from starting. Each attempt is a record in its history;
    /// a handler that waits for what may never come gives up by [`Run::attempt`](crate::Run::attempt).
    pub fn again_in(after: Duration) -> HandlerError {
        let next = NextAttempt::After(after.max(SHORTEST_WAIT));
        HandlerError { message: "it is to be called again later".to_owned(), next }
    }
}

impl<E: fmt::Display> From<E> for HandlerError {
    fn from(error: E) -> HandlerError {
        HandlerError::because(error)
    }
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandlerEnd {
    pub outcome: Outcome,
    /// When it is to be called again, if it was put off.
    pub again_in: Option<Duration>,
}

impl From<Outcome> for HandlerEnd {
    fn from(outcome: Outcome) -> HandlerEnd {
        HandlerEnd { outcome, again_in: None }
    }
}

impl From<Result<Result<(), HandlerError>, Box<dyn Any + Send>>> for HandlerEnd {
    fn from(called: Result<Result<(), HandlerError>, Box<dyn Any + Send>>) -> HandlerEnd {
        let failure = match called {
            Ok(Ok(())) => return Outcome::Succeeded.into(),
            Ok(Err(HandlerError { message, next })) => match next {
                NextAttempt::ByPolicy => Failure::Other(message),
                NextAttempt::Never => Failure::Final(message),
                NextAttempt::After(after) => {
                    debug_assert!(SHORTEST_WAIT <= after, "each attempt is a record on disk");
                    return HandlerEnd { outcome: Outcome::Returned, again_in: Some(after) };
                }
            },
            Err(panic) => {
                let message = format!("panicked: {}", message_of(&*panic));
                drop_panic(panic);
                Failure::Other(message)
            }
        };
        Outcome::Failed(failure).into()
    }
}

/// Drops the value of a panic, which is the program's code as well. One that panics there in turn has its
/// last value forgotten.
pub(crate) fn drop_panic(panic: Box<dyn Any + Send>) {
    catch_unwind(AssertUnwindSafe(|| drop(panic))).unwrap_or_else(mem::forget);
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("with no message")
}

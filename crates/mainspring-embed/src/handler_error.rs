//! Why a handler did not succeed.
//!
//! Cost: a string.
//!
//! Does not decide what follows: the retry policy does, but for a failure that is one for good.

use std::any::Any;
use std::fmt;

use mainspring_job::{Failure, Outcome};

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
    pub(crate) is_final: bool,
}

impl HandlerError {
    /// A failure that the retry policy decides about.
    pub fn because(message: impl fmt::Display) -> HandlerError {
        HandlerError { message: message.to_string(), is_final: false }
    }

    /// A failure that another attempt would not change: it is not tried again, and is a dead letter.
    pub fn for_good(message: impl fmt::Display) -> HandlerError {
        HandlerError { message: message.to_string(), is_final: true }
    }
}

impl<E: fmt::Display> From<E> for HandlerError {
    fn from(error: E) -> HandlerError {
        HandlerError::because(error)
    }
}

/// What became of a call.
pub(crate) fn outcome(called: Result<Result<(), HandlerError>, Box<dyn Any + Send>>) -> Outcome {
    Outcome::Failed(match called {
        Ok(Ok(())) => return Outcome::Succeeded,
        Ok(Err(HandlerError { message, is_final: true })) => Failure::Final(message),
        Ok(Err(HandlerError { message, is_final: false })) => Failure::Other(message),
        Err(panic) => Failure::Other(format!("panicked: {}", message_of(&*panic))),
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("with no message")
}

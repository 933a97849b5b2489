//! The end of what was started, as its loop hears of it: of a process, a webhook or a function.
//!
//! Cost: none.
//!
//! Does not decide what an end means: that is told to [`Reports`].

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use crate::output::{Piece, Stream};
use crate::span::Span;

/// Hears what becomes of runs that the loop knows as `K`.
pub trait Reports<K> {
    /// A run wrote a line, or a piece of a long one; secrets are masked in it.
    fn line(&mut self, run: &K, stream: Stream, piece: &Piece<'_>);
    /// A run ended. Lines may still come of it, if its output is held open.
    fn ended(&mut self, run: &K, end: &End);
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// What the operating system says of it; `None`: it could not be ended and is left behind.
    pub outcome: Option<Outcome>,
    /// Whether that is what it should say: exit status 0, or a status of the webhook's success rule.
    pub is_success: bool,
    /// How long it ran.
    pub after: Duration,
    /// Why it was killed, if it was.
    pub cause: Option<KillCause>,
    /// How much of its output is left out so far, because there was more than the spec allows.
    pub dropped_bytes: u64,
    /// Whether something in the background holds its output open.
    pub is_output_held: bool,
    /// Before when it is not to be tried again, if a receiver said so.
    pub retry_at: Option<Timestamp>,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            None => return write!(f, "the command could not be ended and is left behind"),
            Some(outcome) => write!(f, "{outcome} after {}", Span(self.after))?,
        }
        if self.cause == Some(KillCause::Timeout) {
            write!(f, "; it ran longer than its timeout")?;
        }
        if self.is_output_held {
            write!(f, "; a process in the background holds its output open")?;
        }
        if 0 < self.dropped_bytes {
            write!(f, "; {} bytes of output beyond the limit are left out", self.dropped_bytes)?;
        }
        Ok(())
    }
}

/// Why a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillCause {
    /// It ran longer than its spec allows.
    Timeout,
    /// The loop asked for it.
    Requested,
}

/// How a program, a webhook or a function ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returned this status.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// It was not executed, for this reason, which came only after it had been waited for.
    NotStarted(String),
    /// The webhook was answered with this status.
    Status(u16),
    /// The webhook was not answered, for this reason.
    NoAnswer(String),
    /// The function of a program returned or panicked, or is left to itself: what became of it, in the
    /// planner's words.
    Called(mainspring_job::Outcome),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Exited(code) => write!(f, "exit status {code}"),
            Outcome::Killed(number) => match signal_name(*number) {
                Some(name) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {number}"),
            },
            Outcome::NotStarted(reason) => write!(f, "not started: {reason}"),
            Outcome::Status(status) => write!(f, "status {status}"),
            Outcome::NoAnswer(reason) => write!(f, "no answer: {reason}"),
            Outcome::Called(outcome) => outcome.fmt(f),
        }
    }
}

/// The name of a signal of this system.
#[cfg(unix)]
pub fn signal_name(number: i32) -> Option<&'static str> {
    Some(nix::sys::signal::Signal::try_from(number).ok()?.as_str())
}

/// The name of a signal of this system, which has none that a store could know.
#[cfg(not(unix))]
pub fn signal_name(_: i32) -> Option<&'static str> {
    None
}

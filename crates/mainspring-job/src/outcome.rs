//! The end of an attempt, as the executor saw it.
//!
//! | outcome | text |
//! |---|---|
//! | it succeeded | `succeeded` |
//! | a process exited with another code than 0 | `exit 3` |
//! | a process was ended by a signal that the planner did not ask for | `signal 11` |
//! | a server answered with a status that the rule calls a failure | `status 503` |
//! | it could not be started at all | `not started: no such file` |
//! | anything else | `failed: connection reset` |
//! | its time was over and it was killed | `timed out` |
//! | the planner asked for its end | `killed` |
//! | it was not begun: the worker gave it back | `returned` |
//! | its worker ended it by itself | `cut off: server_stopped` |
//!
//! Stores hold the text and people read it; it can be read back.

use std::fmt;
use std::str::FromStr;

use crate::reason::Reason;

/// How the text of [`Outcome::CutOff`] begins, before the code of its reason.
const CUT_OFF: &str = "cut off: ";

/// The longest text of a failure that is kept, in bytes: a line or two, and not the output of the job.
pub const MAX_MESSAGE_BYTES: usize = 512;

/// Says how an attempt ended.
///
/// # Example
/// ```
/// use mainspring_job::{Failure, Outcome};
///
/// let outcome = Outcome::Failed(Failure::Exit(3));
/// assert_eq!(outcome.to_string(), "exit 3");
/// assert_eq!(Outcome::from("exit 3"), outcome);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an attempt ends in one of six ways")]
pub enum Outcome {
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed(Failure),
    /// The executor killed it because its timeout had passed.
    TimedOut,
    /// The executor killed it because the planner said so.
    Killed,
    /// Its server has not begun it and will not, or its handler put it off. So the attempt does not count,
    /// and its run waits for its place again: from the time on that
    /// [`AttemptEnd::retry_at`](crate::AttemptEnd::retry_at) says.
    Returned,
    /// Its server ended it by itself, for this reason: no planner asked for that. It is abandoned, and on
    /// record as [`Killed`](Outcome::Killed).
    CutOff(Reason),
}

/// Says what went wrong.
///
/// # Example
/// ```
/// use mainspring_job::{Failure, Outcome};
///
/// let failure = Failure::NotStarted("no such file".to_owned());
/// assert_eq!(failure.to_string(), "not started: no such file");
/// assert_eq!(Outcome::from("not started: no such file"), Outcome::Failed(failure));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A process exited with this code, which is not 0.
    Exit(i32),
    /// A process was ended by this signal.
    Signal(i32),
    /// A server answered with this status.
    Status(u16),
    /// It could not be started: nothing has happened.
    NotStarted(String),
    /// Another attempt would not change it: what the executor was given cannot be read, or what was started
    /// does not end. It is not tried again, whatever the retry policy says.
    Final(String),
    /// Anything else.
    Other(String),
}

impl Outcome {
    /// The word for programs, without number and message: `succeeded`, `timed_out`, `killed`, `returned`,
    /// `cut_off`, or which failure.
    pub const fn code(&self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed(Failure::Exit(_)) => "exit",
            Outcome::Failed(Failure::Signal(_)) => "signal",
            Outcome::Failed(Failure::Status(_)) => "status",
            Outcome::Failed(Failure::NotStarted(_)) => "not_started",
            Outcome::Failed(Failure::Final(_)) => "final",
            Outcome::Failed(Failure::Other(_)) => "failed",
            Outcome::TimedOut => "timed_out",
            Outcome::Killed => "killed",
            Outcome::Returned => "returned",
            Outcome::CutOff(_) => "cut_off",
        }
    }

    /// The number of an exit status, of a signal, or of a server's answer, where the failure is one.
    pub fn number(&self) -> Option<i32> {
        match self {
            Outcome::Failed(Failure::Exit(number) | Failure::Signal(number)) => Some(*number),
            Outcome::Failed(Failure::Status(status)) => Some(i32::from(*status)),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Succeeded => f.write_str("succeeded"),
            Outcome::Failed(failure) => failure.fmt(f),
            Outcome::TimedOut => f.write_str("timed out"),
            Outcome::Killed => f.write_str("killed"),
            Outcome::Returned => f.write_str("returned"),
            Outcome::CutOff(reason) => write!(f, "{CUT_OFF}{}", reason.stored()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Exit(code) => write!(f, "exit {code}"),
            Failure::Signal(number) => write!(f, "signal {number}"),
            Failure::Status(status) => write!(f, "status {status}"),
            Failure::NotStarted(why) => write!(f, "not started: {}", shortened(why)),
            Failure::Final(why) => write!(f, "failed for good: {}", shortened(why)),
            Failure::Other(why) => write!(f, "failed: {}", shortened(why)),
        }
    }
}

/// Any text is read: what is none of the above is a failure with that message, so that no record is
/// unreadable.
impl From<&str> for Outcome {
    fn from(text: &str) -> Outcome {
        let text = match text {
            "succeeded" => return Outcome::Succeeded,
            "timed out" => return Outcome::TimedOut,
            "killed" => return Outcome::Killed,
            "returned" => return Outcome::Returned,
            _ => text,
        };
        let reason = text.strip_prefix(CUT_OFF).and_then(Reason::read);
        reason.map_or_else(|| Outcome::Failed(failure(text)), Outcome::CutOff)
    }
}

fn failure(text: &str) -> Failure {
    if let Some(code) = number(text, "exit ") {
        return Failure::Exit(code);
    }
    if let Some(signal) = number(text, "signal ") {
        return Failure::Signal(signal);
    }
    if let Some(status) = number(text, "status ") {
        return Failure::Status(status);
    }
    let rest = |word: &str| text.strip_prefix(word).map(str::to_owned);
    let worded = rest("not started: ").map(Failure::NotStarted);
    let worded = worded.or_else(|| rest("failed for good: ").map(Failure::Final));
    worded.unwrap_or_else(|| Failure::Other(text.strip_prefix("failed: ").unwrap_or(text).to_owned()))
}

fn number<N: FromStr>(text: &str, word: &str) -> Option<N> {
    text.strip_prefix(word)?.parse().ok()
}

/// The beginning of a message that is too long, with a mark for its rest.
fn shortened(text: &str) -> String {
    const MARK: &str = " ..";
    const { assert!(MARK.len() < MAX_MESSAGE_BYTES) };
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.to_owned();
    }
    // `str::floor_char_boundary` needs Rust 1.91.
    let mut end = MAX_MESSAGE_BYTES - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_read_back_from_its_text() {
        let failures = [
            Failure::Exit(-3),
            Failure::Signal(9),
            Failure::Status(503),
            Failure::NotStarted("no such file".to_owned()),
            Failure::Final("missing field `name`".to_owned()),
            Failure::Other("connection reset".to_owned()),
        ];
        let others = [Outcome::Succeeded, Outcome::TimedOut, Outcome::Killed, Outcome::Returned];
        let cut_off = [Reason::ServerStopped, Reason::ServerCutOff].map(Outcome::CutOff);
        for outcome in failures.into_iter().map(Outcome::Failed).chain(others).chain(cut_off) {
            assert_eq!(Outcome::from(outcome.to_string().as_str()), outcome);
        }
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let text = Outcome::Failed(Failure::Other("é".repeat(MAX_MESSAGE_BYTES))).to_string();
        assert!(text.len() <= "failed: ".len() + MAX_MESSAGE_BYTES);
        assert!(text.ends_with("é .."), "{text}");
        assert_eq!(Outcome::from(text.as_str()).to_string(), text, "it is cut once");
    }
}

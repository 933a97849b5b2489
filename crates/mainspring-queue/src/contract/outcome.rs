//! The outcome of a script: it was run, or the queue and the contract disagree.
//!
//! Cost: none. It does not say which script: [`exercise`](super::exercise) does.

use std::fmt;
use std::string::String;

/// Where a queue and the contract disagree.
///
/// ```
/// use mainspring_queue::contract::Script;
///
/// let script = Script::parse("schedule a 10\nadvance 10\npop => nothing\n")?;
/// let difference = mainspring_queue::contract::run(&script, mainspring_queue::Naive::new()).unwrap_err();
/// assert_eq!(difference.step, 2, "the timer does fire");
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The index of the step after which it showed.
    pub step: usize,
    /// What was wrong, as a sentence.
    pub text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "after step {}: {}", self.step + 1, self.text)
    }
}

impl std::error::Error for Difference {}

/// What [`run`](super::run) did.
///
/// ```
/// use mainspring_queue::contract::{Outcome, Script, run};
/// use mainspring_queue::wheel::Simple;
///
/// let script = Script::parse("schedule a 100\n")?;
/// assert_eq!(run(&script, Simple::new(60)), Ok(Outcome::Rejected));
/// assert_eq!(run(&script, Simple::new(100)), Ok(Outcome::Complete));
/// # Ok::<(), mainspring_queue::contract::ScriptError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "all steps were run, or not: there is no third")]
pub enum Outcome {
    /// All steps were run.
    Complete,
    /// A deadline lay beyond the queue's horizon and was rightly rejected; the steps after it were run
    /// without it.
    Rejected,
}

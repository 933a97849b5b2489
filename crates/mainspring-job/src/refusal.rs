//! A refusal says why a command was not followed.
//!
//! Each has one row: its kind, from which a front makes its exit code or status, and its sentence. A caller
//! that gets a refusal as text finds it again in [`Refusal::PLAIN`].

use std::error::Error;
use std::fmt;

use crate::holder::Holder;

/// The kind of a refusal: it tells a caller what to do.
///
/// # Example
/// ```
/// use mainspring_job::{Refusal, RefusalKind};
///
/// assert_eq!(Refusal::NoSuchJob.kind(), RefusalKind::NotFound);
/// assert_eq!(Refusal::TooManyRuns.kind(), RefusalKind::Temporary, "it may be asked again later");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a front has an answer for each kind")]
pub enum RefusalKind {
    /// What the command names is not there.
    NotFound,
    /// The command can never be followed as it is: a value in it is out of range.
    Invalid,
    /// What is there already stands in the way.
    Conflict,
    /// The same command may be followed later.
    Temporary,
}

/// Says why a command was not followed.
///
/// # Example
/// ```
/// use mainspring_job::Refusal;
///
/// assert_eq!(Refusal::NoSuchJob.to_string(), "there is no such job");
/// // It is an error, so `?` hands it on.
/// let error: Box<dyn std::error::Error> = Refusal::TooManyRuns.into();
/// assert_eq!(error.to_string(), "too many runs are waiting already");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such job.
    NoSuchJob,
    /// There is no such run, or it has ended.
    NoSuchRun,
    /// There is no such one-shot job, or it has fired.
    NoSuchOnce,
    /// The backfill would be more than [`MAX_BACKFILL_RUNS`](crate::MAX_BACKFILL_RUNS) runs.
    BackfillTooLarge,
    /// The job is not planned beyond what the clock shows.
    NotAhead,
    /// There are as many open runs as the limit allows: try again later.
    TooManyRuns,
    /// [`MAX_WAITING_REQUESTS`](crate::MAX_WAITING_REQUESTS) runs of the job wait for later times already.
    TooManyWaiting,
    /// The job runs at each worker that has something, and none has it.
    NoWorker,
    /// It is to run at each worker, and what was asked for is one run: that of an idempotency key, or of a
    /// one-shot job.
    OneRun,
    /// There are as many jobs as the limit allows.
    TooManyJobs,
    /// The name or the idempotency key is taken or not allowed.
    Conflict,
    /// Another one-shot job has the name or the idempotency key, as it does other work, or has another key.
    Taken(Box<Holder>),
    /// The idempotency key is longer than [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES).
    KeyTooLong,
    /// The idempotency key is empty: all who ask without one would ask for the same.
    KeyEmpty,
    /// The due time is before the year 1678 or after 2262: stores count nanoseconds in 64 bits.
    DueOutOfRange,
    /// The note is longer than [`MAX_NOTE_BYTES`](crate::MAX_NOTE_BYTES).
    NoteTooLong,
    /// The job has open runs: wait for their ends, or cancel them.
    OpenRuns,
    /// The server has not finished starting.
    NotReady,
}

impl Refusal {
    /// Those that carry nothing: all but [`Refusal::Taken`].
    pub const PLAIN: [Refusal; 17] = [
        Refusal::NoSuchJob,
        Refusal::NoSuchRun,
        Refusal::NoSuchOnce,
        Refusal::BackfillTooLarge,
        Refusal::NotAhead,
        Refusal::TooManyRuns,
        Refusal::TooManyWaiting,
        Refusal::NoWorker,
        Refusal::OneRun,
        Refusal::TooManyJobs,
        Refusal::Conflict,
        Refusal::KeyTooLong,
        Refusal::KeyEmpty,
        Refusal::DueOutOfRange,
        Refusal::NoteTooLong,
        Refusal::OpenRuns,
        Refusal::NotReady,
    ];

    /// Which kind it is of.
    pub fn kind(&self) -> RefusalKind {
        self.row().0
    }

    fn row(&self) -> (RefusalKind, &'static str) {
        use RefusalKind::{Conflict, Invalid, NotFound, Temporary};
        match self {
            Refusal::NoSuchJob => (NotFound, "there is no such job"),
            Refusal::NoSuchRun => (NotFound, "there is no such run, or it has ended"),
            Refusal::NoSuchOnce => (NotFound, "there is no such pending job, or it has fired"),
            Refusal::BackfillTooLarge => (Invalid, "the range holds too many occurrences for one backfill"),
            Refusal::NotAhead => {
                (Conflict, "the job does not rest for the clock: nothing of it is planned ahead of now")
            }
            Refusal::TooManyRuns => (Temporary, "too many runs are waiting already"),
            Refusal::TooManyWaiting => (Temporary, "as many runs of the job wait for later times as may"),
            Refusal::NoWorker => (Temporary, "no server has what the job needs"),
            Refusal::OneRun => (
                Invalid,
                "`on=all` is a run for each server: a one-shot job and an idempotency key have one run",
            ),
            Refusal::TooManyJobs => (Temporary, "there are too many jobs already"),
            Refusal::Conflict => (Conflict, "that name or key is taken"),
            Refusal::Taken(_) => (Conflict, "that name or key is taken, and by another submission"),
            Refusal::KeyTooLong => (Invalid, "the idempotency key is too long"),
            Refusal::KeyEmpty => (Invalid, "the idempotency key is empty"),
            Refusal::DueOutOfRange => {
                (Invalid, "the due time is out of range: expected one in the years 1678 to 2261")
            }
            Refusal::NoteTooLong => (Invalid, "the note is too long"),
            Refusal::OpenRuns => (Conflict, "the job has runs that have not ended"),
            Refusal::NotReady => (Temporary, "the server is still starting"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)?;
        match self {
            Refusal::Taken(holder) => write!(f, ": {holder}"),
            _ => Ok(()),
        }
    }
}

impl Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_found_again_by_its_sentence() {
        for refusal in Refusal::PLAIN {
            let sentence = refusal.to_string();
            let found: Vec<Refusal> =
                Refusal::PLAIN.into_iter().filter(|other| other.to_string() == sentence).collect();
            assert_eq!(found, [refusal]);
        }
    }
}

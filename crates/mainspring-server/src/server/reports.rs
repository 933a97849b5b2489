//! Reports of executors, on their way to the log, the files of output, and the planner.
//!
//! Cost: a line is formatted twice: for the log and for the file.
//!
//! Does not hold a run up if the log is not read: lines that do not fit into the log are in the files all the
//! same.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;

use jiff::Timestamp;
use mainspring_job::{AttemptEnd, Cause, Failure, Outcome};

use super::execution::AttemptKey;
use super::output::{Outputs, lost_text};
use crate::log::{Answer, Kind, Level, Line, Log, Subject};
use crate::protocol::ProgressWire;
use mainspring_exec::end::{self, End, KillCause, Reports};
use mainspring_exec::output::{Piece, Stream};

/// What is known of an attempt that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartedAttempt {
    /// Why there is a run.
    pub(super) cause: Cause,
    /// When it was due.
    pub(super) due: Timestamp,
    /// How many files of output are kept of its job.
    pub(super) keep: usize,
    /// How far it is, if it has told that.
    pub(super) progress: Option<ProgressWire>,
}

/// Hears the executors for one turn.
pub(super) struct ReportCollector<'s> {
    now: Timestamp,
    log: &'s mut Log<File>,
    outputs: &'s mut Outputs,
    started: &'s HashMap<AttemptKey, StartedAttempt>,
    /// What has ended.
    pub(super) ends: Vec<AttemptEnd>,
}

impl<'s> ReportCollector<'s> {
    pub(super) fn new(
        now: Timestamp,
        log: &'s mut Log<File>,
        outputs: &'s mut Outputs,
        started: &'s HashMap<AttemptKey, StartedAttempt>,
    ) -> ReportCollector<'s> {
        ReportCollector { now, log, outputs, started, ends: Vec::new() }
    }
}

impl Reports<AttemptKey> for ReportCollector<'_> {
    fn line(&mut self, run: &AttemptKey, stream: Stream, piece: &Piece<'_>) {
        let (key, attempt) = run;
        let cause = self.started.get(run).map_or(Cause::Trigger, |started| started.cause);
        if let Err(error) = self.outputs.line(key, cause, *attempt, self.now, stream, piece) {
            self.log.line(Line {
                level: Level::Warning,
                ..of_attempt(self.now, run, Kind::Note, lost_text(&error))
            });
        }
        if self.log.is_full() {
            return self.log.leave_out();
        }
        self.log.line(of_attempt(self.now, run, Kind::of(stream), &*piece.text));
    }

    fn ended(&mut self, run: &AttemptKey, end: &End) {
        let (outcome, started) = (outcome(end), self.started.get(run));
        self.log.line(Line {
            level: Level::of(&outcome),
            cause: started.map(|started| started.cause),
            due: started.map(|started| started.due),
            outcome: Some(&outcome),
            answer: end.outcome.as_ref().and_then(answer),
            duration: Some(end.after),
            ..of_attempt(self.now, run, Kind::End, end.to_string())
        });
        let mut ended = AttemptEnd::new(run.0.clone(), run.1, outcome);
        ended.retry_at = end.retry_at;
        self.ends.push(ended);
    }
}

/// A line about an attempt.
pub(super) fn of_attempt<'l>(
    now: Timestamp,
    (key, attempt): &'l AttemptKey,
    kind: Kind,
    text: impl Into<Cow<'l, str>>,
) -> Line<'l> {
    Line::new(now, Subject::Attempt(key, *attempt), kind, text)
}

/// What the process or the receiver gave back.
fn answer(outcome: &end::Outcome) -> Option<Answer> {
    match outcome {
        end::Outcome::Exited(code) => Some(Answer::Exit(*code)),
        end::Outcome::Killed(signal) => Some(Answer::Signal(*signal)),
        end::Outcome::Status(status) => Some(Answer::Status(*status)),
        end::Outcome::NotStarted(_) | end::Outcome::NoAnswer(_) | end::Outcome::Called(_) => None,
    }
}

/// The end of a run in the planner's words.
fn outcome(end: &End) -> Outcome {
    if let Some(end::Outcome::Called(outcome @ Outcome::Failed(Failure::Final(_)))) = &end.outcome {
        // Whatever it was asked for: it is not started beside itself.
        return outcome.clone();
    }
    // A process that was asked to end and exits with 0 did not end by itself: many do so with half of their
    // work done. What a receiver has answered, or a handler returned, is what it was all the same.
    let is_process = matches!(end.outcome, Some(end::Outcome::Exited(_)));
    match (end.cause, &end.outcome) {
        (cause, _) if end.is_success && (cause.is_none() || !is_process) => Outcome::Succeeded,
        (Some(KillCause::Timeout), _) => Outcome::TimedOut,
        (Some(KillCause::Requested), _) => Outcome::Killed,
        (None, Some(end::Outcome::NotStarted(reason))) => {
            Outcome::Failed(Failure::NotStarted(reason.clone()))
        }
        (None, Some(end::Outcome::Exited(code))) => Outcome::Failed(Failure::Exit(*code)),
        (None, Some(end::Outcome::Killed(signal))) => Outcome::Failed(Failure::Signal(*signal)),
        (None, Some(end::Outcome::Status(status))) => Outcome::Failed(Failure::Status(*status)),
        (None, Some(end::Outcome::NoAnswer(reason))) => Outcome::Failed(Failure::Other(reason.clone())),
        (None, Some(end::Outcome::Called(outcome))) => outcome.clone(),
        (None, None) => {
            Outcome::Failed(Failure::Other("it could not be ended and is left behind".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_that_was_asked_to_end_has_not_succeeded_whatever_it_exits_with() {
        let of = |cause, given| {
            outcome(&End {
                outcome: Some(given),
                is_success: true,
                after: Duration::ZERO,
                cause,
                dropped_bytes: 0,
                is_output_held: false,
                retry_at: None,
            })
        };
        let exited = || end::Outcome::Exited(0);
        assert_eq!(of(None, exited()), Outcome::Succeeded);
        assert_eq!(of(Some(KillCause::Timeout), exited()), Outcome::TimedOut);
        assert_eq!(of(Some(KillCause::Requested), exited()), Outcome::Killed);
        assert_eq!(of(Some(KillCause::Timeout), end::Outcome::Status(200)), Outcome::Succeeded);
    }
}

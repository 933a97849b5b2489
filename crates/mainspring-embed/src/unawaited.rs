//! A submission for which no caller waits: it was left in a table, and stays there until it is done.
//!
//! Cost: a copy of the submission, to tell a repetition from another under its key.
//!
//! Does not know the table: see [`outbox`](crate::outbox), and the inbox of a shared database.

use mainspring_job::{Command, Refusal, RefusalKind, Reply, Submission};
use mainspring_server::server::program_calls::{CallRefusal, Caller, Promise};

use crate::submission::is_again;

/// One that the planner was asked for.
pub(crate) struct UnawaitedSubmission {
    asked: Submission,
    promise: Promise,
}

/// What has become of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SubmissionFate {
    /// It is on disk.
    Done,
    /// It was on disk before.
    Known,
    /// It cannot be done, for this reason.
    Refused(String),
    /// It cannot be done now: it is tried again.
    Kept,
    /// The same, as the jobs end.
    Stopping,
}

impl UnawaitedSubmission {
    /// Asks for it.
    pub(crate) fn ask(caller: &Caller, asked: Submission) -> UnawaitedSubmission {
        let promise = caller.command(Command::Submit(asked.clone()));
        UnawaitedSubmission { asked, promise }
    }

    /// Waits for the disk.
    pub(crate) fn wait(self) -> SubmissionFate {
        match self.promise.wait() {
            Ok(Reply::Submitted { .. }) => SubmissionFate::Done,
            Ok(Reply::Duplicate(_)) => SubmissionFate::Known,
            Ok(Reply::Refused(Refusal::Taken(holder))) if is_again(&holder, &self.asked) => {
                SubmissionFate::Known
            }
            Ok(Reply::Refused(refusal)) if refusal.kind() != RefusalKind::Temporary => {
                SubmissionFate::Refused(refusal.to_string())
            }
            Err(CallRefusal::Stopping | CallRefusal::Lost(_)) => SubmissionFate::Stopping,
            Ok(_) | Err(CallRefusal::Now(_)) => SubmissionFate::Kept,
        }
    }
}

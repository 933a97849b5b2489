//! A submission for which no caller waits: it was left in a table, and stays there until it is done.
//!
//! Cost: a copy of the submission, to tell a repetition from another under its key.
//!
//! Does not know the table: that is the outbox of a program, or the inbox of a shared database.

use super::program_calls::{CallRefusal, Caller, Promise};
use crate::polling::wait_for;
use mainspring_action::body::{Body, HandlerBody};
use mainspring_job::{Command, Holder, Refusal, RefusalKind, Reply, Submission, Work};

/// One that the planner was asked for.
pub struct UnawaitedSubmission {
    submission: Submission,
    promise: Promise,
}

/// What has become of it.
#[derive(Debug, PartialEq, Eq)]
pub enum SubmissionFate {
    /// It is on disk.
    Done,
    /// It was on disk before.
    Known,
    /// It cannot be done, for this reason.
    Refused(String),
    /// It cannot be done now: it is tried again.
    Deferred,
    /// The same, as the jobs end.
    Stopping,
}

impl UnawaitedSubmission {
    /// Asks for it.
    pub fn ask(caller: &Caller, submission: Submission) -> UnawaitedSubmission {
        let promise = caller.command(Command::Submit(submission.clone()));
        UnawaitedSubmission { submission, promise }
    }

    /// Waits for the disk.
    pub fn wait(self) -> SubmissionFate {
        match wait_for(self.promise) {
            Ok(Reply::Submitted { .. }) => SubmissionFate::Done,
            Ok(Reply::Duplicate(_)) => SubmissionFate::Known,
            Ok(Reply::Refused(Refusal::Taken(holder))) if is_again(&holder, &self.submission) => {
                SubmissionFate::Known
            }
            Ok(Reply::Refused(refusal)) if refusal.kind() != RefusalKind::Temporary => {
                SubmissionFate::Refused(refusal.to_string())
            }
            Err(CallRefusal::Stopping | CallRefusal::Lost(_)) => SubmissionFate::Stopping,
            Ok(_) | Err(CallRefusal::Now(_)) => SubmissionFate::Deferred,
        }
    }
}

/// Whether it is the same call under the same key, by a program whose handler has another version or other
/// options now.
pub fn is_again(holder: &Holder, submitted: &Submission) -> bool {
    let call = |work: &Work| match Body::decode(&work.action) {
        Ok(Body::Handler(HandlerBody { name, payload, .. })) => Some((name, payload)),
        _ => None,
    };
    let held = holder.work.as_deref().and_then(call);
    submitted.key.is_some() && holder.key == submitted.key && held.is_some() && held == call(&submitted.work)
}

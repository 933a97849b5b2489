//! The use of the planner's reply to a command.
//!
//! Cost: none.
//!
//! Does not answer: [`requests`](super::requests) answers clients, and the loop writes the log.

use mainspring_job::JobName;

use super::next_step::RequestId;
use super::program_calls::Answer;
use crate::protocol::AppliedWire;

/// Which client gets the reply to a command, and as what.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A client, as it is.
    Answer(RequestId),
    /// A client that waits for the end of the run as well.
    AnswerAndWait(RequestId),
    /// A client that purges a job, of whose ended runs there may be more.
    Purge { request_id: RequestId, job: JobName },
    /// A client that applied files, of which this is the last.
    LastOf { request_id: RequestId, applied: AppliedWire },
    /// A thread of the program that the loop runs in.
    Call(Answer),
    /// The log: a served file was read again.
    Reload { path: String },
    /// The log, if anything is wrong: what was in force before the start, or was read at the start.
    Restored { source: String },
}

impl Purpose {
    /// Who is told the reply, if a client is.
    pub(super) fn request_id(&self) -> Option<RequestId> {
        match self {
            Purpose::Answer(request_id)
            | Purpose::AnswerAndWait(request_id)
            | Purpose::Purge { request_id, .. }
            | Purpose::LastOf { request_id, .. } => Some(*request_id),
            Purpose::Call(_) | Purpose::Reload { .. } | Purpose::Restored { .. } => None,
        }
    }
}

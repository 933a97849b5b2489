//! The next step of a request, and a question to the store on the way to it.
//!
//! ```text
//! request ─▶ Next ─┬─ Answer, Command, End, Feed ..
//!                  └─ Query ─▶ Question ─▶ reader ─▶ QuestionAnswer: the Next that follows
//! ```
//!
//! Cost: none.

use std::time::Duration;

use jiff::Timestamp;
use mainspring_cron::TimeText;
use mainspring_job::{Cause, Command, Definitions, JobName, Reader, RunKey, StoreError};

use super::client_text::ClientText;
use crate::protocol::{ErrorKind, ErrorWire, Response};
use mainspring_exec::clock::Moment;

/// What a request leads to.
pub(super) enum Next {
    Answer(Response),
    /// The answer comes when there is one.
    Nothing,
    Command(Command),
    /// A portion of the history of a job is to be dropped, and the job with it.
    Purge(JobName),
    Wait(Command),
    End(RunKey),
    /// The end of a run which was not on disk when so many batches were.
    Unwritten {
        key: RunKey,
        committed_count: u64,
    },
    /// The text is to be parsed first.
    Parse(ClientText),
    Files(Vec<Definitions>),
    /// The output of a run, and of later ones of the job.
    Feed {
        key: RunKey,
        cause: Cause,
        job: Option<JobName>,
    },
    /// The store is to be asked first.
    Query(Query),
}

/// What the store is to be asked first.
pub(super) fn query(ask: impl FnOnce(&mut dyn Reader) -> NextResult + Send + 'static) -> NextResult {
    Ok(Next::Query(Box::new(ask)))
}

/// The same where what is found out is the answer.
pub(super) fn look(ask: impl FnOnce(&mut dyn Reader) -> AnswerResult + Send + 'static) -> NextResult {
    query(move |reader| ask(reader).map(Next::Answer))
}

/// The answer to a request, or what is wrong with it.
pub(super) type AnswerResult = Result<Response, ErrorWire>;

/// What a request leads to, or what is wrong with it.
pub(super) type NextResult = Result<Next, ErrorWire>;

pub(super) fn not_found(what: &str) -> ErrorWire {
    ErrorWire::new(ErrorKind::NotFound, format!("there is no {what}"))
}

pub(super) fn usage(message: impl Into<String>) -> ErrorWire {
    ErrorWire::new(ErrorKind::Usage, message)
}

pub(super) fn job_name(text: &str) -> Result<JobName, ErrorWire> {
    JobName::new(text).map_err(|_| not_found(&format!("job `{text}`")))
}

pub(super) fn time(text: &str) -> Result<Timestamp, ErrorWire> {
    TimeText::instant(text).map_err(|error| usage(format!("`{text}` is no time in RFC 3339: {error}")))
}

/// The key in the text of a run: `job@time` or `job@time#series`.
pub(super) fn run_key(text: &str) -> Option<RunKey> {
    text.parse().ok()
}

/// The same where nothing else can be meant.
pub(super) fn named_run(text: &str) -> Result<RunKey, ErrorWire> {
    run_key(text).ok_or_else(|| not_found(&format!("run `{text}`")))
}

impl From<StoreError> for ErrorWire {
    fn from(error: StoreError) -> ErrorWire {
        let kind = match error {
            StoreError::Busy(_) | StoreError::TimedOut | StoreError::Unknown => ErrorKind::Temporary,
            _ => ErrorKind::Failed,
        };
        ErrorWire::new(kind, error.to_string())
    }
}

/// Which request an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestId {
    /// The number of the connection.
    pub(super) client: u64,
    /// The number of the request.
    pub(super) id: u64,
    /// Whether output that comes later is wanted too.
    pub(super) follows: bool,
    /// The name of the request.
    pub(super) what: &'static str,
}

/// What is to be found out.
pub(super) type Query = Box<dyn FnOnce(&mut dyn Reader) -> NextResult + Send>;

/// A question and the request that it came with.
pub(super) struct Question {
    pub(super) request_id: RequestId,
    pub(super) query: Query,
}

impl Question {
    pub(super) fn answer(self, reader: &mut dyn Reader) -> QuestionAnswer {
        let began = Moment::now();
        let asking = (self.query)(reader);
        let took = Moment::now().since(began);
        QuestionAnswer { request_id: self.request_id, asking, took }
    }
}

/// What a question led to.
pub(super) struct QuestionAnswer {
    pub(super) request_id: RequestId,
    pub(super) asking: NextResult,
    /// How long the store took.
    pub(super) took: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_took_too_long_may_be_asked_again() {
        assert_eq!(ErrorWire::from(StoreError::TimedOut).kind, ErrorKind::Temporary);
        assert_eq!(ErrorWire::from(StoreError::Corrupt(String::new())).kind, ErrorKind::Failed);
    }

    #[test]
    fn the_text_of_a_run_is_read_back() {
        for text in ["a@2026-11-21T03:00:00Z", "user@host@2026-11-21T03:00:00.5Z#2"] {
            assert_eq!(run_key(text).unwrap().to_string(), text);
        }
        for bad in ["a", "a@", "@2026-11-21T03:00:00Z", "a@2026-11-21T03:00:00Z#x"] {
            assert_eq!(run_key(bad), None, "{bad}");
        }
    }
}

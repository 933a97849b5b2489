//! Errors between a program and its jobs.
//!
//! Cost: none.
//!
//! Does not describe how runs end: that is in their history.

use std::fmt;

use mainspring_job::{Holder, JobError, Refusal, StoreError};
use mainspring_server::error::Error as ServerError;
use mainspring_server::server::program_calls::CallRefusal;

/// Why jobs are not opened, or something is not submitted.
///
/// Its `Debug` text is its `Display` text and its causes, because that is what `main` prints of an error that
/// it returns.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder cannot be used: another program or server has it, or it is not ours.
    #[error(transparent)]
    Open(OpenError),
    /// A definition is wrong: the job or handler, and what is wrong with it.
    #[error("`{name}`: {reason}")]
    Definition {
        /// Its name, as it was given.
        name: String,
        /// Lower case, no full stop.
        reason: String,
    },
    /// No handler of that name was defined.
    #[error("there is no handler `{0}`")]
    NoHandler(String),
    /// The payload is no JSON document, by its serializer.
    #[error("the payload cannot be written as JSON: {0}")]
    Payload(#[source] serde_json::Error),
    /// The handler could not read the payload: it has another type.
    #[error("`{handler}`: {reason}")]
    Unreadable {
        /// The handler.
        handler: String,
        /// What its parser says.
        reason: String,
    },
    /// The payload is too long.
    #[error("{0}")]
    Action(JobError),
    /// Another submission has the name or the key: it does other work, or has another key. Nothing was
    /// submitted.
    #[error("the name or the key is taken: {0}")]
    Taken(Box<Holder>),
    /// A submission is to be part of a transaction, and there is no database of which it could be: these jobs
    /// have neither a shared one nor an outbox.
    #[error("nothing can be submitted in a transaction: {0}")]
    NoTransaction(&'static str),
    /// The planner said no.
    #[error("{0}")]
    Refused(Refusal),
    /// Nothing new is taken now, for this reason; what was asked for may be tried again later.
    #[error("{0}")]
    Temporary(String),
    /// The jobs are shut down.
    #[error("the jobs are shut down")]
    Stopped,
    /// The store failed, and nothing is promised any more.
    #[error(transparent)]
    Store(StoreError),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let message = error.to_string();
            if !text.contains(&message) {
                text = format!("{text}: {message}");
            }
            cause = error.source();
        }
        f.write_str(&text)
    }
}

impl Error {
    pub(crate) fn definition(name: impl Into<String>, reason: impl fmt::Display) -> Error {
        Error::Definition { name: name.into(), reason: reason.to_string() }
    }

    pub(crate) fn open(error: ServerError) -> Error {
        Error::Open(OpenError(error))
    }

    pub(crate) fn call(refused: CallRefusal) -> Error {
        match refused {
            CallRefusal::Stopping | CallRefusal::Lost(_) => Error::Stopped,
            CallRefusal::Now(why) => Error::Temporary(why),
        }
    }
}

/// Why the folder, the database or what serves them cannot be used, as a sentence with its causes.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OpenError(pub(crate) ServerError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_prints_a_sentence_with_its_causes_and_each_once() {
        let definition =
            Error::Definition { name: "nightly".to_owned(), reason: "no time is left".to_owned() };
        assert_eq!(format!("{definition:?}"), "`nightly`: no time is left");
        let source = std::io::Error::other("the disk said no");
        let data = ServerError::Data { path: "/srv/jobs".into(), source };
        let text = format!("{:?}", Error::open(data));
        assert!(text.contains("/srv/jobs") && text.matches("the disk said no").count() == 1, "{text}");
    }
}

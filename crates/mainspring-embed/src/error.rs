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
#[non_exhaustive]
pub enum Error {
    /// The folder cannot be used: another program or server has it, or it is not ours.
    Open(OpenError),
    /// A definition is wrong: the job or handler, and what is wrong with it.
    Definition {
        /// Its name, as it was given.
        name: String,
        /// Lower case, no full stop.
        reason: String,
    },
    /// No handler of that name was defined.
    NoHandler(String),
    /// The payload is no JSON document, by its serializer.
    Payload(serde_json::Error),
    /// The handler could not read the payload: it has another type.
    Unreadable {
        /// The handler.
        handler: String,
        /// What its parser says.
        reason: String,
    },
    /// The payload is too long.
    Action(JobError),
    /// Another submission has the name or the key: it does other work, or has another key. Nothing was
    /// submitted.
    Taken(Box<Holder>),
    /// A submission is to be part of a transaction, and there is no database of which it could be: these jobs
    /// have neither a shared one nor an outbox.
    NoTransaction(&'static str),
    /// The planner said no.
    Refused(Refusal),
    /// Nothing new is taken now, for this reason; what was asked for may be tried again later.
    Temporary(String),
    /// The jobs are shut down.
    Stopped,
    /// The store failed, and nothing is promised any more.
    Store(StoreError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Open(error) => error.fmt(f),
            Error::Definition { name, reason } => write!(f, "`{name}`: {reason}"),
            Error::NoHandler(name) => write!(f, "there is no handler `{name}`"),
            Error::Payload(error) => write!(f, "the payload cannot be written as JSON: {error}"),
            Error::Unreadable { handler, reason } => write!(f, "`{handler}`: {reason}"),
            Error::Action(error) => error.fmt(f),
            Error::Taken(holder) => write!(f, "the name or the key is taken: {holder}"),
            Error::NoTransaction(why) => write!(f, "nothing can be submitted in a transaction: {why}"),
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Temporary(why) => f.write_str(why),
            Error::Stopped => f.write_str("the jobs are shut down"),
            Error::Store(error) => error.fmt(f),
        }
    }
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Open(error) => error.source(),
            Error::Payload(error) => Some(error),
            Error::Store(error) => error.source(),
            _ => None,
        }
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
#[derive(Debug)]
pub struct OpenError(pub(crate) ServerError);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

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

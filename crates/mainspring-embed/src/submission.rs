//! Something to be done once: built up, and on disk when it is submitted.
//!
//! Cost: a JSON document, and a wait for the disk that all submissions of the same moment share.
//!
//! Does not keep the payload as a value: what a handler gets is read from the document, also without a
//! restart.

use std::time::Duration;

use jiff::Timestamp;
use mainspring_action::body::{Body, HandlerBody};
use mainspring_job::{Command, JobName, OnceId, Policies, Reply, Submission, Work};
use serde::Serialize;

use crate::client::{Client, name_of, strange};
use crate::error::Error;

/// A submission that is being built.
#[derive(Debug)]
#[must_use = "nothing is submitted before submit is called"]
pub struct Once<'c> {
    client: &'c Client,
    handler: String,
    due: Due,
    name: Option<String>,
    key: Option<String>,
    payload: Option<Result<String, serde_json::Error>>,
    policies: Option<Policies>,
    priority: Option<i8>,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    After(Duration),
    At(Timestamp),
}

/// What was submitted, or what was there already with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Submitted {
    /// Its id, which withdraws it. `None`: it was there already, and is not waiting any more.
    pub id: Option<OnceId>,
    /// Its name: that of its run in the history. `None` where it was there already.
    pub name: Option<JobName>,
    /// Whether it is new. A second submission with the same key changes nothing while the first waits, runs,
    /// or is kept in the history.
    pub is_new: bool,
}

impl Client {
    /// Begins a submission to a handler: something to be done once.
    pub fn once<'c>(&'c self, handler: &str) -> Once<'c> {
        Once::new(self, handler)
    }
}

impl Submitted {
    /// The name of its run in the history, for [`Jobs::runs_of`](crate::Jobs::runs_of); empty where it was
    /// there already.
    pub fn job(&self) -> &str {
        self.name.as_ref().map_or("", JobName::as_str)
    }
}

impl<'c> Once<'c> {
    pub(crate) fn new(client: &'c Client, handler: &str) -> Once<'c> {
        Once {
            client,
            handler: handler.to_owned(),
            due: Due::After(Duration::ZERO),
            name: None,
            key: None,
            payload: None,
            policies: None,
            priority: None,
        }
    }

    /// An idempotency key: a second submission with it is answered with the first.
    pub fn key(self, key: impl Into<String>) -> Once<'c> {
        Once { key: Some(key.into()), ..self }
    }

    /// A name for people; one is made, unless told. No two that wait have the same.
    pub fn name(self, name: impl Into<String>) -> Once<'c> {
        Once { name: Some(name.into()), ..self }
    }

    /// It is due this long from now; at once, unless told.
    pub fn after(self, delay: Duration) -> Once<'c> {
        Once { due: Due::After(delay), ..self }
    }

    /// It is due at this time.
    pub fn at(self, due: Timestamp) -> Once<'c> {
        Once { due: Due::At(due), ..self }
    }

    /// What the handler gets.
    pub fn payload<T: Serialize + ?Sized>(self, payload: &T) -> Once<'c> {
        Once { payload: Some(serde_json::to_string(payload)), ..self }
    }

    /// Other policies than those of the handler.
    pub fn policies(self, policies: Policies) -> Once<'c> {
        Once { policies: Some(policies), ..self }
    }

    /// Another priority than that of the handler.
    pub fn priority(self, priority: i8) -> Once<'c> {
        Once { priority: Some(priority), ..self }
    }

    /// Submits it. It is on disk when this returns.
    ///
    /// # Errors
    /// When there is no such handler, the payload cannot be written, the disk is full, or the jobs are shut
    /// down. It is not submitted then.
    pub fn submit(self) -> Result<Submitted, Error> {
        let client = self.client;
        submitted(client.command(self.command()?)?)
    }

    /// The same for a thread that must not wait, such as one that polls futures.
    ///
    /// # Errors
    /// See [`submit`](Self::submit). A future that is dropped before it is ready may have submitted it or
    /// not.
    pub async fn submit_async(self) -> Result<Submitted, Error> {
        let client = self.client;
        submitted(client.command_async(self.command()?).await?)
    }

    fn command(self) -> Result<Command, Error> {
        let Some(entry) = self.client.catalogue().get(&self.handler) else {
            return Err(Error::NoHandler(self.handler));
        };
        let due = match self.due {
            Due::At(due) => due,
            Due::After(delay) => self.client.now()?.checked_add(delay).unwrap_or(Timestamp::MAX),
        };
        let payload = self.payload.transpose().map_err(Error::Payload)?.unwrap_or_default();
        let body = HandlerBody { name: self.handler, version: entry.version, payload };
        let action = Body::Handler(body).encode().map_err(Error::Action)?;
        let usual = &entry.work;
        let mut work =
            Work::new(action).with_policies(self.policies.unwrap_or_else(|| usual.policies.clone()));
        (work.group, work.priority) = (usual.group.clone(), self.priority.unwrap_or(usual.priority));
        let mut submission = Submission::new(due, work);
        submission.name = self.name.as_deref().map(name_of).transpose()?;
        submission.key = self.key;
        Ok(Command::Submit(submission))
    }
}

fn submitted(reply: Reply) -> Result<Submitted, Error> {
    match reply {
        Reply::Submitted { id, name } => Ok(Submitted { id: Some(id), name: Some(name), is_new: true }),
        Reply::Duplicate { id } => Ok(Submitted { id, name: None, is_new: false }),
        other => Err(strange(&other)),
    }
}

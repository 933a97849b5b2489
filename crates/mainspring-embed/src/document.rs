//! A submission as text: where a transaction leaves it, and in the inbox of a shared database.
//!
//! Cost: a JSON document.
//!
//! Does not write it anywhere.

use mainspring_action::body::{Body, HandlerBody};
use mainspring_job::{MAX_KEY_BYTES, OnceId, Refusal, Submission, Work};
use mainspring_server::protocol::HandlerWire;
use serde::Serialize;

use crate::error::Error;

/// What a row of the outbox, a call of `mainspring.submit` and a row of the inbox say. It is read as a
/// `SubmitWire`.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'d> {
    /// Where it is one of several requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) earlier: Option<OnceId>,
    pub(crate) handler: HandlerWire,
    pub(crate) policies: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    pub(crate) priority: i8,
    /// Without the name of the handler, which is put before it where the document is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Whose row of an outbox it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<&'d str>,
}

impl Document<'_> {
    /// A submission without a key.
    pub(crate) fn of(submission: &Submission) -> Document<'static> {
        let work: &Work = &submission.work;
        let Ok(Body::Handler(HandlerBody { name, version, payload })) = Body::decode(&work.action) else {
            unreachable!("a submission calls a handler");
        };
        Document {
            command: None,
            earlier: submission.earlier,
            handler: HandlerWire { name, version, input: None, payload: Some(payload) },
            policies: work.policies.to_string(),
            group: work.group.as_ref().map(ToString::to_string),
            priority: work.priority,
            key: None,
            name: submission.name.as_ref().map(ToString::to_string),
            due: Some(submission.due.to_string()),
            after: None,
            folder: None,
        }
    }
}

/// What the planner would refuse of it, whatever else there is.
pub(crate) fn check(submission: &Submission, own_key: Option<&str>) -> Result<(), Error> {
    let is_made_name = |name: &str| name.parse::<OnceId>().is_ok();
    let refusal = match (&submission.key, own_key) {
        (_, Some("")) => Refusal::KeyEmpty,
        (Some(key), _) if MAX_KEY_BYTES < key.len() => Refusal::KeyTooLong,
        _ if i64::try_from(submission.due.as_nanosecond()).is_err() => Refusal::DueOutOfRange,
        _ if submission.work.policies.on.is_each() => Refusal::OneRun,
        _ if submission.name.as_ref().is_some_and(|name| is_made_name(name.as_str())) => Refusal::Conflict,
        _ => return Ok(()),
    };
    Err(Error::Refused(refusal))
}

//! The work that a client submits, its time, and its policies.
//!
//! Cost: one line.
//!
//! Does not check anything: the server does, and names the first mistake.

use mainspring_action::body::{ProcessBody, WebhookBody};
use mainspring_job::OnceId;
use serde::{Deserialize, Serialize};

use super::is_default;

/// Something to do once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the arguments of `at`")]
pub struct SubmitWire {
    pub due: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The group whose slots its run takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i8,
    /// The id that a program gave it which does not plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<OnceId>,
    #[serde(flatten)]
    pub work: WorkWire,
}

/// Something to do again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the arguments of `every`")]
pub struct EveryWire {
    pub name: String,
    /// How often, as in a job file: `1h30m`.
    pub period: String,
    /// Whether a job of that name that came by command is replaced.
    #[serde(default)]
    pub replace: bool,
    #[serde(flatten)]
    pub work: WorkWire,
}

/// A call of a program's handler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandlerWire {
    /// The name under which the program knows it.
    pub name: String,
    /// The version of the input's form, as the program counts them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub version: u32,
    /// What it is given, a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<serde_json::Value>,
    /// The same as text, in the place of `input`. The database sorts the fields of a document, and a document
    /// that is read loses digits of its numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// What is done, and by which rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkWire {
    /// What is started, unless there is a webhook.
    #[serde(default)]
    pub process: ProcessBody,
    /// What is sent instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookBody>,
    /// The handler of a program that is called instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<HandlerWire>,
    /// The policies, as in a note of a crontab: `retry=3 timeout=1h`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policies: String,
}

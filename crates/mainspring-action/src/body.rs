//! The body of a job as plain data: a process to start, a webhook to send, or a function to call.
//!
//! ```text
//! job file, crontab, command line ──▶ Body ── encode ──▶ Action { kind, body: JSON } ──▶ planner, store
//!                                                                                           │ start
//!                                                   executor ◀── Body ◀────── decode ◀──────┘
//! ```
//!
//! A body names users, files of secrets and limits. The executor looks them up when a run starts. So neither
//! a user's number nor a secret is on disk, and a change of either needs no reload.
//!
//! Cost: one small JSON document per definition and per start.
//!
//! Does not decide when anything runs, and does not run it.

use std::fmt;

use mainspring_job::{Action, JobError};
use serde::{Deserialize, Serialize};

use crate::notification::Destination;

pub use crate::mail::MailBody;
pub use crate::notification::NotificationBody;
pub use crate::process::ProcessBody;
pub use crate::secret::SecretBody;
pub use crate::webhook::WebhookBody;

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A process is started.
    Process(ProcessBody),
    /// A request is sent.
    Webhook(WebhookBody),
    /// A mail is handed to the system's mailer.
    Mail(MailBody),
    /// Somebody is told of what happened to a job, by a request or by a process.
    Notification(Box<NotificationBody>),
    /// A function is called, in the program that has it.
    Handler(HandlerBody),
}

/// The kinds of actions as the store names them.
pub const KINDS: [&str; 5] = [PROCESS, "webhook", "mail", HANDLER, "notification"];

/// The kind of [`Body::Process`].
pub const PROCESS: &str = "process";

/// The kind of [`Body::Handler`].
pub const HANDLER: &str = "handler";

/// A function of a program, by its name, and what it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HandlerBody {
    /// The name under which the program knows it.
    pub name: String,
    /// The version of the payload's form, as the program counts them.
    #[serde(skip_serializing_if = "is_zero")]
    pub version: u32,
    /// A JSON document; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub payload: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Says why an action of the store cannot be read: a newer version of the program wrote it, or something else
/// did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionError {
    /// What is wrong with it: lower case, no full stop.
    pub reason: String,
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the action cannot be read: {}", self.reason)
    }
}

impl std::error::Error for ActionError {}

impl Body {
    /// The action that a job carries.
    ///
    /// # Errors
    ///
    /// When it is too long.
    pub fn encode(&self) -> Result<Action, JobError> {
        let (kind, text) = match self {
            Body::Process(body) => (PROCESS, serde_json::to_string(body)),
            Body::Webhook(body) => (KINDS[1], serde_json::to_string(body)),
            Body::Mail(body) => (KINDS[2], serde_json::to_string(body)),
            Body::Notification(body) => (KINDS[4], serde_json::to_string(body)),
            Body::Handler(body) => (HANDLER, serde_json::to_string(body)),
        };
        let action = Action::new(kind, text.expect("bodies have string keys and finite numbers"))?;
        debug_assert_eq!(Body::decode(&action).as_ref(), Ok(self), "what is written is what is read");
        Ok(action)
    }

    /// What an action says.
    ///
    /// # Errors
    ///
    /// When this program did not write it.
    pub fn decode(action: &Action) -> Result<Body, ActionError> {
        let unreadable = |error: serde_json::Error| ActionError { reason: error.to_string() };
        match action.kind() {
            PROCESS => serde_json::from_str(action.body()).map(Body::Process).map_err(unreadable),
            "webhook" => serde_json::from_str(action.body()).map(Body::Webhook).map_err(unreadable),
            "mail" => serde_json::from_str(action.body()).map(Body::Mail).map_err(unreadable),
            "notification" => serde_json::from_str(action.body()).map(Body::Notification).map_err(unreadable),
            HANDLER => serde_json::from_str(action.body()).map(Body::Handler).map_err(unreadable),
            kind => Err(ActionError { reason: format!("there is no executor called {kind}") }),
        }
    }

    /// The run whose output it tells of, if it does.
    pub fn output_of(&self) -> Option<&str> {
        match self {
            Body::Mail(body) => body.output_of.as_deref(),
            Body::Notification(body) => body.output_of.as_deref(),
            Body::Process(_) | Body::Webhook(_) | Body::Handler(_) => None,
        }
    }

    /// One line that says what is done, for tables.
    pub fn summary(&self) -> String {
        match self {
            Body::Process(ProcessBody { shell: Some(text), .. }) => text.clone(),
            Body::Process(body) => body.run.join(" "),
            Body::Webhook(body) => {
                format!("{} {}", body.method.as_deref().unwrap_or("POST"), body.url)
            }
            Body::Mail(body) => format!("mail to {}: {}", body.to.join(", "), body.subject),
            Body::Notification(body) => match &body.to {
                Destination::Webhook(target) => Body::Webhook(target.webhook.clone()).summary(),
                Destination::Process(process) => Body::Process(process.clone()).summary(),
            },
            Body::Handler(body) => format!("handler {} {}", body.name, body.payload).trim_end().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_back() {
        let process = ProcessBody { shell: Some("echo".into()), nice: Some(3), ..ProcessBody::default() };
        let webhook =
            WebhookBody { url: "http://x".into(), success: vec![(200, 204)], ..WebhookBody::default() };
        let handler = HandlerBody { name: "remind".into(), version: 2, payload: "{\"to\":1}".into() };
        for body in [Body::Process(process), Body::Webhook(webhook), Body::Handler(handler)] {
            assert_eq!(Body::decode(&body.encode().unwrap()).unwrap(), body);
        }
        let strange = Action::new("process", r#"{"shel": "x"}"#).unwrap();
        assert!(Body::decode(&strange).is_err());
    }
}

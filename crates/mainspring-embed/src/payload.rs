//! Payloads: JSON with a version that the program may raise.
//!
//! | version of the payload | of the handler | then |
//! |---|---|---|
//! | 2 | 2 | it is parsed |
//! | 1 | 2 | the handler's `upgrade` makes a document of version 2 of it, if there is one; then it is parsed |
//! | 3 | 2 | the run waits: a newer program submitted it |
//!
//! What does not parse is a failure for good, with the parser's message: a dead letter.
//!
//! Cost: one pass of the parser.
//!
//! Does not keep payloads: the store does.

use mainspring_action::body::HandlerBody;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::handler_error::{HandlerError, NextAttempt};

/// Makes a document of the handler's version of one of an older version.
pub(crate) type Upgrade = Box<dyn Fn(u32, Value) -> Result<Value, HandlerError> + Send + Sync>;

/// What a payload is read by.
pub(crate) struct Form {
    pub(crate) version: u32,
    pub(crate) upgrade: Option<Upgrade>,
}

impl Form {
    /// Reads a payload. Without one it is read as `null`, so that a handler may take `Option` or `()`.
    pub(crate) fn read<T: DeserializeOwned>(&self, body: &HandlerBody) -> Result<T, HandlerError> {
        let text = if body.payload.is_empty() { "null" } else { &body.payload };
        let unreadable = |error: serde_json::Error| {
            let version = body.version;
            HandlerError::for_good(format!("the payload of version {version} cannot be read: {error}"))
        };
        match &self.upgrade {
            Some(upgrade) if body.version < self.version => {
                let value = upgrade(body.version, serde_json::from_str(text).map_err(unreadable)?);
                let value = value.map_err(|failed| HandlerError { next: NextAttempt::Never, ..failed })?;
                serde_json::from_value(value).map_err(unreadable)
            }
            _ => serde_json::from_str(text).map_err(unreadable),
        }
    }
}

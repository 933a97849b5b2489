//! The names of a program's handlers, each with its version, its rules and its way to read a payload, for
//! submissions.
//!
//! Cost: a look-up by name.
//!
//! Does not hold the handlers: see [`registry`](crate::registry). So a client may know this without them.

use std::collections::HashMap;
use std::sync::Arc;

use mainspring_action::body::HandlerBody;
use mainspring_action::needs;
use mainspring_job::{MAX_NAME_CHARS, MAX_WORKER_LABEL_BYTES, Work, WorkerLabel};
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::handler_error::HandlerError;
use crate::payload::Form;

const _: () =
    assert!("handler=".len() + MAX_NAME_CHARS <= MAX_WORKER_LABEL_BYTES, "each handler has a label");

/// What is known of a handler without its function.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) version: u32,
    /// The policies, group and priority of a submission that says nothing of them; its action does nothing.
    pub(crate) work: Work,
    pub(crate) reads: Reads,
}

/// Reads a payload and drops it.
type ReadPayload = dyn Fn(&HandlerBody) -> Result<(), HandlerError> + Send + Sync;

/// Reads a payload as the handler will, and drops it.
#[derive(Clone)]
pub(crate) struct Reads(Arc<ReadPayload>);

impl Reads {
    /// Those of a handler whose payloads have this type.
    pub(crate) fn of<T: DeserializeOwned>(form: &Arc<Form>) -> Reads {
        let form = Arc::clone(form);
        Reads(Arc::new(move |body| form.read::<T>(body).map(drop)))
    }

    /// Those of a job with a schedule, whose function gets no payload.
    pub(crate) fn any() -> Reads {
        Reads(Arc::new(|_| Ok(())))
    }

    /// # Errors
    /// When the handler could not read the payload.
    pub(crate) fn check(&self, body: &HandlerBody) -> Result<(), Error> {
        let unreadable =
            |error: HandlerError| Error::Unreadable { handler: body.name.clone(), reason: error.message };
        (self.0)(body).map_err(unreadable)
    }
}

/// All names.
#[derive(Clone, Default)]
pub(crate) struct Catalogue {
    entries: HashMap<String, Entry>,
}

impl Catalogue {
    /// Adds a name. Returns whether it was free.
    pub(crate) fn add(&mut self, name: &str, entry: Entry) -> bool {
        self.entries.insert(name.to_owned(), entry).is_none()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// What the program has for those that need a handler.
    pub(crate) fn labels(&self) -> Vec<(WorkerLabel, u32)> {
        let of_handlers = self.entries.iter();
        let of_handlers =
            of_handlers.filter_map(|(name, entry)| Some((needs::handler(name)?, entry.version)));
        let all: Vec<_> = of_handlers.chain([(needs::known(needs::HANDLERS), 0)]).collect();
        debug_assert_eq!(all.len(), self.entries.len() + 1, "what calls a handler finds its worker");
        all
    }
}

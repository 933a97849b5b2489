//! The names of a program's handlers, each with its version and its rules, for submissions.
//!
//! Cost: a look-up by name.
//!
//! Does not hold the handlers: see [`registry`](crate::registry). So a client may know this without them.

use std::collections::HashMap;

use mainspring_action::needs;
use mainspring_job::{Work, WorkerLabel};

/// What is known of a handler without its function.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) version: u32,
    /// The policies, group and priority of a submission that says nothing of them; its action does nothing.
    pub(crate) work: Work,
}

/// All names.
#[derive(Clone, Debug, Default)]
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
        of_handlers.chain([(needs::known(needs::HANDLERS), 0)]).collect()
    }
}

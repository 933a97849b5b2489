//! A job of a table in YAML, key by key: what sidekiq-cron and APScheduler share.
//!
//! Cost: one look at each key.
//!
//! Does not know the keys.

use crate::facts::JobFacts;
use crate::finding::{Findings, Place};
use crate::key::{Key, Reader, read_key};
use crate::yaml::Node;

/// A job on its way, with what its reader keeps beside it.
#[derive(Debug)]
pub(crate) struct Draft<S> {
    pub(crate) job: JobFacts,
    pub(crate) findings: Findings,
    /// What is judged when all keys are known.
    pub(crate) said: S,
}

impl<S: Default> Draft<S> {
    /// Of a job called `name` that stands there.
    pub(crate) fn new(name: &str, place: Place) -> Draft<S> {
        Draft { job: JobFacts::new(name, place), findings: Findings::default(), said: S::default() }
    }

    /// Reads a table by its rows.
    pub(crate) fn read(&mut self, keys: &[Key<Draft<S>, Node>], node: &Node) {
        if !node.is_table() {
            self.findings.problem(&node.place, "expected keys and values");
            return;
        }
        for (name, place, value) in node.pairs() {
            // Ruby writes symbols, and some write options as arguments of a call are named.
            read_key(keys, name.trim_start_matches(':'), place, self, value);
        }
    }

    /// A text; anything else is a problem.
    pub(crate) fn text(&mut self, node: &Node) -> Option<String> {
        if node.text().is_none() {
            self.findings.problem(&node.place, "expected a text");
        }
        node.text().map(str::to_owned)
    }

    /// A zone of the IANA database; anything else is a problem.
    pub(crate) fn zone(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node)?;
        let is_known = jiff::tz::TimeZone::get(&text).is_ok();
        if !is_known {
            self.findings.problem(&node.place, format!("unknown time zone `{text}`"));
        }
        is_known.then_some(text)
    }
}

impl<S> Reader for Draft<S> {
    fn findings(&mut self) -> &mut Findings {
        &mut self.findings
    }
}

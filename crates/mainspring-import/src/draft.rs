//! A job on its way: what is read of it, key by key.
//!
//! Cost: one look at each value.
//!
//! Does not know the keys.

use crate::facts::JobFacts;
use crate::finding::{Findings, Place};
use crate::yaml::Node;

/// A job on its way, with what its reader keeps beside it.
#[derive(Debug, Default)]
pub(crate) struct Draft<S> {
    pub(crate) job: JobFacts,
    pub(crate) findings: Findings,
    /// What is judged when all keys are known.
    pub(crate) values: S,
}

impl<S: Default> Draft<S> {
    /// Of a job called `name` that stands there.
    pub(crate) fn new(name: &str, place: Place) -> Draft<S> {
        Draft { job: JobFacts::new(name, place), ..Draft::default() }
    }
}

impl<S> Draft<S> {
    /// A text; anything else is a problem.
    pub(crate) fn text<'n>(&mut self, node: &'n Node) -> Option<&'n str> {
        if node.text().is_none() {
            self.findings.problem(&node.place, "expected a text");
        }
        node.text()
    }

    /// Reads a zone of the IANA database; anything else is a problem.
    pub(crate) fn read_zone(&mut self, node: &Node) {
        if let Some(text) = self.text(node) {
            self.set_zone(text, &node.place);
        }
    }

    /// Gives the job a zone of the IANA database; any other text is a problem.
    pub(crate) fn set_zone(&mut self, text: &str, place: &Place) {
        match jiff::tz::TimeZone::get(text) {
            Ok(_) => self.job.zone = Some(text.to_owned()),
            Err(_) => self.findings.problem(place, format!("unknown time zone `{text}`")),
        }
    }
}

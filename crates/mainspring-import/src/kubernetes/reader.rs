//! A CronJob on its way: what is read of it, key by key.
//!
//! Cost: one look at each key.
//!
//! Does not know the keys.

use std::time::Duration;

use crate::facts::{ANY_AGE, JobFacts, Variables};
use crate::finding::{Findings, Place};
use crate::key::{Key, Reader, read_key};
use crate::yaml::Node;

/// A CronJob on its way.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) job: JobFacts,
    pub(super) findings: Findings,
    pub(super) pod: Pod,
    pub(super) is_suspended: bool,
    pub(super) backoff_limit: Option<u32>,
}

impl Reader for Manifest {
    fn findings(&mut self) -> &mut Findings {
        &mut self.findings
    }
}

/// What a pod says that is judged when all of it is known.
#[derive(Debug, Default)]
pub(super) struct Pod {
    pub(super) grace: Option<Duration>,
    /// Whether a container was read.
    pub(super) has_container: bool,
    pub(super) command: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) env: Variables,
}

impl Manifest {
    /// Of an object that stands there.
    pub(super) fn new(place: Place) -> Manifest {
        let job = JobFacts::new("", place);
        Manifest {
            job,
            findings: Findings::default(),
            pod: Pod::default(),
            is_suspended: false,
            backoff_limit: None,
        }
    }

    /// A text; anything else is a problem.
    pub(super) fn text<'n>(&mut self, node: &'n Node) -> Option<&'n str> {
        if node.text().is_none() {
            self.findings.problem(&node.place, "expected a text");
        }
        node.text()
    }

    /// A whole number from 0; anything else is a problem.
    pub(super) fn count(&mut self, node: &Node) -> Option<u64> {
        let found = node.text().and_then(|text| text.parse().ok());
        if found.is_none() {
            self.findings.problem(&node.place, "expected a whole number");
        }
        found
    }

    /// So many seconds, up to a century.
    pub(super) fn seconds(&mut self, node: &Node) -> Option<Duration> {
        self.count(node).map(|seconds| Duration::from_secs(seconds).min(ANY_AGE))
    }
}

/// Reads the keys of a table by their rows.
pub(super) fn table(keys: &[Key<Manifest, Node>], reader: &mut Manifest, node: &Node) {
    if !node.is_table() {
        reader.findings.problem(&node.place, "expected keys and values");
        return;
    }
    for (name, place, value) in node.pairs() {
        read_key(keys, name, place, reader, value);
    }
}

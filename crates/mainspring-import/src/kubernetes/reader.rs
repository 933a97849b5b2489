//! A CronJob on its way: what is read of it, key by key.
//!
//! Cost: one look at each key.
//!
//! Does not know the keys.

use std::time::Duration;

use crate::draft::Draft;
use crate::facts::{ANY_AGE, Variables};
use crate::yaml::Node;

/// A CronJob on its way.
pub(super) type Manifest = Draft<ManifestWords>;

/// What a CronJob says that is judged when all of it is known.
#[derive(Debug, Default)]
pub(super) struct ManifestWords {
    pub(super) is_suspended: bool,
    /// Whether a container was read.
    pub(super) has_container: bool,
    pub(super) command: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) env: Variables,
}

impl Manifest {
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

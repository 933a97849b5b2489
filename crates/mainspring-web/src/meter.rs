//! What is counted of the listener itself.
//!
//! Cost: a look-up in a small map for each answer.
//!
//! Does not count runs: see [`metrics`](crate::metrics).

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::lock::locked;

/// Answers by route, method and status.
#[derive(Debug, Default)]
pub struct Meter(Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>);

impl Meter {
    /// One more answer. `route` is a path of the table and no address, so that there are not more names than
    /// routes.
    pub fn count(&self, route: &'static str, method: &'static str, status: u16) {
        *locked(&self.0).entry((route, method, status)).or_default() += 1;
    }

    /// All counts.
    pub fn all(&self) -> Vec<((&'static str, &'static str, u16), u64)> {
        locked(&self.0).iter().map(|(key, count)| (*key, *count)).collect()
    }
}

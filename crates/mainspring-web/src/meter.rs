//! What is counted of the listener itself: answers, and connections that are open.
//!
//! | field | guard |
//! |---|---|
//! | answers | a mutex, for a look-up |
//! | connections | an atomic; relaxed, because nothing else is read by it |
//!
//! Cost: a look-up in a small map for each answer.
//!
//! Does not count runs: see [`metrics`](crate::metrics).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lock::locked;

/// Answers by route, method and status, and connections.
#[derive(Debug, Default)]
pub struct Meter {
    answers: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    connections: AtomicU64,
}

impl Meter {
    /// One more answer. `route` is a path of the table and no address, so that there are not more names than
    /// routes.
    pub fn count(&self, route: &'static str, method: &'static str, status: u16) {
        *locked(&self.answers).entry((route, method, status)).or_default() += 1;
    }

    /// All counts.
    pub fn all(&self) -> Vec<((&'static str, &'static str, u16), u64)> {
        locked(&self.answers).iter().map(|(key, count)| (*key, *count)).collect()
    }

    /// A connection was taken.
    pub fn connect(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection has ended.
    pub fn disconnect(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many connections are open.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

//! Counters of the listener itself: answers, how long they took, and refusals, each behind a mutex that is
//! held for a look-up.
//!
//! Cost: a look-up in a small map for each answer.
//!
//! Does not count runs: see [`metrics`](crate::metrics).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use axum::http::StatusCode;
use mainspring_server::protocol::HistogramWire;

use crate::lock::locked;
use crate::problem::{Code, Problem};

/// Answers by route, method and status.
#[derive(Debug, Default)]
pub struct Meter {
    answers: Mutex<BTreeMap<(&'static str, &'static str, StatusCode), u64>>,
    durations: Mutex<BTreeMap<&'static str, HistogramWire>>,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
}

impl Meter {
    /// One more answer. `route` is a path of the table and no address, so that there are not more names than
    /// routes.
    pub fn count(&self, route: &'static str, method: &'static str, status: StatusCode, took: Duration) {
        *locked(&self.answers).entry((route, method, status)).or_default() += 1;
        locked(&self.durations).entry(route).or_default().add(took);
    }

    /// A request was refused before it was looked at, if it was.
    pub fn refuse(&self, problem: &Problem) {
        if problem.code.is_refusal() {
            *locked(&self.refusals).entry(problem.code.name()).or_default() += 1;
        }
    }

    /// How long answers took to begin, by route.
    pub fn durations(&self) -> Vec<([String; 1], HistogramWire)> {
        locked(&self.durations).iter().map(|(route, took)| ([(*route).to_owned()], took.clone())).collect()
    }

    /// How many were refused, by the name of the problem; those too that did not happen.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        let never = Code::REFUSALS.iter().map(|code| (code.name(), 0));
        never.chain(locked(&self.refusals).iter().map(|(name, count)| (*name, *count))).collect()
    }

    /// All counts.
    pub fn all(&self) -> Vec<((&'static str, &'static str, StatusCode), u64)> {
        locked(&self.answers).iter().map(|(key, count)| (*key, *count)).collect()
    }
}

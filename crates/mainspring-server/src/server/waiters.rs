//! Who waits for the end of which run.
//!
//! Cost: a lookup for each run that is waited for, when one may have ended.
//!
//! Does not answer: see [`awaiting`](super::awaiting).

use std::collections::BTreeMap;

use mainspring_job::RunKey;

/// Who waits for the end of which run.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// The connection and the request of each, by the run.
    waiting: BTreeMap<RunKey, Vec<(u64, u64)>>,
    /// Whether a run may have ended since they were looked through.
    is_stale: bool,
}

impl Waiters {
    /// Adds one whose run may be over already.
    pub(super) fn add(&mut self, key: RunKey, peer: u64, id: u64) {
        self.add_known(key, peer, id);
        self.is_stale = true;
    }

    /// Adds one whose run is over, and its end not on disk.
    pub(super) fn add_known(&mut self, key: RunKey, peer: u64, id: u64) {
        self.waiting.entry(key).or_default().push((peer, id));
    }

    /// Says that a run may have ended, or that an end may be on disk.
    pub(super) fn look(&mut self) {
        self.is_stale = true;
    }

    /// Forgets connections that have gone.
    pub(super) fn retain(&mut self, mut is_there: impl FnMut(u64) -> bool) {
        self.waiting.retain(|_, askers| {
            askers.retain(|(peer, _)| is_there(*peer));
            !askers.is_empty()
        });
    }

    /// Takes those whose run is over.
    pub(super) fn take_over(&mut self, is_over: impl Fn(&RunKey) -> bool) -> Vec<(RunKey, u64, u64)> {
        if !std::mem::take(&mut self.is_stale) {
            return Vec::new();
        }
        let over = self.waiting.extract_if(.., |key, _| is_over(key));
        over.flat_map(|(key, askers)| askers.into_iter().map(move |(peer, id)| (key.clone(), peer, id)))
            .collect()
    }
}

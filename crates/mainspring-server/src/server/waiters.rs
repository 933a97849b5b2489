//! The clients that wait for the end of a run.
//!
//! Cost: a lookup for each run that is waited for, when one may have ended.
//!
//! Does not answer: see [`clients`](super::clients).

use std::collections::BTreeMap;

use mainspring_job::RunKey;

use super::next_step::RequestId;

/// Which clients wait for the end of which run.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// By the run.
    waiting: BTreeMap<RunKey, Vec<RequestId>>,
    /// Whether a run may have ended since they were looked through.
    is_stale: bool,
}

impl Waiters {
    /// Adds one. If the run may be over already, [`look`](Self::look) follows.
    pub(super) fn add(&mut self, key: RunKey, request_id: RequestId) {
        self.waiting.entry(key).or_default().push(request_id);
    }

    /// Says that a run may have ended, or that an end may be on disk.
    pub(super) fn look(&mut self) {
        self.is_stale = true;
    }

    /// Forgets connections that have gone.
    pub(super) fn retain(&mut self, mut is_there: impl FnMut(u64) -> bool) {
        self.waiting.retain(|_, askers| {
            askers.retain(|request_id| is_there(request_id.client));
            !askers.is_empty()
        });
    }

    /// Takes those whose run is over.
    pub(super) fn take_over(&mut self, is_over: impl Fn(&RunKey) -> bool) -> Vec<(RunKey, RequestId)> {
        if !std::mem::take(&mut self.is_stale) {
            return Vec::new();
        }
        let over = self.waiting.extract_if(.., |key, _| is_over(key));
        over.flat_map(|(key, askers)| askers.into_iter().map(move |request_id| (key.clone(), request_id)))
            .collect()
    }
}

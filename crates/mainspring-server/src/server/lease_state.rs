//! The state of the lease.
//!
//! Cost: none.
//!
//! Does not act: see [`lease`](super::lease). Does not know what an age allows: see
//! [`LeaseDeadlines`](mainspring_job::LeaseDeadlines).

use jiff::SignedDuration;

use mainspring_exec::clock::Moment;

/// How the lease stands.
#[derive(Debug, Default)]
pub(super) struct LeaseState {
    /// When it was last tried to renew it.
    pub(super) tried: Option<Moment>,
    /// People know that the clock of this machine is not that of the store.
    pub(super) is_said_apart: bool,
    /// The jobs are another's, or may be.
    pub(super) is_lost: bool,
    /// It was to end when it lost the jobs, so that it does not stand by.
    pub(super) was_stopping: bool,
}

/// By how much the clock of the machine may differ from that of the store before people are told.
pub(super) const MAX_APART: SignedDuration = SignedDuration::from_secs(1);

const _: () = assert!(
    MAX_APART.as_millis() == crate::diagnosis::cluster::MAX_AHEAD_MS as i128,
    "the log and `doctor` say the same of a clock",
);

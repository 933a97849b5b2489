//! Numbers that tell apart what has no name of its own: one-shot jobs, and runs that no trigger names.
//!
//! Cost: a count for each.
//!
//! Does not persist: the epoch of the owner keeps the numbers of two owners apart.

use jiff::Timestamp;

use crate::once::{NUMBER_BITS, OnceId};

/// How many runs of one microsecond have distinct nominal times: the nanoseconds of one, without zero.
const DISTINCT_COUNT: u64 = 999;

#[derive(Debug)]
pub(super) struct Numbers {
    /// The number of the last one-shot job; the epoch is in its upper bits.
    once: u64,
    /// How many runs had no trigger to name their nominal time.
    request_count: u64,
}

impl Numbers {
    pub(super) fn new(epoch: u64) -> Numbers {
        Numbers { once: epoch << NUMBER_BITS, request_count: epoch.wrapping_mul(37) }
    }

    /// The id of a new one-shot job.
    pub(super) fn new_id(&mut self, due: Timestamp) -> OnceId {
        self.once += 1;
        OnceId { due, number: self.once }
    }

    /// A nominal time for a run that no trigger names: now, made distinct by its nanoseconds, which no cron
    /// trigger has.
    pub(super) fn new_nominal(&mut self, now: Timestamp) -> Timestamp {
        self.request_count += 1;
        let distinct_ns = i128::from(self.request_count % DISTINCT_COUNT + 1);
        let micros_ns = now.as_nanosecond().div_euclid(1_000) * 1_000;
        Timestamp::from_nanosecond(micros_ns + distinct_ns).unwrap_or(now)
    }
}

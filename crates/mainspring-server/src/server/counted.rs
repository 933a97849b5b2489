//! How much the store holds, counted no more often than need be.
//!
//! | the store | a count is used again |
//! |---|---|
//! | has not changed since | always |
//! | has fewer than [`MANY_ROWS`] rows | never |
//! | has more | for [`MAX_AGE`] |
//!
//! Cost: counting goes over an index of all rows; using a count again is a lock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_job::{Counts, Reader, Shard, StoreError};

/// From how many rows on counting takes longer than an answer may: about a millisecond.
const MANY_ROWS: u64 = 20_000;

/// How old the count of a large store may be: people do not see the difference.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The last count, for the thread that is asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(Arc<Mutex<Option<Count>>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    counts: Counts,
    at: Moment,
    /// How many batches were on disk.
    committed_count: u64,
}

impl Count {
    fn holds(&self, committed_count: u64, now: Moment) -> bool {
        let row_count = self.counts.pending + self.counts.runs;
        let is_recent = MANY_ROWS <= row_count && now.since(self.at) < MAX_AGE;
        self.committed_count == committed_count || is_recent
    }
}

impl Counted {
    /// The counts of a store when so many batches are on disk.
    pub(super) fn get(&self, reader: &mut dyn Reader, committed_count: u64) -> Result<Counts, StoreError> {
        let now = Moment::now();
        // A count that panicked has left the one before.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = last.filter(|count| count.holds(committed_count, now)) {
            return Ok(count.counts);
        }
        let counts = reader.counts(Shard::WHOLE)?;
        *last = Some(Count { counts, at: now, committed_count });
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_count_of_a_large_store_may_be_old() {
        let now = Moment::now();
        let later = |ms| Moment { monotonic: now.monotonic + Duration::from_millis(ms), ..now };
        let count = |runs| {
            let mut counts = Counts::default();
            counts.runs = runs;
            Count { counts, at: now, committed_count: 7 }
        };
        assert!(count(1).holds(7, later(10_000)));
        assert!(!count(MANY_ROWS - 1).holds(8, now));
        assert!(count(MANY_ROWS).holds(8, later(999)));
        assert!(!count(MANY_ROWS).holds(8, later(1_000)));
    }
}

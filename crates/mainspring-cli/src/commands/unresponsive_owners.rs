//! Remembers the owners of shards that have not taken a request in time: most likely they are dead, and their
//! leases are not over.
//!
//! ```text
//!  a question is not taken ─▶ add: epoch, rest of the lease ─▶ still_silent
//!                                                              └─ another epoch, or a lease that was renewed ─▶ asked again
//! ```
//!
//! So that is waited for once, and not for each question.
//!
//! Cost: a comparison for each of them.
//!
//! Does not ask the database.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainspring_job::Shard;
use mainspring_postgres::ShardHolder;

use mainspring_exec::clock::Moment;

/// By how much later a lease has to end for having been renewed. An owner renews each 2.5 s, and an answer of
/// the database takes less than this.
const RENEWED: Duration = Duration::from_secs(1);

/// The silent owners.
#[derive(Debug, Default)]
pub(super) struct UnresponsiveOwners {
    known: BTreeMap<Shard, LastVersion>,
}

/// How a lease was when its owner was silent.
#[derive(Clone, Copy, Debug)]
struct LastVersion {
    epoch: u64,
    left: Duration,
    at: Moment,
}

impl UnresponsiveOwners {
    /// The owner of a shard was silent, which holds it like this now.
    pub(super) fn add(&mut self, held: &ShardHolder, now: Moment) {
        let seen = LastVersion { epoch: held.epoch, left: left(held), at: now };
        self.known.insert(held.shard, seen);
    }

    /// Whether no owner was.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whose owners are silent still, if all are held like this now.
    pub(super) fn still_silent(&mut self, held: &[ShardHolder], now: Moment) -> BTreeSet<Shard> {
        self.known.retain(|shard, seen| {
            let held = held.iter().find(|held| held.shard == *shard && held.epoch == seen.epoch);
            held.is_some_and(|held| {
                let left = left(held);
                left.is_zero() || left + now.since(seen.at) <= seen.left + RENEWED
            })
        });
        self.known.keys().copied().collect()
    }
}

fn left(held: &ShardHolder) -> Duration {
    Duration::from_millis(held.left_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_silent_until_it_renews_its_lease_or_another_has_the_shard() {
        let (shard, began) = (Shard(2), Moment::now());
        let held = |epoch, left_ms| {
            let (server, name) = ("s".to_owned(), "process 1".to_owned());
            [ShardHolder { shard, server, name, epoch, left_ms, batch: 0 }]
        };
        let after = |seconds| Moment { monotonic: began.monotonic + Duration::from_secs(seconds), ..began };
        let mut silent = UnresponsiveOwners::default();
        let added = || {
            let mut silent = UnresponsiveOwners::default();
            silent.add(&held(7, 12_000)[0], began);
            silent
        };
        assert!(silent.still_silent(&held(7, 12_000), began).is_empty());
        silent = added();
        assert_eq!(silent.still_silent(&held(7, 7_000), after(5)), BTreeSet::from([shard]));
        assert_eq!(silent.still_silent(&held(7, 0), after(20)), BTreeSet::from([shard]), "its lease is over");
        assert!(silent.still_silent(&held(8, 15_000), after(20)).is_empty(), "another has it");
        assert!(silent.is_empty());
        assert!(added().still_silent(&held(7, 14_000), after(2)).is_empty(), "it was renewed");
        assert!(added().still_silent(&[], after(2)).is_empty());
    }
}

//! Detects changes by other servers, for pages that are open.
//!
//! ```text
//!  number of the last batch of each shard of others ─▶ seen ─▶ changed ── at most once in REST ──▶ told
//! ```
//!
//! That something has changed is told, and not what: the page asks for what it shows.
//!
//! Cost: a number for each shard.
//!
//! Does not ask the database.

use std::collections::BTreeMap;
use std::time::Duration;

use mainspring_job::Shard;
use mainspring_postgres::ShardHolder;

use mainspring_exec::clock::Moment;

/// How often it is told at most that other servers have changed something: a page asks for all that it shows.
pub(super) const REST: Duration = Duration::from_secs(5);

/// What was seen of the shards of others.
#[derive(Debug, Default)]
pub(super) struct RemoteChanges {
    /// Who owned them, and their last batch, when it was looked last.
    seen: BTreeMap<Shard, (u64, u64)>,
    /// Something of theirs has changed since it was told.
    is_changed: bool,
    told: Option<Moment>,
}

impl RemoteChanges {
    /// Sees how a shard of another server is now.
    pub(super) fn see(&mut self, held: &ShardHolder) {
        let now = (held.epoch, held.batch);
        self.is_changed |= self.seen.insert(held.shard, now) != Some(now);
    }

    /// The shard is of this server now.
    pub(super) fn forget(&mut self, shard: Shard) {
        self.seen.remove(&shard);
    }

    /// Whether it is to be told now that something has changed.
    pub(super) fn take(&mut self) -> bool {
        let is_time = self.told.is_none_or(|told| REST <= Moment::now().since(told));
        if self.is_changed && is_time {
            (self.is_changed, self.told) = (false, Some(Moment::now()));
            return true;
        }
        false
    }
}

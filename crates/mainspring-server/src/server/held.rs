//! A batch that the disk has no room for.
//!
//! Cost: none.
//!
//! Does not try it: see [`record`](super::record).

use std::time::Duration;

use mainspring_job::Batch;

use mainspring_exec::clock::Moment;

/// How often a batch is tried for which the disk has no room.
pub(super) const ROOM_WAIT: Duration = Duration::from_secs(1);

/// A batch that the disk has no room for.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) batch: Batch,
    pub(super) tried: Moment,
}

impl Held {
    /// How long until it is tried again.
    pub(super) fn wait(&self, now: Moment) -> Duration {
        ROOM_WAIT.saturating_sub(now.since(self.tried))
    }
}

//! Detects changes by another server, for pages that are open.
//!
//! ```text
//!  last batch, count of progress told ─▶ see ─▶ changed ── at most once in REST ──▶ notified
//! ```
//!
//! That something has changed is told, and not what: the page asks for what it shows.
//!
//! Cost: three numbers.
//!
//! Does not ask the database.

use std::time::Duration;

use mainspring_postgres::HeldLease;

use mainspring_exec::clock::Moment;

/// How often it is told at most that another server has changed something: a page asks for all that it shows.
pub(super) const REST: Duration = Duration::from_secs(5);

/// What was seen of the owner.
#[derive(Debug, Default)]
pub(super) struct RemoteChanges {
    /// When it was looked last.
    seen: Option<HeldLease>,
    /// Something has changed since it was told.
    is_changed: bool,
    reported_at: Option<Moment>,
}

impl RemoteChanges {
    /// Sees how the owner's lease is now.
    pub(super) fn see(&mut self, held: HeldLease) {
        self.is_changed |= self.seen.replace(held) != Some(held);
    }

    /// Whether it is to be told now that something has changed.
    pub(super) fn take(&mut self) -> bool {
        let is_time = self.reported_at.is_none_or(|at| REST <= Moment::now().since(at));
        if self.is_changed && is_time {
            (self.is_changed, self.reported_at) = (false, Some(Moment::now()));
            return true;
        }
        false
    }
}

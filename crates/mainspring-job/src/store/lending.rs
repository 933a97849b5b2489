//! The lease of a store in memory, by a clock of its own that its user moves.
//!
//! ```text
//!  acquire, commit, renew ──▶ until = now + lasts        free for another: until + LEASE_MARGIN < now, or released
//! ```
//!
//! Cost: O(1).
//!
//! Does not check who writes: the epoch does, in the store.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::deadlines::LEASE_MARGIN;

/// Who has the lease, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Lending {
    pub(super) lasts: Duration,
    pub(super) now: Timestamp,
    /// Who has it, and until when. `None`: it is free.
    holder: Option<(String, Timestamp)>,
}

impl Lending {
    pub(super) fn new(lasts: Duration, now: Timestamp) -> Lending {
        Lending { lasts, now, holder: None }
    }

    /// Who holds it, and for how much longer if the holder says nothing more.
    pub(super) fn held(&self) -> Option<(String, Duration)> {
        let (by, until) = self.holder.as_ref()?;
        let margin = SignedDuration::try_from(LEASE_MARGIN).unwrap_or(SignedDuration::MAX);
        let free = until.checked_add(margin).unwrap_or(Timestamp::MAX);
        let left = Duration::try_from(free.duration_since(self.now)).ok()?;
        Some((by.clone(), left.max(Duration::from_nanos(1))))
    }

    /// How long ago its holder renewed it, if it has run out.
    pub(super) fn silent(&self) -> Option<Duration> {
        let (_, until) = self.holder.as_ref()?;
        let renewed = until.checked_sub(self.lasts).ok()?;
        Duration::try_from(self.now.duration_since(renewed)).ok()
    }

    pub(super) fn lend(&mut self, owner: &str) {
        self.holder = Some((owner.to_owned(), self.end()));
    }

    pub(super) fn renew(&mut self) {
        let end = self.end();
        if let Some((_, until)) = &mut self.holder {
            *until = end;
        }
    }

    pub(super) fn free(&mut self) {
        self.holder = None;
    }

    /// The lease has run out, as far as the next owner is concerned.
    pub(super) fn lapse(&mut self) {
        if let Some((_, until)) = &mut self.holder {
            *until = Timestamp::MIN;
        }
    }

    fn end(&self) -> Timestamp {
        self.now.checked_add(self.lasts).unwrap_or(Timestamp::MAX)
    }
}

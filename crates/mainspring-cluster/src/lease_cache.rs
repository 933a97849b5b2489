//! The planner's lease, as this server's worker read it with its last renewal.
//!
//! ```text
//!  the worker renews ─▶ see ─▶ another plans until then: a candidate asks no earlier
//!  it was released   ─▶ forget ─▶ a candidate asks at once
//! ```
//!
//! A worker renews more often than the lease could run out twice, so a candidate asks the database only after
//! a planner has died.
//!
//! Cost: a lock for some instructions.
//!
//! Does not ask the database, and does not say that the lease is free.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainspring_exec::clock::boot_time;
use mainspring_job::StoreError;
use mainspring_postgres::HeldPlan;

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct LeaseCache(Mutex<CachedLease>);

#[derive(Debug, Default)]
struct CachedLease {
    /// Who plans, and until which boot time.
    held: Option<(String, Duration)>,
    /// How often it was released: what was read before does not hold.
    releases: u64,
}

impl LeaseCache {
    /// To be given to [`see`](Self::see) with what is read from now on: how often the lease was released, and
    /// when it is.
    pub(super) fn begin(&self) -> (u64, Duration) {
        (self.lock().releases, boot_time())
    }

    /// Who plans at another server was read, after this [`begin`](Self::begin). However late the answer came,
    /// the lease is not taken for longer than it lasts.
    pub(super) fn see(&self, (releases, begun): (u64, Duration), held: Option<HeldPlan>) {
        let mut cached = self.lock();
        if cached.releases == releases {
            cached.held = held.map(|held| (held.by, begun + held.left));
        }
    }

    /// The lease was released.
    pub(super) fn forget(&self) {
        let mut cached = self.lock();
        *cached = CachedLease { held: None, releases: cached.releases + 1 };
    }

    /// That another server has the lease, while that is known.
    pub(super) fn refusal(&self) -> Option<StoreError> {
        let cached = self.lock();
        let (by, until) = cached.held.as_ref()?;
        let left = until.checked_sub(boot_time()).filter(|left| !left.is_zero())?;
        Some(StoreError::Held { by: by.clone(), left })
    }

    fn lock(&self) -> MutexGuard<'_, CachedLease> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(left: Duration) -> Option<HeldPlan> {
        Some(HeldPlan { by: "a".to_owned(), left })
    }

    #[test]
    fn a_lease_is_held_until_it_runs_out_or_is_released() {
        let cache = LeaseCache::default();
        assert!(cache.refusal().is_none(), "nothing was read");
        cache.see(cache.begin(), held(Duration::from_secs(3_600)));
        let Some(StoreError::Held { by, left }) = cache.refusal() else { panic!("it is held") };
        assert_eq!(by, "a");
        assert!(left <= Duration::from_secs(3_600));
        cache.see(cache.begin(), held(Duration::ZERO));
        assert!(cache.refusal().is_none(), "it has run out");
        cache.see(cache.begin(), held(Duration::from_secs(3_600)));
        cache.forget();
        assert!(cache.refusal().is_none(), "it was released");
    }

    #[test]
    fn what_was_read_before_a_release_does_not_hold_after_it() {
        let cache = LeaseCache::default();
        let begun = cache.begin();
        cache.forget();
        cache.see(begun, held(Duration::from_secs(3_600)));
        assert!(cache.refusal().is_none());
    }
}

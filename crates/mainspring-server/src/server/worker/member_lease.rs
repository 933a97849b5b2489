//! The lease of a worker, as both ends of its link see it.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `renewed_ns` | the membership, when a renewal is answered; 0 by the end that gives it up | both |
//! | `turned_ns` | the loop, in each turn | the membership |
//!
//! Both orderings are sequentially consistent: each is written a few times a second.
//!
//! Cost: an atomic each.
//!
//! Does not renew anything.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainspring_exec::clock::boot_time;
use mainspring_job::LeaseDeadlines;

/// When the worker's lease was last renewed, for both ends of a link.
#[derive(Debug)]
pub struct MemberLease {
    /// The boot time before the renewal was sent, in nanoseconds; 0 while there is no lease.
    renewed_ns: AtomicU64,
    /// The boot time of the loop's last turn, in nanoseconds.
    turned_ns: AtomicU64,
    lasts: Duration,
}

impl MemberLease {
    /// There is none yet, and it will last so long. The loop turns.
    pub(super) fn new(lasts: Duration) -> MemberLease {
        let turned_ns = AtomicU64::new(nanoseconds(boot_time()));
        MemberLease { renewed_ns: AtomicU64::new(0), turned_ns, lasts }
    }

    /// It is had by a question that was sent at this boot time.
    pub fn begin(&self, sent: Duration) {
        debug_assert!(sent <= boot_time(), "a question is sent before its answer is here");
        let before_ns = self.renewed_ns.swap(nanoseconds(sent).max(1), Ordering::SeqCst);
        debug_assert_eq!(before_ns, 0, "the one before has ended");
    }

    /// It was renewed by a question that was sent at this boot time, unless it has ended since.
    pub fn renewed_at(&self, sent: Duration) {
        debug_assert!(sent <= boot_time(), "a question is sent before its answer is here");
        let renewed = |before_ns| (before_ns != 0).then(|| nanoseconds(sent).max(before_ns));
        let _ = self.renewed_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, renewed);
    }

    /// The loop turns. It does with each news at least.
    pub fn turn(&self) {
        self.turned_ns.store(nanoseconds(boot_time()), Ordering::SeqCst);
    }

    /// Whether the loop has turned within two renewals. One that stands still starts nothing and ends
    /// nothing, so that its lease is not to be renewed.
    pub fn is_attended(&self) -> bool {
        let turned = Duration::from_nanos(self.turned_ns.load(Ordering::SeqCst));
        boot_time().saturating_sub(turned) < LeaseDeadlines::of(self.lasts).renew * 2
    }

    /// There is none until it is had again: what runs by it is ended.
    pub fn end(&self) {
        self.renewed_ns.store(0, Ordering::SeqCst);
    }

    /// How old it is; `None` while there is none.
    pub fn age(&self) -> Option<Duration> {
        let renewed_ns = self.renewed_ns.load(Ordering::SeqCst);
        (renewed_ns != 0).then(|| boot_time().saturating_sub(Duration::from_nanos(renewed_ns)))
    }

    /// How long it lasts without a renewal.
    pub fn lasts(&self) -> Duration {
        self.lasts
    }
}

fn nanoseconds(boot: Duration) -> u64 {
    u64::try_from(boot.as_nanos()).unwrap_or(u64::MAX)
}

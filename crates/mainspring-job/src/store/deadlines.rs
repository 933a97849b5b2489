//! Ages of a lease at which its owner may do less.
//!
//! ```text
//!  age:  0 ── 1/6 renewed ── 2/3 nothing starts, what runs is asked to end ── 13/15 what runs is killed ── 1
//! ```
//!
//! Another owner gets the jobs after the whole length, and a second more: [`LEASE_MARGIN`]. So what an owner
//! started has ended before, also where its clock runs a little slower than that of the store.
//!
//! Cost: none.
//!
//! Does not count the age: the owner does, by its boot time, from before it asked the store.

use std::time::Duration;

/// How long after the end of a lease another owner gets the jobs at the earliest: a commit that was sent in
/// time may still be on its way.
pub const LEASE_MARGIN: Duration = Duration::from_secs(1);

/// A lease that lasts less is renewed twice before it is old, and another three times.
const SHORT: Duration = Duration::from_secs(6);

const _: () = assert!(LEASE_MARGIN.as_secs() < SHORT.as_secs());

/// The ages of a lease at which its owner acts. The [lease](crate::Lease) says how long it lasts.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use mainspring_job::{LeaseAge, LeaseDeadlines};
///
/// let deadlines = LeaseDeadlines::of(Duration::from_secs(15));
/// assert_eq!(deadlines.judge(Duration::from_secs(9)), LeaseAge::Fresh);
/// assert_eq!(deadlines.judge(Duration::from_secs(10)), LeaseAge::Old);
/// assert_eq!(deadlines.judge(Duration::from_secs(13)), LeaseAge::Over);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseDeadlines {
    /// From here on the owner renews the lease.
    pub renew: Duration,
    /// From here on it starts nothing, and asks what runs to end.
    pub old: Duration,
    /// From here on the jobs are lost, whatever the store says later; what runs is killed.
    pub over: Duration,
}

/// What a lease of some age allows.
///
/// # Example
/// ```
/// use mainspring_job::LeaseAge;
///
/// /// Whether an attempt may start whose start record is on disk.
/// fn may_start(age: LeaseAge) -> bool {
///     age == LeaseAge::Fresh
/// }
/// assert!(!may_start(LeaseAge::Old));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an owner must tell them apart")]
pub enum LeaseAge {
    /// The owner may start what is due.
    Fresh,
    /// Nothing may start.
    Old,
    /// Another may have the jobs.
    Over,
}

impl LeaseDeadlines {
    /// Those of a lease that lasts so long without a renewal.
    pub fn of(lasts: Duration) -> LeaseDeadlines {
        // A short one is renewed less often by its length, as it costs a statement each time.
        let renew = if lasts < SHORT { lasts / 3 } else { lasts / 6 };
        LeaseDeadlines { renew, old: lasts * 2 / 3, over: lasts * 13 / 15 }
    }

    /// What an age allows.
    pub fn judge(self, age: Duration) -> LeaseAge {
        match age {
            age if age < self.old => LeaseAge::Fresh,
            age if age < self.over => LeaseAge::Old,
            _ => LeaseAge::Over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_of_15_s_is_old_at_10_and_over_at_13() {
        let deadlines = LeaseDeadlines::of(Duration::from_secs(15));
        let at = |ms| deadlines.judge(Duration::from_millis(ms));
        assert_eq!([at(0), at(9_999)], [LeaseAge::Fresh; 2]);
        assert_eq!([at(10_000), at(12_999)], [LeaseAge::Old; 2]);
        assert_eq!([at(13_000), at(60_000)], [LeaseAge::Over; 2]);
        assert_eq!(deadlines.renew, Duration::from_millis(2_500));
    }
}

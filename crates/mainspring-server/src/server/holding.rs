//! How the lease of a shard stands, and what its age allows.
//!
//! | age, of its length | 2/3 and more | 13/15 and more |
//! |---|---|---|
//! | | nothing starts | it is lost |
//!
//! Cost: none.
//!
//! Does not act: see [`lease`](super::lease).

use std::time::Duration;

use jiff::SignedDuration;
use mainspring_job::Start;

use mainspring_exec::clock::Moment;

/// How the lease stands.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// When it was last tried to renew it.
    pub(super) tried: Option<Moment>,
    /// What was to start, and does when the lease is renewed.
    pub(super) withheld: Vec<Start>,
    /// What runs was asked to end.
    pub(super) is_old: bool,
    /// People know that the clock of this machine is not that of the store.
    pub(super) is_said_apart: bool,
    /// The shard is another's, or may be.
    pub(super) is_lost: bool,
    /// It was to end when it lost the shard, so that it does not stand by.
    pub(super) was_stopping: bool,
}

/// By how much the clock of the machine may differ from that of the store before people are told.
pub(super) const MAX_APART: SignedDuration = SignedDuration::from_secs(1);

/// What a lease of this age allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It is renewed in time.
    Fresh,
    /// Nothing starts.
    Old,
    /// Another may have the shard.
    Over,
}

pub(super) fn old_after(lasts: Duration) -> Duration {
    lasts * 2 / 3
}

pub(super) fn over_after(lasts: Duration) -> Duration {
    lasts * 13 / 15
}

pub(super) fn renew_after(lasts: Duration) -> Duration {
    lasts / 6
}

pub(super) fn judged(age: Duration, lasts: Duration) -> Age {
    match age {
        age if age < old_after(lasts) => Age::Fresh,
        age if age < over_after(lasts) => Age::Old,
        _ => Age::Over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_of_15_s_is_old_at_10_and_over_at_13() {
        let lasts = Duration::from_secs(15);
        let at = |ms| judged(Duration::from_millis(ms), lasts);
        assert_eq!([at(0), at(9_999)], [Age::Fresh; 2]);
        assert_eq!([at(10_000), at(12_999)], [Age::Old; 2]);
        assert_eq!([at(13_000), at(60_000)], [Age::Over; 2]);
        assert_eq!(renew_after(lasts), Duration::from_millis(2_500));
    }
}

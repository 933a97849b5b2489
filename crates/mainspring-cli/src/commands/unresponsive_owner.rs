//! Remembers that the owner has not taken a request in time: most likely it is dead, and its lease is not
//! over.
//!
//! ```text
//!  a question is not taken ─▶ add: epoch, rest of the lease ─▶ is_silent
//!                                                              └─ another epoch, or a lease that was renewed ─▶ asked again
//! ```
//!
//! So that is waited for once, and not for each question.
//!
//! Cost: a comparison.
//!
//! Does not ask the database.

use std::time::Duration;

use mainspring_postgres::HeldLease;

use mainspring_exec::clock::Moment;

/// By how much later a lease has to end for having been renewed. An owner renews each 2.5 s, and an answer of
/// the database takes less than this.
const RENEWED: Duration = Duration::from_secs(1);

/// How the lease was when its owner was silent, if it was.
#[derive(Debug, Default)]
pub(super) struct UnresponsiveOwner(Option<(HeldLease, Moment)>);

impl UnresponsiveOwner {
    /// The owner was silent, which holds the lease like this now.
    pub(super) fn add(&mut self, held: HeldLease, now: Moment) {
        self.0 = Some((held, now));
    }

    /// Whether it was not.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it is silent still, if the lease is held like this now.
    pub(super) fn is_silent(&mut self, held: HeldLease, now: Moment) -> bool {
        self.0 = self.0.filter(|(seen, at)| {
            held.epoch == seen.epoch
                && (held.left.is_zero() || held.left + now.since(*at) <= seen.left + RENEWED)
        });
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_silent_until_it_renews_its_lease_or_another_has_it() {
        let began = Moment::now();
        let held = |epoch, left_s| HeldLease { epoch, batch: 0, left: Duration::from_secs(left_s) };
        let after = |seconds| Moment { monotonic: began.monotonic + Duration::from_secs(seconds), ..began };
        let mut owner = UnresponsiveOwner::default();
        assert!(!owner.is_silent(held(7, 12), began));
        let added = || {
            let mut owner = UnresponsiveOwner::default();
            owner.add(held(7, 12), began);
            owner
        };
        owner = added();
        assert!(owner.is_silent(held(7, 7), after(5)));
        assert!(owner.is_silent(held(7, 0), after(20)), "its lease is over");
        assert!(!owner.is_silent(held(8, 15), after(20)), "another has it");
        assert!(owner.is_none());
        assert!(!added().is_silent(held(7, 14), after(2)), "it was renewed");
    }
}

//! The pace of each identity: so many changes a second, and those that come faster wait for their turn.
//!
//! ```text
//! change of mara ─▶ mara's turn, a thousandth of a second after her last one beyond a second's worth ─▶ the loop
//! ```
//!
//! A turn that is waited for is short, because an identity asks over so many connections, one change after
//! the other. So nothing is refused, and a deed that is done to ten thousand takes ten seconds.
//!
//! Cost: an entry for each identity that has changed something in the last second.
//!
//! Does not limit what only looks.
//!
//! Source: the generic cell rate algorithm, ITU-T I.371.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mainspring_exec::clock::Moment;
use tokio::time::sleep;

use crate::lock::locked;
use crate::sessions::Identity;

/// The changes a second of an identity: bulk actions of people, with room to spare.
pub const MAX_CHANGES_PER_SECOND: u32 = 1_000;

/// What an identity may do at once before it waits.
const BURST: Duration = Duration::from_secs(1);

const _: () = assert!(0 < MAX_CHANGES_PER_SECOND, "each turn comes");

/// When all that an identity has asked for is paid, by the monotonic clock.
#[derive(Debug, Default)]
pub struct Pace(Mutex<BTreeMap<Identity, Instant>>);

impl Pace {
    /// Waits for the turn of an identity.
    pub async fn turn(&self, identity: &Identity) {
        let wait = self.take(identity, Moment::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }

    /// Takes the next turn. Returns how long it is until then.
    fn take(&self, identity: &Identity, now: Moment) -> Duration {
        let mut paid = locked(&self.0);
        paid.retain(|_, paid| now.monotonic < *paid);
        let at = paid.entry(identity.clone()).or_insert(now.monotonic);
        *at += BURST / MAX_CHANGES_PER_SECOND;
        let ahead = at.duration_since(now.monotonic);
        debug_assert!(!ahead.is_zero(), "a turn costs something");
        ahead.saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_is_too_fast_waits_and_costs_others_nothing() {
        let (pace, now) = (Pace::default(), Moment::now());
        let [mara, ada] = ["mara", "ada"].map(|name| Identity::Proxy(name.to_owned()));
        let first = (0..MAX_CHANGES_PER_SECOND).map(|_| pace.take(&mara, now)).max();
        assert_eq!(first, Some(Duration::ZERO), "a second's worth at once");
        assert_eq!(pace.take(&mara, now), BURST / MAX_CHANGES_PER_SECOND);
        assert_eq!(pace.take(&ada, now), Duration::ZERO);
        let later = Moment { monotonic: now.monotonic + 2 * BURST, ..now };
        assert_eq!(pace.take(&mara, later), Duration::ZERO);
        assert_eq!(locked(&pace.0).len(), 1, "who has paid is forgotten");
    }
}

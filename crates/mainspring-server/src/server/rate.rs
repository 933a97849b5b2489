//! The limit of changes that clients may ask for in a second.
//!
//! ```text
//! request that changes something ─▶ its connection's bucket ─▶ the bucket of all ─▶ planner
//!                                        └─ empty ──────────────────┴─ empty ─▶ "not now", exit code 75
//! ```
//!
//! A bucket fills steadily and holds as much as one second gives. So a burst of a second passes, and in the
//! long run no more than the rate does. Requests that only look are not counted, because their answers are
//! limited in bytes.
//!
//! Cost: an addition and a comparison per request.
//!
//! Does not delay a client. A client that is refused is told which limit it was, and may try again.
//!
//! Source: the token bucket, in the form of the generic cell rate algorithm, ITU-T I.371.

use std::time::Duration;

use mainspring_exec::clock::Moment;

/// The changes a second of one connection, if nothing else is said: half as many again as one client ever got
/// through on the machine of BENCHMARKS.md. So it stops no client that waits for answers, and a client that
/// runs away on a faster machine.
pub const DEFAULT_CONNECTION_RATE: u32 = 250_000;

/// The changes a second of all connections together, if nothing else is said: two clients at their limit.
pub const DEFAULT_TOTAL_RATE: u32 = 500_000;

/// How much of its rate a bucket holds: a second of it.
const BURST: Duration = Duration::from_secs(1);

const _: () = assert!(DEFAULT_CONNECTION_RATE <= DEFAULT_TOTAL_RATE);

/// How many changes a second may be asked for; 0 is without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Over one connection.
    pub connection: u32,
    /// Over all together.
    pub total: u32,
}

impl Default for Rates {
    fn default() -> Rates {
        Rates { connection: DEFAULT_CONNECTION_RATE, total: DEFAULT_TOTAL_RATE }
    }
}

/// What is left of a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// What one request takes; nothing if there is no limit.
    cost: Duration,
    /// At most [`BURST`].
    credit: Duration,
    looked: Moment,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(rate: u32, now: Moment) -> Bucket {
        let cost = if rate == 0 { Duration::ZERO } else { BURST / rate };
        Bucket { cost, credit: BURST, looked: now }
    }

    /// Takes one request out of it, if there is one in it.
    pub(super) fn take(&mut self, now: Moment) -> bool {
        self.credit = self.credit.saturating_add(now.since(self.looked)).min(BURST);
        self.looked = now;
        let rest = self.credit.checked_sub(self.cost);
        self.credit = rest.unwrap_or(self.credit);
        debug_assert!(self.credit <= BURST, "a bucket holds what one second gives");
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bucket: &mut Bucket, now: Moment, count: usize) -> usize {
        (0..count).filter(|_| bucket.take(now)).count()
    }

    #[test]
    fn a_bucket_gives_a_second_at_once_and_then_its_rate() {
        let start = Moment::now();
        let after = |milliseconds| Moment {
            monotonic: start.monotonic + Duration::from_millis(milliseconds),
            ..start
        };
        let mut bucket = Bucket::new(100, start);
        assert_eq!(taken(&mut bucket, start, 1_000), 100);
        assert_eq!(taken(&mut bucket, after(9), 10), 0);
        assert_eq!(taken(&mut bucket, after(10), 10), 1);
        assert_eq!(taken(&mut bucket, after(500), 1_000), 49);
        assert_eq!(taken(&mut bucket, after(60_000), 1_000), 100);
    }

    #[test]
    fn without_a_limit_everything_passes() {
        let start = Moment::now();
        assert_eq!(taken(&mut Bucket::new(0, start), start, 10_000), 10_000);
    }
}

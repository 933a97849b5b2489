//! Numbers that tell apart what has no name of its own: one-shot jobs, and runs that no trigger names.
//!
//! ```text
//!  clock      10:00:00.000007        .000007      (a burst)     .000007      .000019
//!  nominal    10:00:00.000007001  <  .000007002  <    ..     <  .000012340 < .000019001
//! ```
//!
//! No two runs have one name, and no caller gets a name that another run has:
//! 1. Each nominal time that a planner gives is later than the one before: it is the later of the clock and
//!    one nanosecond after the last. A burst runs ahead of the clock, by a nanosecond for each run. After a
//!    clock was set back, names stay ahead of it until it has caught up, or until the next planner.
//! 2. The next planner continues after the names that it finds: those of the open runs, and the last of each
//!    job. Names further ahead than a burst comes are from a clock that was set back. They are passed over,
//!    and the others begin at the clock again.
//! 3. What has ended then and is not the last of its job, the store knows, and answers that the record is not
//!    new. Then the run gets another name: see `naming`. A reply that tells a name waits for
//!    that answer.
//!
//! The numbers of one-shot jobs have the epoch of their owner in the upper bits, so no two owners give the
//! same. There are 2^40 of each epoch and 2^22 epochs: one each four seconds for half a year. The others are
//! for ids that no planner gave: see [`OnceId::drawn`].
//!
//! Cost: O(log n) for each, and the names that are passed over. Where the store knows n names that follow
//! each other, a run has its own after O(log n) commits.
//!
//! Does not persist.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::once::{NUMBER_BITS, OnceId};
use crate::run::Cause;

const MICROSECOND_NS: i128 = 1_000;

/// How far the names of a burst run ahead of the clock, at most: those of a thousand million runs.
const MAX_AHEAD: SignedDuration = SignedDuration::from_secs(1);

/// How far a name that the store knows moves the next one on, at most.
const MAX_LEAP: SignedDuration = SignedDuration::from_millis(1);

const _: () = assert!(MAX_LEAP.as_millis() < MAX_AHEAD.as_millis(), "one name that is known stops no burst");

#[derive(Debug)]
pub(super) struct Numbers {
    /// The number of the last one-shot job; the epoch is in its upper bits.
    once: u64,
    /// The latest nominal time that was given, or that the store turned out to know.
    last: Timestamp,
    /// Those of runs that another planner named when the clock was ahead.
    taken: BTreeSet<Timestamp>,
}

impl Numbers {
    /// The fence of what starts by the batch of this number.
    pub(super) fn fence(epoch: u64, batch_number: u64) -> u64 {
        debug_assert_eq!(batch_number >> NUMBER_BITS, 0, "the fences of an epoch do not reach the next");
        (epoch << NUMBER_BITS) + batch_number
    }

    pub(super) fn new(epoch: u64) -> Numbers {
        Numbers { once: epoch << NUMBER_BITS, last: Timestamp::MIN, taken: BTreeSet::new() }
    }

    /// The id of a new one-shot job.
    pub(super) fn new_id(&mut self, due: Timestamp) -> OnceId {
        self.once += 1;
        debug_assert_ne!(self.once % (1 << NUMBER_BITS), 0, "the numbers of an epoch do not reach the next");
        OnceId { due, number: self.once }
    }

    /// A nominal time for a run that no trigger names. It is no whole microsecond, as those of triggers are.
    pub(super) fn new_nominal(&mut self, now: Timestamp) -> Timestamp {
        let micros_ns = now.as_nanosecond().div_euclid(MICROSECOND_NS) * MICROSECOND_NS;
        let mut next_ns = micros_ns.max(self.last.as_nanosecond() + 1);
        let is_taken = |ns| Timestamp::from_nanosecond(ns).is_ok_and(|time| self.taken.contains(&time));
        while next_ns.rem_euclid(MICROSECOND_NS) == 0 || is_taken(next_ns) {
            next_ns += 1;
        }
        self.last = Timestamp::from_nanosecond(next_ns).unwrap_or(now);
        self.last
    }

    /// A run of another planner has this nominal time.
    pub(super) fn know(&mut self, now: Timestamp, nominal: Timestamp) {
        if nominal.duration_since(now) <= MAX_AHEAD {
            self.last = self.last.max(nominal);
        } else {
            self.taken.insert(nominal);
        }
    }

    /// The store knows this one: what follows is twice as far ahead of the clock.
    pub(super) fn leap(&mut self, now: Timestamp, known: Timestamp) {
        let ahead = known.duration_since(now).clamp(SignedDuration::ZERO, MAX_LEAP);
        self.last = self.last.max(known.saturating_add(ahead).unwrap_or(known));
    }
}

/// Whether the runs of a cause have names of this file.
pub(super) const fn names(cause: Cause) -> bool {
    matches!(cause, Cause::Request | Cause::Boot | Cause::After)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nominal_time_is_later_than_the_one_before_and_that_of_no_trigger() {
        let mut numbers = Numbers::new(1);
        let (start, mut last) = (Timestamp::UNIX_EPOCH, Timestamp::MIN);
        for step in 0..100_000_i64 {
            // The clock stands, continues, and is set back: a little, and once by an hour.
            let back = step % 7 + if step < 50_000 { 0 } else { 3_600_000_000 };
            let nominal = numbers.new_nominal(start + SignedDuration::from_micros(step / 5_000 * 3 - back));
            assert!(last < nominal, "{last} {nominal}");
            assert_ne!(nominal.as_nanosecond().rem_euclid(MICROSECOND_NS), 0, "{nominal}");
            last = nominal;
        }
    }

    #[test]
    fn names_that_are_found_are_passed_over_however_far_ahead_they_are() {
        let mut numbers = Numbers::new(1);
        let at = |ns| Timestamp::UNIX_EPOCH + SignedDuration::from_nanos(ns);
        for known in [at(-5), at(7), at(2_000_000_001), at(2_000_000_002)] {
            numbers.know(at(0), known);
        }
        assert_eq!(numbers.new_nominal(at(0)), at(8));
        assert_eq!(numbers.new_nominal(at(2_000_000_000)), at(2_000_000_003));
    }

    #[test]
    fn a_million_names_that_the_store_knows_are_passed_in_twenty_tries() {
        let mut numbers = Numbers::new(1);
        let now = Timestamp::UNIX_EPOCH;
        let last_known = now + SignedDuration::from_nanos(1_000_000);
        let mut count = 0;
        while let nominal = numbers.new_nominal(now)
            && nominal <= last_known
        {
            numbers.leap(now, nominal);
            count += 1;
        }
        assert!(count <= 20, "{count}");
    }
}

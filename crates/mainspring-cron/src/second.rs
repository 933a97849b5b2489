//! The moments inside of a minute: whole seconds of cron, or fractions of a second of OnCalendar.
//!
//! Times are nanoseconds since the start of the minute. One operation on a word for whole seconds; linear in
//! the number of listed parts for fractions.

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const MINUTE_NS: u64 = 60 * SECOND_NS;

/// The allowed moments of a minute; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moments {
    /// Bit n: second n.
    Whole(u64),
    /// Each part by itself.
    Fractions(Vec<Fraction>),
}

/// `first_ns`, then every `step_ns` up to `last_ns`, which is below one minute. A step of 0 is no repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) step_ns: u64,
}

impl Moments {
    /// The first moment at or after `from_ns`.
    pub(crate) fn next(&self, from_ns: u64) -> Option<u64> {
        debug_assert!(from_ns < MINUTE_NS, "the moment is one of the minute");
        match self {
            Moments::Whole(seconds) => {
                let from = from_ns.div_ceil(SECOND_NS);
                let left = if from < 64 { seconds & (u64::MAX << from) } else { 0 };
                (left != 0).then(|| u64::from(left.trailing_zeros()) * SECOND_NS)
            }
            Moments::Fractions(parts) => parts.iter().filter_map(|part| part.next(from_ns)).min(),
        }
    }

    /// The last moment at or before `to_ns`.
    pub(crate) fn prev(&self, to_ns: u64) -> Option<u64> {
        debug_assert!(to_ns < MINUTE_NS, "the moment is one of the minute");
        match self {
            Moments::Whole(seconds) => {
                let to = to_ns / SECOND_NS;
                let left = if to < 63 { seconds & !(u64::MAX << (to + 1)) } else { *seconds };
                (left != 0).then(|| u64::from(left.ilog2()) * SECOND_NS)
            }
            Moments::Fractions(parts) => parts.iter().filter_map(|part| part.prev(to_ns)).max(),
        }
    }
}

impl Fraction {
    fn next(self, from_ns: u64) -> Option<u64> {
        if from_ns <= self.first_ns {
            return Some(self.first_ns);
        }
        let steps = (from_ns - self.first_ns).checked_next_multiple_of(self.step_ns)?;
        Some(self.first_ns + steps).filter(|&found| found <= self.last_ns)
    }

    fn prev(self, to_ns: u64) -> Option<u64> {
        let past = to_ns.min(self.last_ns).checked_sub(self.first_ns)?;
        Some(self.first_ns + past - past.checked_rem(self.step_ns).unwrap_or(past))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_round_up_for_next_and_down_for_prev() {
        let moments = Moments::Whole(1 << 0 | 1 << 30 | 1 << 59);
        assert_eq!(moments.next(1), Some(30 * SECOND_NS));
        assert_eq!(moments.next(59 * SECOND_NS + 1), None);
        assert_eq!(moments.prev(30 * SECOND_NS - 1), Some(0));
        assert_eq!(moments.prev(MINUTE_NS - 1), Some(59 * SECOND_NS));
    }

    #[test]
    fn fractions_step_up_to_their_last_moment() {
        let half = SECOND_NS / 2;
        let moments = Moments::Fractions(vec![
            Fraction { first_ns: half, last_ns: 2 * SECOND_NS, step_ns: SECOND_NS },
            Fraction { first_ns: 7 * SECOND_NS, last_ns: 7 * SECOND_NS, step_ns: 0 },
        ]);
        assert_eq!(moments.next(half + 1), Some(3 * half));
        assert_eq!(moments.next(3 * half + 1), Some(7 * SECOND_NS));
        assert_eq!(moments.next(7 * SECOND_NS + 1), None);
        assert_eq!(moments.prev(7 * SECOND_NS - 1), Some(3 * half));
        assert_eq!(moments.prev(MINUTE_NS - 1), Some(7 * SECOND_NS));
        assert_eq!(moments.prev(half - 1), None);
    }
}

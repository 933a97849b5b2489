//! The due times of a subject by arithmetic, and its misfire rule for those that have passed: the oracle of
//! the checker.
//!
//! Written from the manual and not from the planner: no search, no steps.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{CatchUp, Misfire};

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

/// All whole multiples of a period since the epoch, but for an hour of each day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calendar {
    /// In seconds; it divides an hour, or is seven minutes.
    pub period: i64,
    /// The hour of the day that is excluded.
    pub rests: Option<i64>,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

impl Calendar {
    /// The excluded hour around a second, if it is excluded.
    fn rest(self, second: i64) -> Option<i64> {
        let hour = second.div_euclid(HOUR) * HOUR;
        (self.rests == Some(hour.rem_euclid(DAY) / HOUR)).then_some(hour)
    }

    /// Whether nothing is due at a moment, whatever names it.
    pub(crate) fn is_resting(self, moment: Timestamp) -> bool {
        self.rest(moment.as_second()).is_some()
    }

    /// The first occurrence after a moment.
    pub(crate) fn next(self, after: Timestamp) -> Timestamp {
        let multiple_after = |second: i64| (second.div_euclid(self.period) + 1) * self.period;
        let found = multiple_after(after.as_second());
        at(self.rest(found).map_or(found, |hour| multiple_after(hour + HOUR - 1)))
    }

    /// The last occurrence up to a moment.
    pub(crate) fn last(self, up_to: Timestamp) -> Timestamp {
        let multiple_up_to = |second: i64| second.div_euclid(self.period) * self.period;
        let found = multiple_up_to(up_to.as_second());
        at(self.rest(found).map_or(found, |hour| multiple_up_to(hour - 1)))
    }

    fn before(self, moment: Timestamp) -> Timestamp {
        self.last(moment - SignedDuration::from_secs(1))
    }

    /// How many there are from the first to the last.
    pub(crate) fn count(self, first: Timestamp, last: Timestamp) -> i64 {
        let multiples = |from: i64, to: i64| to.div_euclid(self.period) - (from - 1).div_euclid(self.period);
        let (from, to) = (first.as_second(), last.as_second());
        let days = from.div_euclid(DAY)..=to.div_euclid(DAY);
        let resting: i64 = days
            .filter_map(|day| self.rests.map(|hour| day * DAY + hour * HOUR))
            .map(|hour| (hour.max(from), (hour + HOUR - 1).min(to)))
            .filter(|(start, end)| start <= end)
            .map(|(start, end)| multiples(start, end))
            .sum();
        multiples(from, to) - resting
    }
}

/// What becomes of the occurrences in `(watermark, now]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExpectedRuns {
    pub first: Timestamp,
    pub last: Timestamp,
    pub made_good: Vec<Timestamp>,
    pub on_time: Option<Timestamp>,
    /// The last that is not on time.
    pub last_misfired: Option<Timestamp>,
}

pub(crate) fn age(now: Timestamp, nominal: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(nominal)).unwrap_or_default()
}

/// The table of the manual's section on misfires. `None` if nothing has passed.
pub(crate) fn expected(
    calendar: Calendar,
    watermark: Timestamp,
    now: Timestamp,
    misfire: &Misfire,
) -> Option<ExpectedRuns> {
    let (first, last) = (calendar.next(watermark), calendar.last(now));
    if last < first {
        return None;
    }
    let on_time = Some(last).filter(|last| age(now, *last) <= misfire.grace);
    let last_misfired = match on_time {
        None => Some(last),
        Some(last) => Some(calendar.before(last)).filter(|before| first <= *before),
    };
    let is_young = |nominal: Timestamp| age(now, nominal) <= misfire.window;
    let made_good = match (misfire.catch_up, last_misfired) {
        (CatchUp::Latest, Some(latest)) if on_time.is_none() && is_young(latest) => vec![latest],
        (_, None) | (CatchUp::None | CatchUp::Latest, _) => Vec::new(),
        (CatchUp::Earliest, Some(latest)) => {
            let oldest = now.checked_sub(misfire.window).unwrap_or(Timestamp::MIN);
            let edge = calendar.next(oldest - SignedDuration::from_nanos(1));
            let earliest = if is_young(first) { first } else { edge };
            if earliest <= latest { vec![earliest] } else { Vec::new() }
        }
        (CatchUp::All { cap }, Some(latest)) => {
            let back = std::iter::successors(Some(latest), |moment| Some(calendar.before(*moment)));
            let young = back.take_while(|moment| first <= *moment && is_young(*moment));
            let mut found: Vec<Timestamp> = young.take(cap as usize).collect();
            found.reverse();
            found
        }
        (other, _) => unreachable!("no script has {other:?}"),
    };
    Some(ExpectedRuns { first, last, made_good, on_time, last_misfired })
}

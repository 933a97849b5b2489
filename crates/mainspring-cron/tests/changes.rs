//! The changes of the clock of all zones, and expressions to meet them with.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

pub(crate) const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// A change of the clock, in one of the zones that have it.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) zone: TimeZone,
    pub(crate) at: Timestamp,
    pub(crate) before: Offset,
    pub(crate) after: Offset,
}

/// An expression, and the same as a question.
pub(crate) struct Case {
    pub(crate) text: &'static str,
    pub(crate) matches: fn(DateTime) -> bool,
    pub(crate) is_wildcard: bool,
}

pub(crate) const CASES: [Case; 5] = [
    Case { text: "30 2 * * *", matches: |time| time.hour() == 2 && time.minute() == 30, is_wildcard: false },
    Case {
        text: "0,20,45 0-3 * * *",
        matches: |time| time.hour() < 4 && [0, 20, 45].contains(&time.minute()),
        is_wildcard: false,
    },
    Case {
        text: "0 0,1,23 * * *",
        matches: |time| [0, 1, 23].contains(&time.hour()) && time.minute() == 0,
        is_wildcard: false,
    },
    Case { text: "*/15 * * * *", matches: |time| time.minute() % 15 == 0, is_wildcard: true },
    Case {
        text: "5 */2 * * *",
        matches: |time| time.hour() % 2 == 0 && time.minute() == 5,
        is_wildcard: true,
    },
];

/// All changes since 1970, each once, although many zones share it.
pub(crate) fn changes() -> Vec<Change> {
    let end: Timestamp = "2040-01-01T00:00:00Z".parse().unwrap();
    let mut seen = BTreeSet::new();
    let mut changes = Vec::new();
    for name in jiff::tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let mut before = zone.to_offset(Timestamp::UNIX_EPOCH);
        for change in zone.following(Timestamp::UNIX_EPOCH).take_while(|change| change.timestamp() < end) {
            let (at, after) = (change.timestamp(), change.offset());
            if after != before && seen.insert((at, before.seconds(), after.seconds())) {
                changes.push(Change { zone: zone.clone(), at, before, after });
            }
            before = after;
        }
    }
    changes
}

impl Change {
    /// Positive for a gap, negative for an overlap.
    pub(crate) fn length(&self) -> SignedDuration {
        self.before.duration_until(self.after)
    }
}

//! Every change of the clock of every zone since 1970, against an oracle that enumerates wall-clock times.
//!
//! The oracle has no windows: it asks jiff for every minute of the wall clock around a change what
//! that time means, and applies the policy to the answer. Schedules must then agree, forwards, backwards, and
//! from every start.

use std::collections::BTreeSet;

use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use mainspring_cron::{DstPolicy, Expression, Gap, Overlap, Schedule};

use crate::changes::{CASES, Case, Change, HOUR, changes};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

const POLICIES: [DstPolicy; 6] = [
    DstPolicy::CRON,
    DstPolicy::LITERAL,
    DstPolicy::SKIP,
    DstPolicy::SHIFT,
    DstPolicy::new(Gap::Run, Overlap::Last),
    DstPolicy::new(Gap::Shift, Overlap::Both),
];

impl Change {
    /// What a policy says about a case at this change.
    fn effective(&self, policy: DstPolicy, case: &Case) -> DstPolicy {
        let is_literal = case.is_wildcard || 3 * HOUR <= self.length().abs();
        if is_literal { DstPolicy::LITERAL } else { policy }
    }

    /// The instants in `first..=last` at which a case is due, by asking for each minute of the wall clock.
    fn due(&self, policy: DstPolicy, case: &Case, first: Timestamp, last: Timestamp) -> BTreeSet<Timestamp> {
        let policy = self.effective(policy, case);
        let margin = self.length().abs() + HOUR;
        let (low, high) = (self.before.to_datetime(first) - margin, self.after.to_datetime(last) + margin);
        let mut due = BTreeSet::new();
        let mut time = low.with().second(0).subsec_nanosecond(0).build().unwrap();
        while time <= high {
            if (case.matches)(time) {
                let instant = |offset: Offset| offset.to_timestamp(time).unwrap();
                let meaning = self.zone.to_ambiguous_timestamp(time).offset();
                due.extend(match (meaning, policy.gap, policy.overlap) {
                    (AmbiguousOffset::Unambiguous { offset }, ..)
                    | (AmbiguousOffset::Gap { before: offset, .. }, Gap::Shift, _)
                    | (AmbiguousOffset::Fold { before: offset, .. }, _, Overlap::First)
                    | (AmbiguousOffset::Fold { after: offset, .. }, _, Overlap::Last) => {
                        vec![instant(offset)]
                    }
                    (AmbiguousOffset::Gap { .. }, Gap::Run, _) => vec![self.at],
                    (AmbiguousOffset::Gap { .. }, Gap::Skip, _) => Vec::new(),
                    (AmbiguousOffset::Fold { before, after }, _, Overlap::Both) => {
                        vec![instant(before), instant(after)]
                    }
                    (_, gap, overlap) => panic!("the oracle knows no {gap} or no {overlap}"),
                });
            }
            time += SignedDuration::from_mins(1);
        }
        due.into_iter().filter(|moment| (first..=last).contains(moment)).collect()
    }
}

fn complaint(change: &Change, policy: DstPolicy, case: &Case, what: &str) -> String {
    let zone = change.zone.iana_name().unwrap_or_default();
    format!("{what}: {} by {policy} in {zone} at {}", case.text, change.at)
}

#[test]
fn every_change_of_every_zone_is_met_as_the_wall_clock_enumerates_it() {
    let changes = changes();
    assert!(5_000 < changes.len(), "only {} changes were found", changes.len());
    for change in &changes {
        // A window that is free of other changes, which the oracle does not know.
        let (first, last) = (change.at - 5 * HOUR, change.at + 5 * HOUR);
        for (case, policy) in CASES.iter().flat_map(|case| POLICIES.map(|policy| (case, policy))) {
            let due = change.due(policy, case, first, last);
            let schedule =
                Schedule::new(Expression::parse(case.text).unwrap(), change.zone.clone()).with_dst(policy);
            let upcoming = schedule.upcoming(first - SECOND).map(|time| time.timestamp());
            let found: BTreeSet<Timestamp> = upcoming.take_while(|time| *time <= last).collect();
            assert_eq!(found, due, "{}", complaint(change, policy, case, "next"));
            let mut before = last + SECOND;
            for expected in due.iter().rev() {
                let found = schedule.prev_before(before).map(|time| time.timestamp());
                assert_eq!(found, Some(*expected), "{}", complaint(change, policy, case, "prev"));
                before = *expected;
            }
        }
    }
}

#[test]
fn every_start_around_a_change_gives_the_same_next_and_the_same_last() {
    let places = [
        ("America/New_York", "2025-03-09T07:00:00Z"),
        ("America/New_York", "2025-11-02T06:00:00Z"),
        ("Australia/Lord_Howe", "2025-04-05T15:00:00Z"),
        ("Australia/Lord_Howe", "2025-10-04T15:30:00Z"),
        ("Asia/Hebron", "2022-03-26T22:00:00Z"),
        ("Europe/Moscow", "2014-10-25T22:00:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("America/Caracas", "2016-05-01T07:00:00Z"),
        ("Antarctica/Casey", "2010-03-04T15:00:00Z"),
    ];
    let changes = changes();
    for (name, at) in places {
        let zone = TimeZone::get(name).unwrap();
        let at: Timestamp = at.parse().unwrap();
        let mut change = changes
            .iter()
            .find(|change| change.at == at)
            .unwrap_or_else(|| panic!("{name} changes at {at}"))
            .clone();
        change.zone = zone.clone();
        for (case, policy) in CASES.iter().flat_map(|case| POLICIES.map(|policy| (case, policy))) {
            let due = change.due(policy, case, at - 5 * HOUR, at + 5 * HOUR);
            let schedule =
                Schedule::new(Expression::parse(case.text).unwrap(), zone.clone()).with_dst(policy);
            // A prime number of seconds visits every second of the minute in turn.
            let mut start = at - 4 * HOUR;
            while start < at + 4 * HOUR {
                if let Some(expected) = due.range(start + SECOND..).next() {
                    let found = schedule.next_after(start).unwrap().timestamp();
                    assert_eq!(
                        found,
                        *expected,
                        "{} after {start}",
                        complaint(&change, policy, case, "next")
                    );
                }
                if let Some(expected) = due.range(..start).next_back() {
                    let found = schedule.prev_before(start).unwrap().timestamp();
                    assert_eq!(
                        found,
                        *expected,
                        "{} before {start}",
                        complaint(&change, policy, case, "prev")
                    );
                }
                start += 59 * SECOND;
            }
        }
    }
}

#[test]
fn no_zone_changes_twice_within_two_days() {
    let end: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
    for name in jiff::tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let mut last = (Timestamp::MIN, zone.to_offset(Timestamp::MIN));
        for change in zone.following(Timestamp::MIN).take_while(|change| change.timestamp() < end) {
            if change.offset() == last.1 {
                continue;
            }
            assert!(
                48 * HOUR <= change.timestamp().duration_since(last.0),
                "{} at {}",
                name.as_str(),
                change.timestamp()
            );
            last = (change.timestamp(), change.offset());
        }
    }
}

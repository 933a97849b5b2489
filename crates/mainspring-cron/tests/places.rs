//! Changes of the clock that broke other engines, written out.

use jiff::{Timestamp, tz::TimeZone};
use mainspring_cron::{DstPolicy, Expression, Gap, Overlap, Schedule};

const LAST: DstPolicy = DstPolicy::new(Gap::Run, Overlap::Last);
const BOTH: DstPolicy = DstPolicy::new(Gap::Run, Overlap::Both);

/// Zone, expression, policy, start, and the instants after it with their offsets.
const PLACES: [(&str, &str, DstPolicy, &str, &[&str]); 18] = [
    // Samoa left out 30 December 2011: a correction of the calendar, taken literally by every policy.
    (
        "Pacific/Apia",
        "0 12 * * *",
        DstPolicy::CRON,
        "2011-12-29T00:00:00-10:00",
        &["2011-12-29T12:00:00-10:00", "2011-12-31T12:00:00+14:00"],
    ),
    (
        "Pacific/Apia",
        "0 12 * * *",
        DstPolicy::SHIFT,
        "2011-12-29T13:00:00-10:00",
        &["2011-12-31T12:00:00+14:00"],
    ),
    (
        "Pacific/Apia",
        "0 0 30 12 *",
        DstPolicy::CRON,
        "2011-01-01T00:00:00-10:00",
        &["2012-12-30T00:00:00+14:00"],
    ),
    // Moscow set its clock back in 2014 without any daylight saving.
    (
        "Europe/Moscow",
        "30 1 * * *",
        DstPolicy::CRON,
        "2014-10-26T00:00:00+04:00",
        &["2014-10-26T01:30:00+04:00", "2014-10-27T01:30:00+03:00"],
    ),
    (
        "Europe/Moscow",
        "30 1 * * *",
        LAST,
        "2014-10-26T00:00:00+04:00",
        &["2014-10-26T01:30:00+03:00", "2014-10-27T01:30:00+03:00"],
    ),
    (
        "Europe/Moscow",
        "30 1 * * *",
        BOTH,
        "2014-10-26T00:00:00+04:00",
        &["2014-10-26T01:30:00+04:00", "2014-10-26T01:30:00+03:00", "2014-10-27T01:30:00+03:00"],
    ),
    // Lord Howe moves by half an hour.
    (
        "Australia/Lord_Howe",
        "15 2 * * *",
        DstPolicy::CRON,
        "2025-10-05T00:00:00+10:30",
        &["2025-10-05T02:30:00+11:00", "2025-10-06T02:15:00+11:00"],
    ),
    (
        "Australia/Lord_Howe",
        "15 2 * * *",
        DstPolicy::SHIFT,
        "2025-10-05T00:00:00+10:30",
        &["2025-10-05T02:45:00+11:00", "2025-10-06T02:15:00+11:00"],
    ),
    (
        "Australia/Lord_Howe",
        "45 1 * * *",
        DstPolicy::CRON,
        "2025-04-06T00:00:00+11:00",
        &["2025-04-06T01:45:00+11:00", "2025-04-07T01:45:00+10:30"],
    ),
    // Midnight does not exist in Cairo when summer begins.
    (
        "Africa/Cairo",
        "0 0 * * *",
        DstPolicy::CRON,
        "2025-04-24T12:00:00+02:00",
        &["2025-04-25T01:00:00+03:00", "2025-04-26T00:00:00+03:00"],
    ),
    (
        "Africa/Cairo",
        "0 0 * * *",
        DstPolicy::SKIP,
        "2025-04-24T12:00:00+02:00",
        &["2025-04-26T00:00:00+03:00"],
    ),
    // Casey changed by three hours, which is no daylight saving any more.
    (
        "Antarctica/Casey",
        "30 0 * * *",
        DstPolicy::CRON,
        "2010-03-05T00:00:00+11:00",
        &["2010-03-05T00:30:00+11:00", "2010-03-05T00:30:00+08:00", "2010-03-06T00:30:00+08:00"],
    ),
    // Venezuela moved forward by half an hour in 2016, without daylight saving.
    (
        "America/Caracas",
        "40 2 * * *",
        DstPolicy::CRON,
        "2016-05-01T00:00:00-04:30",
        &["2016-05-01T03:00:00-04:00", "2016-05-02T02:40:00-04:00"],
    ),
    // A start inside of the second pass: the first pass is over, and a fixed time is done for the day.
    (
        "America/New_York",
        "30 1 * * *",
        DstPolicy::CRON,
        "2025-11-02T01:10:00-05:00",
        &["2025-11-03T01:30:00-05:00"],
    ),
    (
        "America/New_York",
        "30 1 * * *",
        LAST,
        "2025-11-02T01:10:00-05:00",
        &["2025-11-02T01:30:00-05:00", "2025-11-03T01:30:00-05:00"],
    ),
    (
        "America/New_York",
        "*/30 1 * * *",
        DstPolicy::CRON,
        "2025-11-02T01:45:00-04:00",
        &["2025-11-02T01:00:00-05:00", "2025-11-02T01:30:00-05:00", "2025-11-03T01:00:00-05:00"],
    ),
    // A start more than a day before the overlap, which the first pass does not end any more.
    (
        "America/New_York",
        "30 1 * * 0",
        LAST,
        "2025-10-31T22:45:00-04:00",
        &["2025-11-02T01:30:00-05:00", "2025-11-09T01:30:00-05:00"],
    ),
    // A gap swallows two times: they run once, and the time at its end is not repeated.
    (
        "America/New_York",
        "0,30 2-3 * * *",
        DstPolicy::CRON,
        "2025-03-09T00:00:00-05:00",
        &["2025-03-09T03:00:00-04:00", "2025-03-09T03:30:00-04:00", "2025-03-10T02:00:00-04:00"],
    ),
];

#[test]
fn a_yearly_time_in_an_overlap_is_found_from_far_away_in_both_directions() {
    let zone = TimeZone::get("America/New_York").unwrap();
    let schedule = Schedule::new(Expression::parse("30 1 2 11 *").unwrap(), zone);
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    for policy in [DstPolicy::CRON, LAST, BOTH] {
        let schedule = schedule.clone().with_dst(policy);
        let passes = [at("2025-11-02T01:30:00-04:00"), at("2025-11-02T01:30:00-05:00")];
        let (first, last) = match policy.overlap {
            Overlap::First => (passes[0], passes[0]),
            Overlap::Last => (passes[1], passes[1]),
            Overlap::Both => (passes[0], passes[1]),
            other => panic!("no place is read by {other}"),
        };
        assert_eq!(schedule.next_after(at("2025-01-01T00:00:00Z")).unwrap().timestamp(), first);
        assert_eq!(schedule.prev_before(at("2025-12-01T00:00:00Z")).unwrap().timestamp(), last);
        assert_eq!(schedule.prev_before(at("2026-10-01T00:00:00Z")).unwrap().timestamp(), last);
    }
}

#[test]
fn famous_changes_of_the_clock_are_exact_in_both_directions() {
    for (name, text, policy, start, expected) in PLACES {
        let schedule =
            Schedule::new(Expression::parse(text).unwrap(), TimeZone::get(name).unwrap()).with_dst(policy);
        let start: Timestamp = start.parse().unwrap();
        let found: Vec<_> = schedule.upcoming(start).take(expected.len()).collect();
        let shown: Vec<String> =
            found.iter().map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()).collect();
        assert_eq!(shown, expected, "{text} by {policy} in {name}");
        for pair in found.windows(2) {
            assert_eq!(
                schedule.prev_before(pair[1].timestamp()).as_ref(),
                Some(&pair[0]),
                "{text} by {policy} in {name}"
            );
        }
    }
}

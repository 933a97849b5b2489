//! Expressions described in English, and schedules explained in their zone.

use jiff::tz::TimeZone;
use mainspring_cron::{DstPolicy, Expression, Schedule};

const SENTENCES: [(&str, &str); 38] = [
    ("* * * * *", "Every minute."),
    ("*/5 * * * *", "Every 5 minutes."),
    ("*/7 * * * *", "Every 7 minutes from minute 0 of every hour."),
    ("0 * * * *", "Every hour, on the hour."),
    ("17 * * * *", "Every hour at minute 17."),
    ("30 2 * * *", "At 02:30 every day."),
    ("0 9-17 * * mon-fri", "Every hour from 09:00 to 17:00 on Monday to Friday."),
    ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 to 17:45 on Monday to Friday."),
    ("5,35 9-17 * * *", "At minutes 5 and 35 of hours 9 to 17 every day."),
    ("* 3 * * *", "Every minute from 03:00 to 03:59 every day."),
    ("0 */2 * * *", "Every 2 hours, at minute 0."),
    ("15 */6 * * *", "At 00:15, 06:15, 12:15 and 18:15 every day."),
    ("*/20 */3 * * *", "Every 20 minutes in every 3rd hour."),
    ("0 22-23,0-5 * * *", "At minute 0 of hours 0 to 5, 22 and 23 every day."),
    ("* * * * * *", "Every second."),
    ("*/15 * * * * *", "Every 15 seconds."),
    ("30 * * * * *", "At second 30 of every minute."),
    ("1-5 0 * * * *", "At seconds 1 to 5 of minute 0 of every hour."),
    ("0 0 0 1 1 * 2024-2030/2", "At 00:00 on the 1st of January, in 2024, 2026, 2028 and 2030."),
    ("0 0 13 * fri", "At 00:00 on the 13th of the month, and also on every Friday."),
    ("0 0 13 * +fri", "At 00:00 on the 13th of the month, if that is a Friday."),
    ("0 0 L * *", "At 00:00 on the last day of the month."),
    ("0 0 LW * *", "At 00:00 on the last workday of the month."),
    ("0 0 L-3 * *", "At 00:00 on the 3rd day before the last of the month."),
    (
        "0 0 1W,15,L * *",
        "At 00:00 on the 15th, the workday nearest to the 1st and the last day of the month.",
    ),
    ("0 0 * * 5L", "At 00:00 on the last Friday of the month."),
    ("0 0 * * 5#1,5#3", "At 00:00 on the first and the third Friday of the month."),
    ("0 0 * * fri-sun", "At 00:00 on Friday to Sunday."),
    ("0 0 */2 * *", "At 00:00 on every 2nd day from the 1st of the month."),
    ("0 0 1,15 1,7 *", "At 00:00 on the 1st and the 15th of January and July."),
    ("0 0 * 2 mon", "At 00:00 on Monday in February."),
    ("* 9-17 * 6-8 *", "Every minute from 09:00 to 17:59 every day in June to August."),
    ("0 0 5 * 5L", "At 00:00 on the 5th of the month, and also on the last Friday."),
    ("@daily", "At 00:00 every day."),
    ("@hourly", "Every hour, on the hour."),
    ("@reboot", "When the machine starts."),
    ("@every 90s", "Every 90s, counted from the Unix epoch."),
    ("@at 2030-01-01T00:00:00Z", "Once, at 2030-01-01T00:00:00Z."),
];

const ONCALENDAR_SENTENCES: [(&str, &str); 4] = [
    ("Mon *-05~07/1", "At 00:00 on the last 7 days of May, if that is a Monday."),
    ("Mon..Fri 09:00 Europe/Paris", "At 09:00 on Monday to Friday, in the zone Europe/Paris."),
    ("*:*:0/0.5", "At seconds 0 to 59.5 by 0.5 of every minute."),
    ("quarterly", "At 00:00 on the 1st of January, April, July and October."),
];

/// Expression, zone and policy as seen from the start of 2025: what is said of the first gap and overlap.
const CHANGES: [(&str, &str, DstPolicy, &str, &str); 5] = [
    (
        "30 2 * * *",
        "America/New_York",
        DstPolicy::CRON,
        "02:30 does not exist: it runs once, at 03:00",
        "nothing is due",
    ),
    (
        "0,30 1-2 * * *",
        "America/New_York",
        DstPolicy::SHIFT,
        "02:00 and 02:30 do not exist: it runs later",
        "01:00 and 01:30 come twice: it runs the first time only",
    ),
    (
        "30 2 * * *",
        "America/New_York",
        DstPolicy::SKIP,
        "02:30 does not exist: nothing runs instead",
        "nothing is due",
    ),
    (
        "* * * * *",
        "America/New_York",
        DstPolicy::CRON,
        "02:00, 02:01, 02:02 and more do not exist: nothing",
        "01:00, 01:01, 01:02 and more come twice: it runs both times",
    ),
    (
        "15 2 * * *",
        "Australia/Lord_Howe",
        DstPolicy::CRON,
        "02:15 does not exist: it runs once, at 02:30",
        "nothing is due",
    ),
];

#[test]
fn every_expression_reads_as_its_sentence() {
    for (text, sentence) in SENTENCES {
        assert_eq!(Expression::parse(text).unwrap().sentence(), sentence, "{text}");
    }
    for (text, sentence) in ONCALENDAR_SENTENCES {
        assert_eq!(Expression::parse_oncalendar(text).unwrap().sentence(), sentence, "{text}");
    }
}

#[test]
fn the_next_changes_of_the_clock_are_told_with_what_they_do() {
    for (text, zone, policy, gap, overlap) in CHANGES {
        let schedule =
            Schedule::new(Expression::parse(text).unwrap(), TimeZone::get(zone).unwrap()).with_dst(policy);
        let changes = schedule.explain("2025-01-01T00:00:00Z".parse().unwrap()).changes;
        let effects: Vec<&str> = changes.iter().map(|change| change.effect.as_str()).collect();
        assert_eq!(effects.len(), 2);
        assert!(effects.iter().any(|effect| effect.starts_with(gap)), "{text}: {effects:?}");
        assert!(effects.iter().any(|effect| effect.starts_with(overlap)), "{text}: {effects:?}");
    }
}

#[test]
fn a_fixed_time_inside_of_a_gap_is_a_warning_at_its_characters() {
    let schedule =
        Schedule::new(Expression::parse("30 2 * * *").unwrap(), TimeZone::get("Europe/Paris").unwrap());
    let warnings = schedule.explain("2025-01-01T00:00:00Z".parse().unwrap()).warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].span, 0..4);
    assert!(warnings[0].text.starts_with("a time inside of a gap within a year: on Sun 2025-03-30"));
}

#[test]
fn a_whole_explanation_is_lines_for_a_terminal() {
    let schedule = Schedule::new(Expression::parse("0 0 13 * fri").unwrap(), TimeZone::UTC);
    let lines = [
        "At 00:00 on the 13th of the month, and also on every Friday.",
        "  second                 0",
        "  minute            0    0",
        "  hour              0    0",
        "  day of the month  13   13",
        "  month             *    1-12",
        "  day of the week   fri  Friday",
        "  year                   every year",
        "note: neither day field begins with `*`, so one of them is enough",
        "note: it runs at fixed times: when the clock changes by less than three hours \
         the policy `cron` holds",
        "warning: both day fields are given: it runs when either one matches",
    ];
    let printed = schedule.explain("2025-01-01T00:00:00Z".parse().unwrap()).to_string();
    assert_eq!(printed.lines().collect::<Vec<_>>(), lines);
}

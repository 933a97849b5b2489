//! Each form of the language: texts, the sets they become, and the warnings about doubtful ones.

use jiff::{Timestamp, tz::TimeZone};
use mainspring_cron::{DayRule, Dialect, Every, Expression, ParseOptions, Pattern, Schedule, Unit, spread};

/// Minute field, and the minutes it allows.
const MINUTES: [(&str, &[u8]); 9] = [
    ("7", &[7]),
    ("07", &[7]),
    ("*/20", &[0, 20, 40]),
    ("10-20/5", &[10, 15, 20]),
    ("3,1,2,1", &[1, 2, 3]),
    ("50/4", &[50, 54, 58]),
    ("*/100", &[0]),
    ("59", &[59]),
    ("0-59/59", &[0, 59]),
];

/// Day fields in the Unix dialect, and the days of February and March 2024 that they allow: 1 February is a
/// Thursday.
const DAYS: [(&str, &str, &[&str]); 12] = [
    ("29-31", "*", &["02-29", "03-29", "03-30", "03-31"]),
    ("L", "*", &["02-29", "03-31"]),
    ("L-29", "*", &["03-02"]),
    ("LW", "*", &["02-29", "03-29"]),
    ("L-1W", "*", &["02-28", "03-29"]),
    ("3W,31W", "*", &["02-02", "03-04", "03-29"]),
    ("*", "7#1,fri#5", &["02-04", "03-03", "03-29"]),
    ("*", "0L,tueL", &["02-25", "02-27", "03-26", "03-31"]),
    ("*", "sat#L", &["02-24", "03-30"]),
    ("1", "+fri", &["03-01"]),
    ("*/14", "thu", &["02-01", "02-15", "02-29"]),
    ("30", "sat#2", &["02-10", "03-09", "03-30"]),
];

const WARNINGS: [(&str, &str, &str); 9] = [
    (
        "*/7 * * * *",
        "*/7",
        "a step of 7 does not divide the 60 values of the minute field: the last interval is 4",
    ),
    (
        "0 */5 * * *",
        "*/5",
        "a step of 5 does not divide the 24 values of the hour field: the last interval is 4",
    ),
    ("0 0 */2 * *", "*/2", "a step of 2 starts over on the 1st of each month, and months differ in length"),
    ("*/90 * * * *", "*/90", "a step of 90 is longer than the range: only its first value, 0, is used"),
    ("5/15 * * * *", "5/15", "a step after a single value is not portable: read as `5-59/15`"),
    ("0 0 1 * mon", "1 * mon", "both day fields are given: it runs when either one matches"),
    ("0 0 1 * +mon", "1 * +mon", "both day fields are given: it runs only when both match"),
    ("0 0 31 4,6 *", "31 4,6 *", "no such day ever comes: it will never run"),
    (
        "H * * * *",
        "H",
        "a hashed value depends on the job's name, and none was given: read as for the empty name",
    ),
];

fn members(bits: u64) -> Vec<u8> {
    (0..64).filter(|bit| bits & (1 << bit) != 0).collect()
}

fn quartz(text: &str) -> Result<Pattern, mainspring_cron::ParseError> {
    Pattern::parse_with(text, &ParseOptions::new().with_dialect(Dialect::Quartz))
}

/// The days of February and March 2024 on which an expression is due.
fn days(expression: Expression) -> Vec<String> {
    let schedule = Schedule::new(expression, TimeZone::UTC);
    let start: Timestamp = "2024-01-31T23:59:59Z".parse().unwrap();
    let upcoming = schedule.upcoming(start).take_while(|time| time.month() < 4 && time.year() == 2024);
    upcoming.map(|time| time.strftime("%m-%d").to_string()).collect()
}

#[test]
fn every_numeric_form_becomes_its_set() {
    for (field, minutes) in MINUTES {
        let pattern = Pattern::parse(&format!("{field} * * * *")).unwrap();
        assert_eq!(members(pattern.minutes()), minutes, "{field}");
    }
}

#[test]
fn every_day_form_allows_its_days() {
    for (date, weekday, expected) in DAYS {
        let text = format!("0 0 {date} * {weekday}");
        assert_eq!(days(Expression::parse(&text).unwrap()), expected, "{text}");
    }
}

#[test]
fn seconds_come_first_and_years_last() {
    let pattern = Pattern::parse("1,59 2 3 4 5 ? 1970,2199").unwrap();
    assert_eq!(members(pattern.seconds()), [1, 59]);
    assert_eq!((pattern.minutes(), pattern.hours(), pattern.months()), (1 << 2, 1 << 3, 1 << 5));
    let years: Vec<i16> = (1900..2300).filter(|year| pattern.has_year(*year)).collect();
    assert_eq!(years, [1970, 2199]);
    assert_eq!(pattern.fields().iter().map(|field| field.span.clone()).next_back(), Some(15..24));
    assert!(Pattern::parse("0 0 0 * * ? *").unwrap().has_year(3000));
}

#[test]
fn quartz_counts_from_sunday_wraps_its_ranges_and_wants_one_question_mark() {
    let due = |text| days(Expression::Calendar(quartz(text).unwrap()));
    assert_eq!(due("0 0 0 ? 2 6#2"), ["02-09"]);
    assert_eq!(
        due("0 0 0 ? 2 SAT-SUN"),
        ["02-03", "02-04", "02-10", "02-11", "02-17", "02-18", "02-24", "02-25"]
    );
    assert_eq!(due("0 0 0 ? 2 L"), ["02-03", "02-10", "02-17", "02-24"]);
    assert_eq!(due("0 0 0 28-2 2 ?"), ["02-01", "02-02", "02-28", "02-29"]);
    assert_eq!(members(quartz("0 50-10/10 * * * ?").unwrap().minutes()), [0, 10, 50]);
    assert_eq!(members(quartz("0 /30 * * * ?").unwrap().minutes()), [0, 30]);
    assert!(quartz("0 5/15 * * * ?").unwrap().warnings().is_empty());
    assert!(quartz("* * * * *").is_err());
}

#[test]
fn the_day_rule_decides_what_two_day_fields_mean() {
    let count = |text, day_rule| {
        let options = ParseOptions::new().with_day_rule(day_rule);
        days(Expression::parse_with(text, &options).unwrap()).len()
    };
    // February and March 2024 have eight Mondays; the 1st is none of them.
    assert_eq!(count("0 0 1 * mon", DayRule::Star), 10);
    assert_eq!(count("0 0 1 * mon", DayRule::Or), 10);
    assert_eq!(count("0 0 1 * mon", DayRule::And), 0);
    assert_eq!(count("0 0 */1 * mon", DayRule::Or), 8);
    assert_eq!(count("0 0 */2 * mon", DayRule::Star), 4);
    assert_eq!(count("0 0 */2 * mon", DayRule::Or), 35);
}

#[test]
fn every_doubtful_text_has_a_warning_at_its_characters() {
    for (text, blamed, warning) in WARNINGS {
        let pattern = Pattern::parse(text).unwrap();
        let found: Vec<(&str, &str)> =
            pattern.warnings().iter().map(|found| (&text[found.span.clone()], found.text.as_str())).collect();
        assert_eq!(found, [(blamed, warning)], "{text}");
    }
    assert_eq!(Pattern::parse("*/15 */6 1-7 */3 *").unwrap().warnings(), []);
}

fn named(text: &str, job_name: &str) -> Pattern {
    Pattern::parse_with(text, &ParseOptions::new().with_job_name(job_name)).unwrap()
}

#[test]
fn a_hashed_value_is_fixed_by_the_name_and_stays_in_its_range() {
    for name in ["backup", "report", "", "ä"] {
        let pattern = named("H H(2-4) H * *", name);
        assert_eq!(members(pattern.minutes()), [u8::try_from(spread(name, Unit::Minute, 0, 60)).unwrap()]);
        assert_eq!(pattern, named("H H(2-4) H * *", name));
        assert!(members(pattern.hours().into()).iter().all(|hour| (2..=4).contains(hour)));
        let phase = u8::try_from(spread(name, Unit::Minute, 0, 15)).unwrap();
        let quarters = [phase, phase + 15, phase + 30, phase + 45];
        assert_eq!(members(named("H/15 * * * *", name).minutes()), quarters);
        assert!(
            members(named("6~15 * * * *", name).minutes()).iter().all(|minute| (6..=15).contains(minute))
        );
        assert!(pattern.warnings().is_empty());
    }
    assert_ne!(named("H * * * *", "backup").minutes(), named("H * * * *", "report").minutes());
    // Every month has a hashed day.
    assert!(
        (0..200).all(|index| days(Expression::Calendar(named("0 0 H * *", &index.to_string()))).len() == 2)
    );
}

#[test]
fn wildcard_jobs_are_told_by_the_first_character_of_the_minute_and_the_hour() {
    let is_wildcard = |text| Pattern::parse(text).unwrap().is_wildcard();
    assert!(["* 2 * * *", "*/100 2 * * *", "0 */2 * * *", "30 0 * * * *"].into_iter().all(is_wildcard));
    assert!(
        !["0-59 2 * * *", "0 0-23 * * *", "0,*/2 1 * * *", "* 0 2 * * *", "H 2 * * *"]
            .into_iter()
            .any(is_wildcard)
    );
    let Ok(Expression::Calendar(hourly)) = Expression::parse("@hourly") else {
        panic!("@hourly is a pattern")
    };
    assert!(hourly.is_wildcard());
}

#[test]
fn periods_and_single_moments_have_a_next_and_a_start_of_the_scheduler_has_none() {
    let after: Timestamp = "2025-01-01T00:00:10Z".parse().unwrap();
    let next = |text| {
        let schedule = Schedule::new(Expression::parse(text).unwrap(), TimeZone::UTC);
        schedule.next_after(after).map(|time| time.timestamp().to_string())
    };
    assert_eq!(next("@every 1m30s").as_deref(), Some("2025-01-01T00:01:30Z"));
    assert_eq!(next("@every 500ms").as_deref(), Some("2025-01-01T00:00:10.5Z"));
    assert_eq!(next("@at 2025-01-01T01:00:11+01:00").as_deref(), Some("2025-01-01T00:00:11Z"));
    assert_eq!(next("@at 2025-01-01T00:00:10Z"), None);
    assert_eq!(next("@reboot"), None);
    assert!(Schedule::new(Expression::Reboot, TimeZone::UTC).is_reboot());
    let anchored = Every::new(std::time::Duration::from_secs(60)).unwrap().with_anchor(after);
    let schedule = Schedule::new(Expression::Every(anchored), TimeZone::UTC);
    assert_eq!(schedule.next_after(after).unwrap().timestamp().to_string(), "2025-01-01T00:01:10Z");
}

#[test]
fn the_ends_of_time_are_never_and_not_a_panic() {
    for text in ["* * * * *", "0 0 29 2 *", "0 0 30 2 *", "30 2 * * *", "0 0 0 1 1 ? 2199", "@every 1h"] {
        for name in ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"] {
            let schedule = Schedule::new(Expression::parse(text).unwrap(), TimeZone::get(name).unwrap());
            assert_eq!(schedule.next_after(Timestamp::MAX), None);
            assert_eq!(schedule.prev_before(Timestamp::MIN), None);
            for moment in [
                Timestamp::MIN,
                "-009998-01-01T00:00:00Z".parse().unwrap(),
                "9998-12-31T00:00:00Z".parse().unwrap(),
                Timestamp::MAX,
            ] {
                assert!(
                    schedule.next_after(moment).is_none_or(|time| moment < time.timestamp()),
                    "{text} in {name}"
                );
                assert!(
                    schedule.prev_before(moment).is_none_or(|time| time.timestamp() < moment),
                    "{text} in {name}"
                );
            }
        }
    }
}

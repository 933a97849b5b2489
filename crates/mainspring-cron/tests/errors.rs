//! Errors of the parser: the characters to blame, the expected form, and the nearest valid one.

use mainspring_cron::{Dialect, Expression, OnCalendar, ParseError, ParseOptions, Schedule, ScheduleError};

use crate::random::Random;
use crate::replay;

/// Text, the characters to blame, the message, the hint.
const ERRORS: [(&str, &str, &str, Option<&str>); 32] = [
    ("60 0 * * *", "60", "60 is outside of the minute field: expected 0 to 59", Some("0")),
    ("0 24 * * *", "24", "24 is outside of the hour field: expected 0 to 23", Some("0")),
    ("0 0 0 * *", "0", "0 is outside of the day of the month field: expected 1 to 31", Some("1")),
    ("0 0 * 13 *", "13", "13 is outside of the month field: expected 1 to 12, or jan to dec", Some("12")),
    (
        "0 0 * * 99999999999",
        "99999999999",
        "99999999999 is outside of the day of the week field: expected 0 to 7, or sun to sat",
        Some("7"),
    ),
    ("0 0 0 * * * 1969", "1969", "1969 is outside of the year field: expected 1970 to 2199", Some("1970")),
    ("0 0 * * XYZ", "XYZ", "expected a day of the week (0 to 7, or sun to sat), found `XYZ`", None),
    (
        "0 0 * * Wednesday",
        "Wednesday",
        "expected a day of the week (0 to 7, or sun to sat), found `Wednesday`",
        Some("wed"),
    ),
    ("0 0 * fbe *", "fbe", "expected a month (1 to 12, or jan to dec), found `fbe`", Some("feb")),
    ("*/0 * * * *", "0", "a step of 0 never moves on: expected a number from 1", Some("1")),
    ("*/x * * * *", "x", "expected a step in minutes, a number from 1, found `x`", Some("1")),
    ("*/ * * * *", "/", "expected a step after the slash: a number from 1", Some("/1")),
    ("/30 * * * *", "/30", "expected `*` or a range before the slash", Some("*/30")),
    (
        "* 22-5 * * *",
        "22-5",
        "the range `22-5` runs backwards: expected the smaller value first",
        Some("22-23,0-5"),
    ),
    ("0 0 * * 7-1", "7-1", "the range `7-1` runs backwards: expected the smaller value first", Some("0-1")),
    (
        "0 0 0 * * * 2030-2024",
        "2030-2024",
        "the range `2030-2024` runs backwards: expected the smaller value first",
        Some("2024-2030"),
    ),
    ("0 0 * * MON#6", "6", "expected the number of the week in its month, 1 to 5 or L, found `6`", Some("L")),
    ("0 0 L-31 * *", "31", "expected how many days before the last: 0 to 30", Some("1")),
    ("0 0 LX * *", "LX", "expected `L`, `L-3`, `LW` or `L-3W`, found `LX`", Some("L")),
    ("0 0 1-5W * *", "1-5W", "expected one day before `W`, as in `15W`", Some("15W")),
    (
        "0 0 * * L",
        "L",
        "expected a day of the week before `L`, as in `5L` for the last Friday of the month",
        Some("5L"),
    ),
    ("0 ? * * *", "?", "`?` cannot be used in this place of the hour field", Some("*")),
    ("1,,2 * * * *", "", "expected a minute (0 to 59), found nothing", None),
    ("H(9) * * * *", "(9)", "expected a range in parentheses after `H`, as in `H(0-29)`", Some("(0-59)")),
    (
        "15~6 * * * *",
        "15~6",
        "the range `15~6` runs backwards: expected the smaller value first",
        Some("6~15"),
    ),
    ("6~15/2 * * * *", "6~15/2", "a random value takes no step: expected `first~last` alone", Some("6~15")),
    ("0 +12 * * *", "+12", "expected an hour (0 to 23), found `+12`", None),
    ("0 12 1 * +", "", "expected a day of the week (0 to 7, or sun to sat), found nothing", None),
    ("@hourly 5", " 5", "`@hourly` takes nothing after it", None),
    ("@every 0s", "0s", "a period must be longer than nothing", Some("1s")),
    ("@every 5", "5", "the number 5 has no unit: expected w, d, h, m, s, ms, us or ns after it", Some("5s")),
    (
        "@at tomorrow",
        "tomorrow",
        "expected a time with an offset, such as 2030-01-31T08:00:00Z, found `tomorrow`",
        None,
    ),
];

const QUARTZ_ERRORS: [(&str, &str, &str, Option<&str>); 4] = [
    ("0 0 0 1 * 1", "1", "Quartz cannot combine both day fields: expected `?` in one, found `1`", Some("?")),
    ("0 0 0 ? * ?", "?", "`?` in both day fields leaves no day: expected a value in one of them", Some("*")),
    (
        "0 0 0 ? * 0",
        "0",
        "0 is outside of the day of the week field: expected 1 to 7, or sun to sat",
        Some("1"),
    ),
    (
        "0 0 0 ? * 8#1",
        "8",
        "8 is outside of the day of the week field: expected 1 to 7, or sun to sat",
        Some("7"),
    ),
];

const ONCALENDAR_ERRORS: [(&str, &str, &str, Option<&str>); 8] = [
    ("*-*-32", "32", "32 is outside of the day field: expected 1 to 31", Some("31")),
    (
        "*/2:00",
        "*",
        "`*` takes no list or repetition here: expected a first hour before the slash",
        Some("0"),
    ),
    (
        "Fri..Mon 09:00",
        "Fri..Mon",
        "the range `Fri..Mon` runs backwards: systemd's week begins on Monday",
        Some("Fri..Sun,Mon..Mon"),
    ),
    ("5", "5", "expected a date such as *-*-01, or a time such as 09:00, found `5`", Some("5:00")),
    (
        "Mon 09:00 Europe/Atlantis",
        "Europe/Atlantis",
        "expected a time zone such as UTC or Europe/Paris, found `Europe/Atlantis`",
        Some("UTC"),
    ),
    ("dayly", "dayly", "expected a day of the week (Mon to Sun), found `dayly`", Some("daily")),
    ("23/2:00", "23/2", "a repetition of 2 leaves the hour field before it happens once", Some("23")),
    (
        "09:00 10:00",
        "10:00",
        "expected weekdays, a date, a time and a zone in this order, found one more: `10:00`",
        None,
    ),
];

fn assert_error(text: &str, error: &ParseError, expected: (&str, &str, Option<&str>)) {
    assert_eq!((&text[error.span()], error.to_string().as_str(), error.hint()), expected, "{text}");
}

fn quartz() -> ParseOptions<'static> {
    ParseOptions::new().with_dialect(Dialect::Quartz)
}

#[test]
fn every_error_points_at_its_characters_and_says_what_was_expected() {
    for (text, blamed, message, hint) in ERRORS {
        assert_error(text, &Expression::parse(text).unwrap_err(), (blamed, message, hint));
    }
    for (text, blamed, message, hint) in QUARTZ_ERRORS {
        assert_error(text, &Expression::parse_with(text, &quartz()).unwrap_err(), (blamed, message, hint));
    }
    for (text, blamed, message, hint) in ONCALENDAR_ERRORS {
        assert_error(text, &Expression::parse_oncalendar(text).unwrap_err(), (blamed, message, hint));
    }
}

#[test]
fn missing_fields_are_missed_at_the_end_of_the_text() {
    let error = Expression::parse(" 1 2 3 4  ").unwrap_err();
    assert_eq!((error.span(), error.hint()), (8..8, Some("1 2 3 4 *")));
    let error = Expression::parse("").unwrap_err();
    assert_eq!((error.span(), error.hint()), (0..0, Some("* * * * *")));
    let error = Expression::parse("1 2 3 4 5 6 7 8 9").unwrap_err();
    assert_eq!((error.span(), error.hint()), (14..17, None));
}

/// The text with the hint in the place of the blamed characters.
fn mended(text: &str, error: &ParseError) -> Option<String> {
    let (span, hint) = (error.span(), error.hint()?);
    if span.is_empty() {
        return Some(hint.to_owned());
    }
    Some(format!("{}{hint}{}", &text[..span.start], &text[span.end..]))
}

#[test]
fn following_the_hints_leads_to_a_valid_expression() {
    let parse_quartz = |text: &str| Expression::parse_with(text, &quartz());
    let unix = ERRORS.iter().map(|case| (case.0, Expression::parse as fn(&str) -> _));
    let quartz = QUARTZ_ERRORS.iter().map(|case| (case.0, parse_quartz as fn(&str) -> _));
    let oncalendar =
        ONCALENDAR_ERRORS.iter().map(|case| (case.0, Expression::parse_oncalendar as fn(&str) -> _));
    for (text, parse) in unix.chain(quartz).chain(oncalendar) {
        let mut text = text.to_owned();
        while let Err(error) = parse(&text) {
            let Some(next) = mended(&text, &error) else { break };
            assert!(parse(&next).is_ok() || parse(&next) != Err(error), "{text} is not mended by {next}");
            text = next;
        }
    }
}

#[test]
fn no_text_makes_a_parser_panic_or_blame_what_is_not_there() {
    const LETTERS: [&str; 40] = [
        "0", "1", "2", "5", "7", "9", "31", "59", "60", "*", "*", "*", " ", " ", " ", " ", ",", "-", "/",
        "?", "L", "W", "#", "+", "H", "~", "(", ")", "@", "@every ", "mon", "JAN", ".", "..", ":", "é", "\t",
        "UTC", "\u{2003}", "ß",
    ];
    let mut valid_count = 0;
    let all = replay::each_seed(0..60_000, |seed| {
        let mut random = Random::new(seed);
        let mut text = if seed % 2 == 0 { random.expression() } else { String::new() };
        let insertion_count = if seed % 2 == 0 { random.below(3) } else { random.below(24) };
        for _ in 0..insertion_count {
            let places: Vec<usize> =
                text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
            let place = places[usize::try_from(random.below(places.len() as u64)).unwrap()];
            text.insert_str(place, LETTERS[usize::try_from(random.below(40)).unwrap()]);
        }
        for parsed in [
            Expression::parse(&text),
            Expression::parse_with(&text, &quartz()),
            Expression::parse_oncalendar(&text),
        ] {
            match parsed {
                Ok(expression) => {
                    valid_count += 1;
                    assert_eq!(expression.sentence().chars().last(), Some('.'), "seed {seed}: {text:?}");
                }
                Err(error) => {
                    assert!(
                        text.get(error.span()).is_some(),
                        "seed {seed}: {text:?} has no {:?}",
                        error.span()
                    );
                    assert!(!error.to_string().ends_with('.'), "seed {seed}: {error}");
                    assert!(error.pointed(&text).contains('^'), "seed {seed}: {text:?}");
                }
            }
        }
    });
    assert!(!all || 5_000 < valid_count, "only {valid_count} texts were valid");
}

#[test]
fn every_line_that_is_a_schedule_is_read_back_from_what_it_shows() {
    const SETTINGS: [&str; 9] = [
        "",
        "CRON_TZ=Asia/Tokyo ",
        "TZ=UTC\t",
        "TZ=-03:30  ",
        "TZ=EST5EDT,M3.2.0,M11.1.0 ",
        "DST=cron ",
        "DST=shift+both ",
        "TZ=Europe/Paris DST=literal ",
        "DST=skip TZ=America/New_York ",
    ];
    const MARKS: [&str; 4] = ["", "", "Quartz=", "OnCalendar="];
    let mut valid_count = 0;
    let all = replay::each_seed(0..20_000, |seed| {
        let mut random = Random::new(seed);
        let setting = SETTINGS[usize::try_from(random.below(9)).unwrap()];
        let mark = MARKS[usize::try_from(random.below(4)).unwrap()];
        let expression = match mark {
            "OnCalendar=" => ["Mon 09:00", "*-*-1/2 *:0/15:00.5", "quarterly", "09:00 UTC", "32:00"]
                [usize::try_from(random.below(5)).unwrap()]
            .to_owned(),
            "Quartz=" => format!("0 {}", random.expression().replacen("* *", "? *", 1)),
            _ => random.expression(),
        };
        let text = format!("{setting}{mark}{expression}");
        match text.parse::<Schedule>() {
            Ok(schedule) => {
                valid_count += 1;
                assert_eq!(schedule.to_string().parse(), Ok(schedule), "seed {seed}: {text}");
            }
            Err(ScheduleError::Expression(error)) => {
                assert!(setting.len() <= error.span().start, "seed {seed}: {text}: {error}");
                assert!(text.get(error.span()).is_some(), "seed {seed}: {text}: {error}");
            }
            Err(error) => panic!("seed {seed}: {text}: {error}"),
        }
    });
    assert!(!all || 10_000 < valid_count, "only {valid_count} lines were schedules");
}

#[test]
fn a_list_may_be_longer_than_a_number_of_sixteen_bits() {
    let long = |item: &str| format!("{item}{}", format!(",{item}").repeat(70_000));
    let named = ParseOptions::new().with_job_name("backup");
    for text in [
        format!("{} * * * *", long("7")),
        format!("{} * * * *", long("H(3-3)")),
        format!("0 0 {} * *", long("1")),
        format!("0 0 * * {}", long("1")),
    ] {
        assert!(Expression::parse_with(&text, &named).is_ok(), "{}", &text[..20]);
    }
    let calendar = OnCalendar::parse(&format!("*:{}", long("0/1"))).unwrap();
    assert_eq!(calendar.to_string().len(), 2 + 3 + 70_000 * 4);
}

#[test]
fn a_text_of_any_length_is_shown_and_explained() {
    let spaces = " ".repeat(70_000);
    let text = format!("0 0 * *{spaces}mom");
    let shown = Expression::parse(&text).unwrap_err().pointed(&text);
    let [line, caret] = shown.lines().collect::<Vec<_>>()[..] else { panic!("two lines are shown") };
    assert_eq!(line.find("mom"), caret.find("^^^ "));
    let word = "x".repeat(70_000);
    let shown = Expression::parse(&word).unwrap_err().pointed(&word);
    assert!(shown.contains("^ expected"));
    let minutes = format!("7{}", ",7".repeat(70_000));
    let schedule = Schedule::parse(&format!("{minutes} * * * *"), "UTC").unwrap();
    let explanation = schedule.explain("2025-01-01T00:00:00Z".parse().unwrap());
    assert!(explanation.to_string().contains(&minutes));
}

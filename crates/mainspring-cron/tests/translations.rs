//! Translations mean the same: both texts give the same instants.

use jiff::{Timestamp, tz::TimeZone};
use mainspring_cron::{Dialect, Expression, Language, ParseOptions, Schedule};

use crate::random::Random;
use crate::replay;

/// Expression, and what it is in Quartz and in OnCalendar; "no" where that is not exact. A source is cron
/// unless it says otherwise.
const TRANSLATIONS: [(&str, &str, &str); 24] = [
    ("* * * * *", "0 * * * * ?", "*-*-* *:*:00"),
    ("*/5 * * * *", "0 */5 * * * ?", "*-*-* *:00/5:00"),
    ("30 2 * * *", "0 30 2 * * ?", "*-*-* 02:30:00"),
    (
        "0,30 8-18/2 * * 1-5",
        "0 0,30 8,10,12,14,16,18 ? * MON-FRI",
        "Mon..Fri *-*-* 08,10,12,14,16,18:00,30:00",
    ),
    ("0 0 * * sat,sun", "0 0 0 ? * SUN,SAT", "Sat,Sun *-*-* 00:00:00"),
    ("0 0 1 1 *", "0 0 0 1 1 ?", "*-01-01 00:00:00"),
    ("@quartz 0 0 12 ? * 6#3", "0 0 12 ? * 6#3", "Fri *-*-15..21 12:00:00"),
    ("0 0 L * *", "0 0 0 L * ?", "*-*~01 00:00:00"),
    ("0 0 L-3 * *", "0 0 0 L-3 * ?", "*-*~04 00:00:00"),
    ("0 0 * * 5L", "0 0 0 ? * 6L", "Fri *-*~01..07 00:00:00"),
    ("0 0 * * 1#1,3#1", "no", "Mon,Wed *-*-01..07 00:00:00"),
    ("0 0 * * 1#5", "0 0 0 ? * 2#5", "Mon *-*-29..31 00:00:00"),
    ("0 0 13 * +fri", "no", "Fri *-*-13 00:00:00"),
    ("0 0 13 * fri", "no", "no"),
    ("0 0 15W * *", "0 0 0 15W * ?", "no"),
    ("0 0 LW 3 *", "0 0 0 LW 3 ?", "no"),
    ("0 0 1,L * *", "0 0 0 1,L * ?", "no"),
    ("0 0 * * 1#1,3#2", "no", "no"),
    ("0 0 L-30 * *", "0 0 0 L-30 * ?", "no"),
    ("0 0 L,L-24 * *", "0 0 0 L,L-24 * ?", "*-*~01,25 00:00:00"),
    ("0 0 L,L-25 * *", "0 0 0 L,L-25 * ?", "no"),
    (
        "*/10 0 0 1 1 * 2024-2030/2",
        "*/10 0 0 1 1 ? 2024,2026,2028,2030",
        "2024,2026,2028,2030-01-01 00:00:00/10",
    ),
    ("1-59/2 1 * * * *", "1-59/2 1 * * * ?", "*-*-* *:01:01/2"),
    ("0 0 1-31 * mon", "0 0 0 * * ?", "*-*-* 00:00:00"),
];

fn parse(text: &str, language: Language) -> Expression {
    let quartz = ParseOptions::new().with_dialect(Dialect::Quartz);
    match language {
        Language::OnCalendar => Expression::parse_oncalendar(text).unwrap(),
        Language::Quartz => Expression::parse_with(text, &quartz).unwrap(),
        _ => Expression::parse(text).unwrap(),
    }
}

fn instants(expression: Expression) -> Vec<Timestamp> {
    let schedule = Schedule::new(expression, TimeZone::UTC);
    schedule.upcoming("2024-02-27T12:34:56Z".parse().unwrap()).take(60).map(|time| time.timestamp()).collect()
}

#[test]
fn a_translation_is_due_at_the_same_instants() {
    let mut count = 0;
    for (text, ..) in TRANSLATIONS {
        let source = match text.strip_prefix("@quartz ") {
            Some(text) => parse(text, Language::Quartz),
            None => parse(text, Language::Cron),
        };
        for language in [Language::Cron, Language::Quartz, Language::OnCalendar] {
            if let Ok(translation) = source.translate(language) {
                let translated = parse(&translation.text, language);
                assert_eq!(instants(translated), instants(source.clone()), "{text} as {}", translation.text);
                count += 1;
            }
        }
    }
    assert!(50 < count, "only {count} translations were compared");
}

#[test]
fn a_translation_is_written_as_its_language_writes_it() {
    for (text, quartz, oncalendar) in TRANSLATIONS {
        let source = match text.strip_prefix("@quartz ") {
            Some(text) => parse(text, Language::Quartz),
            None => parse(text, Language::Cron),
        };
        for (language, expected) in [(Language::Quartz, quartz), (Language::OnCalendar, oncalendar)] {
            let written =
                source.translate(language).map_or_else(|_| "no".to_owned(), |translation| translation.text);
            assert_eq!(written, expected, "{text} as {language:?}");
        }
    }
}

#[test]
fn random_expressions_keep_their_instants_in_every_language() {
    let mut counts = [0; 3];
    let all = replay::each_seed(0..1_500, |seed| {
        let text = Random::new(seed).expression();
        let source = parse(&text, Language::Cron);
        for (index, language) in
            [Language::Cron, Language::Quartz, Language::OnCalendar].into_iter().enumerate()
        {
            if let Ok(translation) = source.translate(language) {
                let translated = parse(&translation.text, language);
                assert_eq!(
                    instants(translated),
                    instants(source.clone()),
                    "seed {seed}: {text} as {}",
                    translation.text
                );
                counts[index] += 1;
            }
        }
    });
    assert!(!all || 1_400 < counts[0], "cron says all that cron says but for a `+`: {counts:?}");
    assert!(!all || (500 < counts[1] && 500 < counts[2]), "too few were translated: {counts:?}");
}

#[test]
fn a_translation_into_cron_keeps_what_the_clock_does_to_the_job() {
    replay::each_seed(0..1_500, |seed| {
        let text = Random::new(seed).expression();
        let Expression::Calendar(source) = parse(&text, Language::Cron) else {
            panic!("{text} is a pattern")
        };
        let Ok(translation) = Expression::Calendar(source.clone()).translate(Language::Cron) else {
            assert!(text.contains('+'), "seed {seed}: {text}");
            return;
        };
        assert!(!translation.text.contains('+'), "seed {seed}: {text} as {}", translation.text);
        let Expression::Calendar(target) = parse(&translation.text, Language::Cron) else {
            panic!("{text} is a pattern")
        };
        assert_eq!(target.is_wildcard(), source.is_wildcard(), "seed {seed}: {text} as {}", translation.text);
    });
}

#[test]
fn two_day_fields_that_must_both_match_are_said_as_cron_reads_them_or_refused() {
    let cases = [
        ("Sat *-*-1..7 00:00", Some("0 0 */31,1-7 * 6")),
        ("Mon *-*-1/2 06:30", Some("30 6 */2 * 1")),
        ("Sun *-*-8..14 00:00", Some("0 0 8-14 * */7,0")),
        ("Fri *-*-13 00:00", None),
        ("Sat *-*~1..7 00:00", None),
    ];
    for (text, expected) in cases {
        let source = parse(text, Language::OnCalendar);
        let found = source.translate(Language::Cron).map(|translation| translation.text);
        assert_eq!(found.as_deref().ok(), expected, "{text}");
        if let Ok(found) = found {
            assert_eq!(instants(parse(&found, Language::Cron)), instants(source), "{text}");
        }
    }
    let last = parse("0 0 L * *", Language::Cron).translate(Language::Cron).unwrap();
    assert!(last.notes.iter().any(|note| note.contains("an extension")), "{:?}", last.notes);
}

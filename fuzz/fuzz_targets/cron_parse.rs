//! No text makes a parser panic, and what parses has a next and a previous occurrence in order, or none.
#![no_main]

use jiff::{Timestamp, tz::TimeZone};
use libfuzzer_sys::fuzz_target;
use mainspring_cron::{Dialect, Expression, Language, ParseOptions, Schedule};

fuzz_target!(|text: &str| {
    let quartz = ParseOptions::new().with_dialect(Dialect::Quartz).with_job_name(text);
    let parsed = [
        Expression::parse(text),
        Expression::parse_with(text, &quartz),
        Expression::parse_oncalendar(text),
        text.parse(),
    ];
    // A schedule of one line: its settings, and what may follow them.
    if let Ok(schedule) = text.parse::<Schedule>() {
        assert_eq!(schedule.to_string().parse(), Ok(schedule), "a schedule is read back from what it shows");
    }
    for result in parsed {
        match result {
            Ok(expression) => exercise(expression),
            Err(error) => assert!(text.get(error.span()).is_some(), "an error points into the text"),
        }
    }
});

fn exercise(expression: Expression) {
    for language in [Language::Cron, Language::Quartz, Language::OnCalendar] {
        let _reason_or_text = expression.translate(language);
    }
    let zone = TimeZone::get("America/New_York").expect("the bundled database has this zone");
    let schedule = Schedule::new(expression, zone);
    let start = Timestamp::from_second(1_741_500_000).expect("a moment of March 2025");
    assert!(!schedule.explain(start).sentence.is_empty());
    if let Some(next) = schedule.next_after(start) {
        assert!(start < next.timestamp());
        assert!(schedule.prev_before(next.timestamp()).is_none_or(|prev| prev.timestamp() <= start));
    }
}

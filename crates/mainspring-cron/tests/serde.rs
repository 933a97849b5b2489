//! A value that is written as text is read back equal, or is not written.

use std::fmt::Debug;

use jiff::tz::TimeZone;
use mainspring_cron::{BareStep, DayRule, Dialect, DstPolicy, Gap, Language, OnCalendar, Overlap};
use mainspring_cron::{Every, Expression, ParseOptions, Schedule};
use serde::{Serialize, de::DeserializeOwned};

fn assert_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(serde_json::from_str::<T>(json).unwrap(), *value);
}

#[test]
fn every_kind_of_expression_is_text() {
    let texts = ["30 2 * * *", "*/5 1-7 * jan SUN", "@daily", "@every 90s", "@reboot", "H 2 * * *"];
    for text in texts {
        assert_json(&Expression::parse(text).unwrap(), &format!("\"{text}\""));
    }
    assert_json(&Expression::parse_oncalendar("Mon 09:00").unwrap(), "\"OnCalendar=Mon 09:00\"");
    let quartz = ParseOptions::new().with_dialect(Dialect::Quartz);
    assert_json(&Expression::parse_with("0 0 12 ? * 6#3", &quartz).unwrap(), "\"Quartz=0 0 12 ? * 6#3\"");
}

#[test]
fn schedules_and_choices_are_text() {
    let schedule = Schedule::parse("30 2 * * *", "Europe/Paris").unwrap().with_dst(DstPolicy::SHIFT);
    assert_json(&schedule, "\"CRON_TZ=Europe/Paris DST=shift 30 2 * * *\"");
    assert_json(&OnCalendar::parse("daily").unwrap(), "\"daily\"");
    assert_json(&DstPolicy::CRON, "\"cron\"");
    assert_json(&DstPolicy::new(Gap::Shift, Overlap::Both), "\"shift+both\"");
    assert_json(&Language::OnCalendar, "\"oncalendar\"");
    assert_json(&Dialect::Quartz, "\"quartz\"");
    assert_json(&DayRule::And, "\"and\"");
    assert_json(&BareStep::Reject, "\"reject\"");
}

#[test]
fn what_a_text_does_not_carry_is_not_written() {
    let with = |text, options| Expression::parse_with(text, &options).unwrap();
    let every = Every::new(std::time::Duration::from_secs(60)).unwrap();
    let expressions = [
        with("0 0 13 * fri", ParseOptions::new().with_day_rule(DayRule::And)),
        with("H 2 * * *", ParseOptions::new().with_job_name("backup")),
        Expression::Every(every.with_phase(std::time::Duration::from_secs(1))),
    ];
    for expression in expressions {
        let error = serde_json::to_string(&expression).unwrap_err().to_string();
        assert!(error.contains(&format!("`{expression}` does not carry all of it")), "{error}");
        serde_json::to_string(&Schedule::new(expression, TimeZone::UTC)).unwrap_err();
    }
}

#[test]
fn a_wrong_text_is_an_error_with_its_reason() {
    let error = serde_json::from_str::<Expression>("\"0 25 * * *\"").unwrap_err().to_string();
    assert!(error.starts_with("25 is outside of the hour field: expected 0 to 23"), "{error}");
    let error = serde_json::from_str::<Schedule>("7").unwrap_err().to_string();
    assert!(error.contains("expected a schedule such as"), "{error}");
}

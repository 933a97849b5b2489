//! The fields of APScheduler's cron trigger as one expression.
//!
//! ```text
//! hour="9", day_of_week="0-4"  ──▶  0 9 * * mon,tue,wed,thu,fri
//!   fields above the least that is said are `*`, those below it their least value
//! ```
//!
//! Cost: one pass over each field.
//!
//! Source: [the cron trigger](https://apscheduler.readthedocs.io/en/3.x/modules/triggers/cron.html).

use std::collections::BTreeMap;

/// The week of APScheduler: 0 is Monday.
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Which weekday of a month it may be.
const ORDINALS: [(&str, &str); 6] =
    [("1st", "#1"), ("2nd", "#2"), ("3rd", "#3"), ("4th", "#4"), ("5th", "#5"), ("last", "L")];

/// Why fields are no expression.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// They are none of APScheduler either.
    Faulty(String),
    /// Cron cannot say it.
    NoEqual(String),
}

/// An expression out of fields.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CronFields {
    /// Five, six or seven fields.
    pub(super) text: String,
    /// The rule for two days, where it is not that of cron.
    pub(super) day_rule: Option<&'static str>,
}

/// The fields from the least significant on, with the value of one that stands below all that are said.
const ORDER: [(&str, &str); 8] = [
    ("second", "0"),
    ("minute", "0"),
    ("hour", "0"),
    ("day_of_week", "*"),
    ("week", "*"),
    ("day", "1"),
    ("month", "1"),
    ("year", "*"),
];

impl CronFields {
    /// Of these fields.
    pub(super) fn of(fields: &BTreeMap<&'static str, String>) -> Result<CronFields, Refusal> {
        let has_place = |name: &&str| ORDER.iter().any(|(known, _)| known == name);
        debug_assert!(fields.keys().all(has_place), "a field that is said is written");
        let least = ORDER.iter().position(|(name, _)| fields.contains_key(name)).unwrap_or(ORDER.len());
        let value = |name: &str| -> String {
            let place = ORDER.iter().position(|(known, _)| *known == name).unwrap_or_default();
            match fields.get(name) {
                Some(text) => {
                    let text = text.to_ascii_lowercase();
                    text.split(',').map(str::trim).collect::<Vec<_>>().join(",")
                }
                None if place < least => ORDER[place].1.to_owned(),
                None => "*".to_owned(),
            }
        };
        if value("week") != "*" {
            return Err(Refusal::NoEqual("the week of the year has no equal in cron".to_owned()));
        }
        let plain = |name: &str| {
            let text = value(name);
            let is_known = |c: char| c.is_ascii_alphanumeric() || "*/-,".contains(c);
            match text.chars().all(is_known) && !text.is_empty() {
                true => Ok(text),
                false => Err(Refusal::Faulty(format!("`{text}` is no {name}"))),
            }
        };
        let (day, weekday, day_rule) = days(&value("day"), &weekdays(&value("day_of_week"))?)?;
        let (second, year) = (plain("second")?, plain("year")?);
        let five = format!("{} {} {day} {} {weekday}", plain("minute")?, plain("hour")?, plain("month")?);
        let text = match (second.as_str(), year.as_str()) {
            ("0", "*") => five,
            (_, "*") => format!("{second} {five}"),
            _ => format!("{second} {five} {year}"),
        };
        debug_assert!((5..=7).contains(&text.split(' ').count()), "each field is one word");
        Ok(CronFields { text, day_rule })
    }
}

/// The days of the month and those of the week, with the rule for both.
fn days(day: &str, weekday: &str) -> Result<(String, String, Option<&'static str>), Refusal> {
    let (mut of_month, mut of_week) = (Vec::new(), Vec::new());
    for item in day.split(',') {
        let is_known = |c: char| c.is_ascii_alphanumeric() || "*/-".contains(c);
        match weekday_of_month(item)? {
            Some(weekday) => of_week.push(weekday),
            None if item == "last" => of_month.push("L"),
            None if item.chars().all(is_known) && !item.is_empty() => of_month.push(item),
            None => return Err(Refusal::Faulty(format!("`{day}` is no day"))),
        }
    }
    if of_month.contains(&"*") {
        // Each day is one of them.
        of_week.clear();
    }
    let of_month = of_month.join(",");
    debug_assert!(!of_month.is_empty() || !of_week.is_empty(), "each item is a day");
    match (of_month.as_str(), of_week.is_empty()) {
        (_, true) => {
            let has_both = of_month != "*" && weekday != "*";
            Ok((of_month, weekday.to_owned(), has_both.then_some("and")))
        }
        _ if weekday != "*" => {
            let message = format!("`{day}` beside a day of the week has no equal in cron");
            Err(Refusal::NoEqual(message))
        }
        ("", false) => Ok(("*".to_owned(), of_week.join(","), None)),
        // Each item of a list is a day on its own.
        (_, false) => Ok((of_month, of_week.join(","), Some("or"))),
    }
}

fn weekday(text: &str) -> Option<usize> {
    let of_number = text.parse().ok().filter(|number| *number < 7);
    of_number.or_else(|| WEEKDAYS.iter().position(|name| *name == text))
}

/// Days of the week as a list of names.
fn weekdays(text: &str) -> Result<String, Refusal> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let faulty = || Refusal::Faulty(format!("`{text}` is no day_of_week: 0 to 6 from Monday, or mon to sun"));
    let mut days = [false; 7];
    for item in text.split(',') {
        let (range, step) = item.trim().split_once('/').unwrap_or((item.trim(), "1"));
        let step: usize = step.parse().ok().filter(|step| 0 < *step).ok_or_else(faulty)?;
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (0, 6),
            Some((first, last)) => (weekday(first).ok_or_else(faulty)?, weekday(last).ok_or_else(faulty)?),
            None => {
                let day = weekday(range).ok_or_else(faulty)?;
                (day, day)
            }
        };
        if last < first {
            return Err(faulty());
        }
        (first..=last).step_by(step).for_each(|day| days[day] = true);
    }
    debug_assert!(days.contains(&true), "each item has a day");
    let names = WEEKDAYS.iter().zip(days).filter(|(_, is_in)| *is_in).map(|(name, _)| *name);
    Ok(names.collect::<Vec<_>>().join(","))
}

/// `3rd fri` and `last fri` as a weekday of cron.
fn weekday_of_month(text: &str) -> Result<Option<String>, Refusal> {
    let Some((ordinal, name)) = text.split_once(' ') else { return Ok(None) };
    let suffix = ORDINALS.iter().find(|(word, _)| *word == ordinal).map(|(_, suffix)| *suffix);
    match (suffix, WEEKDAYS.iter().position(|day| *day == name.trim())) {
        // 0 is Monday there, and Sunday in cron.
        (Some(suffix), Some(day)) => Ok(Some(format!("{}{suffix}", (day + 1) % WEEKDAYS.len()))),
        _ => Err(Refusal::Faulty(format!("`{text}` is no day"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(fields: &[(&'static str, &str)]) -> Result<CronFields, Refusal> {
        CronFields::of(&fields.iter().map(|(name, text)| (*name, (*text).to_owned())).collect())
    }

    #[test]
    fn fields_below_the_least_that_is_said_have_their_least_value() {
        for (fields, expected) in [
            (&[("hour", "7")][..], "0 7 * * *"),
            (&[("minute", "*/5")], "*/5 * * * *"),
            (&[("second", "*/10")], "*/10 * * * * *"),
            (&[("day_of_week", "0-4"), ("hour", "17")], "0 17 * * mon,tue,wed,thu,fri"),
            (&[("day_of_week", "sun")], "0 0 * * sun"),
            (&[("day", "last")], "0 0 L * *"),
            (&[("day", "3rd fri"), ("hour", "9")], "0 9 * * 5#3"),
            (&[("day", "last sun")], "0 0 * * 0L"),
            (&[("day", "1st mon, 3rd fri")], "0 0 * * 1#1,5#3"),
            (&[("day", "15,last,1st  mon")], "0 0 15,L * 1#1"),
            (&[("hour", "8, 12"), ("day_of_week", "mon , fri")], "0 8,12 * * mon,fri"),
            (&[("month", "6-8,11-12"), ("day", "1")], "0 0 1 6-8,11-12 *"),
            (&[("year", "2027"), ("month", "1")], "0 0 0 1 1 * 2027"),
        ] {
            assert_eq!(made(fields).map(|made| made.text), Ok(expected.to_owned()), "{fields:?}");
        }
        for (day, weekday, expected) in [
            ("13", "fri", Some("and")),
            ("13", "*", None),
            ("last fri", "*", None),
            ("*/2,1st mon", "*", Some("or")),
            ("*,1st mon", "*", None),
        ] {
            let rule = made(&[("day", day), ("day_of_week", weekday)]).map(|made| made.day_rule);
            assert_eq!(rule, Ok(expected), "{day} {weekday}");
        }
    }

    #[test]
    fn what_cron_cannot_say_is_told_from_what_is_wrong() {
        assert!(matches!(made(&[("week", "2")]), Err(Refusal::NoEqual(_))));
        assert!(matches!(made(&[("day", "1st mon"), ("day_of_week", "0")]), Err(Refusal::NoEqual(_))));
        assert!(matches!(made(&[("day", "6th mon")]), Err(Refusal::Faulty(_))));
        assert!(matches!(made(&[("day_of_week", "sun-mon")]), Err(Refusal::Faulty(_))));
        assert!(matches!(made(&[("hour", "$x")]), Err(Refusal::Faulty(_))));
    }
}

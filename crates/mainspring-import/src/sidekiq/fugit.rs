//! Expressions and lengths of time as fugit reads them, where cron or a job file has another form.
//!
//! ```text
//! 0 22-6,24 -3 * fri#-1  ──▶  0 0-6,22-23 L-2 * 5L      ranges go past midnight, days count from the end
//! 1 hour and 30 minutes  ──▶  5400 s
//! ```
//!
//! Cost: one pass over the text, and over the values of each range.
//!
//! Does not say which expressions cron has: what is made is parsed like any other.
//!
//! Source: `cron.rb` and `duration.rb` of [fugit](https://github.com/floraison/fugit).

use std::collections::BTreeSet;
use std::time::Duration;

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The values of a field.
struct Field {
    first: i32,
    last: i32,
    /// The largest number that is read: 24 is the hour 0, and 7 is Sunday.
    largest: i32,
    /// Names from the first value on.
    names: &'static [&'static str],
}

const MINUTE: Field = Field { first: 0, last: 59, largest: 59, names: &[] };
const HOUR: Field = Field { first: 0, last: 23, largest: 24, names: &[] };
const DAY: Field = Field { first: 1, last: 31, largest: 31, names: &[] };
const MONTH: Field = Field { first: 1, last: 12, largest: 12, names: MONTHS };
const WEEKDAY: Field = Field { first: 0, last: 6, largest: 7, names: WEEKDAYS };

/// An item of a field: from a value, to a value, and each so many.
struct Item {
    first: Option<i32>,
    last: Option<i32>,
    step: Option<usize>,
}

/// An expression of fugit in the form of cron. `None` if it is none, or chooses every second week.
pub(super) fn as_cron(text: &str) -> Option<String> {
    if text == "@noon" {
        return Some("0 12 * * *".to_owned());
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let (second, fields) = match fields[..] {
        [second, .., _, _, _, _, _] if fields.len() == 6 => (Some(second), &fields[1..]),
        [_, _, _, _, _] => (None, &fields[..]),
        _ => return None,
    };
    let mut made: Vec<String> = Vec::new();
    if let Some(second) = second {
        made.push(values(second, &MINUTE)?);
    }
    for (field, text) in [&MINUTE, &HOUR, &DAY, &MONTH].into_iter().zip(fields) {
        made.push(values(text, field)?);
    }
    made.push(weekdays(fields[4])?);
    debug_assert!(made.iter().all(|field| !field.is_empty()), "each field has a value");
    Some(made.join(" "))
}

/// Whether a text that is no list of fields has the form of one of fugit: words, both days, every second
/// week, or an offset from UTC.
pub(super) fn is_its_own(text: &str) -> bool {
    let is_offset = |word: &str| {
        let digits = word.strip_prefix(['+', '-']).unwrap_or_default();
        matches!(digits.len(), 4 | 5) && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
    };
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        || text.contains(['&', '%'])
        || text.rsplit(' ').next().is_some_and(is_offset)
}

/// A value, and the text behind it. Days count from the end of the month with a sign before them.
fn bound<'t>(text: &'t str, field: &Field) -> Option<(i32, &'t str)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) if field.last == DAY.last => (-1, rest),
        _ => (1, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let word = rest[..end].to_ascii_lowercase();
    if field.last == DAY.last && matches!(word.as_str(), "l" | "last") && sign == 1 {
        return Some((-1, &rest[end..]));
    }
    let of_name = || field.names.iter().position(|name| *name == word).and_then(|at| i32::try_from(at).ok());
    let value = match word.parse::<i32>() {
        Ok(number) if word.len() <= 2 => number,
        _ => field.first + of_name()?,
    };
    (field.first..=field.largest).contains(&value).then_some((sign * value, &rest[end..]))
}

fn item(text: &str, field: &Field) -> Option<Item> {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(step.parse().ok().filter(|_| step.len() <= 2)?)),
        None => (text, None),
    };
    if range == "*" || range.is_empty() && step.is_some() {
        return Some(Item { first: None, last: None, step });
    }
    let (first, rest) = bound(range, field)?;
    let last = match rest.strip_prefix('-') {
        Some(rest) => Some(bound(rest, field).filter(|(_, rest)| rest.is_empty())?.0),
        None if rest.is_empty() => None,
        None => return None,
    };
    Some(Item { first: Some(first), last, step })
}

/// The values of a field but that of the weekdays.
fn values(text: &str, field: &Field) -> Option<String> {
    let mut found = BTreeSet::new();
    let mut has_star = false;
    for text in text.split(',') {
        let Item { first, last, step } = item(text, field)?;
        let step = step.unwrap_or(1);
        let last = last.or_else(|| (1 < step || first.is_none()).then_some(field.last));
        has_star |= first.is_none() && step == 1;
        let first = first.unwrap_or(field.first);
        let last = last.unwrap_or(first);
        let last = if last < 0 && 0 < first { field.last } else { last };
        if step == 0 || first < 0 && 0 < last {
            return None;
        }
        found.extend(range(first, last, field).into_iter().step_by(step));
    }
    if has_star {
        return Some("*".to_owned());
    }
    let hours = |value: i32| if field.last == HOUR.last && value == HOUR.largest { 0 } else { value };
    Some(listed(&found.into_iter().map(hours).collect()))
}

/// The values of a range; one whose end lies before its start begins again at the first value.
fn range(first: i32, last: i32, field: &Field) -> Vec<i32> {
    let (least, greatest) = if first < 0 { (-field.last, -1) } else { (field.first, field.last) };
    let mut last = last;
    let mut current = first;
    let mut all = vec![current];
    while current != last {
        current += 1;
        if greatest < current {
            current = least;
            last = if greatest < last { last - greatest - 1 } else { last };
        }
        all.push(current);
    }
    debug_assert!(all.len() <= 2 * DAY.last.max(MINUTE.last) as usize, "a range ends within two rounds");
    all
}

/// Values as a list of cron, with ranges where they follow one another.
fn listed(values: &BTreeSet<i32>) -> String {
    debug_assert!(!values.is_empty(), "each item has a value");
    let mut items: Vec<String> = values
        .iter()
        .filter(|value| **value < 0)
        .map(|value| if *value == -1 { "L".to_owned() } else { format!("L-{}", -1 - value) })
        .collect();
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for &value in values.iter().filter(|value| 0 <= **value) {
        match ranges.last_mut().filter(|(_, last)| last + 1 == value) {
            Some((_, last)) => *last = value,
            None => ranges.push((value, value)),
        }
    }
    items.extend(ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    }));
    items.join(",")
}

fn weekdays(text: &str) -> Option<String> {
    let mut days = BTreeSet::new();
    let mut ordinals = Vec::new();
    for text in text.split(',') {
        if let Some((day, ordinal)) = text.split_once('#') {
            let day = bound(day, &WEEKDAY).filter(|(_, rest)| rest.is_empty())?.0 % 7;
            let ordinal = ordinal.to_ascii_lowercase();
            match ordinal.parse::<i32>() {
                _ if matches!(ordinal.as_str(), "l" | "last" | "-1") => ordinals.push(format!("{day}L")),
                Ok(number) if (1..=5).contains(&number.abs()) => ordinals.push(format!("{day}#{number}")),
                _ => return None,
            }
            continue;
        }
        let Item { first, last, step } = item(text, &WEEKDAY)?;
        match (first, last, step) {
            (None, _, None) => {}
            (first, last, Some(step)) => {
                let last = last.or(first).unwrap_or(WEEKDAY.last);
                days.extend((first.unwrap_or(0)..=last).step_by(step.max(1)).map(|day| day % 7));
            }
            (Some(first), last, None) => {
                let last = last.unwrap_or(first);
                let last = if last < first { last + 7 } else { last };
                days.extend((first..=last).map(|day| day % 7));
            }
        }
    }
    if days.is_empty() && ordinals.is_empty() {
        return Some("*".to_owned());
    }
    let days = (!days.is_empty()).then(|| listed(&days));
    Some(days.into_iter().chain(ordinals).collect::<Vec<_>>().join(","))
}

const DAY_SECONDS: f64 = 86_400.0;

/// Names of a unit, and its seconds. Months and years are not those of a calendar, as there.
const UNITS: [(&str, f64); 7] = [
    ("y year years", 365.0 * DAY_SECONDS),
    ("M month months", 30.0 * DAY_SECONDS),
    ("w week weeks", 7.0 * DAY_SECONDS),
    ("d day days", DAY_SECONDS),
    ("h hour hours", 3_600.0),
    ("m min mins minute minutes", 60.0),
    ("s ss sec secs second seconds", 1.0),
];

/// Reads `15 minutes`, `1h and 30m`, `90` or `PT5M`.
pub(super) fn period(text: &str) -> Option<Duration> {
    let text = text.trim();
    let total = match text.strip_prefix(['P', 'p']) {
        Some(rest) if rest.ends_with(|c: char| c.is_ascii_alphabetic()) => {
            let rest = rest.to_ascii_uppercase();
            let (date, time) = rest.split_once('T').unwrap_or((&rest, ""));
            // An M is a month before the T, and a minute behind it.
            seconds(date)? + seconds(&time.to_ascii_lowercase())?
        }
        _ => seconds(text)?,
    };
    Duration::try_from_secs_f64(total).ok()
}

/// The sum of numbers with units; the last may have none, and is seconds then.
fn seconds(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start_matches(' ');
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        total += number * if rest.is_empty() { 1.0 } else { unit(&rest[..letters])? };
        rest = rest[letters..].trim_start_matches([' ', '\t', ',']);
        rest = rest.strip_prefix("and").unwrap_or(rest).trim_start_matches([' ', '\t', ',']);
    }
    Some(total)
}

fn unit(word: &str) -> Option<f64> {
    let is_it = |names: &str| match names.starts_with(['M', 'm']) {
        // A month and a minute differ by the case alone.
        true => names.split(' ').any(|name| name == word),
        false => names.split(' ').any(|name| name.eq_ignore_ascii_case(word)),
    };
    UNITS.iter().find(|(names, _)| is_it(names)).map(|(_, seconds)| *seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_fugit_reads_them() {
        for (text, expected) in [
            ("0 22-6 * * *", "0 0-6,22-23 * * *"),
            ("0 24 * * *", "0 0 * * *"),
            ("0 20-24/2 * * *", "0 0,20,22 * * *"),
            ("50-10/5 * * * *", "0,5,10,50,55 * * * *"),
            ("/5,7 * * * *", "0,5,7,10,15,20,25,30,35,40,45,50,55 * * * *"),
            ("*/30 0 0 * * *", "0,30 0 0 * * *"),
            ("0 0 -3,L * *", "0 0 L-2,L * *"),
            ("0 0 -3--1 * *", "0 0 L-2,L-1,L * *"),
            ("0 0 29-l * *", "0 0 29-31 * *"),
            ("0 0 * nov-2 *", "0 0 * 1-2,11-12 *"),
            ("0 0 * * 5#-1", "0 0 * * 5L"),
            ("0 0 * * fri#last,mon#2", "0 0 * * 5L,1#2"),
            ("0 0 * * 5#-2", "0 0 * * 5#-2"),
            ("0 0 * * fri-mon", "0 0 * * 0-1,5-6"),
            ("0 0 * * 1-7", "0 0 * * 0-6"),
            ("0 0 * * */2", "0 0 * * 0,2,4,6"),
            ("@noon", "0 12 * * *"),
        ] {
            assert_eq!(as_cron(text).as_deref(), Some(expected), "{text}");
        }
        for text in
            ["0 25 * * *", "* * *", "0 0 0 * *", "0 0 -3/2 * *", "*/0 * * * *", "0 0 * * 1%2", "0 0 * * 5#6"]
        {
            assert_eq!(as_cron(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_of_time_are_read_as_fugit_reads_them() {
        for (text, expected) in [
            ("15 minutes", Some(900.0)),
            ("1 day", Some(86_400.0)),
            ("1h 30m", Some(5_400.0)),
            ("90", Some(90.0)),
            ("PT5M", Some(300.0)),
            ("3 Hours", Some(10_800.0)),
            ("5M", Some(12_960_000.0)),
            ("P1WT1.5s", Some(604_801.5)),
            ("1 hour, 5 minutes and 90", Some(3_990.0)),
            ("500ms", None),
            ("5 Minutes", None),
            ("soon", None),
            ("P5", None),
            ("1..5h", None),
        ] {
            assert_eq!(period(text).map(|period| period.as_secs_f64()), expected, "{text}");
        }
    }
}

//! From the text of a calendar expression to its calendar.
//!
//! The words are told apart by their characters: a zone is a last word of letters, weekdays are a first word
//! of letters, a time has a colon, a date has neither. Linear in the length of the text.

use jiff::tz::TimeZone;

use super::component::{Kind, Part, SECOND_US, read_parts};
use crate::civil::{Calendar, Fields};
use crate::days::Days;
use crate::error::{ParseError, Warning};
use crate::item::nearest_name;
use crate::second::{Fraction, Moments, SECOND_NS};
use crate::values::Values;
use crate::word::Word;

/// 0 is Monday, because that is where systemd's week begins.
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const SHORT_WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const NICKNAMES: [(&str, &str); 9] = [
    ("minutely", "*-*-* *:*:00"),
    ("hourly", "*-*-* *:00:00"),
    ("daily", "*-*-* 00:00:00"),
    ("weekly", "Mon *-*-* 00:00:00"),
    ("monthly", "*-*-01 00:00:00"),
    ("quarterly", "*-01,04,07,10-01 00:00:00"),
    ("semiannually", "*-01,07-01 00:00:00"),
    ("yearly", "*-01-01 00:00:00"),
    ("annually", "*-01-01 00:00:00"),
];

/// What a text says.
pub(super) struct ParsedText {
    pub(super) calendar: Calendar,
    pub(super) zone: Option<TimeZone>,
    pub(super) warnings: Vec<Warning>,
}

pub(super) fn parse(text: &str) -> Result<ParsedText, ParseError> {
    let mut words: Vec<Word<'_>> = Word::whole(text).fields().collect();
    let mut zone = None;
    if let [_, .., last] = words[..]
        && last.text.starts_with(|c: char| c.is_ascii_alphabetic())
        && weekday_index(last.split(',').next().unwrap_or(last)).is_none()
    {
        zone = Some(read_zone(last)?);
        words.pop();
    }
    let Some(&first) = words.first() else {
        let message =
            "the expression is empty: expected weekdays, a date or a time, such as `Mon *-*-* 09:00`";
        return Err(ParseError::new(0..0, message).with_hint("daily"));
    };
    let nickname = NICKNAMES.iter().find(|(name, _)| first.is(name));
    let calendar = match (nickname, &words[..]) {
        (Some((_, long)), [_]) => read_words(&Word::whole(long).fields().collect::<Vec<_>>())?,
        (None, _) if first.text.starts_with('@') => return at(first, &words[1..]),
        _ => read_words(&words)?,
    };
    let mut warnings = Vec::new();
    if !calendar.is_possible() {
        let span = first.start..words.last().map_or(first.end(), |word| word.end());
        warnings.push(Warning { span, text: "no such day ever comes: it will never run".to_owned() });
    }
    Ok(ParsedText { calendar, zone, warnings })
}

fn read_zone(word: Word<'_>) -> Result<TimeZone, ParseError> {
    if word.is("UTC") {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(word.text)
        .map_err(|_| word.expected("a time zone such as UTC or Europe/Paris").with_hint("UTC"))
}

/// `@1395716396`: one second of Unix time.
fn at(word: Word<'_>, rest: &[Word<'_>]) -> Result<ParsedText, ParseError> {
    let expected = "`@` and the seconds of a time from 1970 to 2199, alone";
    let moment =
        word.text[1..].parse::<i64>().ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let civil = moment
        .map(|moment| moment.to_zoned(TimeZone::UTC).datetime())
        .filter(|civil| (1970..2200).contains(&civil.year()));
    let Some(civil) = civil else {
        return Err(word.expected(expected).with_hint("@0"));
    };
    if let [first, .., last] | [first @ last] = rest {
        return Err(ParseError::new(first.start..last.end(), format!("expected {expected}")));
    }
    let long = civil.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let calendar = read_words(&Word::whole(&long).fields().collect::<Vec<_>>())?;
    Ok(ParsedText { calendar, zone: Some(TimeZone::UTC), warnings: Vec::new() })
}

fn read_words(words: &[Word<'_>]) -> Result<Calendar, ParseError> {
    let midnight = Moments::Whole(1);
    let months = (1..=12).fold(0, |months, month| months | 1 << month);
    let mut fields = Fields { years: None, months, days: Days::ALL, hours: 1, minutes: 1, moments: midnight };
    let mut rest = words;
    if let [word, after @ ..] = rest
        && word.text.starts_with(|c: char| c.is_alphabetic())
    {
        fields.days.weekdays = read_weekdays(*word)?;
        rest = after;
    }
    if let [word, after @ ..] = rest
        && !word.text.contains(':')
    {
        read_date(*word, &mut fields)?;
        rest = after;
    }
    if let [word, after @ ..] = rest {
        read_time(*word, &mut fields)?;
        rest = after;
    }
    match rest {
        [] => Ok(Calendar::new(fields)),
        [word, ..] => {
            let span = word.start..rest.last().map_or(word.end(), |last| last.end());
            let message = format!(
                "expected weekdays, a date, a time and a zone in this order, found one more: `{}`",
                word.text
            );
            Err(ParseError::new(span, message))
        }
    }
}

fn read_weekdays(list: Word<'_>) -> Result<u8, ParseError> {
    let mut bits = 0;
    let list = list.before_suffix(',').unwrap_or(list);
    for item in list.split(',') {
        let ends = item.split_once("..").or_else(|| item.split_once("-")).unwrap_or((item, item));
        let (first, last) = (read_weekday(ends.0)?, read_weekday(ends.1)?);
        if last < first {
            let message =
                format!("the range `{}` runs backwards: systemd's week begins on Monday", item.text);
            let week = |index: usize| ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][index];
            let hint = format!("{}..Sun,Mon..{}", week(first), week(last));
            return Err(item.error(message).with_hint(hint));
        }
        // The calendar counts from Sunday.
        (first..=last).for_each(|index| bits |= 1 << ((index + 1) % 7));
    }
    Ok(bits)
}

fn weekday_index(word: Word<'_>) -> Option<usize> {
    let word = word.split_once("..").or_else(|| word.split_once("-")).map_or(word, |(first, _)| first);
    (0..7).find(|&index| word.is(WEEKDAYS[index]) || word.is(SHORT_WEEKDAYS[index]))
}

fn read_weekday(word: Word<'_>) -> Result<usize, ParseError> {
    if let Some(index) = (0..7).find(|&index| word.is(WEEKDAYS[index]) || word.is(SHORT_WEEKDAYS[index])) {
        return Ok(index);
    }
    let error = word.expected("a day of the week (Mon to Sun)");
    let names: Vec<&str> =
        NICKNAMES.iter().map(|(name, _)| *name).chain(WEEKDAYS).chain(SHORT_WEEKDAYS).collect();
    Err(error.with_nearest(nearest_name(word.text, &names)))
}

/// `year-month-day`, `month-day`, and either with `~` before the day.
fn read_date(word: Word<'_>, fields: &mut Fields) -> Result<(), ParseError> {
    let (before, day) = word.split_once("~").map_or((word, None), |(before, day)| (before, Some(day)));
    let day_kind = if day.is_some() { Kind::DayFromEnd } else { Kind::Day };
    let mut pieces: Vec<Word<'_>> = before.split('-').collect();
    pieces.extend(day);
    let (year, month, day) = match pieces[..] {
        [year, month, day] => (Some(year), month, day),
        [month, day] => (None, month, day),
        _ => {
            let expected = "a date such as *-*-01, or a time such as 09:00";
            let hint = if word.text.bytes().all(|byte| byte.is_ascii_digit()) {
                format!("{}:00", word.text)
            } else {
                "*-*-*".to_owned()
            };
            return Err(word.expected(expected).with_hint(hint));
        }
    };
    // `*` is every year and every day, also those that cannot be written.
    if let Some(year) = year.filter(|year| year.text != "*") {
        fields.years = Some(read_values(year, Kind::Year)?.words());
    }
    fields.months = read_values(month, Kind::Month)?.months();
    let days = read_values(day, day_kind)?.days();
    if day.text != "*" {
        let from_end = (0, days >> 1);
        (fields.days.dates, fields.days.dates_from_end) =
            if day_kind == Kind::DayFromEnd { from_end } else { (days, 0) };
    }
    Ok(())
}

/// `hour:minute` or `hour:minute:second`.
fn read_time(word: Word<'_>, fields: &mut Fields) -> Result<(), ParseError> {
    let pieces: Vec<Word<'_>> = word.split(':').collect();
    let (hour, minute, second) = match pieces[..] {
        [hour, minute] => (hour, minute, None),
        [hour, minute, second] => (hour, minute, Some(second)),
        _ => {
            return Err(word.expected("a time such as 09:00 or 09:00:30").with_hint("00:00"));
        }
    };
    fields.hours = read_values(hour, Kind::Hour)?.hours();
    fields.minutes = read_values(minute, Kind::Minute)?.low();
    if let Some(second) = second {
        fields.moments = moments(&read_parts(second, Kind::Second)?);
    }
    Ok(())
}

/// All values of a component, years counted from the first. Not for seconds, which are too many.
fn read_values(word: Word<'_>, kind: Kind) -> Result<Values, ParseError> {
    let first = if kind == Kind::Year { kind.first() } else { 0 };
    let mut values = Values::default();
    // One part at a time: a long text has many, and each up to 230 values.
    for value in read_parts(word, kind)?.into_iter().flat_map(|part| part.values(kind)) {
        values.insert(u16::try_from(value - first).expect("years are at most 2199, and all else is less"));
    }
    Ok(values)
}

/// Whole seconds as bits wherever that is exact.
fn moments(parts: &[Part]) -> Moments {
    let fractions: Vec<Fraction> = parts.iter().map(|part| fraction(*part)).collect();
    let is_whole =
        |fraction: &Fraction| [fraction.first_ns, fraction.step_ns].iter().all(|ns| ns % SECOND_NS == 0);
    let is_exact = fractions.iter().all(is_whole);
    let listed = Moments::Fractions(fractions);
    if !is_exact {
        return listed;
    }
    let seconds = (0..60).filter(|second| listed.next(second * SECOND_NS) == Some(second * SECOND_NS));
    Moments::Whole(seconds.fold(0, |bits, second| bits | 1 << second))
}

/// A range without a repetition continues in whole seconds.
fn fraction(part: Part) -> Fraction {
    let last_us = match (part.last, part.repetition) {
        (Some(last), _) => last,
        (None, Some(_)) => Kind::Second.last(),
        (None, None) => part.first,
    };
    let step_us = if part.first == last_us { 0 } else { part.repetition.unwrap_or(SECOND_US) };
    Fraction { first_ns: part.first * 1000, last_ns: last_us * 1000, step_ns: step_us * 1000 }
}

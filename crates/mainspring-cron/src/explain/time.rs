//! The time of day of a calendar as a phrase: "at 09:00 and 17:30", "every 5 minutes".
//!
//! Linear in the number of values; more than six times are described by their fields.

use super::list::{Shape, join, members, ordinal, runs, shape};
use crate::civil::Calendar;
use crate::second::{Fraction, Moments, SECOND_NS};

/// More times of day than this are not listed one by one.
const LISTED_TIMES: usize = 6;

/// Whether a phrase names times of the day, so that "every day" must follow, or is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhraseScope {
    TimesOfDay,
    AllDay,
}

/// When within a day, without the days.
pub(crate) fn time_phrase(calendar: &Calendar) -> (String, PhraseScope) {
    let (hours, minutes) = (members(calendar.fields().hours.into()), members(calendar.fields().minutes));
    let seconds = match &calendar.fields().moments {
        Moments::Whole(seconds) => members(*seconds),
        Moments::Fractions(parts) => {
            let (phrase, reach) = minute_phrase(&hours, &minutes);
            return (format!("at {} of {}", fractions(parts), of_minutes(&phrase)), reach);
        }
    };
    if hours.len() * minutes.len() * seconds.len() <= LISTED_TIMES {
        return (format!("at {}", join(&times(&hours, &minutes, &seconds))), PhraseScope::TimesOfDay);
    }
    let (phrase, reach) = minute_phrase(&hours, &minutes);
    let second_shape = shape(&seconds, 0, 59);
    if second_shape == Shape::One(0) {
        return (phrase, reach);
    }
    let second_phrase = unit_phrase("second", &second_shape, &seconds);
    if phrase == "every minute" && second_phrase.starts_with("every") && !second_phrase.contains("from") {
        return (second_phrase, reach);
    }
    (format!("{second_phrase} of {}", of_minutes(&phrase)), reach)
}

/// All times of day, in order.
fn times(hours: &[u16], minutes: &[u16], seconds: &[u16]) -> Vec<String> {
    let mut times = Vec::new();
    for hour in hours {
        for minute in minutes {
            times.extend(seconds.iter().map(|second| match seconds {
                [0] => format!("{hour:02}:{minute:02}"),
                _ => format!("{hour:02}:{minute:02}:{second:02}"),
            }));
        }
    }
    times
}

/// When within a day, as far as minutes and hours go.
fn minute_phrase(hours: &[u16], minutes: &[u16]) -> (String, PhraseScope) {
    if hours.len() * minutes.len() <= LISTED_TIMES {
        return (format!("at {}", join(&times(hours, minutes, &[0]))), PhraseScope::TimesOfDay);
    }
    let hour_shape = shape(hours, 0, 23);
    let minute_shape = shape(minutes, 0, 59);
    let last_minute = minutes.last().copied().unwrap_or_default();
    let between = match hour_shape {
        Shape::Range(first, last) => {
            Some(format!("from {first:02}:{:02} to {last:02}:{last_minute:02}", minutes[0]))
        }
        Shape::One(hour) => Some(format!("from {hour:02}:{:02} to {hour:02}:{last_minute:02}", minutes[0])),
        _ => None,
    };
    let within_hours = unit_phrase("minute", &minute_shape, minutes);
    let often = match minute_shape {
        Shape::All | Shape::Step { first: 0, is_even: true, .. } => Some(&within_hours),
        _ => None,
    };
    let reach = match hour_shape {
        Shape::All | Shape::Step { is_even: true, .. } => PhraseScope::AllDay,
        _ => PhraseScope::TimesOfDay,
    };
    let phrase = match (often, &between, &hour_shape, &minute_shape) {
        (Some(often), _, Shape::All, _) => often.clone(),
        (Some(often), Some(between), _, _) => format!("{often} {between}"),
        (None, _, Shape::All, Shape::One(0)) => "every hour, on the hour".to_owned(),
        (None, _, Shape::All, Shape::One(minute)) => format!("every hour at minute {minute}"),
        (None, Some(between), Shape::Range(..), Shape::One(_)) => format!("every hour {between}"),
        (None, _, Shape::Step { first: 0, step, is_even: true }, Shape::One(minute)) => {
            format!("every {step} hours, at minute {minute}")
        }
        (Some(often), None, _, _) => format!("{often} in {}", hour_list(&hour_shape, hours)),
        _ => format!("{within_hours} of {}", hour_list(&hour_shape, hours)),
    };
    (phrase, reach)
}

/// When within an hour or a minute.
fn unit_phrase(unit: &str, shape: &Shape, values: &[u16]) -> String {
    match shape {
        Shape::All => format!("every {unit}"),
        Shape::One(value) => format!("at {unit} {value}"),
        Shape::Step { first: 0, step, is_even: true } => format!("every {step} {unit}s"),
        Shape::Step { first, step, .. } => format!("every {step} {unit}s from {unit} {first}"),
        Shape::Range(..) | Shape::List(_) => {
            format!("at {unit}s {}", join(&runs(values, |value| value.to_string())))
        }
    }
}

fn hour_list(shape: &Shape, hours: &[u16]) -> String {
    match shape {
        Shape::All => "every hour".to_owned(),
        Shape::One(hour) => format!("hour {hour}"),
        Shape::Step { first: 0, step, is_even: true } => format!("every {} hour", ordinal(*step)),
        Shape::Step { first, step, .. } => format!("every {} hour from hour {first}", ordinal(*step)),
        Shape::Range(..) | Shape::List(_) => {
            format!("hours {}", join(&runs(hours, |value| value.to_string())))
        }
    }
}

/// The phrase of the minutes after "of".
fn of_minutes(phrase: &str) -> String {
    match (phrase, phrase.strip_prefix("every hour at "), phrase.strip_prefix("at ")) {
        ("every hour, on the hour", ..) => "minute 0 of every hour".to_owned(),
        (_, Some(minute), _) => format!("{minute} of every hour"),
        (_, _, Some(rest)) => rest.to_owned(),
        _ => phrase.to_owned(),
    }
}

/// `second 1.5`, `seconds 0 to 59.5 by 0.5`.
fn fractions(parts: &[Fraction]) -> String {
    let second = |ns: u64| {
        let text = format!("{}.{:09}", ns / SECOND_NS, ns % SECOND_NS);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let words: Vec<String> = parts
        .iter()
        .map(|part| match part.step_ns {
            0 => second(part.first_ns),
            step_ns => {
                let last_ns = part.last_ns - (part.last_ns - part.first_ns) % step_ns;
                format!("{} to {} by {}", second(part.first_ns), second(last_ns), second(step_ns))
            }
        })
        .collect();
    match parts {
        [Fraction { step_ns: 0, .. }] => format!("second {}", join(&words)),
        _ => format!("seconds {}", join(&words)),
    }
}

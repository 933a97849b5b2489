//! One component of a calendar expression: a list of values, ranges and repetitions.
//!
//! ```text
//! component := "*" | part { "," part }
//! part      := value [ ".." value ] [ "/" repetition ]
//! ```
//!
//! Seconds are read in microseconds, all else in whole numbers. Linear in the length of the text.
//!
//! Source: systemd's `src/shared/calendarspec.c`, which shortens a range to a multiple of its repetition
//! first and then compares it with the field
//! (<https://github.com/systemd/systemd/blob/main/src/shared/calendarspec.c>).

use crate::civil::FIRST_YEAR;
use crate::error::ParseError;
use crate::word::Word;

pub(crate) const SECOND_US: u64 = 1_000_000;

/// systemd holds every number in an `int`, seconds in microseconds too. A range that ends above it is
/// refused, however short its repetition makes it.
const MAX_NUMBER: u64 = i32::MAX as u64;

/// How many days less each further part of a list of days from the end may reach back, in systemd 252. A list
/// that is read here is one for systemd too, because `translate` writes such lists.
const DAYS_LESS_PER_PART: u64 = 3;

const _: () = assert!(Kind::Year.first() == FIRST_YEAR.unsigned_abs() as u64, "years have one beginning");

/// Which component it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Year,
    Month,
    Day,
    /// Counted back from the end of the month: 1 is the last day.
    DayFromEnd,
    Hour,
    Minute,
    /// In microseconds.
    Second,
}

/// Values from `first` on. Without a last value a repetition continues to the end of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) first: u64,
    pub(crate) last: Option<u64>,
    pub(crate) repetition: Option<u64>,
}

impl Kind {
    /// Its name, and the first and the last of its values.
    const fn row(self) -> (&'static str, u64, u64) {
        match self {
            Kind::Year => ("year", 1970, 2199),
            Kind::Month => ("month", 1, 12),
            Kind::Day => ("day", 1, 31),
            // Every month has 28 days: a day further back would be missing from some.
            Kind::DayFromEnd => ("day from the end of the month", 1, 28),
            Kind::Hour => ("hour", 0, 23),
            Kind::Minute => ("minute", 0, 59),
            Kind::Second => ("second", 0, 60 * SECOND_US - 1),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().0
    }

    pub(crate) const fn first(self) -> u64 {
        self.row().1
    }

    pub(crate) const fn last(self) -> u64 {
        self.row().2
    }

    fn expected(self) -> String {
        match self {
            Kind::Second => "0 to 59.999999".to_owned(),
            _ => format!("{} to {}", self.first(), self.last()),
        }
    }

    fn article(self) -> &'static str {
        if self == Kind::Hour { "an" } else { "a" }
    }
}

impl Part {
    /// A range with a repetition ends at the last value that the repetition reaches, before anything is
    /// counted from the end of the month: `~2..7/2` is `~2..6/2`. One that reaches only its first value is
    /// that value.
    fn stepped(first: u64, last: u64, step: u64) -> Part {
        let last = last - (last - first) % step;
        if last == first {
            return Part { first, last: None, repetition: None };
        }
        Part { first, last: Some(last), repetition: Some(step) }
    }

    /// Its last value, or its first where it names no last.
    fn end(self) -> u64 {
        self.last.unwrap_or(self.first)
    }

    /// Its values. Not for seconds, which are too many.
    pub(crate) fn values(self, kind: Kind) -> Vec<u64> {
        let step =
            usize::try_from(self.repetition.unwrap_or(1)).expect("a repetition is at most a field long");
        match (self.last, self.repetition) {
            (None, None) => vec![self.first],
            // Days from the end are visited in the order of the month, so a repetition counts down to the
            // last day.
            (None, Some(_)) if kind == Kind::DayFromEnd => (1..=self.first).rev().step_by(step).collect(),
            (Some(last), _) if kind == Kind::DayFromEnd => (self.first..=last).rev().step_by(step).collect(),
            (last, _) => (self.first..=last.unwrap_or(kind.last())).step_by(step).collect(),
        }
    }
}

/// The parts of a component, of which there is at least one.
pub(crate) fn read_parts(text: Word<'_>, kind: Kind) -> Result<Vec<Part>, ParseError> {
    if text.text == "*" {
        return Ok(vec![Part { first: kind.first(), last: Some(kind.last()), repetition: None }]);
    }
    let read = |word| Ok((read_part(word, kind)?, word));
    let parts: Vec<(Part, Word<'_>)> = text.split(',').map(read).collect::<Result<_, ParseError>>()?;
    let found = parts.iter().map(|(part, _)| *part).collect();
    if kind == Kind::DayFromEnd {
        check_days_from_end(parts)?;
    }
    Ok(found)
}

fn read_part(text: Word<'_>, kind: Kind) -> Result<Part, ParseError> {
    let (range, repetition) = match text.split_once("/") {
        Some((range, repetition)) => (range, Some(repetition)),
        None => (text, None),
    };
    if range.text == "*" {
        let message = format!(
            "`*` takes no list or repetition here: expected a first {} before the slash",
            kind.name()
        );
        return Err(range.error(message).with_hint(kind.first().to_string()));
    }
    let first_word = range.split_once("..").map_or(range, |(first, _)| first);
    let first = read_value(first_word, kind)?;
    let step = repetition.map(|word| read_step(word, kind)).transpose()?;
    if let Some((_, last)) = range.split_once("..") {
        return read_range(range, (first_word, first), last, step, kind);
    }
    let (Some(step), Some(word)) = (step, repetition) else {
        return Ok(Part { first, last: None, repetition: None });
    };
    let room = if kind == Kind::DayFromEnd { first - kind.first() } else { kind.last() - first };
    if room < step {
        let message =
            format!("a repetition of {} leaves the {} field before it happens once", word.text, kind.name());
        return Err(text.error(message).with_hint(range.text));
    }
    Ok(Part { first, last: None, repetition: Some(step) })
}

fn read_step(word: Word<'_>, kind: Kind) -> Result<u64, ParseError> {
    number(word, kind).filter(|&step| 0 < step).ok_or_else(|| {
        let expected = format!("a repetition in {}s after the slash, more than 0", kind.name());
        word.expected(expected).with_hint("1")
    })
}

/// `first..last`, whose last value has to be in the field once the repetition has shortened it.
fn read_range(
    range: Word<'_>,
    (first_word, first): (Word<'_>, u64),
    last_word: Word<'_>,
    step: Option<u64>,
    kind: Kind,
) -> Result<Part, ParseError> {
    let last = read_number(last_word, kind)?;
    if last < first {
        let message = format!("the range `{}` runs backwards: expected the smaller value first", range.text);
        let hint = format!("{}..{}", last_word.text, first_word.text);
        return Err(range.error(message).with_hint(hint));
    }
    if kind == Kind::Second && step.is_none() && last < first + SECOND_US {
        let message = format!("the range `{}` ends before a second is over: expected one second", range.text);
        return Err(range.error(message).with_hint(first_word.text));
    }
    let default = if kind == Kind::Second { SECOND_US } else { 1 };
    let part = Part::stepped(first, last, step.unwrap_or(default));
    if MAX_NUMBER < last || kind.last() < part.end() {
        return Err(outside(last_word, last, kind));
    }
    Ok(part)
}

/// A list of days from the end as systemd 252 has it: sorted, without duplicates, and each further part
/// reaches three days less back.
fn check_days_from_end(mut parts: Vec<(Part, Word<'_>)>) -> Result<(), ParseError> {
    parts.sort_by_key(|(part, _)| (part.first, part.last, part.repetition));
    parts.dedup_by_key(|(part, _)| *part);
    let limits = (0..).map(|index| Kind::DayFromEnd.last().saturating_sub(DAYS_LESS_PER_PART * index));
    match parts.into_iter().zip(limits).find(|((part, _), limit)| *limit < part.end()) {
        None => Ok(()),
        Some(((_, word), limit)) => {
            let message = format!(
                "`{}` is too far back for its place in the list: systemd allows {limit} days there. Use two \
                 expressions",
                word.text
            );
            Err(word.error(message))
        }
    }
}

fn read_value(word: Word<'_>, kind: Kind) -> Result<u64, ParseError> {
    let number = read_number(word, kind)?;
    if (kind.first()..=kind.last()).contains(&number) { Ok(number) } else { Err(outside(word, number, kind)) }
}

/// A value that may be outside of its field.
fn read_number(word: Word<'_>, kind: Kind) -> Result<u64, ParseError> {
    let Some(number) = number(word, kind) else {
        let expected = format!("{} {} ({})", kind.article(), kind.name(), kind.expected());
        return Err(word.expected(expected));
    };
    Ok(match (kind, number) {
        (Kind::Year, 0..70) => number + 2000,
        (Kind::Year, 70..100) => number + 1900,
        _ => number,
    })
}

fn outside(word: Word<'_>, number: u64, kind: Kind) -> ParseError {
    let nearest = match kind {
        Kind::Second => "59".to_owned(),
        _ => number.clamp(kind.first(), kind.last()).to_string(),
    };
    let message =
        format!("{} is outside of the {} field: expected {}", word.text, kind.name(), kind.expected());
    word.error(message).with_hint(nearest)
}

/// Digits, and for seconds a decimal fraction, which is rounded to microseconds.
fn number(word: Word<'_>, kind: Kind) -> Option<u64> {
    let (whole, fraction) = match word.text.split_once('.') {
        Some((whole, fraction)) if kind == Kind::Second => (whole, fraction),
        Some(_) => return None,
        None => (word.text, "0"),
    };
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let whole: u64 = whole.parse().unwrap_or(u64::from(u32::MAX)).min(u64::from(u32::MAX));
    if kind != Kind::Second {
        return Some(whole);
    }
    // Seven digits are enough to round to six.
    let tenths: u64 = format!("{fraction:0<7}")[..7].parse().ok()?;
    Some(whole * SECOND_US + (tenths + 5) / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, kind: Kind) -> Vec<u64> {
        let parts = read_parts(Word::whole(text), kind).unwrap();
        parts.into_iter().flat_map(|part| part.values(kind)).collect()
    }

    #[test]
    fn a_repetition_without_a_last_value_goes_on_to_the_end_of_its_field() {
        assert_eq!(values("17/2", Kind::Hour), [17, 19, 21, 23]);
        assert_eq!(values("9..14/2,3", Kind::Hour), [9, 11, 13, 3]);
        assert_eq!(values("7/3", Kind::DayFromEnd), [7, 4, 1]);
        assert_eq!(values("1..7/2", Kind::DayFromEnd), [7, 5, 3, 1]);
        assert_eq!(values("2..7/2", Kind::DayFromEnd), [6, 4, 2]);
        assert_eq!(values("1..7/7", Kind::Day), [1]);
        assert_eq!(values("98..02", Kind::Year), [1998, 1999, 2000, 2001, 2002]);
    }

    #[test]
    fn what_systemd_refuses_is_refused_at_its_characters() {
        let cases = [
            ("*/2", Kind::Hour, 0..1),
            ("2..1", Kind::Hour, 0..4),
            ("23/2", Kind::Hour, 0..4),
            ("1,,2", Kind::Hour, 2..2),
            ("1/0", Kind::Hour, 2..3),
            ("29", Kind::DayFromEnd, 0..2),
            ("60", Kind::Second, 0..2),
            ("1.5", Kind::Hour, 0..3),
            ("1..2..3", Kind::Hour, 3..7),
        ];
        for (text, kind, span) in cases {
            assert_eq!(read_parts(Word::whole(text), kind).unwrap_err().span(), span, "{text}");
        }
    }

    #[test]
    fn seconds_are_rounded_to_microseconds() {
        assert_eq!(number(Word::whole("5.1234567"), Kind::Second), Some(5_123_457));
        assert_eq!(number(Word::whole("0.5"), Kind::Second), Some(500_000));
    }
}

//! The text of a policy: a first word, then `name=value` parts, with commas between.
//!
//! ```text
//! all,cap=7,window=1h      head `all`, parts cap -> 7, window -> 1h
//! ```
//!
//! Durations are written as `90s`, `1h30m`, `2d` or `500ms`. A day has 24 hours, and a week seven days.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use jiff::fmt::friendly::{Designator, Spacing, SpanPrinter};
use jiff::{Span, SpanRelativeTo};

/// Says what in the text of a policy cannot be read, and what could stand there.
///
/// # Example
/// ```
/// use mainspring_job::Policies;
///
/// let error = "overlap=sikp".parse::<Policies>().unwrap_err();
/// assert_eq!((error.what.as_str(), error.found.as_str()), ("overlap", "sikp"));
/// assert!(error.to_string().starts_with("`sikp` is no overlap: expected skip, "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyError {
    /// The policy, or the part of it: `overlap`, `part of retry`.
    pub what: String,
    /// The text that is wrong.
    pub found: String,
    /// What is allowed.
    pub expected: String,
}

impl PolicyError {
    pub(crate) fn new(what: &str, found: &str, expected: impl Into<String>) -> PolicyError {
        PolicyError { what: what.to_owned(), found: found.to_owned(), expected: expected.into() }
    }

    /// The name of the part whose value is wrong: `grace`; `None` if it is no such part.
    pub fn part(&self) -> Option<&str> {
        self.what.split_once(" of ").map(|(part, _)| part).filter(|part| *part != "part")
    }

    /// Where in the text of the policy the wrong words stand. Two parts may have the same value.
    pub fn place_in(&self, text: &str) -> Option<Range<usize>> {
        let before = match self.part() {
            Some(part) => format!("{part}="),
            None if self.what.starts_with("part of ") => ",".to_owned(),
            None => String::new(),
        };
        let behind = text.find(&format!("{before}{}", self.found)).map(|at| at + before.len());
        let at = behind.or_else(|| text.find(&self.found))?;
        Some(at..at + self.found.len())
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no {}: expected {}", self.found, self.what, self.expected)
    }
}

impl Error for PolicyError {}

/// A part: its name and its value.
pub(crate) type Part<'t> = (&'t str, &'t str);

/// The first word, and the parts after it.
pub(crate) fn split<'t>(what: &str, text: &'t str) -> Result<(&'t str, Vec<Part<'t>>), PolicyError> {
    let mut words = text.split(',');
    let head = words.next().unwrap_or_default();
    Ok((head, parts(what, words)?))
}

/// Parts alone.
pub(crate) fn parts<'t>(
    what: &str,
    words: impl Iterator<Item = &'t str>,
) -> Result<Vec<Part<'t>>, PolicyError> {
    let mut parts: Vec<Part<'t>> = Vec::new();
    for word in words {
        let part = word.split_once('=').ok_or_else(|| unknown_part(what, word, "name=value"))?;
        if parts.iter().any(|earlier| earlier.0 == part.0) {
            return Err(unknown_part(what, word, format!("`{}` once", part.0)));
        }
        parts.push(part);
    }
    Ok(parts)
}

/// The error for a part that the policy does not have.
pub(crate) fn unknown_part(what: &str, found: &str, expected: impl Into<String>) -> PolicyError {
    PolicyError::new(&format!("part of {what}"), found, expected)
}

/// A whole number from `min` to `max`.
pub(crate) fn number<N>(what: &str, text: &str, min: N, max: N) -> Result<N, PolicyError>
where
    N: FromStr + PartialOrd + fmt::Display + Copy,
{
    let found = text.parse().ok().filter(|number| min <= *number && *number <= max);
    found.ok_or_else(|| PolicyError::new(what, text, format!("a number from {min} to {max}")))
}

/// Reads a duration, as all keys and options have them: `90s`, `1h30m`, `2d`. `None` if it is none, or
/// negative.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use mainspring_job::read_duration;
///
/// assert_eq!(read_duration("1d12h"), Some(Duration::from_secs(36 * 3_600)));
/// assert_eq!(read_duration("soon"), None);
/// ```
pub fn read_duration(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    Duration::try_from(span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?).ok()
}

/// A duration from nothing to `max`.
pub(crate) fn duration(what: &str, text: &str, max: Duration) -> Result<Duration, PolicyError> {
    let unreadable = || PolicyError::new(what, text, "a duration such as 90s, 1h30m or 500ms");
    let found = read_duration(text).ok_or_else(unreadable)?;
    if max < found {
        return Err(PolicyError::new(what, text, format!("at most {}", duration_text(max))));
    }
    Ok(found)
}

/// What [`duration`] reads back: `1h30m`.
pub(crate) fn duration_text(duration: Duration) -> String {
    const PRINTER: SpanPrinter = SpanPrinter::new().designator(Designator::HumanTime).spacing(Spacing::None);
    PRINTER.unsigned_duration_to_string(&duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_back() {
        for text in ["0s", "500ms", "1h30m", "26h", "1m1s1ms1us1ns"] {
            let read = duration("x", text, Duration::from_secs(1_000_000)).unwrap();
            assert_eq!(duration_text(read), text);
        }
        for bad in ["-1s", "-1d", "1y", "1mo", "1", "", "soon", "99999999999999999999d"] {
            assert!(duration("x", bad, Duration::MAX).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_day_has_24_hours_and_a_week_seven_days() {
        for (text, hours) in [("1d", 24), ("1d12h", 36), ("1w", 168), ("2 days", 48), ("1.5h", 1)] {
            let read = duration("x", text, Duration::MAX).unwrap();
            assert_eq!(read.as_secs() / 3_600, hours, "{text}");
            assert_eq!(duration("x", &duration_text(read), Duration::MAX), Ok(read));
        }
    }

    #[test]
    fn a_part_stands_once_and_a_wrong_one_is_found_among_parts_with_its_value() {
        let error = parts("retry", ["backoff=1m", "cap=1m", "backoff=2m"].into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "`backoff=2m` is no part of retry: expected `backoff` once");
        let of = |what: &str, found: &str, text: &str| {
            PolicyError::new(what, found, "").place_in(text).map(|place| place.start)
        };
        assert_eq!(of("grace of timeout", "2h", "2h,grace=2h"), Some(9));
        assert_eq!(of("timeout", "2h", "2h,grace=2h"), Some(0));
        assert_eq!(of("part of misfire", "l", "all,l=3"), Some(4));
        assert_eq!(of("part of retry", "soon", "3,on=failed+soon"), Some(12));
    }
}

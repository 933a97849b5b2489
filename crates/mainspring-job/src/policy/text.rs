//! The text of a policy: a first word, then `name=value` parts, with commas between.
//!
//! ```text
//! all,cap=7,window=1h      head `all`, parts cap -> 7, window -> 1h
//! ```
//!
//! Durations are written as `90s`, `1h30m` or `500ms`, in units up to hours, because a day does not always
//! have 24 hours.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

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
    let part = |word: &'t str| word.split_once('=').ok_or_else(|| unknown_part(what, word, "name=value"));
    words.map(part).collect()
}

/// The error for a part that the policy does not have.
pub(crate) fn unknown_part(what: &str, found: &str, expected: &str) -> PolicyError {
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

/// A duration from nothing to `max`.
pub(crate) fn duration(what: &str, text: &str, max: Duration) -> Result<Duration, PolicyError> {
    let unreadable = || PolicyError::new(what, text, "a duration such as 90s, 1h30m or 500ms");
    let signed: SignedDuration = text.parse().map_err(|_| unreadable())?;
    let found = Duration::try_from(signed).map_err(|_| unreadable())?;
    if max < found {
        return Err(PolicyError::new(what, text, format!("at most {}", duration_text(max))));
    }
    Ok(found)
}

/// What [`duration`] reads back: `1h30m`.
pub(crate) fn duration_text(duration: Duration) -> String {
    let total = duration.as_secs();
    let parts = [
        (total / 3_600, "h"),
        (total / 60 % 60, "m"),
        (total % 60, "s"),
        (u64::from(duration.subsec_millis()), "ms"),
        (u64::from(duration.subsec_micros() % 1_000), "us"),
        (u64::from(duration.subsec_nanos() % 1_000), "ns"),
    ];
    let text: String =
        parts.iter().filter(|(count, _)| 0 < *count).map(|(count, unit)| format!("{count}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
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
        assert!(duration("x", "-1s", Duration::MAX).is_err());
    }
}

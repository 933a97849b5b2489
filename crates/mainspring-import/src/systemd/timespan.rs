//! Lengths of time as systemd writes them: `1h 30min`, `90`, `2 days`, `infinity`.
//!
//! Cost: one pass.
//!
//! Source: [systemd.time(7)](https://www.freedesktop.org/software/systemd/man/latest/systemd.time.html).

use std::time::Duration;

/// A unit's names, and its length in microseconds.
const UNITS: &[(&[&str], u64)] = &[
    (&["usec", "us", "µs", "μs"], 1),
    (&["msec", "ms"], 1_000),
    (&["seconds", "second", "sec", "s", ""], 1_000_000),
    (&["minutes", "minute", "min", "m"], 60_000_000),
    (&["hours", "hour", "hr", "h"], 3_600_000_000),
    (&["days", "day", "d"], 86_400_000_000),
    (&["weeks", "week", "w"], 604_800_000_000),
    // 30.44 days, and 365.25.
    (&["months", "month", "M"], 2_629_800_000_000),
    (&["years", "year", "y"], 31_557_600_000_000),
];

const _: () = {
    let mut index = 1;
    while index < UNITS.len() {
        assert!(UNITS[index - 1].1 < UNITS[index].1, "each is longer than the one before");
        index += 1;
    }
};

/// What `infinity` is.
pub(crate) const INFINITY: Duration = Duration::MAX;

/// Reads a length of time.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "infinity" {
        return Some(INFINITY);
    }
    let mut rest = text;
    let mut total_us: f64 = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (_, unit_us) = UNITS.iter().find(|(names, _)| names.contains(&&rest[..letters]))?;
        #[expect(clippy::cast_precision_loss, reason = "a year is far below 2^53 microseconds")]
        let unit_us = *unit_us as f64;
        total_us += number * unit_us;
        rest = rest[letters..].trim_start();
    }
    let is_sane = !text.is_empty() && total_us.is_finite() && total_us < 1e17;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 1e17")]
    is_sane.then(|| Duration::from_micros(total_us.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_systemd_reads_them() {
        let seconds = |text: &str| parse(text).map(|duration| duration.as_secs_f64());
        for (text, expected) in [
            ("90", 90.0),
            ("1h 30min", 5_400.0),
            ("1h30m", 5_400.0),
            ("2 days", 172_800.0),
            ("500ms", 0.5),
            ("1.5h", 5_400.0),
            ("1y", 31_557_600.0),
            ("0", 0.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "soon", "5 parsecs", "-1", "1..2", "99999999999999999999y"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(parse("infinity"), Some(INFINITY));
    }
}

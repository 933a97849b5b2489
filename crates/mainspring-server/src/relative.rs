//! Times as people say them: `in 2h 10m`, `3d 4h ago`.
//!
//! Cost: one string.
//!
//! Does not use months, because their lengths differ.

use jiff::Timestamp;

/// The log tells of a clock that is set back by as much.
const CORRECTION_MS: i64 = 60_000;

/// A time as seen from `now`, in its two largest units.
///
/// # Example
///
/// ```
/// use mainspring_server::relative::relative;
///
/// let now = "2026-01-01T00:00:00Z".parse()?;
/// assert_eq!(relative("2026-01-01T02:10:30Z".parse()?, now), "in 2h 10m");
/// assert_eq!(relative("2025-12-29T00:00:00Z".parse()?, now), "3d ago");
/// assert_eq!(relative(now, now), "now");
/// # Ok::<(), jiff::Error>(())
/// ```
pub fn relative(time: Timestamp, now: Timestamp) -> String {
    let ms = time.as_millisecond() - now.as_millisecond();
    let text = span(ms.unsigned_abs());
    match ms {
        -999..=999 => "now".to_owned(),
        1000.. => format!("in {text}"),
        ..=-1000 => format!("{text} ago"),
    }
}

/// The same of a time at which something has happened, which is not to come, whatever the clock shows. A
/// clock that is behind by less than a minute was corrected, or is that of another machine.
pub fn ago(time: Timestamp, now: Timestamp) -> String {
    match time.as_millisecond() - now.as_millisecond() {
        ..CORRECTION_MS => relative(time.min(now), now),
        CORRECTION_MS.. => "by a clock that was ahead".to_owned(),
    }
}

/// A length of time that was measured: below a minute with tenths of a second.
pub fn length(ms: u64) -> String {
    match ms {
        1_000..60_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        _ => span(ms),
    }
}

/// A length of time in its two largest units.
pub fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    let units =
        [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let Some(first) = units.iter().position(|(count, _)| 0 < *count) else { return format!("{ms}ms") };
    let shown = units[first..].iter().take(2).filter(|(count, _)| 0 < *count);
    shown.map(|(count, unit)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_happened_is_not_to_come_though_the_clock_was_set_back() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let cases = [(-10_800, "3h ago"), (0, "now"), (59, "now"), (60, "by a clock that was ahead")];
        for (ahead, expected) in cases {
            assert_eq!(ago(Timestamp::from_second(1_000_000 + ahead).unwrap(), now), expected);
        }
    }

    #[test]
    fn two_units_are_enough() {
        let cases = [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1s"),
            (61_000, "1m 1s"),
            (3_600_000, "1h"),
            (3_601_000, "1h"),
            (90_061_000, "1d 1h"),
        ];
        for (ms, expected) in cases {
            assert_eq!(span(ms), expected);
        }
        assert_eq!(["999ms", "2.5s", "59.9s", "1m 1s"], [999, 2_599, 59_999, 61_000].map(length)[..]);
    }
}

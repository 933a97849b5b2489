//! A time as people write it: an instant, or what the clocks of some zone show.
//!
//! ```text
//! 2027-01-05T09:00:00Z                           an instant
//! 2027-01-05T09:00:00-05:00                      the same, with its offset
//! 2027-01-05T09:00:00-05:00[America/New_York]    the same, and the offset must be the zone's
//! 2027-01-05T09:00[America/New_York]             the instant at which the zone's clocks show it
//! 2027-01-05T09:00, 2027-01-05 09:00, 2027-01-05 what the clocks of the reader's zone show
//! ```
//!
//! All of a text is understood, or it is refused: a zone in brackets is never skipped. A zone whose clocks
//! jump over the time has it later by the length of the gap, and of two times that look alike the first is
//! meant.
//!
//! Linear in the length of the text; a zone in brackets is looked up.
//!
//! Does not take other suffixes of RFC 9557, such as a calendar.
//!
//! Source: [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339), and
//! [RFC 9557](https://www.rfc-editor.org/rfc/rfc9557) for the zone in brackets;
//! [RFC 5545, 3.3.5](https://www.rfc-editor.org/rfc/rfc5545#section-3.3.5) for what clocks do not show.

use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use crate::error::ParseError;
use crate::word::Word;

/// A time that was read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a reader must tell them apart")]
pub enum TimeText {
    /// It says its instant.
    At(Timestamp),
    /// It says what clocks show, and not in which zone.
    Civil(DateTime),
}

impl TimeText {
    /// Reads all of a text: see the table at the head of `time_text.rs`.
    ///
    /// # Errors
    ///
    /// When it is no time, when its zone is unknown, or when its offset is a day or more, or not that of its
    /// zone.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_cron::TimeText;
    ///
    /// let time = TimeText::parse("2027-01-05T09:00[America/New_York]")?;
    /// assert_eq!(time, TimeText::At("2027-01-05T14:00:00Z".parse().unwrap()));
    /// assert!(TimeText::parse("2027-01-05T09:00Z[Nowhere/Zone]").is_err());
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<TimeText, ParseError> {
        TimeText::read(Word::whole(text))
    }

    /// The instant of a text that says it by itself, whatever zone the reader is in.
    ///
    /// # Errors
    ///
    /// As [`parse`](TimeText::parse), and when offset and zone are both missing.
    pub fn instant(text: &str) -> Result<Timestamp, ParseError> {
        TimeText::read_instant(Word::whole(text))
    }

    /// The instant that is meant in a zone. `None` if it lies beyond the calendar.
    pub fn in_zone(self, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            TimeText::At(instant) => Some(instant),
            TimeText::Civil(time) => Some(time.to_zoned(zone.clone()).ok()?.timestamp()),
        }
    }

    pub(crate) fn read_instant(word: Word<'_>) -> Result<Timestamp, ParseError> {
        let error = || word.expected("a time with an offset, such as 2030-01-31T08:00:00Z");
        match TimeText::read(word) {
            Ok(TimeText::At(instant)) => Ok(instant),
            // The time alone is fine: it is the offset that is missing.
            Ok(TimeText::Civil(time)) => Err(error().with_hint(format!("{time}Z"))),
            Err(of_zone) if word.text.contains('[') => Err(of_zone),
            Err(_) => Err(error()),
        }
    }

    fn read(word: Word<'_>) -> Result<TimeText, ParseError> {
        let text = word.text;
        if let Some((time, zone)) = word.split_once("[") {
            return zoned(word, time, zone).map(|zoned| TimeText::At(zoned.timestamp()));
        }
        let civil = || is_civil(text).then(|| text.parse().ok()).flatten().map(TimeText::Civil);
        let time = text.parse().ok().map(TimeText::At).or_else(civil).ok_or_else(|| no_time(word))?;
        // An instant does not know any more how it was written.
        let offset = Pieces::parse(text).ok().and_then(|pieces| pieces.to_numeric_offset());
        check_offset(word, offset)?;
        Ok(time)
    }
}

/// Refuses what only jiff takes: RFC 3339 has hours up to 23.
fn check_offset(word: Word<'_>, offset: Option<Offset>) -> Result<(), ParseError> {
    const DAY_SECONDS: u32 = 86_400;
    match offset {
        Some(offset) if DAY_SECONDS <= offset.seconds().unsigned_abs() => {
            let message = format!("an offset lies between -23:59 and +23:59, found `{}`", word.text);
            Err(word.error(message))
        }
        _ => Ok(()),
    }
}

fn zoned(word: Word<'_>, time: Word<'_>, rest: Word<'_>) -> Result<Zoned, ParseError> {
    let Some(name) = rest.before_suffix(']').filter(|name| !name.text.contains([']', '[', '='])) else {
        let message = "expected one time zone in brackets at the end of the time, and nothing else there";
        return Err(rest.error(message));
    };
    // An exclamation mark says that the zone may not be skipped, which it never is.
    let name = name.after_prefix('!').unwrap_or(name);
    if let Ok(zoned) = word.text.parse::<Zoned>() {
        check_offset(word, Some(zoned.offset()))?;
        return Ok(zoned);
    }
    let zone = TimeZone::get(name.text)
        .map_err(|_| name.error(format!("unknown time zone `{}`", name.text)).with_hint("UTC"))?;
    let offset =
        time.text.parse::<Timestamp>().map(|instant| zone.to_offset(instant)).map_err(|_| no_time(word))?;
    let message =
        format!("the offset of `{}` is not that of {}, which is {offset} then", time.text, name.text);
    Err(time.error(message))
}

/// Whether a text has nothing but a date and a time of day: what reads these skips offsets and zones.
fn is_civil(text: &str) -> bool {
    const DATE_BYTES: usize = "2027-01-05".len();
    let is_of_clock = |byte: u8| byte.is_ascii_digit() || b"Tt :.".contains(&byte);
    text.bytes().skip(DATE_BYTES).all(is_of_clock)
}

fn no_time(word: Word<'_>) -> ParseError {
    word.expected("a time such as 2030-01-31T08:00:00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_time_is_understood() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let cases = [
            ("2027-01-05T09:00:00Z", "2027-01-05T09:00:00Z"),
            ("2027-01-05 09:00+01", "2027-01-05T08:00:00Z"),
            ("2027-01-05T09:00+23:59", "2027-01-04T09:01:00Z"),
            ("2027-01-05T09:00:00[America/New_York]", "2027-01-05T14:00:00Z"),
            ("2027-01-05T09:00:00-05:00[America/New_York]", "2027-01-05T14:00:00Z"),
            ("2027-01-05T09:00:00-05:00[!America/New_York]", "2027-01-05T14:00:00Z"),
            // Z says that the offset is not known, and leaves it to the zone.
            ("2027-01-05T09:00:00Z[America/New_York]", "2027-01-05T09:00:00Z"),
            ("2027-03-14T02:30[America/New_York]", "2027-03-14T07:30:00Z"),
            ("2027-11-07T01:30[America/New_York]", "2027-11-07T05:30:00Z"),
            ("2027-11-07T01:30-05:00[America/New_York]", "2027-11-07T06:30:00Z"),
            ("2027-01-05T09:00+05:30[+05:30]", "2027-01-05T03:30:00Z"),
            ("2027-01-05T09:00", "2027-01-05T08:00:00Z"),
            ("2027-01-05 09:00:00.5", "2027-01-05T08:00:00.5Z"),
            ("2027-01-05", "2027-01-04T23:00:00Z"),
        ];
        for (text, expected) in cases {
            let found = TimeText::parse(text).unwrap().in_zone(&zone).unwrap();
            assert_eq!(found.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_at_its_place() {
        let cases = [
            ("2027-01-05T09:00:00Z[Nowhere/Zone]", 21..33, "unknown time zone `Nowhere/Zone`"),
            ("2027-01-05T09:00:00[Nowhere/Zone]", 20..32, "unknown time zone `Nowhere/Zone`"),
            (
                "2027-01-05T09:00:00+01:00[America/New_York]",
                0..25,
                "is not that of America/New_York, which is -05",
            ),
            ("2027-01-05T09:00[America/New_York]x", 17..35, "expected one time zone in brackets"),
            ("2027-01-05T09:00[America/New_York", 17..33, "expected one time zone in brackets"),
            ("2027-01-05T09:00[UTC][UTC]", 17..26, "expected one time zone in brackets"),
            ("2027-01-05T09:00[UTC][u-ca=japanese]", 17..36, "expected one time zone in brackets"),
            ("2027-01-05T09:00:00[]", 20..20, "unknown time zone"),
            ("09:00[UTC]", 0..10, "expected a time"),
            ("2027-01-05T09:00 ", 0..17, "expected a time"),
            ("2027-01-05T09:00+99:00", 0..22, "expected a time"),
            ("2027-01-05T09:00+24:00", 0..22, "an offset lies between -23:59 and +23:59"),
            ("2027-01-05T09:00-25:00", 0..22, "an offset lies between -23:59 and +23:59"),
            ("2027-01-05T09:00[+25:00]", 0..24, "an offset lies between -23:59 and +23:59"),
            ("2027-02-29", 0..10, "expected a time"),
            ("2027-01-05T09:00 UTC", 0..20, "expected a time"),
            ("", 0..0, "expected a time such as 2030-01-31T08:00:00Z, found nothing"),
        ];
        for (text, span, message) in cases {
            let error = TimeText::parse(text).unwrap_err();
            assert!(error.to_string().contains(message), "{text}: {error}");
            assert_eq!(error.span(), span, "{text}");
            assert!(TimeText::instant(text).is_err(), "{text}");
        }
        let error = TimeText::instant("2027-01-05T09:00").unwrap_err();
        assert_eq!(error.hint(), Some("2027-01-05T09:00:00Z"));
    }
}

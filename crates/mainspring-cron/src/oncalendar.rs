//! systemd's calendar expressions: the second language.
//!
//! ```text
//! [Mon..Fri,Sun] [2025-*-1..7 | *-*~01] [9..17/2:00:00.5] [Europe/Paris]
//!    weekdays          date                  time             zone
//! ```
//!
//! Weekday and date must both match. A date or weekday that is missing matches every day; a time that is
//! missing is midnight. `~` counts days back from the end of the month: `*-02~01` is the last day of
//! February.
//!
//! Parsing is linear in the text. The result is the calendar that cron patterns use too.
//!
//! Not read: time spans, and zones by an abbreviation such as `CEST`.
//!
//! Source: [systemd.time(7)](https://www.freedesktop.org/software/systemd/man/latest/systemd.time.html),
//! "Calendar Events"; limits of repetitions and changes of the clock as systemd 252 behaves.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use jiff::tz::TimeZone;

use crate::civil::Calendar;
use crate::error::{ParseError, Warning};

use parse::ParsedText;

mod component;
mod parse;

/// When something is due, in systemd's language: `Mon..Fri *-*-* 09:00 Europe/Paris`.
///
/// `Display` gives the text back. Seconds may have a fraction, in whole microseconds. Put into an
/// [`Expression`] it has occurrences: see [`Expression::parse_oncalendar`].
///
/// [`Expression`]: crate::Expression
/// [`Expression::parse_oncalendar`]: crate::Expression::parse_oncalendar
///
/// # Example
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{Expression, OnCalendar, Schedule};
///
/// let last_monday_of_may = OnCalendar::parse("Mon *-05~07/1 Europe/Paris")?;
/// let schedule = Schedule::new(Expression::OnCalendar(last_monday_of_may), TimeZone::UTC);
/// let next = schedule.next_after("2025-01-01T00:00:00Z".parse()?).expect("there is one every year");
/// assert_eq!(next.timestamp().to_string(), "2025-05-25T22:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnCalendar {
    text: String,
    calendar: Calendar,
    zone: Option<TimeZone>,
    warnings: Vec<Warning>,
}

impl OnCalendar {
    /// Reads a calendar expression, or a nickname of systemd such as `daily` or `quarterly`. Linear in the
    /// text; allocates.
    ///
    /// A zone in the text is looked up in the time zone database of the system, and then in the compiled
    /// copy.
    ///
    /// # Errors
    /// The first fault, with its characters. It refuses what systemd refuses: a range that runs backwards,
    /// and a repetition that is longer than its field.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::OnCalendar;
    ///
    /// let quarterly = OnCalendar::parse("quarterly")?;
    /// assert!(quarterly.is_possible());
    /// assert!(quarterly.zone().is_none());
    /// assert_eq!(OnCalendar::parse("Fri..Mon 09:00").unwrap_err().hint(), Some("Fri..Sun,Mon..Mon"));
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<OnCalendar, ParseError> {
        let ParsedText { calendar, zone, warnings } = parse::parse(text)?;
        Ok(OnCalendar { text: text.to_owned(), calendar, zone, warnings })
    }

    /// The zone that the expression names. Without one it is read in the zone of its [`crate::Schedule`].
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }

    /// What is valid but probably not meant, with its place in the text.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Whether any day matches. `*-02-30` has none.
    pub fn is_possible(&self) -> bool {
        self.calendar.is_possible()
    }

    pub(crate) fn calendar(&self) -> &Calendar {
        &self.calendar
    }
}

/// What else it holds follows from the text.
impl Hash for OnCalendar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for OnCalendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for OnCalendar {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<OnCalendar, ParseError> {
        OnCalendar::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::expression::Expression;
    use crate::schedule::Schedule;

    fn instants(text: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::new(Expression::parse_oncalendar(text).unwrap(), TimeZone::UTC);
        let after: Timestamp = after.parse().unwrap();
        schedule.upcoming(after).take(count).map(|time| time.timestamp().to_string()).collect()
    }

    #[test]
    fn parts_of_a_second_are_exact() {
        let halves = instants("*:*:58.5/0.75", "2025-01-01T00:00:58.5Z", 3);
        assert_eq!(halves, ["2025-01-01T00:00:59.25Z", "2025-01-01T00:01:58.5Z", "2025-01-01T00:01:59.25Z"]);
        let mixed = instants("12:00:00.000001,30", "2025-01-01T12:00:00Z", 2);
        assert_eq!(mixed, ["2025-01-01T12:00:00.000001Z", "2025-01-01T12:00:30Z"]);
    }

    #[test]
    fn the_zone_in_the_text_wins_over_the_zone_of_the_schedule() {
        assert_eq!(instants("09:00 Asia/Tokyo", "2025-01-01T00:00:00Z", 1), ["2025-01-02T00:00:00Z"]);
        assert_eq!(OnCalendar::parse("09:00 UTC").unwrap().zone(), Some(&TimeZone::UTC));
        assert_eq!(OnCalendar::parse("09:00").unwrap().zone(), None);
    }

    #[test]
    fn a_day_that_no_month_has_is_a_warning() {
        assert!(OnCalendar::parse("*-02-30").unwrap().warnings()[0].text.contains("never run"));
        assert!(OnCalendar::parse("*-02-29").unwrap().warnings().is_empty());
    }
}

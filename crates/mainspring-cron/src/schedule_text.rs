//! A schedule in one line of text: zone, policy and expression.
//!
//! ```text
//! schedule   := { setting white-space } expression
//! setting    := ( "CRON_TZ=" | "TZ=" ) zone | "DST=" policy
//! expression := cron | "OnCalendar=" systemd's language | "Quartz=" Quartz's cron
//! ```
//!
//! A setting that is missing has its default: the zone UTC, and the policy of the expression's language.
//! Reading is linear in the text and looks up the zone; writing allocates.
//!
//! The line does not carry a day rule, a job's name or the phase of a period: a schedule that has them is not
//! read back equal.
//!
//! Source: `CRON_TZ=` as in [cronie](https://manpages.debian.org/bookworm/cronie/crontab.5.en.html), in front
//! of the expression as in [robfig/cron](https://pkg.go.dev/github.com/robfig/cron/v3); `OnCalendar=` as in
//! [systemd.timer(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.timer.html).

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::{DateTimeParser, DateTimePrinter};
use jiff::tz::TimeZone;

use crate::error::ParseError;
use crate::expression::Expression;
use crate::options::UnknownName;
use crate::schedule::Schedule;

/// Written in place of a zone that has no name; no zone has this one, so it is not read back.
const UNNAMED_ZONE: &str = "(unnamed)";

/// Why a text is not a schedule.
///
/// `Display` writes the message of the error inside; there is no further source.
///
/// # Example
/// ```
/// use mainspring_cron::{Schedule, ScheduleError};
///
/// let error = Schedule::parse("30 2 * * *", "Europe/Pariss").unwrap_err();
/// assert!(matches!(error, ScheduleError::Zone(_)));
/// assert_eq!(
///     error.to_string(),
///     "expected a time zone such as UTC or Europe/Paris, found `Europe/Pariss`"
/// );
/// let error = Schedule::parse("30 25 * * *", "Europe/Paris").unwrap_err();
/// assert!(matches!(error, ScheduleError::Expression(error) if error.span() == (3..5)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The expression is wrong: its span lies in the text that was given.
    Expression(ParseError),
    /// The time zone database has no zone of this name.
    Zone(UnknownName),
    /// There is no policy of this name.
    Policy(UnknownName),
}

impl Schedule {
    /// Reads a cron expression and looks up its zone by name.
    ///
    /// The zone is a name of the IANA database (`Europe/Paris`), an offset (`+02:00`), or a POSIX rule
    /// (`CET-1CEST,M3.5.0,M10.5.0/3`). It is looked up in the database of the system, and then in a copy that
    /// is compiled in. The policy at changes of the clock is [`DstPolicy::CRON`](crate::DstPolicy::CRON).
    ///
    /// # Errors
    /// [`ScheduleError::Expression`] as for [`Expression::parse`], [`ScheduleError::Zone`] if there is no
    /// such zone.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Schedule;
    ///
    /// let schedule = Schedule::parse("0 9 * * mon-fri", "Asia/Tokyo")?;
    /// let next = schedule.next_after("2025-06-06T12:00:00Z".parse()?).expect("there is one each week");
    /// assert_eq!(next.to_string(), "2025-06-09T09:00:00+09:00[Asia/Tokyo]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str, zone_name: &str) -> Result<Schedule, ScheduleError> {
        let expression = Expression::parse(text).map_err(ScheduleError::Expression)?;
        Ok(Schedule::new(expression, zone(zone_name)?))
    }
}

/// Reads one line: the settings `CRON_TZ=` or `TZ=` (a zone, else UTC) and `DST=` (a policy, else that of the
/// language), each at most once, and then what [`Expression`]'s `FromStr` reads.
///
/// `Display` writes this form.
///
/// # Errors
/// The first fault of the expression, or else a zone or a policy that is unknown: see [`ScheduleError`].
///
/// # Example
/// ```
/// use mainspring_cron::{DstPolicy, Schedule};
///
/// let text = "CRON_TZ=Europe/Paris DST=shift 30 2 * * *";
/// let schedule: Schedule = text.parse()?;
/// assert_eq!(schedule.dst(), DstPolicy::SHIFT);
/// assert_eq!(schedule.to_string(), text);
/// # Ok::<(), mainspring_cron::ScheduleError>(())
/// ```
impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let (mut zone_name, mut policy_name) = (None, None);
        let mut rest = text;
        while let Some((word, after)) = rest.trim_start().split_once(char::is_whitespace) {
            let (setting, value) = match word.split_once('=') {
                Some(("CRON_TZ" | "TZ", name)) => (&mut zone_name, name),
                Some(("DST", name)) => (&mut policy_name, name),
                _ => break,
            };
            if setting.replace(value).is_some() {
                let start = text.len() - rest.trim_start().len();
                let message = format!("expected each setting once, found `{word}` again");
                let error = ParseError::new(start..start + word.len(), message);
                return Err(ScheduleError::Expression(error));
            }
            rest = after;
        }
        let start = text.len() - rest.len();
        let expression: Expression =
            rest.parse().map_err(|error: ParseError| ScheduleError::Expression(error.moved_by(start)))?;
        let schedule = Schedule::new(expression, zone_name.map_or(Ok(TimeZone::UTC), zone)?);
        match policy_name {
            Some(name) => Ok(schedule.with_dst(name.parse().map_err(ScheduleError::Policy)?)),
            None => Ok(schedule),
        }
    }
}

/// Writes what `FromStr` reads: the settings that are not the default, and the expression. A zone without a
/// name is written as `(unnamed)`, which is not read back.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self.zone() != TimeZone::UTC {
            let name = DateTimePrinter::new().time_zone_to_string(self.zone());
            write!(f, "CRON_TZ={} ", name.as_deref().unwrap_or(UNNAMED_ZONE))?;
        }
        if self.dst() != self.expression().default_dst() {
            write!(f, "DST={} ", self.dst())?;
        }
        write!(f, "{}{}", self.expression().language_mark(), self.expression())
    }
}

fn zone(name: &str) -> Result<TimeZone, ScheduleError> {
    let zone = DateTimeParser::new().parse_time_zone(name);
    zone.map_err(|_| ScheduleError::Zone(UnknownName::new(name, "a time zone such as UTC or Europe/Paris")))
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Expression(error) => error.fmt(f),
            ScheduleError::Zone(error) | ScheduleError::Policy(error) => error.fmt(f),
        }
    }
}

impl Error for ScheduleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_back_from_what_it_shows() {
        let texts = [
            "30 2 * * *",
            " 30 2 * * *",
            "@every 90s",
            "CRON_TZ=America/New_York 30 2 * * *",
            "CRON_TZ=+05:30 @daily",
            "@weekly",
            "CRON_TZ=CET-1CEST,M3.5.0,M10.5.0/3 DST=run+last  0 0 L * *",
            "CRON_TZ=Europe/Paris DST=cron OnCalendar=Mon..Fri 09:00 Asia/Tokyo",
            "OnCalendar=daily",
            "Quartz=0 0 12 ? * 6#3",
        ];
        for text in texts {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), text);
            assert_eq!(schedule.to_string().parse(), Ok(schedule), "{text}");
        }
    }

    #[test]
    fn blanks_around_a_nickname_do_not_count() {
        let schedule: Schedule = "@weekly".parse().unwrap();
        for text in [" @weekly", "@weekly\t", "\n @weekly ", "TZ=UTC  @weekly"] {
            assert_eq!(text.parse(), Ok(schedule.clone()), "{text:?}");
        }
    }

    #[test]
    fn settings_stand_in_any_order_and_default_ones_are_not_shown() {
        let shown = |text: &str| text.parse::<Schedule>().unwrap().to_string();
        assert_eq!(shown("\tDST=shift  TZ=Asia/Tokyo\t0 9 * * *"), "CRON_TZ=Asia/Tokyo DST=shift 0 9 * * *");
        assert_eq!(shown("TZ=UTC DST=cron 0 9 * * *"), "0 9 * * *");
        assert_eq!(shown("DST=skip OnCalendar=09:00"), "OnCalendar=09:00");
    }

    #[test]
    fn every_part_that_is_wrong_is_told_apart() {
        let error = |text: &str| text.parse::<Schedule>().unwrap_err();
        assert!(matches!(error("TZ=Nowhere/At_all 0 9 * * *"), ScheduleError::Zone(_)));
        assert!(matches!(error("DST=never 0 9 * * *"), ScheduleError::Policy(_)));
        let spans = [
            ("TZ=UTC  0 25 * * *", 10..12),
            ("TZ=UTC Quartz=0 0 25 ? * 1", 18..20),
            ("TZ=UTC OnCalendar=25:00", 18..20),
            ("TZ=UTC TZ=UTC 0 9 * * *", 7..13),
            ("TZ=UTC", 6..6),
        ];
        for (text, span) in spans {
            let ScheduleError::Expression(error) = error(text) else { panic!("{text}") };
            assert_eq!(error.span(), span, "{text}: {error}");
        }
    }
}

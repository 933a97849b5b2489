//! An expression in any language: a pattern, systemd's calendar, a period, one moment, or a start of the
//! scheduler.
//!
//! Parsing is linear in the text. There is no time zone here: see [`crate::Schedule`].

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use crate::dst::DstPolicy;
use crate::error::{ParseError, Warning};
use crate::every::Every;
use crate::oncalendar::OnCalendar;
use crate::options::{Dialect, ParseOptions};
use crate::pattern::Pattern;
use crate::word::Word;

/// Stands before an expression in systemd's language where cron's is expected otherwise.
const ONCALENDAR_MARK: &str = "OnCalendar=";
/// Stands before an expression in the Quartz dialect.
const QUARTZ_MARK: &str = "Quartz=";

/// When something is due, as far as a text can say it without a time zone.
///
/// `Display` gives the text back as it was written, except for `@at`, which it writes in UTC. Two expressions
/// are equal if they were written alike and read with the same options: `*/1 * * * *` and `* * * * *` differ.
///
/// # Example
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{Expression, Schedule};
///
/// let text = "0 9 * * mon-fri";
/// let expression: Expression = text.parse()?;
/// assert_eq!(expression.to_string(), text);
/// assert_eq!(expression.sentence(), "At 09:00 on Monday to Friday.");
/// let schedule = Schedule::new(expression, TimeZone::get("Europe/Paris")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expression {
    /// Fields, or a nickname that stands for fields, such as `@daily`.
    Calendar(Pattern),
    /// systemd's language: see [`Expression::parse_oncalendar`].
    OnCalendar(OnCalendar),
    /// A fixed period: `@every 90s`.
    Every(Every),
    /// One moment: `@at 2030-01-01T00:00:00Z`.
    At(Timestamp),
    /// `@reboot`: when the machine starts. It has no next occurrence in time.
    Reboot,
}

impl Expression {
    /// Reads an expression as a crontab does: five fields, six with leading seconds, seven with a year as
    /// well, or a nickname. White space around it is allowed. Linear in the text; allocates.
    ///
    /// # Errors
    /// The first fault from the left, with its characters and the nearest valid form. A text that is valid
    /// but doubtful is no error: see [`Expression::warnings`].
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Expression;
    ///
    /// assert!(matches!(Expression::parse("*/5 * * * *")?, Expression::Calendar(_)));
    /// assert!(matches!(Expression::parse("@every 1h30m")?, Expression::Every(_)));
    /// assert_eq!(Expression::parse("@reboot")?, Expression::Reboot);
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Expression, ParseError> {
        Expression::parse_with(text, &ParseOptions::default())
    }

    /// Reads an expression by the given options: a dialect, a day rule, the name of a job. Nicknames are the
    /// same in every dialect.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::{Expression, ParseOptions};
    ///
    /// let options = ParseOptions::new().with_job_name("backup");
    /// let expression = Expression::parse_with("H 2 * * *", &options)?;
    /// assert_eq!(expression.sentence(), "At 02:12 every day.");
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Result<Expression, ParseError> {
        let trimmed = Word::whole(text).trim();
        match Expression::of_nickname(trimmed)? {
            Some(expression) => Ok(expression),
            None => Pattern::parse_with(text, options).map(Expression::Calendar),
        }
    }

    /// Reads an expression in systemd's language. A zone in it is looked up in the time zone database.
    ///
    /// # Errors
    /// As [`OnCalendar::parse`].
    ///
    /// # Example
    /// ```
    /// let expression = mainspring_cron::Expression::parse_oncalendar("Mon..Fri 09:00")?;
    /// assert_eq!(expression.to_string(), "Mon..Fri 09:00");
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn parse_oncalendar(text: &str) -> Result<Expression, ParseError> {
        OnCalendar::parse(text).map(Expression::OnCalendar)
    }

    /// What [`crate::Schedule::new`] does at changes of the clock: what the language's own program does.
    pub(crate) fn default_dst(&self) -> DstPolicy {
        match self {
            Expression::OnCalendar(_) => DstPolicy::SKIP,
            _ => DstPolicy::CRON,
        }
    }

    /// What must stand before the text so that `FromStr` reads it in the same language.
    pub(crate) fn language_mark(&self) -> &'static str {
        match self {
            Expression::OnCalendar(_) => ONCALENDAR_MARK,
            Expression::Calendar(pattern) if pattern.dialect() == Dialect::Quartz => QUARTZ_MARK,
            _ => "",
        }
    }

    /// What is valid but probably not meant, from the left to the right of the text. Empty for most
    /// expressions.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Expression;
    ///
    /// let never = Expression::parse("0 0 30 2 *")?;
    /// assert_eq!(never.warnings()[0].text, "no such day ever comes: it will never run");
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        match self {
            Expression::Calendar(pattern) => pattern.warnings(),
            Expression::OnCalendar(calendar) => calendar.warnings(),
            Expression::Every(_) | Expression::At(_) | Expression::Reboot => &[],
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Calendar(pattern) => pattern.fmt(f),
            Expression::OnCalendar(calendar) => calendar.fmt(f),
            Expression::Every(every) => every.fmt(f),
            Expression::At(moment) => write!(f, "@at {moment}"),
            Expression::Reboot => f.write_str("@reboot"),
        }
    }
}

/// Reads what [`Expression::parse`] reads, and after `OnCalendar=` or `Quartz=` an expression in that
/// language.
///
/// # Example
/// ```
/// use mainspring_cron::Expression;
///
/// assert_eq!("@daily".parse(), Expression::parse("@daily"));
/// assert_eq!("OnCalendar=daily".parse(), Expression::parse_oncalendar("daily"));
/// assert!("Quartz=0 0 12 ? * 6#3".parse::<Expression>().is_ok());
/// ```
impl FromStr for Expression {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Expression, ParseError> {
        if let Some(rest) = text.strip_prefix(ONCALENDAR_MARK) {
            return Expression::parse_oncalendar(rest).map_err(|error| error.moved_by(ONCALENDAR_MARK.len()));
        }
        if let Some(rest) = text.strip_prefix(QUARTZ_MARK) {
            let quartz = ParseOptions::new().with_dialect(Dialect::Quartz);
            return Expression::parse_with(rest, &quartz).map_err(|error| error.moved_by(QUARTZ_MARK.len()));
        }
        Expression::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_gives_its_text_back() {
        let texts = [
            "*/5 1-7 * jan SUN",
            "@Daily",
            "@every 90s",
            "@at 2030-01-01T00:00:00Z",
            "@reboot",
            "0 0 0 L * 5#L 2030",
        ];
        for text in texts {
            assert_eq!(Expression::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_nickname_without_its_sign_or_with_a_wrong_letter_is_recognised() {
        for (text, hint) in
            [("daily", "@daily"), ("@houry", "@hourly"), ("@at 2030-01-01T00:00", "2030-01-01T00:00:00Z")]
        {
            assert_eq!(Expression::parse(text).unwrap_err().hint(), Some(hint), "{text}");
        }
        assert_eq!(Expression::parse("@daily 5").unwrap_err().span(), 6..8);
        assert_eq!(Expression::parse("@fortnightly").unwrap_err().hint(), None);
    }
}

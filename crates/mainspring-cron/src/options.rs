//! Options of the parser: dialect, day rule, bare steps, and the name from which `H` is computed.
//!
//! Options are values that are copied; reading them is free. They do not choose the language: systemd's
//! has a parser of its own, and no options.

use std::fmt;
use std::str::FromStr;

/// The numbering of weekdays and the rules of `?`.
///
/// `Display` and `FromStr` use the names `unix` and `quartz`.
///
/// # Example
/// ```
/// use mainspring_cron::{Dialect, ParseOptions, Pattern};
///
/// let quartz = ParseOptions::new().with_dialect("quartz".parse::<Dialect>()?);
/// let friday = Pattern::parse_with("0 0 12 ? * 6", &quartz)?;
/// assert_eq!(friday.dialect(), Dialect::Quartz);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Five fields; six with leading seconds; seven with a trailing year as well. Weekdays are 0 to 7, where
    /// both 0 and 7 are Sunday. In the day fields `?` means `*`.
    #[default]
    Unix,
    /// Six fields with leading seconds, or seven with a year. Weekdays are 1 (Sunday) to 7 (Saturday).
    /// Exactly one of the two day fields is `?`. Ranges may wrap (`22-2`, `fri-mon`), and `0/15` and `/15`
    /// are ordinary steps.
    Quartz,
}

/// What two restricted day fields mean together.
///
/// `Display` and `FromStr` use the names `star`, `or` and `and`.
///
/// # Example
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{DayRule, Expression, ParseOptions, Schedule};
///
/// let friday_the_13th = ParseOptions::new().with_day_rule(DayRule::And);
/// let expression = Expression::parse_with("0 0 13 * fri", &friday_the_13th)?;
/// let next = Schedule::new(expression, TimeZone::UTC).next_after("2026-04-01T00:00:00Z".parse()?);
/// assert_eq!(next.expect("there is one each year").date().to_string(), "2026-11-13");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DayRule {
    /// Vixie cron's star bit: either day matches (OR), unless the text of one of the fields starts with `*`;
    /// then both must (AND). Only the first character counts: `*/2` restricts the days and still means AND.
    #[default]
    Star,
    /// Either day matches. A field that is wholly `*`, `*/1` or `?` does not count as a day.
    Or,
    /// Both days match, always.
    And,
}

/// Whether a step may follow a single number, as in `5/15`.
///
/// `Display` and `FromStr` use the names `warn` and `reject`.
///
/// # Example
/// ```
/// use mainspring_cron::{BareStep, ParseOptions, Pattern};
///
/// let strict = ParseOptions::new().with_bare_step(BareStep::Reject);
/// let error = Pattern::parse_with("5/15 * * * *", &strict).unwrap_err();
/// assert_eq!(error.hint(), Some("5-59/15"));
/// assert_eq!(Pattern::parse("5/15 * * * *")?.warnings().len(), 1);
/// # Ok::<(), mainspring_cron::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BareStep {
    /// `5/15` means `5-59/15`, with a warning: many programs read it so, but crontab(5) does not know it.
    #[default]
    Warn,
    /// `5/15` is an error.
    Reject,
}

/// How an expression is to be read. The default reads it as a crontab does.
///
/// New options may be added, so a value is made with [`ParseOptions::new`] and the setters.
///
/// # Example
/// ```
/// use mainspring_cron::{Dialect, Expression, ParseOptions};
///
/// let options = ParseOptions::new().with_dialect(Dialect::Quartz).with_job_name("report");
/// assert!(Expression::parse_with("0 H 10 ? * 6L", &options).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "options are given to what reads a text"]
#[non_exhaustive]
pub struct ParseOptions<'a> {
    /// Numbering of weekdays and rules of `?`.
    pub dialect: Dialect,
    /// What two restricted day fields mean.
    pub day_rule: DayRule,
    /// Whether `5/15` is read.
    pub bare_step: BareStep,
    /// The name from which the values of `H` and `6~15` are computed. Without a name they are computed from
    /// the empty one, and each gives a warning.
    pub job_name: Option<&'a str>,
}

impl<'a> ParseOptions<'a> {
    /// The options of a crontab: [`Dialect::Unix`], [`DayRule::Star`], [`BareStep::Warn`] and no name.
    pub const fn new() -> ParseOptions<'a> {
        ParseOptions {
            dialect: Dialect::Unix,
            day_rule: DayRule::Star,
            bare_step: BareStep::Warn,
            job_name: None,
        }
    }

    /// Sets the numbering of weekdays and the rules of `?`.
    pub const fn with_dialect(mut self, dialect: Dialect) -> ParseOptions<'a> {
        self.dialect = dialect;
        self
    }

    /// Sets what two restricted day fields mean.
    pub const fn with_day_rule(mut self, day_rule: DayRule) -> ParseOptions<'a> {
        self.day_rule = day_rule;
        self
    }

    /// Sets whether `5/15` is read.
    pub const fn with_bare_step(mut self, bare_step: BareStep) -> ParseOptions<'a> {
        self.bare_step = bare_step;
        self
    }

    /// Sets the name from which the values of `H` and `6~15` are computed.
    pub const fn with_job_name(mut self, job_name: &'a str) -> ParseOptions<'a> {
        self.job_name = Some(job_name);
        self
    }
}

/// A name that is not one of a closed list: the error of the `FromStr` of all choices in this crate.
///
/// `Display` says which names there are, in lower case and without a full stop.
///
/// # Example
/// ```
/// let error = "xor".parse::<mainspring_cron::DayRule>().unwrap_err();
/// assert_eq!(error.to_string(), "expected star, or, and, found `xor`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    name: String,
    expected: &'static str,
}

impl UnknownName {
    pub(crate) fn new(name: &str, expected: &'static str) -> UnknownName {
        UnknownName { name: name.to_owned(), expected }
    }
}

/// The choice that shows a name. `expected` says which names there are.
pub(crate) fn choice_of<T: Copy + fmt::Display>(
    choices: &[T],
    name: &str,
    expected: &'static str,
) -> Result<T, UnknownName> {
    let known = choices.iter().find(|choice| choice.to_string() == name);
    known.copied().ok_or_else(|| UnknownName::new(name, expected))
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found `{}`", self.expected, self.name)
    }
}

impl std::error::Error for UnknownName {}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dialect::Unix => "unix",
            Dialect::Quartz => "quartz",
        })
    }
}

impl fmt::Display for DayRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DayRule::Star => "star",
            DayRule::Or => "or",
            DayRule::And => "and",
        })
    }
}

impl fmt::Display for BareStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BareStep::Warn => "warn",
            BareStep::Reject => "reject",
        })
    }
}

impl FromStr for Dialect {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Dialect, UnknownName> {
        choice_of(&[Dialect::Unix, Dialect::Quartz], name, "unix or quartz")
    }
}

impl FromStr for DayRule {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<DayRule, UnknownName> {
        choice_of(&[DayRule::Star, DayRule::Or, DayRule::And], name, "star, or, and")
    }
}

impl FromStr for BareStep {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<BareStep, UnknownName> {
        choice_of(&[BareStep::Warn, BareStep::Reject], name, "warn or reject")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_by_the_name_they_show() {
        for dialect in [Dialect::Unix, Dialect::Quartz] {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        for rule in [DayRule::Star, DayRule::Or, DayRule::And] {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        for step in [BareStep::Warn, BareStep::Reject] {
            assert_eq!(step.to_string().parse(), Ok(step));
        }
    }

    #[test]
    fn a_wrong_name_says_what_was_expected() {
        assert_eq!("xor".parse::<DayRule>().unwrap_err().to_string(), "expected star, or, and, found `xor`");
        assert!("Unix".parse::<Dialect>().unwrap_err().to_string().starts_with("expected unix or quartz"));
        assert!("".parse::<BareStep>().unwrap_err().to_string().starts_with("expected warn or reject"));
    }

    #[test]
    fn new_options_are_the_default_ones() {
        assert_eq!(ParseOptions::new(), ParseOptions::default());
    }
}

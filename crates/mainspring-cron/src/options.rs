//! The choices a reader of expressions has: dialect, day rule, bare steps, and the name that `H` is made from.

use std::fmt;
use std::str::FromStr;

/// Whose numbering and `?` rules an expression follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Five fields; six with leading seconds; seven with a trailing year as well. Days of the week 0 to 7, where 0 and
    /// 7 are Sunday. `?` is another way to write `*` in the day fields.
    #[default]
    Unix,
    /// Six fields with leading seconds, or seven with a year. Days of the week 1 (Sunday) to 7 (Saturday). Exactly one
    /// of the two day fields is `?`. Ranges may wrap (`22-2`, `fri-mon`), and `0/15` and `/15` are ordinary steps.
    Quartz,
}

/// Says what two restricted day fields mean together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DayRule {
    /// Vixie cron's star bit: either day matches (OR), unless the text of one of the fields starts with `*`, in which
    /// case both must (AND). It is the first character that counts: `*/2` restricts the days and still means AND.
    #[default]
    Star,
    /// Either day matches. Only a field that is wholly `*`, `*/1` or `?` does not count as a day.
    Or,
    /// Both days match, always.
    And,
}

/// Says whether a step may follow a single number, as in `5/15`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BareStep {
    /// `5/15` means `5-59/15`, with a warning: many programs read it so, crontab(5) does not know it.
    #[default]
    Warn,
    /// `5/15` is an error.
    Reject,
}

/// Says how an expression is to be read. The default reads what a crontab means.
///
/// # Example
/// ```
/// use mainspring_cron::{Dialect, Expression, ParseOptions};
///
/// let options = ParseOptions { dialect: Dialect::Quartz, ..ParseOptions::default() };
/// assert!(Expression::parse_with("0 15 10 ? * 6L", &options).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions<'a> {
    /// Numbering of days and rules of `?`.
    pub dialect: Dialect,
    /// What two restricted day fields mean.
    pub day_rule: DayRule,
    /// Whether `5/15` is read.
    pub bare_step: BareStep,
    /// What `H` and `6~15` are a stable hash of. Without it they still parse, as for the empty name, with a warning.
    pub job_name: Option<&'a str>,
}

/// Says that a name is not one of a closed list.
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

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found `{}`", self.expected, self.name)
    }
}

impl std::error::Error for UnknownName {}

impl FromStr for Dialect {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Dialect, UnknownName> {
        match name {
            "unix" => Ok(Dialect::Unix),
            "quartz" => Ok(Dialect::Quartz),
            _ => Err(UnknownName::new(name, "unix or quartz")),
        }
    }
}

impl FromStr for DayRule {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<DayRule, UnknownName> {
        match name {
            "star" => Ok(DayRule::Star),
            "or" => Ok(DayRule::Or),
            "and" => Ok(DayRule::And),
            _ => Err(UnknownName::new(name, "star, or, and")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_by_name_and_a_wrong_name_says_what_was_expected() {
        assert_eq!("quartz".parse(), Ok(Dialect::Quartz));
        assert_eq!("or".parse(), Ok(DayRule::Or));
        assert_eq!("xor".parse::<DayRule>().unwrap_err().to_string(), "expected star, or, and, found `xor`");
    }
}

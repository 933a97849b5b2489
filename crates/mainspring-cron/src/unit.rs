//! The seven fields of an expression: what each is called, which numbers and names it takes.
//!
//! | unit | numbers | names |
//! |---|---|---|
//! | second, minute | 0-59 | |
//! | hour | 0-23 | |
//! | day of the month | 1-31 | |
//! | month | 1-12 | jan-dec |
//! | day of the week | 0-7 (0 and 7 are Sunday); Quartz: 1-7 (1 is Sunday) | sun-sat |
//! | year | 1970-2199 | |

use std::fmt;
use std::ops::RangeInclusive;

use crate::options::Dialect;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// One of the fields of an expression.
///
/// `Display` writes its English name, such as `day of the month`.
///
/// # Example
/// ```
/// use mainspring_cron::{Dialect, Unit};
///
/// assert_eq!(Unit::DayOfWeek.range(Dialect::Unix), 0..=7);
/// assert_eq!(Unit::DayOfWeek.range(Dialect::Quartz), 1..=7);
/// assert_eq!(Unit::DayOfMonth.to_string(), "day of the month");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// 0 to 59.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or `jan` to `dec`.
    Month,
    /// 0 to 7, where 0 and 7 are Sunday, or `sun` to `sat`. In the Quartz dialect 1 (Sunday) to 7 (Saturday).
    DayOfWeek,
    /// 1970 to 2199.
    Year,
}

impl Unit {
    /// The numbers that may be written in this field, both ends included.
    pub fn range(self, dialect: Dialect) -> RangeInclusive<u16> {
        match (self, dialect) {
            (Unit::DayOfWeek, Dialect::Quartz) => 1..=7,
            _ => self.row().1,
        }
    }

    /// What it is called, its numbers in the Unix dialect, and its names.
    fn row(self) -> (&'static str, RangeInclusive<u16>, &'static [&'static str]) {
        match self {
            Unit::Second => ("second", 0..=59, &[]),
            Unit::Minute => ("minute", 0..=59, &[]),
            Unit::Hour => ("hour", 0..=23, &[]),
            Unit::DayOfMonth => ("day of the month", 1..=31, &[]),
            Unit::Month => ("month", 1..=12, &MONTHS),
            Unit::DayOfWeek => ("day of the week", 0..=7, &WEEKDAYS),
            Unit::Year => ("year", 1970..=2199, &[]),
        }
    }

    /// The numbers that `*` stands for: Sunday is counted once.
    pub(crate) fn star(self, dialect: Dialect) -> RangeInclusive<u16> {
        match (self, dialect) {
            (Unit::DayOfWeek, Dialect::Unix) => 0..=6,
            _ => self.range(dialect),
        }
    }

    pub(crate) fn names(self) -> &'static [&'static str] {
        self.row().2
    }

    pub(crate) fn article(self) -> &'static str {
        if self == Unit::Hour { "an" } else { "a" }
    }

    /// The number that a name stands for, in any case.
    pub(crate) fn named(self, name: &str, dialect: Dialect) -> Option<u16> {
        let index = self.names().iter().position(|known| known.eq_ignore_ascii_case(name))?;
        let first = *self.range(dialect).start();
        Some(first + u16::try_from(index).expect("there are at most twelve names"))
    }

    /// `0 to 59`, or `1 to 12, or jan to dec`.
    pub(crate) fn expected(self, dialect: Dialect) -> String {
        let range = self.range(dialect);
        match self.names() {
            [] => format!("{} to {}", range.start(), range.end()),
            [first, .., last] => format!("{} to {}, or {first} to {last}", range.start(), range.end()),
            [only] => unreachable!("no field has one name, and `{only}` is one"),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_their_dialect() {
        assert_eq!(Unit::Month.named("Feb", Dialect::Unix), Some(2));
        assert_eq!(Unit::DayOfWeek.named("SUN", Dialect::Unix), Some(0));
        assert_eq!(Unit::DayOfWeek.named("sun", Dialect::Quartz), Some(1));
        assert_eq!(Unit::Hour.named("sun", Dialect::Unix), None);
    }
}

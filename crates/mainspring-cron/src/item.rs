//! The numeric part of a field: one item of a list, from its characters to a set of values.
//!
//! ```text
//! list := item { "," item }
//! item := body [ "/" step ]
//! body := "*" | value | value "-" value | "H" [ "(" value "-" value ")" ] | [ value ] "~" [ value ]
//! ```
//!
//! Linear in the length of the text. The special days (`L`, `W`, `#`) are in `item_day`.
//!
//! Source: [crontab(5)](https://manpages.debian.org/bookworm/cron/crontab.5.en.html); `~` as in
//! [cronie](https://manpages.debian.org/bookworm/cronie/crontab.5.en.html), `H` as in
//! [Jenkins](https://www.jenkins.io/doc/book/pipeline/syntax/#cron-syntax).

use crate::error::{ParseError, Warning};
use crate::options::{BareStep, Dialect, ParseOptions};
use crate::spread::spread;
use crate::unit::Unit;
use crate::values::Values;
use crate::word::Word;

/// `H` in the day of the month stays where every month has a day.
const LAST_SPREAD_DAY: u16 = 28;

/// Reads items by one set of options, and collects the warnings.
#[derive(Debug)]
pub(crate) struct Reader<'o> {
    pub(crate) options: &'o ParseOptions<'o>,
    pub(crate) warnings: Vec<Warning>,
}

/// What stands before the step. Both ends are numbers as they were written.
#[derive(Clone, Copy)]
enum Body {
    Star,
    One(u16),
    Range(u16, u16),
    Spread(u16, u16),
    Random(u16, u16),
}

impl Reader<'_> {
    pub(crate) fn new<'o>(options: &'o ParseOptions<'o>) -> Reader<'o> {
        Reader { options, warnings: Vec::new() }
    }

    /// Reads a whole list. Days of the week come back as 0 (Sunday) to 6, years counted from 1970.
    pub(crate) fn list(&mut self, list: Word<'_>, unit: Unit) -> Result<Values, ParseError> {
        let mut values = Values::default();
        for (position, item) in list.items() {
            values.extend(self.item(item, unit, position)?);
        }
        Ok(values)
    }

    /// Reads one item, which is number `position` of its list.
    pub(crate) fn item(&mut self, item: Word<'_>, unit: Unit, position: u16) -> Result<Values, ParseError> {
        let (body, step) = match item.split_once("/") {
            None => (item, None),
            Some((body, step)) => (body, Some(self.step(body, step, unit)?)),
        };
        let read =
            if body.is_empty() && step.is_some() { self.absent_body(item)? } else { self.body(body, unit)? };
        let star = unit.star(self.options.dialect);
        let (first, last) = match read {
            Body::Star => (*star.start(), *star.end()),
            Body::One(value) => (value, value),
            Body::Range(first, last) | Body::Spread(first, last) | Body::Random(first, last) => (first, last),
        };
        debug_assert!(first <= last || matches!(read, Body::Range(..)), "only a range of Quartz wraps");
        let written = match (read, step) {
            (Body::Star | Body::Range(..), _) | (Body::One(_), None) => {
                self.warn_about_step(item, unit, (first, last), step);
                self.steps(unit, first, last, step.unwrap_or(1))
            }
            (Body::One(_), Some(step)) => {
                self.allow_bare_step(item, unit, first, step)?;
                self.steps(unit, first, (*star.end()).max(first), step)
            }
            (Body::Random(..), Some(_)) => {
                return Err(item
                    .error("a random value takes no step: expected `first~last` alone")
                    .with_hint(body.text));
            }
            (Body::Spread(..) | Body::Random(..), step) => {
                let count = last - first + 1;
                // Without a step it is one value of all.
                let step = step.unwrap_or(count);
                let phase = self.spread(item, unit, position, step.min(count));
                self.steps(unit, first + phase, last, step)
            }
        };
        Ok(written)
    }

    /// One number or name. Days of the week stay as they were written: 0-7, or 1-7 in the Quartz dialect.
    pub(crate) fn value(&self, word: Word<'_>, unit: Unit) -> Result<u16, ParseError> {
        let dialect = self.options.dialect;
        let range = unit.range(dialect);
        if !word.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number with more digits than a u16 is outside every field.
            let number = word.text.parse().unwrap_or(u16::MAX);
            if range.contains(&number) {
                return Ok(number);
            }
            let wraps = matches!(unit, Unit::Second | Unit::Minute | Unit::Hour) && number == range.end() + 1;
            let nearest = if wraps { *range.start() } else { number.clamp(*range.start(), *range.end()) };
            let message =
                format!("{} is outside of the {unit} field: expected {}", word.text, unit.expected(dialect));
            return Err(word.error(message).with_hint(nearest.to_string()));
        }
        if let Some(number) = unit.named(word.text, dialect) {
            return Ok(number);
        }
        let error = word.expected(format!("{} {unit} ({})", unit.article(), unit.expected(dialect)));
        Err(error.with_nearest(nearest_name(word.text, unit.names())))
    }

    /// Quartz reads `/15` as `*/15`.
    fn absent_body(&self, item: Word<'_>) -> Result<Body, ParseError> {
        match self.options.dialect {
            Dialect::Quartz => Ok(Body::Star),
            Dialect::Unix => Err(item
                .error("expected `*` or a range before the slash")
                .with_hint(format!("*{}", item.text))),
        }
    }

    fn body(&self, body: Word<'_>, unit: Unit) -> Result<Body, ParseError> {
        let range = unit.range(self.options.dialect);
        if body.text == "*" {
            return Ok(Body::Star);
        }
        if body.text == "?" {
            return Err(body
                .error(format!("`?` cannot be used in this place of the {unit} field"))
                .with_hint("*"));
        }
        if let Some(rest) = body.after_prefix('H') {
            return self.spread_range(rest, unit);
        }
        if let Some((first, last)) = body.split_once("~") {
            let first = if first.is_empty() { *range.start() } else { self.value(first, unit)? };
            let last = if last.is_empty() { *range.end() } else { self.value(last, unit)? };
            self.check_order(body, unit, first, last)?;
            return Ok(Body::Random(first, last));
        }
        match body.split_once("-") {
            None => Ok(Body::One(self.value(body, unit)?)),
            Some((first, last)) => {
                let (first, last) = (self.value(first, unit)?, self.range_end(last, unit)?);
                if self.options.dialect != Dialect::Quartz {
                    self.check_order(body, unit, first, last)?;
                }
                Ok(Body::Range(first, last))
            }
        }
    }

    /// What follows `H`: nothing, or a range in parentheses.
    fn spread_range(&self, rest: Word<'_>, unit: Unit) -> Result<Body, ParseError> {
        let star = unit.star(self.options.dialect);
        if rest.is_empty() {
            let last = if unit == Unit::DayOfMonth { LAST_SPREAD_DAY } else { *star.end() };
            return Ok(Body::Spread(*star.start(), last));
        }
        let inner = rest.after_prefix('(').and_then(|rest| rest.before_suffix(')'));
        let ends = inner.and_then(|inner| Some((inner, inner.split_once("-")?)));
        let Some((inner, (first, last))) = ends else {
            return Err(rest
                .error("expected a range in parentheses after `H`, as in `H(0-29)`")
                .with_hint(format!("({}-{})", star.start(), star.end())));
        };
        let (first, last) = (self.value(first, unit)?, self.range_end(last, unit)?);
        self.check_order(inner, unit, first, last)?;
        Ok(Body::Spread(first, last))
    }

    /// `sun` at the end of a range is the Sunday after Saturday, so that `fri-sun` is a weekend.
    fn range_end(&self, word: Word<'_>, unit: Unit) -> Result<u16, ParseError> {
        let is_sunday_by_name = unit == Unit::DayOfWeek && word.is("sun");
        match self.options.dialect {
            Dialect::Unix if is_sunday_by_name => Ok(7),
            _ => self.value(word, unit),
        }
    }

    fn check_order(&self, body: Word<'_>, unit: Unit, first: u16, last: u16) -> Result<(), ParseError> {
        if first <= last {
            return Ok(());
        }
        let star = unit.star(self.options.dialect);
        let swapped = |separator: char| {
            let (first, last) = body.text.split_once(separator).unwrap_or_default();
            format!("{last}{separator}{first}")
        };
        let hint = if body.text.contains('~') {
            swapped('~')
        } else if unit == Unit::Year {
            swapped('-')
        } else {
            let stretch = |first: u16, last: u16| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            };
            let rest = stretch(*star.start(), last);
            // Only Sunday as 7 is behind the last value, and it is the first.
            if *star.end() < first { rest } else { format!("{},{rest}", stretch(first, *star.end())) }
        };
        let message = format!("the range `{}` runs backwards: expected the smaller value first", body.text);
        Err(body.error(message).with_hint(hint))
    }

    fn step(&self, body: Word<'_>, step: Word<'_>, unit: Unit) -> Result<u16, ParseError> {
        let slash = body.end()..step.end();
        if step.is_empty() {
            return Err(
                ParseError::new(slash, "expected a step after the slash: a number from 1").with_hint("/1")
            );
        }
        match step.text.parse::<u16>() {
            Ok(0) => Err(step.error("a step of 0 never moves on: expected a number from 1").with_hint("1")),
            Ok(number) if !step.text.starts_with('+') => Ok(number),
            _ => Err(step.expected(format!("a step in {unit}s, a number from 1")).with_hint("1")),
        }
    }

    fn allow_bare_step(
        &mut self,
        item: Word<'_>,
        unit: Unit,
        first: u16,
        step: u16,
    ) -> Result<(), ParseError> {
        if self.options.dialect == Dialect::Quartz {
            return Ok(());
        }
        let last = *unit.star(self.options.dialect).end();
        let plain = format!("{first}-{}/{step}", last.max(first));
        match self.options.bare_step {
            BareStep::Reject => Err(item.error("a step needs a range before the slash").with_hint(plain)),
            BareStep::Warn => {
                let text = format!("a step after a single value is not portable: read as `{plain}`");
                self.warnings.push(Warning { span: item.span(), text });
                Ok(())
            }
        }
    }

    fn warn_about_step(&mut self, item: Word<'_>, unit: Unit, ends: (u16, u16), step: Option<u16>) {
        let Some(step) = step else { return };
        let star = unit.star(self.options.dialect);
        let (first, last) = ends;
        if last < first {
            return;
        }
        let count = last - first + 1;
        let is_whole = first == *star.start() && last == *star.end();
        let text = if count <= step {
            format!("a step of {step} is longer than the range: only its first value, {first}, is used")
        } else if !is_whole || count.is_multiple_of(step) || unit == Unit::Year {
            return;
        } else if unit == Unit::DayOfMonth {
            format!("a step of {step} starts over on the 1st of each month, and months differ in length")
        } else {
            let rest = count % step;
            format!(
                "a step of {step} does not divide the {count} values of the {unit} field: \
                 the last interval is {rest}"
            )
        };
        self.warnings.push(Warning { span: item.span(), text });
    }

    fn spread(&mut self, item: Word<'_>, unit: Unit, position: u16, choices: u16) -> u16 {
        if self.options.job_name.is_none() {
            let text =
                "a hashed value depends on the job's name, and none was given: read as for the empty name";
            self.warnings.push(Warning { span: item.span(), text: text.to_owned() });
        }
        spread(self.options.job_name.unwrap_or_default(), unit, position, choices)
    }

    /// The written numbers `first`, `first + step`, .. `last`, as values. A Quartz range may wrap around its
    /// field.
    fn steps(&self, unit: Unit, first: u16, last: u16, step: u16) -> Values {
        let star = unit.star(self.options.dialect);
        let count = star.end() - star.start() + 1;
        let last = if last < first { last + count } else { last };
        let mut values = Values::default();
        for number in (first..=last).step_by(usize::from(step)) {
            let index = (number - star.start()) % count;
            values.insert(match unit {
                // Sunday is the first value in both numberings, and years are counted from the first.
                Unit::DayOfWeek | Unit::Year => index,
                _ => index + star.start(),
            });
        }
        values
    }
}

/// The name that begins as `text` does, or else the one that differs from it in one letter.
pub(crate) fn nearest_name<'n>(text: &str, names: &[&'n str]) -> Option<&'n str> {
    let lower = text.to_ascii_lowercase();
    let by_start =
        names.iter().find(|name| 2 < lower.len() && (lower.starts_with(**name) || name.starts_with(&lower)));
    by_start.or_else(|| names.iter().find(|name| distance(&lower, name) <= 1)).copied()
}

/// How many letters must be added, removed, changed, or swapped with their neighbour.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            rows[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => {
                    let differs = usize::from(left[i - 1] != right[j - 1]);
                    let edited =
                        (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differs);
                    let swapped =
                        1 < i && 1 < j && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                    if swapped { edited.min(rows[i - 2][j - 2] + 1) } else { edited }
                }
            };
        }
    }
    rows[left.len()][right.len()]
}
